"""Counters of one or several scrapes into intervals; a difference is better than a total."""

from collections.abc import Sequence
from itertools import pairwise

from codesign.calibration.accepted.records import AcceptanceRecord, Counter, Scrape
from codesign.errors import CalibrationError, DataError

SINCE_START = "counters since the server started; the difference of two scrapes is better"
WHOLE = 0.02
"""Drafted per draft may miss a whole number by this: the last drafts of a request are shorter."""


def intervals(scrapes: Sequence[Scrape]) -> list[AcceptanceRecord]:
    """Return one record per pair of neighbouring scrapes, or one of a single scrape's totals.

    Parameters
    ----------
    scrapes : sequence of Scrape
        In any order; those of other servers (other engines, or counters that began at another
        time) are kept apart.

    Raises
    ------
    DataError
        If counters of one server contradict each other.
    """
    servers: dict[tuple[object, ...], list[Scrape]] = {}
    for scrape in scrapes:
        key = (*sorted(scrape.engines), *sorted(scrape.created.items()))
        servers.setdefault(key, []).append(scrape)
    found = []
    for group in servers.values():
        ordered = sorted(group, key=lambda scrape: _total(scrape).get("drafts", 0.0))
        if len(ordered) == 1:
            found.append(_record(ordered[0], _total(ordered[0]), (SINCE_START,)))
        for before, after in pairwise(ordered):
            found.append(_between(before, after))
    return found


def _total(scrape: Scrape) -> Counter:
    """Sums over engines: a mean of their lengths would weigh them wrongly."""
    total: Counter = {}
    for counter in scrape.engines.values():
        for name, value in counter.items():
            total[name] = total.get(name, 0.0) + value
    return total


def _between(before: Scrape, after: Scrape) -> AcceptanceRecord:
    first, last = _total(before), _total(after)
    change = {name: last[name] - first.get(name, 0.0) for name in last}
    if any(value < 0 for value in change.values()):
        raise DataError(
            f"{before.path} and {after.path}: some counters rise and some fall between them: not "
            "two scrapes of one server"
        )
    if not change.get("drafts") and not change.get("drafted"):
        raise CalibrationError(f"{before.path} and {after.path}: no drafts between them")
    return _record(after, change, ())


def _record(scrape: Scrape, counter: Counter, warnings: tuple[str, ...]) -> AcceptanceRecord:
    where = str(scrape.path)
    drafts, drafted = counter.get("drafts", 0.0), counter.get("drafted", 0.0)
    accepted = counter.get("accepted", 0.0)
    if drafts <= 0:
        raise CalibrationError(f"{where}: no drafts were counted: speculative decoding was off")
    positions = sorted(int(name) for name in counter if name.isdecimal())
    survival = tuple(counter[str(position)] / drafts for position in positions)
    if accepted > drafted or any(share > 1 for share in survival):
        raise DataError(f"{where}: more tokens accepted than drafted")
    return AcceptanceRecord(
        where, where, _draft_tokens(drafts, drafted), drafts, accepted, survival,
        warnings=(*(f"{where}: {line}" for line in warnings), *_varying(where, drafts, drafted)),
    )  # fmt: skip


def _draft_tokens(drafts: float, drafted: float) -> int | None:
    mean = drafted / drafts
    near = abs(mean - round(mean)) <= WHOLE * max(mean, 1.0)
    return round(mean) if near and mean >= 1 - WHOLE else None


def _varying(where: str, drafts: float, drafted: float) -> tuple[str, ...]:
    if _draft_tokens(drafts, drafted) is not None:
        return ()
    return (
        f"{where}: {drafted / drafts:.3g} tokens per draft: the draft length varies, so survival "
        "at the later positions is understated",
    )
