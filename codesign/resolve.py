"""From a study to a scenario: files read, degrees resolved, assumptions written down."""

from dataclasses import replace
from itertools import islice
from typing import Any, Final

import numpy as np
from pydantic import ValidationError

from codesign.architectures import load_architecture
from codesign.architectures.sized import dense_of_size
from codesign.assumptions import assumptions_of
from codesign.calibrated import (
    acceptance_in_use,
    calibration_of,
    replica_in_use,
    router_in_use,
)
from codesign.designs import Designs
from codesign.draft_model import make_drafting
from codesign.errors import UsageError, field
from codesign.hardware import load_hardware
from codesign.model.acceptance import constant_survival, decay_survival, measured_survival
from codesign.model.arrays import FloatArray
from codesign.model.quality import EPSILON
from codesign.model.routing import GENERIC_ROUTER, RouterParameters, router_from_window_correlation
from codesign.parameter_counts import WidthBudget
from codesign.prediction import predict
from codesign.replica import Replica, resolve_replica
from codesign.scenario import Scenario
from codesign.spec.architecture import Architecture, MixtureOfExperts
from codesign.spec.draft import Acceptance
from codesign.spec.hardware import Hardware
from codesign.spec.load import faulty_places, validation_message
from codesign.spec.study import LONGEST_DRAFT, RoutingChoice, Study, WidthPolicy

DEFAULT_TRAINING_TOKENS: Final = 15e12
EXPERT_FIELDS: Final = frozenset(MixtureOfExperts.model_fields) - {"layers"}
MOST_GPUS: Final = 1024
WIDTH_BUDGETS: Final[dict[WidthPolicy, WidthBudget]] = {
    "iso_active": "active",
    "iso_total": "total",
}
QUALITY_DRAWS: Final = 64


def build_scenario(
    study: Study,
    *,
    longest_draft: int | None = None,
    batch_sizes: tuple[int, ...] | None = None,
) -> Scenario:
    """Resolve everything a study refers to.

    Parameters
    ----------
    study : Study
    longest_draft : int, optional
        Draft tokens that acceptance must cover; the largest of the study's axis where absent.
    batch_sizes : tuple of int, optional
        In equal shares, instead of the study's own mix.

    Raises
    ------
    UsageError, DataError
        If a name, a file, a degree or a figure is missing or wrong.
    """
    with field("reference"):
        published = load_architecture(study.reference)
    with field("set"):
        reference = changed(published, study.set)
    with field("calibration"):
        calibration = calibration_of(study)
    with field("hardware"):
        hardware = load_hardware(study.hardware)
    with field("draft", "model"):
        draft_model = _draft_model(study.draft.model, reference)
    longest = max(study.space.draft_tokens) if longest_draft is None else longest_draft
    if longest > LONGEST_DRAFT:
        raise UsageError(f"draft_tokens must be at most {LONGEST_DRAFT:,}, not {longest:,}")
    mix = study.workload.target_batch_size
    written = sum(entry.share for entry in mix)  # 1 but for the digits that were written
    training = reference.training.tokens if reference.training else DEFAULT_TRAINING_TOKENS
    scenario = Scenario(
        reference=reference,
        replica=_replica(study, hardware, reference, _first_gpus(study), draft_model),
        batch_sizes=tuple(entry.batch_size for entry in mix),
        shares=tuple(entry.share / written for entry in mix),
        context=study.workload.context,
        router=router_in_use(router_of(reference, study.routing), calibration, study.routing),
        survival=survival_of(acceptance_in_use(study.acceptance, calibration), longest),
        drafting=make_drafting(study.draft, reference, draft_model),
        price_per_gpu_hour=_price(study, hardware),
        training_tokens=study.train_tokens or training,
        tpot_limit=study.workload.tpot_limit,
        quality_draws=QUALITY_DRAWS if study.uncertainty.draws else 0,
        quality_epsilon=_quality_epsilon(study),
        width_budget=WIDTH_BUDGETS.get(study.space.expert_width),
        calibration=calibration,
    )
    if batch_sizes:
        scenario = scenario.at(batch_sizes)
    if study.deployment.gpus is None:
        scenario = _fitting(scenario, study, hardware, longest)
    replica = replica_in_use(scenario.replica, calibration, study, reference.name)
    scenario = replace(scenario, replica=replica)
    return replace(scenario, assumptions=assumptions_of(study, scenario))


def _draft_model(written: str | None, reference: Architecture) -> Architecture | None:
    """Return a draft that is a model of its own: a name, a file or a number of parameters."""
    if written is None:
        return None
    return dense_of_size(written, reference) or load_architecture(written)


