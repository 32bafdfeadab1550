"""The first screen in words: the question, the verdict, and three reasons made from figures."""

import re
from pathlib import Path

from codesign.records import Record
from codesign.report.cells import Cell, Sentence, cell, look_up, pointer
from codesign.report.glossary import (
    better,
    constraint_label,
    input_label,
    label,
    statistic_label,
    unit,
)
from codesign.uncertainty.statistics import of_few

WORTH_NOTHING = 1e-6
"""Value of information that is rounding, not a gain."""

AXIS_WORDS = {
    "experts": "expert count",
    "top_k": "top-k",
    "shared_experts": "shared-expert count",
    "draft_tokens": "draft length",
}


def question(result: Record) -> str:
    """Return what the study asks, in one sentence."""
    study = result["study"]
    objective = result["verdict"]["objective"]
    direction = _direction(study["objectives"][0], objective)
    axes = [words for axis, words in AXIS_WORDS.items() if axis not in study["space"]["fix"]]
    asked = " and ".join(filter(None, [", ".join(axes[:-1]), axes[-1]]))
    number = "give" if len(axes) > 1 else "gives"
    return (
        f"Which {asked} {number} the {direction} {_spelled(objective)}, starting from "
        f"{_short(study['reference'])}, on {_short(study['hardware'])} at {batch_words(result)}?"
    )


def _short(name: str) -> str:
    """Return a file's name without its folders, but the one that tells config.json's apart."""
    path = Path(name)
    kept = 2 if path.name == "config.json" else 1
    return name if len(path.parts) <= kept else str(Path(*path.parts[-kept:]))


def _spelled(objective: str) -> str:
    return re.sub(r"\bSD\b", "speculative-decoding (SD)", label(objective), count=1)


def _direction(choice: Record, objective: str) -> str:
    """An objective of the user's own may be known by neither the study nor the figures."""
    direction = choice.get("direction") or better(objective)
    return {"maximize": "highest", "minimize": "lowest"}.get(direction or "", "best")


def batch_words(result: Record) -> str:
    """Return the batch size, or the mix, in words."""
    mix = result["study"]["workload"]["target_batch_size"]
    if len(mix) == 1:
        return f"batch size {mix[0]['batch_size']:,}"
    parts = (f"{entry['batch_size']:,} ({entry['share']:.0%})" for entry in mix)
    return f"batch sizes {', '.join(parts)}"


def design_cells(result: Record, *path: str | int) -> Sentence:
    """Return a design in words: 112 experts, top-8, 0 shared, width 768, K = 5."""
    at = (*path, "design")
    return (
        cell(result, *at, "experts"), " experts, top-", cell(result, *at, "top_k"), ", ",
        cell(result, *at, "shared_experts"), " shared, width ",
        cell(result, *at, "expert_width"), ", K\u00a0=\u00a0", cell(result, *at, "draft_tokens"),
    )  # fmt: skip


def headline(result: Record) -> Sentence:
    """Return what to do, in one sentence."""
    best, verdict = result["best"]["design"], result["verdict"]
    if best == result["reference"]["design"]:
        drafted = cell(result, "best", "design", "draft_tokens")
        return ("Keep the reference, with K\u00a0=\u00a0", drafted, ": no feasible design beats it")
    if verdict["choice"] == "best":
        return ("Build ", *design_cells(result, "best"))
    return ("Tie: keep the reference; the best design is ", *design_cells(result, "best"))


def gain(result: Record) -> Sentence:
    """Return what the best design gains over the reference, and how sure that is."""
    verdict = result["verdict"]
    if result["best"]["design"] == result["reference"]["design"]:
        return (f"{label(verdict['objective'])} ", *expected_objective(result))
    if verdict["gain"] is None:  # nothing is a share of a reference of 0
        name = verdict["objective"]
        values = (cell(result, which, "objectives", name, unit=unit(name), digits=3)
                  for which in ("best", "reference"))  # fmt: skip
        own, base = values
        return (f"{label(name)} ", own, " against the reference's ", base)
    gained: Sentence = (
        cell(result, "verdict", "gain", unit="gain", digits=2),
        f" {label(verdict['objective'])} against the reference",
    )
    if verdict["interval"] is None:
        return (*gained, ", not weighed against uncertainty")
    limits = _interval(result, "verdict", "interval", unit="gain")
    return (*gained, f" ({_drawn(result)}: ", *limits, ")")


def _drawn(result: Record) -> str:
    return f"5–95\u00a0%{of_few(result['study']['uncertainty']['draws'])}"


def _interval(result: Record, *path: str | int, unit: str, digits: int = 2) -> Sentence:
    low, high = (cell(result, *path, end, unit=unit, digits=digits) for end in (0, 1))
    return low, " to ", high


def expected_objective(result: Record, which: str = "best") -> Sentence:
    """Return the objective of a design with its interval."""
    objective = result["verdict"]["objective"]
    value = cell(result, which, "objectives", objective, unit=unit(objective), digits=3)
    if result["interval"] is None:
        return (value, " (values in use)")
    limits = _interval(result, "interval", which, unit=unit(objective), digits=3)
    statistic = result["study"]["objectives"][0].get("statistic", "mean")
    named = "" if statistic == "mean" else f"{statistic_label(statistic)}; "
    return (value, f" ({named}{_drawn(result)}: ", *limits, ")")


