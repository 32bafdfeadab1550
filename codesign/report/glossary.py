"""What things are called in a report, and what the words mean."""

from typing import Final

from codesign.prediction import FIGURES

LABELS: Final[dict[str, str]] = {
    "experts": "experts per layer (N)",
    "top_k": "experts per token (k)",
    "shared_experts": "always-on experts (S)",
    "draft_tokens": "drafted tokens (K)",
    "expert_width": "expert width",
    "sd_speedup": "SD speedup",
    "tpot_s": "TPOT without SD",
    "sd_tpot_s": "TPOT with SD",
    "sd_tpot_p95_s": "TPOT with SD, slowest 5 % of requests",
    "tokens_per_s": "tokens/s without SD",
    "sd_tokens_per_s": "tokens/s with SD",
    "sd_tokens_per_s_per_gpu": "tokens/s per GPU with SD",
    "sd_goodput_tokens_per_s": "tokens/s in time with SD",
    "cost_per_million_tokens": "cost per million tokens",
    "total_params": "total parameters",
    "active_params": "active parameters",
    "loss_difference": "loss difference [nat/token]",
    "memory_bytes_per_gpu": "memory per GPU",
    "kv_capacity_sequences": "sequences whose caches fit",
    "unique_experts_decode": "experts loaded, decode step",
    "unique_experts_verify": "experts loaded, verify pass",
    "unique_experts_uniform": "experts loaded, if tokens chose uniformly",
    "unique_experts_independent": "experts loaded, if only popularity were shared",
    "overlap_lag1": "experts shared with the next token",
    "step_time_decode_s": "decode step",
    "step_time_verify_s": "verify pass",
    "draft_time_s": "drafting",
    "acceptance_length": "tokens per cycle",
    "cycle_ratio": "cycle time in decode steps",
    "target_efficiency": "decode step over verify pass",
    "amdahl_ratio": "verify over decode, experts alone",
    "routed_time_fraction": "routed experts' share of a decode step",
    "routed_load_fraction": "share of a decode step that loads experts",
    "break_even_acceptance_length": "tokens per cycle from which SD pays",
    "break_even_acceptance": "acceptance from which SD pays",
    "relative_throughput": "throughput over the reference's without SD",
    "energy_per_token_j": "energy per token",
    "activation_ratio": "active share of experts",
    "rounding_residual": "rounding of the expert width",
    "training_flop": "training compute [FLOP]",
    "tokens": "tokens in a verify pass",
}
"""Where a figure's own name is no title; others are shown by their name."""

MEANINGS: Final[dict[str, str]] = {
    "sd_speedup": "Time per token without SD over that with it.",
    "unique_experts_decode": "Per layer, in one decode step.",
    "unique_experts_verify": "Per layer, in one pass that checks K + 1 tokens per sequence.",
    "step_time_decode_s": "One step of the target without SD.",
    "step_time_verify_s": "One pass of the target that checks K + 1 tokens per sequence.",
    "draft_time_s": "The draft model proposing K tokens.",
    "acceptance_length": "Accepted drafted tokens and the target's own one.",
    "cycle_ratio": "Drafting, verifying and overhead, in decode steps; speedup is tokens over it.",
    "target_efficiency": "1: verifying costs no more than decoding.",
    "amdahl_ratio": "How much longer a verify pass would be if only the loaded experts grew.",
}
"""Where the model's own words need its symbols."""

CONSTRAINTS: Final[dict[str, str]] = {
    "quality": "quality (cautious loss)",  # a quantile over laws and their errors
    "memory": "memory per GPU",
    "divisibility": "divisibility (violations)",
    "expert_width": "expert width (rounding)",
    "top_k": "experts per token (k)",
    "total_params": "total parameters",
    "active_params": "active parameters",
    "sd_tpot": "TPOT with SD",
}

INPUTS: Final[dict[str, str]] = {
    "acceptance": "acceptance of drafted tokens",
    "acceptance_rate": "acceptance of the first drafted token",
    "acceptance_decay": "decay of acceptance along the draft",
    "acceptance_scale": "measured acceptance of drafted tokens",
    "acceptance_beyond": "decay of acceptance beyond the positions measured",
    "popularity": "popularity shared by all tokens' routing",
    "window_correlation": "likeness of nearby tokens' routing",
    "host_time": "host time per step",
    "sd_overhead": "fixed cost of a draft-verify cycle",
    "cycle_error": "the model's own error on a cycle",
    "context": "context length",
}

COMPONENTS: Final[dict[str, str]] = {
    "attention_core": "attention, cache",
    "attention_projections": "attention, projections",
    "norms_and_small_kernels": "norms and small kernels",
    "lm_head": "output head",
}

