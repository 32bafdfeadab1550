"""An export as text: what a shell takes, what a trainer reads, the table behind both."""

from typing import Any

from codesign.errors import UsageError
from codesign.export import Handover
from codesign.report.formats import to_json

TABLE_HEAD = "# batch size    K   expected speedup\n"


def render_handover(handover: Handover, target: str | None, form: str) -> str:
    """Return an export as ``text`` or ``json``, of one target or of all.

    Raises
    ------
    UsageError
        If the config.json is asked for and the family cannot express the design.
    """
    if target == "huggingface":
        require_config(handover)
    if form == "json":
        return to_json(_chosen(handover, target))
    if target == "huggingface":
        return to_json(handover.config)
    if target is not None:
        return schedule_text(handover) + handover.engines[target].shell
    parts = [schedule_text(handover)]
    parts += [f"# {name}\n{export.shell}" for name, export in handover.engines.items()]
    parts.append("".join(f"# config.json: {remark}\n" for remark in handover.config_remarks))
    parts.append("# --to huggingface prints the config.json, --out DIR writes every file\n")
    return "\n".join(part for part in parts if part)


def require_config(handover: Handover) -> dict[str, Any]:
    """Return the config.json.

    Raises
    ------
    UsageError
        If there is none.
    """
    if handover.config is None:
        raise UsageError("; ".join(handover.config_remarks))
    return handover.config


def schedule_text(handover: Handover) -> str:
    """Return draft length and speedup by range of batch sizes, as comments of a shell script."""
    speedups = dict(zip(handover.lengths.batch_sizes, handover.lengths.speedups, strict=True))
    lines = [TABLE_HEAD]
    for first, last, drafted in handover.lengths.schedule.ranges:
        own = [float(value) for size, value in speedups.items() if first <= size <= last]
        gain = f"{own[0]:.2f}" if len(own) == 1 else f"{own[0]:.2f} to {own[-1]:.2f}"
        lines.append(f"# {f'{first}-{last}':>10} {drafted:>4}   {gain}\n")
    return "".join(lines)


def _chosen(handover: Handover, target: str | None) -> dict[str, Any]:
    data = handover.to_dict()
    if target is None:
        return data
    if target == "huggingface":
        return {"huggingface": data["huggingface"]}
    return data | {"engines": {target: data["engines"][target]}, "huggingface": None}