def objective_detail(result: Record) -> Sentence:
    """Return the interval of the best design's objective, and the reference's."""
    objective = result["verdict"]["objective"]
    own = cell(result, "reference", "objectives", objective, unit=unit(objective), digits=3)
    if result["interval"] is None:
        return ("at the values in use, no interval; reference ", own)
    limits = _interval(result, "interval", "best", unit=unit(objective), digits=3)
    return (f"{_drawn(result)}: ", *limits, "; reference ", own)


def certificate(result: Record) -> Sentence:
    """Return how sure the search is of its best design."""
    own = result["certificate"]
    designs = cell(result, "certificate", "designs")
    if own["kind"] == "exact":
        feasible = cell(result, "certificate", "feasible")
        return ("all ", designs, " designs evaluated, ", feasible, " meet every constraint")
    searched: Sentence = ("best of ", cell(result, "certificate", "distinct_designs"), " sampled")
    if own.get("polished_designs") is not None:
        searched = (
            *searched, " and ", cell(result, "certificate", "polished_designs"), " polished"
        )  # fmt: skip
    searched = (*searched, " designs of ", designs)
    if own["kind"] == "none":
        return (*searched, "; not proven")
    return (*searched, "; none is better by more than ",
            cell(result, "certificate", "regret", unit="share", digits=2))  # fmt: skip


def quality(result: Record) -> Sentence:
    """Return how likely the best design is no worse, and what it is expected to give up."""
    at = ("best", "prediction", "quality")
    expected = cell(result, *at, "mean", unit="difference", digits=2)
    if look_up(result, pointer(*at, "probability")) is None:
        return ("not computed (no draws); loss against the reference's ", expected, " nat/token")
    given_up = cell(result, *at, "epsilon", digits=2)
    return ("loss at most ", given_up, " nat/token above the reference's; mean ", expected)


def reasons(result: Record) -> tuple[Sentence, Sentence, Sentence]:
    """Return why, what stands in the way of more, and how sure: one sentence each."""
    return _mechanism(result), _obstacle(result), _confidence(result)


def _mechanism(result: Record) -> Sentence:
    if result["best"]["design"]["draft_tokens"] == 0:
        return (
            "No draft pays: without one a step yields one token, and no draft length of the space "
            "does better",
        )

    def at(which: str, name: str) -> Cell:
        return cell(result, which, "prediction", name, digits=3)

    best, own = (
        (at(which, "acceptance_length"), at(which, "cycle_ratio"),
         at(which, "unique_experts_verify"), cell(result, which, "design", "experts"))
        for which in ("best", "reference")
    )  # fmt: skip
    return (
        "A draft-verify cycle yields ", best[0], " tokens in the time of ", best[1],
        " decode steps (reference ", own[0], " in ", own[1], "); its verify pass loads ", best[2],
        " of ", best[3], " experts per layer (reference ", own[2], " of ", own[3], ")",
    )  # fmt: skip


def _obstacle(result: Record) -> Sentence:
    if result["certificate"]["kind"] != "exact":
        return (
            "Unknown: what a constraint costs shows where the space is enumerated, not sampled",
        )
    edge = "".join(
        f"; the best lies on the bound of {label(axis)}, so widen that axis"
        for axis in result["on_bounds"]
    )
    if not result["binding"]:
        return (f"No constraint keeps a better design out{edge}",)
    row, *others = result["binding"]
    drawn = result["study"]["uncertainty"]["draws"] > 0
    named = [constraint_label(other["constraint"], drawn=drawn) for other in others]
    more = f"; {' and '.join(named)} bind{'s' * (len(named) == 1)} too"
    design = row["design_without"]
    return (
        f"It stops at the limit on {constraint_label(row['constraint'], drawn=drawn)}: without it ",
        cell(result, "binding", 0, "design_without", "experts"), " experts, top-",
        cell(result, "binding", 0, "design_without", "top_k"), " with K = ",
        Cell(design["draft_tokens"], pointers=(_without("draft_tokens"),)),
        " would gain another ",
        cell(result, "binding", 0, "gain_without", unit="gain", digits=2),
        (more if others else "") + edge,
    )  # fmt: skip


def _without(axis: str) -> str:
    return pointer("binding", 0, "design_without", axis)


def _confidence(result: Record) -> Sentence:
    if result["interval"] is None:
        return ("Unknown: nothing was drawn, every figure is a point estimate",)
    if result["stability"] is None:
        return ("Unknown: only an exact search compares all designs draw by draw",)
    drawn = cell(result, "interval", "draws")
    parts: Sentence = (
        "This expert shape is best in ", _same_experts(result), " of ", drawn,
        " draws of the unmeasured inputs, with this K in ",
        cell(result, "stability", "best_is_optimal", unit="share", digits=2),
    )  # fmt: skip
    information = result["value_of_information"]
    if any(row["input"] == "acceptance_rate" for row in information or ()):
        parts = (*parts, "; acceptance is assumed, not measured")
    if information and information[0]["value"] > WORTH_NOTHING:
        worth = cell(result, "value_of_information", 0, "value", unit="gain", digits=2)
        name = input_label(information[0]["input"])
        parts = (*parts, f"; measure first: {name} (worth ", worth, ")")
    return parts


def _same_experts(result: Record) -> Cell:
    """Share of draws in which the listed designs with the best's experts are optimal."""
    own = {k: v for k, v in result["best"]["design"].items() if k != "draft_tokens"}
    listed = result["stability"]["designs"]
    same = [n for n, row in enumerate(listed) if own.items() <= row["design"].items()]
    ends = tuple(pointer("stability", "designs", n, "optimal") for n in same)
    return Cell(sum(listed[n]["optimal"] for n in same), "share", ends, "sum", digits=2)
