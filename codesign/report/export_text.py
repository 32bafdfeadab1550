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
        config = require_config(handover)
        return to_json({"config": config, "remarks": list(handover.config_remarks)}
                       if form == "json" else config)  # fmt: skip
    if form == "json":
        data = handover.to_dict()
        engines = data["engines"]
        return to_json(data if target is None else data | {"engines": {target: engines[target]}})
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
        own = [f"{value:.2f}" for size, value in speedups.items() if first <= size <= last]
        low, high = min(own, key=float), max(own, key=float)
        gain = low if low == high else f"{low} to {high}"
        lines.append(f"# {f'{first}-{last}':>10} {drafted:>4}   {gain}\n")
    return "".join(lines)