TERMS: Final[dict[str, str]] = {
    "speculative decoding (SD)": "a small draft model proposes K tokens, the target model checks "
    "them all in one verify pass and keeps those it agrees with, and one more",
    "cycle": "drafting K tokens and verifying them",
    "TPOT": "time per output token of one sequence",
    "expected": "mean (or the statistic the study asks for) over joint draws of what nobody has "
    "measured for this study: acceptance, routing, kernel constants, overheads",
    "at the values in use": "with every uncertain input at the single value the study uses; no "
    "uncertainty, so it can differ from the expected figure",
    "5-95 %": "nine draws in ten lie in this interval",
    "partial load": "batches still too small to touch every expert: verifying more tokens loads "
    "more experts, which is what speculation costs an MoE model",
    "sweet spot": "nearly all experts are loaded anyway and arithmetic units still wait for "
    "memory: extra tokens are almost free",
    "memory bound": "the same for a dense model: limited by reading weights",
    "compute bound": "arithmetic limits the pass: every extra token costs its full time",
    "best": "the feasible design with the best objective",
    "throughput-best": "the feasible design with the most tokens per second with SD",
    "dense control": "the best design's layers with one expert as wide as its active ones: what "
    "speculative decoding yields without routing",
    "Pareto front": "designs that no feasible design beats in every objective at once",
    "certificate": "exact: every design of the space was evaluated, so the best is proven best "
    "under the model; none: the best of a sampled search, which may not be",
    "cautious loss difference": "the quantile over scaling laws and their errors that the quality "
    "constraint holds to its limit",
    "elasticity": "per cent by which the objective changes when an input rises by one per cent",
    "Sobol index": "share of the objective's variance over the whole space that an axis explains: "
    "first order by itself, total with its interactions",
    "value of information": "expected gain of the objective if an input were measured before "
    "choosing the design",
}


def label(name: str) -> str:
    """Return the title of a figure, objective or axis.

    Examples
    --------
    >>> label("sd_tpot"), label("loss_difference"), label("my_objective")
    ('TPOT with SD', 'loss difference [nat/token]', 'my objective')
    """
    full = _ALIASES.get(name, name)
    return LABELS.get(full, full.replace("_", " "))


def unit(name: str) -> str:
    """Return the unit of a figure by name or alias; ``-`` for an objective of the user's own."""
    full = _ALIASES.get(name, name)
    if full in DIFFERENCES:
        return DIFFERENCES[full]
    if full in SHARES:
        return "share"
    return "times" if full == "sd_speedup" else FIGURES[full].unit if full in FIGURES else "-"


def meaning(name: str) -> str:
    """Return one line on a figure, empty for an objective of the user's own."""
    full = _ALIASES.get(name, name)
    return MEANINGS.get(full) or (FIGURES[full].meaning if full in FIGURES else "")


def better(name: str) -> str | None:
    """Return the direction in which a figure improves; nothing for the user's own objectives."""
    full = _ALIASES.get(name, name)
    return FIGURES[full].better if full in FIGURES else None


def constraint_label(name: str, *, drawn: bool = True) -> str:
    """Return the title of a constraint; without draws quality is another figure."""
    if name == "quality" and not drawn:
        return "quality (mean loss of the laws)"
    return CONSTRAINTS.get(name) or label(name)


def statistic_label(statistic: str) -> str:
    """Return what a statistic over the draws is called.

    Examples
    --------
    >>> statistic_label("mean"), statistic_label("q05"), statistic_label("cvar10")
    ('expected', '5 % quantile of the draws', 'mean of the worst 10 % of draws')
    """
    kind, share = statistic.rstrip("0123456789"), statistic.lstrip("abcdefghijklmnopqrstuvwxyz")
    if kind == "q":
        return f"{int(share)} % quantile of the draws"
    return "expected" if kind == "mean" else f"mean of the worst {int(share)} % of draws"


def input_label(name: str) -> str:
    """Return the title of an uncertain input.

    Examples
    --------
    >>> input_label("routed_experts_bandwidth"), input_label("popularity")
    ('routed experts kernel: bandwidth', "popularity shared by all tokens' routing")
    """
    if name in INPUTS:
        return INPUTS[name]
    kind, _, constant = name.rpartition("_")
    if constant in ("floor", "bandwidth", "compute"):
        named = "launch time" if constant == "floor" else constant
        return f"{kind.replace('_', ' ')} kernel: {named}"
    return name.replace("_", " ")


def component_label(name: str) -> str:
    """Return the title of a component of a pass."""
    return COMPONENTS.get(name, name.replace("_", " "))


DIFFERENCES: Final = {"rounding_residual": "gain", "loss_difference": "difference"}
"""Figures that are shown with their sign."""

SHARES: Final = (
    "overlap_lag1",
    "routed_time_fraction",
    "routed_load_fraction",
    "activation_ratio",
    "break_even_acceptance",
)
"""Figures that are fractions of one and read better as per cent."""

_ALIASES: Final = {each.alias: name for name, each in FIGURES.items() if each.alias}
