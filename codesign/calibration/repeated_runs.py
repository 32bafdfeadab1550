"""Runs that stand in several files: a client's result and the server's counters of one run."""

from collections.abc import Iterable

from codesign.calibration.latency_points import LatencyPoint


def distinct(files: Iterable[Iterable[LatencyPoint]]) -> tuple[list[LatencyPoint], list[str]]:
    """Join the points of several files; a run that stands in two of them counts once.

    Equal times within one file are kept: repeats are evidence.
    """
    seen: dict[tuple[object, ...], LatencyPoint] = {}
    joined: list[LatencyPoint] = []
    warnings = []
    for points in files:
        new = [(_fingerprint(point), point) for point in points]
        for key, point in new:
            if key in seen:
                warnings.append(
                    f"{point.source}: the same run as {seen[key].source}; it is counted once"
                )
            else:
                joined.append(point)
        seen.update({key: point for key, point in new if key not in seen})
    return joined, warnings


def _fingerprint(point: LatencyPoint) -> tuple[object, ...]:
    load = (point.batch_size, point.draft_tokens, point.context, point.tokens)
    return (point.meaning, f"{point.seconds:.9g}", *load, point.acceptance_length)
