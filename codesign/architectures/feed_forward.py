"""Which layers have experts and which are dense, and how configs name their sizes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from codesign.architectures.config import Config
from codesign.errors import UsageError
from codesign.spec.architecture import Architecture

GROUPS: Final = ("n_group", "topk_group")


@dataclass(frozen=True)
class FeedForward:
    """The feed-forward part of a model, as plain data of `Architecture`.

    Parameters
    ----------
    moe : dict, optional
        Fields of `MixtureOfExperts`.
    dense : list of dict
        Fields of `DenseFeedForward`.
    dense_layers : set of int
        Which layers are dense.
    dense_width : int, optional
        Width of a dense layer of this model, also where it has none.
    """

    moe: dict[str, Any] | None = None
    dense: list[dict[str, Any]] = field(default_factory=list)
    dense_layers: set[int] = field(default_factory=set)
    dense_width: int | None = None


@dataclass(frozen=True)
class ExpertFields:
    """How a family's config names the sizes of its experts; one table reads and writes them.

    Parameters
    ----------
    experts, top_k, width : tuple of str
        Names of N, k and the expert width; the first is the one written.
    shared_experts : tuple of str
        Names of S where the config counts shared experts.
    shared_width : tuple of str
        Names of the width of all shared experts together, or, beside a count, of each one.
    groups : tuple of str, optional
        Names of the groups routed within and of those a token may use.
    matrices, expert_bias, router_bias, shared_gate
        As in `MixtureOfExperts`: facts of the family that configs do not say.
    """

    experts: tuple[str, ...]
    top_k: tuple[str, ...] = ("num_experts_per_tok",)
    width: tuple[str, ...] = ("moe_intermediate_size",)
    shared_experts: tuple[str, ...] = ()
    shared_width: tuple[str, ...] = ()
    groups: tuple[str, str] | None = None
    matrices: int = 3
    expert_bias: bool = False
    router_bias: bool = False
    shared_gate: bool = False

    def read(self, config: Config, layers: int, **facts: Any) -> dict[str, Any]:
        """Return the fields of `MixtureOfExperts` for so many MoE layers."""
        width = config.integer(*self.width)
        shared, shared_width = self._shared(config, width)
        moe: dict[str, Any] = {
            "layers": layers,
            "experts": config.integer(*self.experts),
            "top_k": config.integer(*self.top_k),
            "expert_width": width,
            "shared_experts": shared,
            "shared_width": shared_width if shared and shared_width != width else None,
            "matrices": self.matrices,
            "expert_bias": self.expert_bias,
            "router_bias": self.router_bias,
            "shared_gate": self.shared_gate and shared > 0,
        }
        if self.groups:
            moe["groups"] = config.integer(self.groups[0], default=1)
            moe["groups_per_token"] = config.integer(self.groups[1], default=1)
        return moe | facts

    def _shared(self, config: Config, width: int) -> tuple[int, int]:
        """Return S and the width of one shared expert.

        A width without a count is that of all together: as many experts of the routed width as
        fit exactly (Qwen1.5-MoE names 4 in its report, its config 5632 = 4 x 1408), else one.
        """
        if self.shared_experts:
            count = config.integer(*self.shared_experts, default=0, least=0)
            if not self.shared_width:
                return count, width
            return count, config.integer(*self.shared_width, default=width)
        if self.shared_width:
            together = config.integer(*self.shared_width, default=0, least=0)
            exact = together % width == 0
            return (together // width, width) if exact else (1, together)
        return 0, width

    def write(self, architecture: Architecture) -> dict[str, Any]:
        """Return the config's fields for the experts of a model.

        Raises
        ------
        UsageError
            It is dense.
        """
        moe = architecture.moe
        if moe is None:
            raise UsageError(f"{architecture.name}: a dense model has no experts to write")
        each = moe.shared_width or moe.expert_width
        fields: dict[str, Any] = {
            self.experts[0]: moe.experts,
            self.top_k[0]: moe.top_k,
            self.width[0]: moe.expert_width,
        }
        if self.shared_experts:
            fields[self.shared_experts[0]] = moe.shared_experts
        if self.shared_width:
            fields[self.shared_width[0]] = (
                each if self.shared_experts else each * moe.shared_experts
            )
        if self.groups:
            fields |= dict(zip(self.groups, (moe.groups, moe.groups_per_token), strict=True))
        return fields


def first_dense_fields(
    architecture: Architecture, width: str = "intermediate_size"
) -> dict[str, Any]:
    """Return the config's fields for dense layers before the sparse ones."""
    fields: dict[str, Any] = {
        "first_k_dense_replace": sum(group.layers for group in architecture.dense)
    }
    dense_width = architecture.draft_ffn_width
    return fields | ({width: dense_width} if dense_width else {})


