"""Everything an answer takes for granted, in sentences, each with where it comes from."""

from typing import Final

from codesign.architectures.counting import count_parameters
from codesign.calibrated import (
    acceptance_in_use,
    acceptance_origin,
    calibration_sentences,
    routing_origin,
)
from codesign.model.quality import ENSEMBLE
from codesign.scenario import Scenario
from codesign.spec.draft import DEFAULT_ACCEPTANCE
from codesign.spec.study import Study, WidthPolicy

WIDTHS: Final[dict[WidthPolicy, str]] = {
    "iso_active": "expert width keeps the reference's active expert parameters",
    "iso_total": "expert width keeps the reference's total expert parameters",
    "fixed": "expert width is the reference's",
    "search": "expert width is searched",
}


def assumptions_of(study: Study, scenario: Scenario) -> tuple[str, ...]:
    """Write down what a scenario assumes.

    Parameters
    ----------
    study : Study
        As asked.
    scenario : Scenario
        As resolved.

    Returns
    -------
    tuple of str
        ``topic: sentence``.
    """
    lines = [
        _reference(study, scenario),
        _replica(study, scenario),
        *_workload(study, scenario),
        _routing(study, scenario),
        *_group_limited(scenario),
        _acceptance(study, scenario),
        *calibration_sentences(scenario),
        _draft(scenario),
        _overheads(scenario),
        *(f"kernel: {line}" for line in scenario.replica.assumptions),
        _price(study, scenario),
        _training(study, scenario),
        _quality(scenario),
        f"designs: {WIDTHS[study.space.expert_width]}; attention, vocabulary and number of layers "
        "are the reference's; acceptance and the router's correlations are the same for every "
        "design (a training-recipe trait)",
    ]
    lines += [f"reference: {note}" for note in scenario.reference.notes]
    return tuple(lines)


def _reference(study: Study, scenario: Scenario) -> str:
    model = scenario.reference
    changes = "".join(f", {name} set to {value}" for name, value in study.set.items())
    counts = count_parameters(model)
    shape = "dense"
    if model.moe is not None:
        moe = model.moe
        shape = (
            f"{moe.experts} experts, top-{moe.top_k}, {moe.shared_experts} shared, "
            f"width {moe.expert_width}"
        )
    return (
        f"reference: {model.name}{changes}, {shape}, {counts.total / 1e9:.2f}B parameters, "
        f"{counts.active / 1e9:.2f}B active with both embeddings ({model.source})"
    )


def _replica(study: Study, scenario: Scenario) -> str:
    replica, precision = scenario.replica, scenario.replica.precision
    chosen = "as asked" if study.deployment.gpus else "the fewest, by doubling, the reference fits"
    formats = {precision.weights, precision.of("routed_experts")}
    copies = f"attention dp {replica.data_parallel}, " if replica.data_parallel > 1 else ""
    return (
        f"replica: {replica.gpus} x {replica.hardware.title} ({chosen}), "
        f"tp {replica.tensor_parallel}, {copies}ep {replica.expert_parallel}, "
        f"backend {study.deployment.backend}, weights "
        f"{' and '.join(sorted(formats))}, cache {precision.kv_cache}, "
        f"{study.deployment.memory_utilisation:.0%} of {replica.hardware.memory.value / 2**30:.4g} "
        "GiB usable"
    )


def _workload(study: Study, scenario: Scenario) -> list[str]:
    mix = study.workload.target_batch_size
    context = f"per replica, context {scenario.context} tokens"
    if scenario.tpot_limit is not None:
        context += f"; a token is in time within {scenario.tpot_limit * 1e3:g} ms"
    if len(mix) == 1:
        each = ", each on its own" if len(scenario.batch_sizes) > 1 else ""
        return [f"workload: batch size {', '.join(map(str, scenario.batch_sizes))}{each} {context}"]
    sizes = ", ".join(f"{entry.batch_size} ({entry.share:.0%})" for entry in mix)
    return [
        f"workload: batch sizes {sizes} {context}",
        "workload: shares weigh generated tokens; the speedup of the mix is total time without SD "
        "over total time with it, one draft length for all",
    ]