def changed(reference: Architecture, changes: dict[str, Any]) -> Architecture:
    """Return the reference with fields changed; those of its experts need no prefix.

    Raises
    ------
    UsageError
        If a field is unknown or its value not valid.
    """
    if not changes:
        return reference
    experts = {name: value for name, value in changes.items() if name in EXPERT_FIELDS}
    data = reference.to_data() | {n: v for n, v in changes.items() if n not in EXPERT_FIELDS}
    whole = isinstance(data["layers"], int) and "layers" in changes
    if whole and not {"attention", "dense", "moe"} & changes.keys():
        data |= _with_layers(reference, data["layers"])
    if experts:
        known = data.get("moe")
        data["moe"] = (known if isinstance(known, dict) else {}) | experts
    try:
        return type(reference).from_data(data)
    except ValidationError as error:
        named = (part for place in faulty_places(error) for part in place if part in changes)
        with field(*islice(named, 1)):
            raise UsageError(f"set: {validation_message(error)}") from None


def _with_layers(reference: Architecture, layers: Any) -> dict[str, Any]:
    """Return the parts of a model with another number of layers, each kind in proportion.

    Dense feed-forward layers in a model of experts stay as many as they are: they come first.
    """
    data = reference.to_data()
    leading = sum(group.layers for group in reference.dense) if reference.moe else 0

    def scaled(group: dict[str, Any], kept: int = 0) -> dict[str, Any]:
        part, of = group["layers"] * (layers - kept), reference.layers - kept
        if layers <= kept or part % of:
            raise UsageError(
                f"set: layers {layers}: {group['layers']} of {reference.layers} layers cannot be "
                "kept in proportion"
            )
        return group | {"layers": part // of}

    parts: dict[str, Any] = {"attention": [scaled(group) for group in data["attention"]]}
    if reference.moe:
        parts["moe"] = scaled(data["moe"], leading)
    else:
        parts["dense"] = [scaled(group) for group in data["dense"]]
    return parts


def router_of(reference: Architecture, choice: RoutingChoice) -> RouterParameters:
    """Return the router a choice stands for.

    Raises
    ------
    UsageError
        If no router is as alike as the reference says its own is.
    """
    own, moe = reference.routing, reference.moe
    router = GENERIC_ROUTER
    if own is not None and choice != "generic":
        try:
            router = router_from_window_correlation(own.window_correlation)
        except ValueError as error:
            raise UsageError(
                f"{reference.name}: window_correlation {own.window_correlation:g}: {error}; with "
                "the generic decay .72 is the most"
            ) from None
    elif moe is not None:  # a published figure was measured with the group limit in force
        router = replace(router, groups=moe.groups, groups_per_token=moe.groups_per_token)
    if choice == "independent":
        return router.popularity_only()
    if choice == "uniform":
        return replace(router, popularity=0.0, request=0.0, recency=0.0)
    return router


def survival_of(acceptance: Acceptance, positions: int) -> FloatArray:
    """Return the probability that a draft survives to each position [-]."""
    values = acceptance.values
    match acceptance.form:
        case "constant":
            return constant_survival(values[0], positions)
        case "decay":
            return decay_survival(values[0], values[1], positions)
    return measured_survival(np.asarray(values), positions)


def _quality_epsilon(study: Study) -> float:
    """Return the loss the study's own quality constraint gives up, or the default [nat/token]."""
    choice = study.constraints.get("quality")
    given = choice.get("epsilon") if isinstance(choice, dict) else None
    return float(given) if isinstance(given, int | float) else EPSILON  # the constraint complains


def _price(study: Study, hardware: Hardware) -> float | None:
    if study.deployment.price is not None:
        return study.deployment.price
    if hardware.price is None:
        return None
    return (hardware.price.low + hardware.price.high) / 2


def _replica(
    study: Study,
    hardware: Hardware,
    reference: Architecture,
    gpus: int,
    draft: Architecture | None,
) -> Replica:
    with field("deployment"):
        return resolve_replica(hardware, study.deployment, reference, gpus, draft)


def _first_gpus(study: Study) -> int:
    deployment = study.deployment
    if deployment.gpus is not None:
        return deployment.gpus
    return max(deployment.tensor_parallel or 1, deployment.expert_parallel)


def _fitting(scenario: Scenario, study: Study, hardware: Hardware, longest: int) -> Scenario:
    """Return the scenario on the fewest GPUs, by doubling, that hold the reference."""
    gpus = _first_gpus(study)
    draft = scenario.drafting.model if study.draft.kind == "model" else None
    while gpus <= MOST_GPUS:
        replica = _replica(study, hardware, scenario.reference, gpus, draft)
        candidate = replace(scenario, replica=replica)
        reference = predict(Designs.of_architecture(scenario.reference, longest), candidate)
        if float(reference.value("memory_bytes_per_gpu").max()) <= replica.memory_limit:
            return candidate
        gpus *= 2
    raise UsageError(
        f"{scenario.reference.name} does not fit {MOST_GPUS} GPUs of {hardware.name} at batch size "
        f"{max(scenario.batch_sizes)} and context {scenario.context}: tensor parallelism cuts a "
        "cache over its key-value heads at most; lower batch size or context, spread sequences "
        "with --attention-dp, choose another dtype, or set --gpus (optimize: with --no-constraint "
        "memory)"
    )
