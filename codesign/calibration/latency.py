"""From latency files to a section: points, what follows from them, and fitted constants."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codesign.calibration.detect import Reading, read_files
from codesign.calibration.latency_analysis import LatencyAnalysis
from codesign.calibration.latency_points import LatencyPoint, settle
from codesign.calibration.latency_setting import measured_model, single
from codesign.calibration.latency_tables import draft_tables
from codesign.calibration.notes import Notes
from codesign.calibration.observation import DraftRun, KernelTime
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.repeated_runs import distinct
from codesign.spec.measured_times import LatencySection


def calibrate_latency(paths: Sequence[Path], options: CalibrationOptions) -> LatencySection:
    """Fit the latency section.

    Parameters
    ----------
    paths : sequence of Path
        Files of any latency format, of one model on one engine.
    options : CalibrationOptions
        `hardware` and `architecture` let constants be fitted; without them points, ratios and
        curves are given.

    Raises
    ------
    DataError
        If a file is broken or not understood, or the files are of different models or engines.
    CalibrationError
        If a file needs the load to be given, or holds too few points.
    """
    readings = read_files(paths, "latency", options)
    data = [item for reading in readings for item in reading.data]
    notes = Notes()
    points = _points(readings, options, notes)
    model, assumed = measured_model(points, options)
    notes.add_all(assumed)
    analysis = LatencyAnalysis(points, model, options, notes)
    analysis.curves()
    kernels = [item for item in data if isinstance(item, KernelTime)]
    analysis.kernels(kernels)
    analysis.tables += draft_tables([item for item in data if isinstance(item, DraftRun)])
    analysis.constants()
    return LatencySection(
        date=options.day.isoformat(),
        sources=tuple(reading.source for reading in readings),
        samples=len(points) + len(kernels),
        samples_unit="measured points",
        residual=analysis.residual,
        parameters=analysis.parameters,
        correlations=tuple(analysis.correlations),
        defaults=analysis.defaults,
        warnings=tuple(notes.lines()),
        tables=tuple(analysis.tables),
        **analysis.measured_on,
    )


def _points(
    readings: Sequence[Reading[Any]], options: CalibrationOptions, notes: Notes
) -> list[LatencyPoint]:
    settled = []
    for reading in readings:
        points = []
        for item in reading.data:
            if isinstance(item, KernelTime):
                continue
            observation = item.observation if isinstance(item, DraftRun) else item
            point, warnings = settle(observation, options)
            points.append(point)
            for warning in warnings:
                notes.add(warning, Path(reading.source.file).name)
        settled.append(points)
    single([point for points in settled for point in points], "model", "models")
    joined, repeated = distinct(settled)
    notes.add_all(repeated)
    return joined
