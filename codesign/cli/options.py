"""Options that several commands share, and the study they add up to."""

import inspect
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from codesign.cli.completion import complete_architecture, complete_hardware, complete_study

if TYPE_CHECKING:
    from codesign.spec.study import Study

Flags = dict[str, Any]


class Format(StrEnum):
    """How an answer is written to standard output."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


FormatOption = Annotated[Format, typer.Option("--format", help="How the answer is written.")]

QUESTION: Final = "Question"
SERVING: Final = "Serving"
SEARCH_SPACE: Final = "Search"
RUNNING: Final = "Running"


def _option(flag: str, text: str, panel: str, complete: Any = None) -> Any:
    return typer.Option(flag, help=text, rich_help_panel=panel, autocompletion=complete)


def _shared_options(
    study: Annotated[
        str | None,
        _option(
            "--study", "Study file or bundled study; flags override it.", QUESTION, complete_study
        ),
    ] = None,
    target_bs: Annotated[
        str | None,
        _option("--target-bs", "Sequences per replica, or a mix: 8:0.3,32:0.7.", QUESTION),
    ] = None,
    hw: Annotated[
        str | None, _option("--hw", "Bundled GPU or profile.", QUESTION, complete_hardware)
    ] = None,
    arch: Annotated[
        str | None,
        _option(
            "--arch",
            "Reference: bundled name, config.json or YAML [qwen3-30b-a3b].",
            QUESTION,
            complete_architecture,
        ),
    ] = None,
    context: Annotated[
        int | None, _option("--context", "Cached tokens per sequence [4096].", QUESTION)
    ] = None,
    set_: Annotated[
        list[str] | None, _option("--set", "Change a field of the reference: NAME=VALUE.", QUESTION)
    ] = None,
    gpus: Annotated[
        int | None, _option("--gpus", "GPUs of a replica [the fewest that fit].", SERVING)
    ] = None,
    tp: Annotated[int | None, _option("--tp", "Tensor-parallel degree [gpus].", SERVING)] = None,
    ep: Annotated[int | None, _option("--ep", "Expert-parallel degree [1].", SERVING)] = None,
    attention_dp: Annotated[
        bool | None, _option("--attention-dp", "Attention data-parallel.", SERVING)
    ] = None,
    dtype: Annotated[
        str | None, _option("--dtype", "Format of the weights [the checkpoint's].", SERVING)
    ] = None,
    backend: Annotated[
        str | None, _option("--backend", "Engine: vllm, sglang, trtllm [vllm].", SERVING)
    ] = None,
    routing: Annotated[
        str | None,
        _option("--routing", "own, generic, independent or uniform [own].", SERVING),
    ] = None,
    draft: Annotated[
        str | None,
        _option("--draft", "eagle, mtp, fraction:F or model:NAME, each with ,parallel.", SERVING),
    ] = None,
    acceptance: Annotated[
        str | None,
        _option("--acceptance", "constant:A, decay:A,D or positions:S1,S2,...", SERVING),
    ] = None,
    calibration: Annotated[
        str | None,
        _option("--calibration", "Calibration file in place of the defaults.", SERVING),
    ] = None,
    host_time: Annotated[
        str | None, _option("--host-time", "Host time per step [0 ms].", SERVING)
    ] = None,
    sd_overhead: Annotated[
        str | None, _option("--sd-overhead", "Fixed cost of a cycle [0.5 ms].", SERVING)
    ] = None,
    price: Annotated[
        str | None, _option("--price", "Such as '2.5 USD/h' per GPU.", SERVING)
    ] = None,
    train_tokens: Annotated[
        str | None, _option("--train-tokens", "Training tokens of every design: 15T.", SERVING)
    ] = None,
    draft_tokens: Annotated[
        str | None, _option("--draft-tokens", "Draft lengths: 3, 0,3 or 0:8.", SEARCH_SPACE)
    ] = None,
) -> None:
    """Carry the signature; `study_command` merges it into a command's own."""


def known_picture(path: Path | None) -> Path | None:
    """Refuse a picture that cannot be drawn before the work, not after it."""
    if path is not None:
        from codesign.errors import UsageError
        from codesign.report.matplotlib_charts import PICTURES

        if path.suffix.lower().removeprefix(".") not in PICTURES:
            endings = ", .".join(PICTURES)
            raise UsageError(f"--plot: a picture ends in .{endings}, not {path.suffix!r}")
    return path


FLAG_PATHS: Final[dict[str, tuple[str, ...]]] = {
    "target_bs": ("workload", "target_batch_size"),
    "context": ("workload", "context"),
    "hw": ("hardware",),
    "arch": ("reference",),
    "gpus": ("deployment", "gpus"),
    "tp": ("deployment", "tensor_parallel"),
    "ep": ("deployment", "expert_parallel"),
    "attention_dp": ("deployment", "attention_dp"),
    "dtype": ("deployment", "dtype"),
    "backend": ("deployment", "backend"),
    "host_time": ("deployment", "host_time"),
    "sd_overhead": ("deployment", "sd_overhead"),
    "price": ("deployment", "price"),
    "routing": ("routing",),
    "draft": ("draft",),
    "acceptance": ("acceptance",),
    "calibration": ("calibration",),
    "train_tokens": ("train_tokens",),
    "draft_tokens": ("space", "draft_tokens"),
    "experts": ("space", "experts"),
    "top_k": ("space", "top_k"),
    "shared_experts": ("space", "shared_experts"),
    "expert_width": ("space", "expert_width"),
    "widths": ("space", "widths"),
    "engine": ("search", "engine"),
    "sampler": ("search", "sampler"),
    "batch": ("search", "batch"),
    "trials": ("search", "trials"),
    "seed": ("search", "seed"),
    "draws": ("uncertainty", "draws"),
}
"""Where each flag goes in a study."""


