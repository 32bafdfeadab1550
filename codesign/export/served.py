"""What is to be served: the best design of a result, or the model of a study as it is."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from codesign.designs import AXES, Designs
from codesign.errors import DataError, UsageError
from codesign.further_axes import make_variants, varied
from codesign.objectives import make_objective
from codesign.paths import exists, is_file, is_folder
from codesign.records import Record
from codesign.resolve import build_scenario, changed
from codesign.scenario import Scenario
from codesign.search.problem import best_reference
from codesign.search.space import DesignSpace
from codesign.search.variants import Settings
from codesign.spec.architecture import Architecture, shared_width_ratio
from codesign.spec.load import validation_message
from codesign.spec.study import Study
from codesign.spec.study_file import located, read_study
from codesign.starters import find_study
from codesign.stored import read_result
from codesign.uncertainty.draws import Draws, draw_scenarios


@dataclass(frozen=True)
class Served:
    """One model under one load.

    Parameters
    ----------
    study : Study
    scenario : Scenario
    draws : Draws
    designs : Designs
        The design with every draft length of the study's axis.
    draft_tokens : int
        The best one for the study's own load.
    architecture : Architecture
        The reference with the design's experts.
    """

    study: Study
    scenario: Scenario
    draws: Draws
    designs: Designs
    draft_tokens: int
    architecture: Architecture

    @property
    def as_published(self) -> bool:
        """The model is the reference itself, not a searched design."""
        return self.architecture == self.scenario.reference and not self.study.set

    @classmethod
    def of(cls, study: Study, design: Record) -> "Served":
        """Put together a design of a study, as an entry of a result has it."""
        settings = {axis: value for axis, value in design.items() if axis not in AXES}
        if settings:
            study, scenario, draws = _at_settings(study, settings)
        else:
            scenario = build_scenario(study)
            draws = draw_scenarios(study, scenario)
        lengths = np.array(study.space.draft_tokens, dtype=np.float64)
        axes = {axis: float(design[axis]) for axis in AXES} | {"draft_tokens": lengths}
        architecture = scenario.reference
        if architecture.moe is not None:
            architecture = designed(architecture, design)
        drafted = int(design["draft_tokens"])
        return cls(study, scenario, draws, Designs.of(**axes), drafted, architecture)


def _at_settings(study: Study, settings: Settings) -> tuple[Study, Scenario, Draws]:
    """The study at values of its further axes, on the GPUs that the search gave it."""
    variants = make_variants(study)
    for place in range(len(variants)):
        if variants.settings(place) == settings:
            problem = variants.problem(place)
            return varied(study, settings), problem.scenario, problem.draws
    raise DataError(f"the study has no variant {settings}")


def designed(reference: Architecture, design: Record) -> Architecture:
    """Return the reference with a design's experts; shared experts keep their relative width."""
    experts = {axis: int(design[axis]) for axis in AXES if axis != "draft_tokens"}
    if reference.moe is not None and reference.moe.shared_width is not None:
        experts["shared_width"] = round(design["expert_width"] * shared_width_ratio(reference))
    return changed(reference, experts)


def load_served(name_or_path: str) -> Served:
    """Load what is to be served.

    Parameters
    ----------
    name_or_path : str
        The folder or result.json that ``optimize --out`` wrote, or a study, whose reference is
        then served as it is.

    Raises
    ------
    UsageError
        If there is no such file.
    DataError
        If the file is no result.
    """
    path = Path(name_or_path)
    if is_folder(path):
        path = path / "result.json"
        if not is_file(path):
            raise UsageError(f"{path}: no such file; 'codesign optimize --out' writes one")
    if path.suffix == ".json":
        return _of_result(path)
    if path.parent != Path() and not exists(path):
        raise UsageError(f"{path}: no such result and no such study")
    file = find_study(name_or_path)
    study = read_study(file)
    with located(file, study):
        return serve_study(study, file.parent)


def serve_study(study: Study, folder: Path | None = None) -> Served:
    """Return a study's reference with its best draft length of the axis; it may be dense.

    Parameters
    ----------
    study : Study
    folder : Path, optional
        What a path of the objective is relative to.
    """
    scenario = build_scenario(study)
    lengths = DesignSpace({"draft_tokens": study.space.draft_tokens}, scenario)
    objective = make_objective(study.objectives[0], folder)
    best = best_reference(lengths, objective, draw_scenarios(study, scenario))
    return Served.of(study, best.designs.rows()[0])


def _of_result(path: Path) -> Served:
    data = read_result(path)
    try:
        study = Study.from_data(data["study"])
    except ValidationError as error:
        raise DataError(f"{path}: study: {validation_message(error)}") from None
    return Served.of(study, data["best"]["design"])
