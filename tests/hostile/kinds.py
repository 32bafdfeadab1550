"""Kinds of hostile input: what a file is made from, and what it is read with, to the end.

A reader takes what the fuzzer wrote as far as a user would: a study to a prediction, a result to
its tables, a calibration to a prediction with it. What it returns is written as strict JSON, so
that NaN and infinities are faults wherever they come from.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np

from codesign.ablation.cases import cases_of
from codesign.ablation.driver import load_ablation
from codesign.ablation.journal import Journal
from codesign.architectures import load_architecture
from codesign.calibration.acceptance import calibrate_acceptance
from codesign.calibration.file import load_calibration, merged
from codesign.calibration.latency import calibrate_latency
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.profile import calibrate_profile
from codesign.calibration.quality_section import calibrate_quality
from codesign.calibration.routing import calibrate_routing
from codesign.cli.options import build_study
from codesign.designs import Designs
from codesign.export.handover import Handover
from codesign.export.served import load_served
from codesign.prediction import Prediction, predict
from codesign.records import prediction_rows
from codesign.report.calibration_tables import render_section
from codesign.report.comparison import Comparison
from codesign.report.files import read_report
from codesign.report.history import read_history
from codesign.report.markdown import comparison_markdown, report_markdown
from codesign.resolve import build_scenario
from codesign.search.storage import open_store
from codesign.spec.calibration import SectionName
from codesign.spec.section import Section
from codesign.spec.study import Study
from codesign.study import load_study, make_problem
from tests.hostile import samples
from tests.hostile.mutations import as_json, as_yaml, mutated, spoiled

Write = Callable[[Any], bytes]
Read = Callable[[Path, Random], object]
SHOWN_DRAFTS: Final = 3
POSITIVE: Final = (
    "step_time_decode_s", "step_time_verify_s", "tpot_s", "sd_tpot_s", "acceptance_length",
    "sd_speedup", "tokens_per_s", "memory_bytes_per_gpu", "total_params", "active_params",
)  # fmt: skip
"""Figures that are numbers above zero, whatever was asked."""
QUESTION: Final = {"hardware": "h100", "workload": {"target_batch_size": 8}}


@dataclass(frozen=True)
class Kind:
    """One kind of file.

    Parameters
    ----------
    name : str
    documents : callable
        Returns good documents.
    read : callable
        Takes the file's path, and the chance that chooses what else is said.
    statuses : tuple of int
        Exit statuses of a refusal.
    write : callable
        Turns a document into bytes.
    suffix : str
        End of the file's name, where readers look at it.
    """

    name: str
    documents: Callable[[], Sequence[Any]]
    read: Read
    statuses: tuple[int, ...]
    write: Write = as_json
    suffix: str = ""

    def content(self, chance: Random) -> bytes:
        """Return a hostile file of this kind."""
        document = chance.choice(self.documents())
        if isinstance(document, str | bytes):
            return spoiled(self.good(document), chance)
        if chance.random() < 0.75:
            document = mutated(document, chance)
        write = as_json if chance.random() < 0.5 else self.write
        data = write(document)
        return data if chance.random() < 0.7 else spoiled(data, chance)

    def good(self, document: Any) -> bytes:
        """Return a document as a file."""
        if isinstance(document, bytes):
            return document
        return document.encode() if isinstance(document, str) else self.write(document)


def _predicted(study: Study, folder: Path | None = None) -> object:
    """The reference's prediction, its objectives and constraints, and both as a report has them."""
    few = study.uncertainty.model_copy(update={"draws": min(study.uncertainty.draws, 2)})
    study = study.model_copy(update={"uncertainty": few})
    problem = make_problem(study, folder)
    evaluation = problem.evaluate(problem.reference.designs)
    for each in evaluation.assessments.values():
        _finite(each.value)
        _finite(each.slack)
    return _rows(problem.reference)


def _rows(prediction: Prediction) -> object:
    """A prediction as it is printed, where NaN and infinities have become nothing."""
    rows = prediction_rows(prediction)
    for row in rows:
        for name in POSITIVE:
            if row[name] is None or row[name] <= 0:
                raise ArithmeticError(f"{name} is {row[name]}")
    return rows, list(prediction.scenario.assumptions)


def _finite(values: Any) -> None:
    if not np.all(np.isfinite(values)):
        raise ArithmeticError(f"not finite: {values}")


def _flags(path: Path, _: Random) -> object:
    """Options as a shell hands them over: whole numbers where the parser wants them, else text."""
    try:
        given = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    flags: dict[str, Any] = {"study": None}
    for name, value in given.items() if isinstance(given, dict) else ():
        known = samples.FLAGS.get(name)
        if isinstance(known, list):
            flags[name] = [str(item) for item in (value if isinstance(value, list) else [value])]
        elif isinstance(known, bool):
            flags[name] = bool(value)
        elif isinstance(known, int) and isinstance(value, int | float):
            flags[name] = int(value) if abs(value) < 1e300 else None
        elif isinstance(known, str) and value is not None:
            flags[name] = str(value)
    return _predicted(build_study(flags))