def sparse_and_dense(
    config: Config,
    fields: ExpertFields,
    sparse: Sequence[bool],
    dense_width: tuple[str, ...] = ("intermediate_size",),
    **facts: Any,
) -> FeedForward:
    """Return the feed-forward part of a model whose layers either have experts or are dense.

    Parameters
    ----------
    config : Config
        The file.
    fields : ExpertFields
        How the family names the sizes of its experts.
    sparse : sequence of bool
        For each layer whether it has experts.
    dense_width : tuple of str
        Names of the width of a dense layer; needed only where there is one.
    **facts
        Further fields of `MixtureOfExperts`.
    """
    dense_layers = {layer for layer, has_experts in enumerate(sparse) if not has_experts}
    width = config.integer(*dense_width) if dense_layers or config.has(*dense_width) else None
    moe_layers = len(sparse) - len(dense_layers)
    return FeedForward(
        moe=fields.read(config, moe_layers, **facts) if moe_layers else None,
        dense=[{"layers": len(dense_layers), "width": width}] if dense_layers else [],
        dense_layers=dense_layers,
        dense_width=width,
    )


def dense_only(config: Config, matrices: int = 3, bias: bool = False) -> FeedForward:
    """Return the feed-forward part of a dense model with one width, or one per layer."""
    layers = config.layers
    _, value = config.value("intermediate_size")
    widths = (
        config.integers("intermediate_size", least=1)
        if isinstance(value, list)
        else [config.integer("intermediate_size")] * layers
    )
    if len(widths) != layers:
        raise config.fault("intermediate_size", f"must have one item per layer ({layers})", widths)
    return FeedForward(
        dense=[
            {"layers": count, "width": width, "matrices": matrices, "bias": bias}
            for width, count in Counter(widths).items()
        ],
        dense_layers=set(range(layers)),
        dense_width=max(widths),
    )


def first_dense(config: Config, default: int | None = None) -> list[bool]:
    """Return which layers have experts: all but the first few, or as the file lists them.

    Read are ``mlp_layer_types``, ``moe_layer_freq`` and ``first_k_dense_replace``.

    Parameters
    ----------
    config : Config
        The file.
    default : int, optional
        How many first layers are dense where the file does not say.
    """
    words = config.words("mlp_layer_types", {"dense": False, "sparse": True})
    if words:
        return [word == "sparse" for word in words]
    _, frequency = config.value("moe_layer_freq")
    if isinstance(frequency, list):
        return per_layer_flags(config, "moe_layer_freq")
    first = config.integer("first_k_dense_replace", "num_dense_layers", default=default, least=0)
    step = config.integer("moe_layer_freq", default=1)
    return [layer >= first and layer % step == 0 for layer in range(config.layers)]


def stepped(config: Config) -> list[bool]:
    """``decoder_sparse_step`` and ``mlp_only_layers`` of the Qwen families."""
    step = config.integer("decoder_sparse_step", default=1)
    dense = set(config.integers("mlp_only_layers"))
    return [layer not in dense and (layer + 1) % step == 0 for layer in range(config.layers)]


def stepped_fields(architecture: Architecture) -> dict[str, Any]:
    """Return the config's fields for the dense layers of the Qwen families."""
    dense = sum(group.layers for group in architecture.dense)
    fields: dict[str, Any] = {"decoder_sparse_step": 1, "mlp_only_layers": list(range(dense))}
    width = architecture.draft_ffn_width
    return fields | ({"intermediate_size": width} if width else {})


def per_layer_flags(config: Config, name: str) -> list[bool]:
    """Return a list of 0 and 1, one per layer."""
    flags = config.integers(name)
    if len(flags) != config.layers or any(flag > 1 for flag in flags):
        raise config.fault(name, f"must be 0 or 1 for each of {config.layers} layers", flags)
    return [flag == 1 for flag in flags]
