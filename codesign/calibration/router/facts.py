"""N and k of the measured model, from the files, the flags or the architecture, checked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from codesign.architectures import load_architecture
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.router.trace import ExpertCounts, RoutingData, RoutingTrace
from codesign.errors import CalibrationError, DataError, UsageError
from codesign.spec.architecture import Architecture

MOST_EXPERTS: Final = 8192
"""What is counted per expert, layer and group of sequences has to fit into memory."""


@dataclass(frozen=True)
class ModelFacts:
    """What is known of the measured model before its ids are read.

    Parameters
    ----------
    experts, top_k : int, optional
        N and k [-].
    architecture : Architecture, optional
    """

    experts: int | None
    top_k: int | None
    architecture: Architecture | None

    def check_planes(self, routed: int, dense: int, label: str) -> str | None:
        """Compare the number of layers with the architecture's.

        Returns
        -------
        str or None
            A warning where the file has fewer layers than the model.

        Raises
        ------
        DataError
            If it has more.
        """
        model = self.architecture
        if model is None or model.moe is None:
            return None
        if routed > model.moe.layers:
            raise DataError(
                f"{label}: {routed} routed layers, but {model.name} has {model.moe.layers}"
            )
        if routed < model.moe.layers or dense not in (0, model.layers - model.moe.layers):
            return (
                f"{label}: {routed} routed and {dense} dense layers recorded; {model.name} has "
                f"{model.moe.layers} and {model.layers - model.moe.layers}"
            )
        return None


def model_facts(data: Sequence[RoutingData], options: CalibrationOptions) -> ModelFacts:
    """Bring together what files, flags and architecture say of N and k.

    Raises
    ------
    DataError
        If they contradict each other: files of different models, or of another one.
    UsageError
        If the architecture has no experts, or contradicts a flag.
    """
    model = load_architecture(options.architecture) if options.architecture else None
    experts, top_k = options.experts, options.top_k
    if model is not None:
        if model.moe is None:
            raise UsageError(f"--arch: {model.name} is dense: it routes nothing")
        for flag, given, own in (
            ("--experts", experts, model.moe.experts),
            ("--top-k", top_k, model.moe.top_k),
        ):
            if given is not None and given != own:
                raise UsageError(f"{flag} {given} contradicts --arch {model.name}: {own}")
        experts, top_k = model.moe.experts, model.moe.top_k
    for item in data:
        experts = _agreed("experts", experts, _experts_of(item), item.label)
        top_k = _agreed("experts per token", top_k, _top_k_of(item), item.label)
    if experts is not None and experts > MOST_EXPERTS:
        raise DataError(f"{data[0].label}: {experts:,} experts; up to {MOST_EXPERTS:,} are fitted")
    if experts is not None and top_k is not None and top_k > experts:
        raise DataError(f"{data[0].label}: top-{top_k} of {experts} experts cannot be")
    return ModelFacts(experts, top_k, model)


def _agreed(what: str, known: int | None, found: int | None, label: str) -> int | None:
    if known is not None and found is not None and known != found:
        raise DataError(f"{label}: {found} {what}, but {known} elsewhere: not the same model")
    return found if known is None else known


def _experts_of(item: RoutingData) -> int | None:
    if isinstance(item, ExpertCounts):
        return int(item.counts.shape[2])
    return item.experts


def _top_k_of(item: RoutingData) -> int | None:
    if isinstance(item, RoutingTrace):
        return item.selections.shape[2]
    return None if isinstance(item, ExpertCounts) else item.top_k


def required_experts(facts: ModelFacts, highest: int, found: str) -> int:
    """Return N, which ids alone only bound from below.

    Raises
    ------
    CalibrationError
        If nothing says it.
    """
    if facts.experts is not None:
        return facts.experts
    raise CalibrationError(
        f"{found}\nN is missing: the highest id is {highest}, so N >= {highest + 1}, but ids do "
        "not say more; give --arch or --experts"
    )


def required_top_k(facts: ModelFacts, found: str) -> int:
    """Return k, which counts do not say.

    Raises
    ------
    CalibrationError
        If nothing says it.
    """
    if facts.top_k is not None:
        return facts.top_k
    raise CalibrationError(f"{found}\nk is missing: give --arch or --top-k")