def _study(path: Path, _: Random) -> object:
    return _predicted(load_study(path), path.parent)


def _asked(**changes: Any) -> object:
    study = Study.from_data(QUESTION | changes)
    scenario = build_scenario(study)
    lengths = np.array(study.space.draft_tokens[:SHOWN_DRAFTS])
    return _rows(predict(Designs.of_architecture(scenario.reference, lengths), scenario))


def _hardware(path: Path, chance: Random) -> object:
    deployment = chance.choice([{}, {"gpus": 8, "expert_parallel": 8}, {"dtype": "fp8"}])
    return _asked(hardware=str(path), deployment=deployment)


def _architecture(path: Path, _: Random) -> object:
    load_architecture(path)
    return _asked(reference=str(path))


def _ablation(path: Path, _: Random) -> object:
    ablation, _folder = load_ablation(path)
    assert isinstance(ablation.study, Study)
    cases = cases_of(ablation, ablation.study)
    return [_predicted(case.study, path.parent) for case in cases[:1]]


def _journal(path: Path, _: Random) -> object:
    Journal(path)
    return None


def _calibrated(
    name: SectionName,
    fit: Callable[[list[Path], CalibrationOptions], Section],
    options: Callable[[Random], CalibrationOptions],
) -> Read:
    def read(path: Path, chance: Random) -> object:
        section = fit([path], options(chance))
        file = path.with_name("calibration.yaml")
        file.write_bytes(as_json(merged(None, name, section).to_data()))
        render_section(name, section, chance.choice(["table", "json", "csv"]))
        return section.to_data(), _calibration(file, chance)

    return read


def _calibration(path: Path, chance: Random) -> object:
    for name, section in load_calibration(path).sections().items():
        render_section(name, section, chance.choice(["table", "json", "csv"]))
    return _asked(calibration=str(path))


def _result(path: Path, chance: Random) -> object:
    report = read_report(path)
    if chance.random() < 0.1:
        comparison_markdown(Comparison((report, report)))
    return report_markdown(report)


def _served(path: Path, chance: Random) -> object:
    return Handover(load_served(str(path)), chance.choice([None, 8])).to_dict()


def _trials(path: Path, _: Random) -> object:
    open_store(str(path), None, "codesign").close()
    read_history(path, {"study": {"name": "codesign"}})
    return None


def _both(documents: Sequence[Any]) -> Callable[[], Sequence[Any]]:
    return lambda: (*documents, *samples.databases())


KINDS: Final[dict[str, Kind]] = {
    kind.name: kind
    for kind in (
        Kind("flags", lambda: (samples.FLAGS,), _flags, (2, 4)),
        Kind("study", lambda: samples.STUDIES, _study, (2, 4), as_yaml, ".yaml"),
        Kind("hardware", lambda: samples.HARDWARE, _hardware, (2,), as_yaml, ".yaml"),
        Kind("architecture", lambda: samples.ARCHITECTURES, _architecture, (2,), as_yaml, ".yaml"),
        Kind("config.json", lambda: samples.CONFIGS, _architecture, (2, 4), suffix=".json"),
        Kind("ablation", lambda: samples.ABLATIONS, _ablation, (2, 4), as_yaml, ".yaml"),
        Kind(
            "routing", _both(samples.ROUTING),
            _calibrated("routing", calibrate_routing, samples.routed_options), (2, 4, 5),
        ),
        Kind(
            "acceptance", _both(samples.ACCEPTANCE),
            _calibrated("acceptance", calibrate_acceptance, samples.routed_options), (2, 4, 5),
        ),
        Kind(
            "latency", _both(samples.LATENCY),
            _calibrated("latency", calibrate_latency, samples.timed_options), (2, 4, 5),
        ),
        Kind(
            "profile", _both(samples.PROFILE),
            _calibrated("profile", calibrate_profile, samples.profiled_options), (2, 4, 5),
        ),
        Kind(
            "quality", _both(samples.QUALITY),
            _calibrated("quality", calibrate_quality, samples.routed_options), (2, 4, 5),
        ),
        Kind("calibration", samples.calibrations, _calibration, (2,), as_yaml, ".yaml"),
        Kind("result", samples.results, _result, (2, 4), suffix=".json"),
        Kind("served", samples.results, _served, (2, 4), suffix=".json"),
        Kind("ablation rows", samples.ablation_rows, _journal, (4,)),
        Kind("trials", samples.trials, _trials, (2, 4)),
    )
}  # fmt: skip
"""By name."""