def study_command(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the shared options; it receives them, with its own, as `flags`."""
    shared = inspect.signature(_shared_options).parameters
    own = [p for name, p in inspect.signature(command).parameters.items() if name != "flags"]

    @wraps(command)
    def run(**values: Any) -> None:
        flags = {name: values.pop(name) for name in shared}
        command(flags=flags, **values)

    return with_parameters(run, [*shared.values(), *own])


def with_parameters(
    run: Callable[..., None], parameters: Sequence[inspect.Parameter]
) -> Callable[..., None]:
    """Give a function the signature that typer is to read."""
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": None}
    return run


def build_study(flags: Flags, extra: Flags | None = None) -> "Study":
    """Put a study together from its file and flags; flags win.

    Raises
    ------
    UsageError
        If a value breaks a rule, or hardware or batch size is missing.
    """
    from pydantic import ValidationError

    from codesign.errors import UsageError
    from codesign.spec.study import Study
    from codesign.spec.study_file import read_study

    given = flags | (extra or {})
    file = study_file(flags)
    data = read_study(file).to_data() if file is not None else {}
    for flag, path in FLAG_PATHS.items():
        if given.get(flag) is not None:
            _put(data, path, given[flag])
    _add_lists(data, given)
    if "hardware" not in data:
        raise UsageError("say which hardware, such as --hw h100 (see 'codesign list hardware')")
    if "target_batch_size" not in data.get("workload", {}):
        raise UsageError("say the batch size to design for, such as --target-bs 32")
    try:
        return Study.from_data(data)
    except ValidationError as error:
        raise UsageError(_with_flags(error)) from None


def study_file(flags: Flags) -> Path | None:
    """Return the file of ``--study``, if it was given; paths in it are relative to its folder."""
    from codesign.starters import find_study

    return find_study(flags["study"]) if flags["study"] else None


def _put(data: dict[str, Any], path: tuple[str, ...], value: object) -> None:
    for part in path[:-1]:
        data = data.setdefault(part, {})
    data[path[-1]] = value


def _add_lists(data: dict[str, Any], given: Flags) -> None:
    """Fold in what may be given several times."""
    from codesign.errors import UsageError
    from codesign.spec.study import parse_bound

    for change in given.get("set_") or []:
        name, equals, value = change.partition("=")
        if not equals:
            raise UsageError(f"--set takes NAME=VALUE, not {change!r}")
        data.setdefault("set", {})[name.strip()] = _scalar(value)
    if given.get("objective"):
        data["objectives"] = list(given["objective"])
    if given.get("fix"):
        data.setdefault("space", {})["fix"] = [part.strip() for part in given["fix"].split(",")]
    for written in given.get("axis") or []:
        _add_axis(data, written)
    constraints = data.setdefault("constraints", {})
    for written in given.get("constraint") or []:
        if written.strip().endswith(".py"):
            constraints[str(Path(written.strip()).absolute())] = True
            continue
        try:
            figure, bound = parse_bound(written)
        except ValueError as error:
            raise UsageError(f"--constraint: {error}") from None
        _add_bound(constraints, figure, bound)
    for written in given.get("no_constraint") or []:
        files = [key for key in constraints if key.endswith(".py") and Path(key).stem == written]
        name = files[0] if files else written
        _check_constraint(name, constraints)
        constraints[name] = False


def _add_axis(data: dict[str, Any], written: str) -> None:
    """Read NAME=VALUES of a further axis; drafts, which have commas, come one by one."""
    from codesign.errors import UsageError, did_you_mean
    from codesign.spec.study import FURTHER_AXES

    name, equals, values = (part.strip() for part in written.partition("="))
    if name not in FURTHER_AXES or not equals:
        hint = did_you_mean(name, FURTHER_AXES)
        raise UsageError(
            f"--axis takes NAME=VALUES with one of {', '.join(FURTHER_AXES)}, not {written!r}{hint}"
        )
    space = data.setdefault("space", {})
    if name == "drafts":
        space[name] = [*space.get(name, []), values]
    elif name == "expert_dtype":
        space[name] = [part.strip() for part in values.split(",")]
    else:
        space[name] = values


def _add_bound(constraints: dict[str, Any], figure: str, bound: dict[str, object]) -> None:
    """Replace one side of a limit and keep the other, also that of a default."""
    from codesign.spec.study import DEFAULT_CONSTRAINTS, Bound

    known = constraints.get(figure, DEFAULT_CONSTRAINTS.get(figure))
    if isinstance(known, Bound):
        known = known.to_data()
    sides = known.items() if isinstance(known, dict) else ()
    constraints[figure] = dict(sides) | bound


def _check_constraint(name: str, own: dict[str, Any]) -> None:
    from codesign.errors import UsageError, did_you_mean
    from codesign.spec.study import DEFAULT_CONSTRAINTS

    known = [*DEFAULT_CONSTRAINTS, *own]
    if name not in known:
        hint = did_you_mean(name, known)
        raise UsageError(f"--no-constraint: {name!r} is not among the defaults{hint}")


def _scalar(text: str) -> object:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return {"true": True, "false": False, "null": None}.get(text.lower(), text)


def _with_flags(error: Any) -> str:
    """Say which flag a broken rule came from."""
    from codesign.spec.load import validation_message

    message = validation_message(error)
    for flag, path in FLAG_PATHS.items():
        dotted = ".".join(path)
        option = "--" + flag.replace("_", "-")
        message = "\n".join(
            line.replace(dotted, option, 1) if line.startswith(dotted) else line
            for line in message.split("\n")
        )
    return message
