"""Names that the shell completes; each catalogue is imported when its list is asked for."""

import typer


def complete_study(incomplete: str) -> list[str]:
    """Bundled studies."""
    from codesign.starters import list_studies

    return _beginning(incomplete, list_studies())


def complete_ablation(incomplete: str) -> list[str]:
    """Bundled ablations."""
    from codesign.starters import list_ablations

    return _beginning(incomplete, list_ablations())


def complete_hardware(incomplete: str) -> list[str]:
    """Bundled hardware profiles."""
    from codesign.hardware import list_hardware

    return _beginning(incomplete, list_hardware())


def complete_architecture(incomplete: str) -> list[str]:
    """Bundled architectures."""
    from codesign.architectures import list_architectures

    return _beginning(incomplete, list_architectures())


def complete_constraint(incomplete: str) -> list[str]:
    """Bundled constraints."""
    from codesign.constraints import list_constraints

    return _beginning(incomplete, list_constraints())


def complete_objective(incomplete: str) -> list[str]:
    """Bundled objectives, and figures that can be one."""
    from codesign.objectives import list_objectives
    from codesign.prediction import FIGURES

    figures = [name for name, figure in FIGURES.items() if figure.better]
    return _beginning(incomplete, [*list_objectives(), *figures])


def complete_schema(incomplete: str) -> list[str]:
    """Kinds of file that have a schema."""
    from codesign.spec.schemas import SPECS

    return _beginning(incomplete, list(SPECS))


def complete_shown(context: typer.Context, incomplete: str) -> list[str]:
    """Names of the kind that `show` was given before."""
    kinds = {
        "hardware": complete_hardware,
        "architecture": complete_architecture,
        "objective": complete_objective,
        "constraint": complete_constraint,
        "study": complete_study,
        "ablation": complete_ablation,
    }
    complete = kinds.get(str(context.params.get("what", "")))
    return complete(incomplete) if complete else []


def _beginning(incomplete: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