def _routing(study: Study, scenario: Scenario) -> str:
    router, own = scenario.router, scenario.reference.routing
    numbers = (
        f"r_p {float(router.popularity):.3g}, r_c {float(router.request):.3g}, "
        f"r_a {float(router.recency):.3g}, phi {float(router.decay):.3g}, "
        f"skew {float(router.skew):.3g}"
    )
    if study.routing == "uniform":
        return "routing: every token chooses experts uniformly (asked)"
    measured = routing_origin(study, scenario)
    if measured is not None:
        origin = measured
    elif study.routing == "generic" or own is None:
        origin = "generic router, fitted to the Cohere study's table and lags"
        if own is None and study.routing != "generic":
            origin += f"; nothing is published for {scenario.reference.name}"
    else:
        origin = f"r_w(4) = {own.window_correlation:.3g} published for the reference ({own.source})"
    if study.routing == "independent":
        origin += "; popularity only, no context (asked)"
    return f"routing: latent-Gaussian router, {numbers}; {origin}"


def _group_limited(scenario: Scenario) -> list[str]:
    moe, router = scenario.reference.moe, scenario.router
    if moe is None or moe.groups <= moe.groups_per_token:
        return []
    how = "its correlations scaled down to match a simulated group-limited router"
    if router.groups == 1:
        how = "which the router's own correlations, measured with it, already hold"
    return [
        f"routing: {scenario.reference.name} limits a token to {moe.groups_per_token} of "
        f"{moe.groups} groups of experts, {how}"
    ]


def _acceptance(study: Study, scenario: Scenario) -> str:
    form = acceptance_in_use(study.acceptance, scenario.calibration)
    written = f"{form.form}:{','.join(f'{value:g}' for value in form.values)}"
    length = 1.0 + float(scenario.survival[..., :3].sum())
    origin = "as given"
    measured = acceptance_origin(study, scenario)
    if measured is not None:
        origin = measured
    elif form == DEFAULT_ACCEPTANCE:
        origin = (
            "no acceptance data given: the Cohere study's AL(3) = 2.73 with the decay measured on "
            "EAGLE-3 and MTP heads; it decides the speedup, measure yours"
        )
    if form.form == "positions" and scenario.survival.shape[-1] > len(form.values):
        origin += (
            f"; positions beyond {len(form.values)} carry the last conditional rate on "
            "(extrapolated)"
        )
    return f"acceptance: {written}, AL(3) = {length:.3g}; {origin}"


def _draft(scenario: Scenario) -> str:
    drafting = scenario.drafting
    mode = "one parallel pass" if drafting.draft.parallel else "one pass per token"
    if drafting.model is None:
        return (
            f"draft: {drafting.draft.fraction:.3g} of the design's own decode step at batch size 1 "
            f"per token, {mode}"
        )
    kinds = {
        "eagle": "one dense layer of the reference's shape and a head of frequent tokens",
        "mtp": "one target-shaped layer with the full head",
        "model": f"the model {drafting.model.name}",
    }
    return f"draft: {drafting.draft.kind}, {kinds[drafting.draft.kind]}, {mode}"


def _overheads(scenario: Scenario) -> str:
    replica = scenario.replica
    return (
        f"overhead: host {replica.host_time * 1e3:.3g} ms per step (0-1 seen), SD "
        f"{replica.sd_overhead * 1e3:.3g} ms per cycle (0-1.7 seen, SGLang dense controls), none "
        "per rejected token (engines that replay rejected tokens pay more); K = 0 is a server "
        "without SD, not one with SD loaded and idle"
    )


def _price(study: Study, scenario: Scenario) -> str:
    if study.deployment.price is not None:
        return f"price: {study.deployment.price:g} USD per GPU-hour, as given"
    price = scenario.replica.hardware.price
    if price is None:
        return f"price: {scenario.replica.hardware.name} has none; cost is not computed"
    middle = (price.low + price.high) / 2
    where = "" if price.low == price.high else f", the middle of {price.low:g}-{price.high:g}"
    return f"price: {middle:.4g} USD per GPU-hour{where} ({price.source})"


def _quality(scenario: Scenario) -> str:
    names = ", ".join(law.name for law in ENSEMBLE)
    how = "their mean"
    if scenario.quality_draws:
        how = (
            f"the constraint is a quantile over them, {scenario.quality_draws} draws of each with "
            "its structural error"
        )
    return (
        f"quality: loss differences against the reference by {names}; {how}. All are extrapolated "
        "to this scale, and they disagree in sign on more experts with fewer active"
    )


def _training(study: Study, scenario: Scenario) -> str:
    tokens = f"training: {scenario.training_tokens / 1e12:g}T tokens for every design"
    if study.train_tokens is not None:
        return f"{tokens}, as given"
    training = scenario.reference.training
    return f"{tokens} ({training.source})" if training else f"{tokens}; none published, assumed"
