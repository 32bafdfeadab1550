"""Which number format each component of a checkpoint has, from its ``quantization_config``.

Published formats: fp8 (block and tensor), mxfp4, modelopt, compressed-tensors, GPTQ, AWQ, with
lists of modules left as they were. A component has the format that most of its layers have.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from codesign.architectures.config import Config, read_json_object, shown
from codesign.architectures.ignore_list import IgnoreList, within_layers
from codesign.errors import DataError
from codesign.spec.precision import Dtype, Precision

PLAIN: Final[dict[str, Dtype]] = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "float32": "fp32",
}
ALGORITHMS: Final[dict[str, Dtype]] = {  # modelopt's names
    "FP8": "fp8",
    "FP8_PER_CHANNEL_PER_TOKEN": "fp8",
    "FP8_PB_WO": "fp8_block",
    "FP8_PB_REAL": "fp8_block",
    "MXFP8": "mxfp8",
    "NVFP4": "nvfp4",
    "W4A16_NVFP4": "nvfp4",
    "NVFP4_AWQ": "nvfp4",
    "MXFP4": "mxfp4",
    "W4A8_MXFP4_FP8": "mxfp4",
    "W4A16_AWQ": "int4",
    "W4A8_AWQ": "int4",
    "W8A16": "int8",
    "W8A8_SQ_PER_CHANNEL": "int8",
    "INT8_SQ": "int8",
}
MODELOPT_FILE: Final = "hf_quant_config.json"
METHODS: Final = ("fp8", "mxfp4", "modelopt", "compressed-tensors", "gptq", "awq")

MODULES: Final[dict[str, tuple[str, ...]]] = {
    "routed_experts": (
        "mlp.experts.0.down_proj",
        "mlp.experts",
        "block_sparse_moe.experts.0.w2",
        "mixer.experts.0.down_proj",
        "feed_forward.experts",
    ),
    "shared_experts": (
        "mlp.shared_experts.down_proj",
        "mlp.shared_expert.down_proj",
        "mlp.shared_mlp.down_proj",
        "block_sparse_moe.shared_experts.down_proj",
        "mixer.shared_experts.down_proj",
        "feed_forward.shared_expert.down_proj",
    ),
    "attention": (
        "self_attn.o_proj",
        "linear_attn.out_proj",
        "mixer.o_proj",
        "mixer.out_proj",
    ),
    "dense": ("mlp.down_proj", "feed_forward.down_proj", "mixer.down_proj"),
}
"""One weight that stands for its component, as published checkpoints name it within a layer."""


def read_precision(config: Config, layers: int, dense_layers: set[int]) -> Precision:
    """Return the number formats of a checkpoint.

    Parameters
    ----------
    config : Config
        Its config.json.
    layers : int
        Decoder layers.
    dense_layers : set of int
        Layers with a dense feed-forward block; the others have experts.

    Raises
    ------
    DataError
        A quantisation that is not understood.
    """
    plain = _plain(config)
    scheme = _scheme(config)
    if not scheme:
        return Precision(weights=plain, embeddings=plain)
    formats = _Formats(config, scheme, plain)
    own = {
        component: formats.most(component, found)
        for component in MODULES
        if (found := _layers_of(component, layers, dense_layers))
    }
    moe = len(dense_layers) < layers
    weights = own["routed_experts"] if moe else own["dense"]
    differs = {component: dtype for component, dtype in own.items() if dtype != weights}
    return Precision(
        weights=weights,
        routed_experts=differs.get("routed_experts"),
        shared_experts=differs.get("shared_experts"),
        attention=differs.get("attention"),
        dense=differs.get("dense"),
        embeddings=plain,
        kv_cache=_cache(scheme, plain),
    )


def _layers_of(component: str, layers: int, dense: set[int]) -> list[int]:
    if component == "attention":
        return list(range(layers))
    return [layer for layer in range(layers) if (layer in dense) == (component == "dense")]


def _plain(config: Config) -> Dtype:
    for fields in (config.text, config.outer):
        for name in ("dtype", "torch_dtype"):
            value = fields.get(name)
            if value is not None:
                if value not in PLAIN:
                    raise config.fault(name, f"knows {', '.join(PLAIN)}", value)
                return PLAIN[value]
    return "bf16"


def _scheme(config: Config) -> Mapping[str, Any]:
    for fields in (config.text, config.outer):
        for name in ("quantization_config", "compression_config"):
            scheme = fields.get(name)
            if scheme is not None:
                if not isinstance(scheme, dict):
                    raise config.fault(name, "must be an object", scheme)
                return scheme
    return _beside(config)


def _beside(config: Config) -> Mapping[str, Any]:
    """Older modelopt checkpoints keep their scheme in a file of its own beside config.json."""
    path = config.path.parent / MODELOPT_FILE
    if config.path.name != "config.json" or not path.is_file():
        return {}
    scheme = _object(read_json_object(path), "quantization")
    return {**scheme, "quant_method": "modelopt"} if scheme.get("quant_algo") else {}


def _cache(scheme: Mapping[str, Any], plain: Dtype) -> Dtype:
    """The cache is quantised only where the checkpoint carries scales for it."""
    kind = scheme.get("kv_cache_scheme") or scheme.get("kv_cache_quant_algo")
    eight_bits = kind == "FP8" or (isinstance(kind, dict) and kind.get("num_bits") == 8)
    return "fp8" if eight_bits else plain


class _Formats:
    """The formats of the modules of one quantised checkpoint."""

    def __init__(self, config: Config, scheme: Mapping[str, Any], plain: Dtype) -> None:
        self._config = config
        self._plain = plain
        self._own = {
            within_layers(name): self._algorithm(entry)
            for name, entry in _object(scheme, "quantized_layers").items()
        }
        self._default = plain if self._own else self._common(scheme)
        self._experts_only = scheme.get("quant_method") == "mxfp4"
        lists = (scheme.get(name) for name in ("ignore", "modules_to_not_convert"))
        excluded = [*lists, scheme.get("exclude_modules")]
        patterns = [item for names in excluded if isinstance(names, list) for item in names]
        try:
            self._ignored = IgnoreList([str(pattern) for pattern in patterns])
        except re.error as error:
            raise DataError(
                f"{config.path}: quantization_config: {error.pattern!r} in its list of modules is "
                f"not a regular expression ({error})"
            ) from None

    def most(self, component: str, layers: list[int]) -> Dtype:
        """The format that most of these layers have for this component."""
        return Counter(self._of(component, layer) for layer in layers).most_common(1)[0][0]

    def _of(self, component: str, layer: int) -> Dtype:
        if self._experts_only and component != "routed_experts":
            return self._plain
        names = [f"layers.{layer}.{module}" for module in MODULES[component]]
        if self._own:
            return next((self._own[name] for name in names if name in self._own), self._plain)
        return self._plain if any(name in self._ignored for name in names) else self._default

    def _common(self, scheme: Mapping[str, Any]) -> Dtype:
        """The format of every module that is not excluded."""
        method = scheme.get("quant_method")
        if scheme.get("quant_algo") is not None:
            return self._algorithm(scheme)
        if method == "fp8":
            return "fp8_block" if scheme.get("weight_block_size") else "fp8"
        if method == "mxfp4":
            return "mxfp4"
        if method in ("gptq", "awq"):
            return self._integer(scheme.get("bits", scheme.get("w_bit")), scheme)
        if method in ("compressed-tensors", "modelopt"):
            return self._group(scheme)
        raise self._unknown("quant_method", method, METHODS)

    def _algorithm(self, entry: object) -> Dtype:
        name = entry.get("quant_algo") if isinstance(entry, dict) else entry
        if name not in ALGORITHMS:
            raise self._unknown("quant_algo", name, ALGORITHMS)
        return ALGORITHMS[str(name)]

    def _group(self, scheme: Mapping[str, Any]) -> Dtype:
        """The format of the only group of a compressed-tensors scheme."""
        groups = list(_object(scheme, "config_groups").values())
        formats = {self._weights(group, scheme) for group in groups if isinstance(group, dict)}
        if len(formats) != 1:
            raise self._unknown("config_groups", sorted(formats), ("one format for all groups",))
        return formats.pop()

    def _weights(self, group: Mapping[str, Any], scheme: Mapping[str, Any]) -> Dtype:
        weights = _object(group, "weights")
        packed = str(group.get("format") or scheme.get("format") or "")
        if weights.get("type") != "float":
            return self._integer(weights.get("num_bits"), weights)
        if weights.get("num_bits") == 8:
            return "fp8_block" if weights.get("strategy") == "block" else "fp8"
        if weights.get("num_bits") == 4 and packed.startswith("mxfp4"):
            return "mxfp4"
        if weights.get("num_bits") == 4 and weights.get("group_size") == 16:
            return "nvfp4"
        raise self._unknown("weights", weights, ("8-bit floats", "nvfp4", "mxfp4"))

    def _integer(self, bits: object, weights: Mapping[str, Any]) -> Dtype:
        if bits == 8:
            return "int8"
        if bits == 4:
            return "int4_g32" if weights.get("group_size") == 32 else "int4"
        raise self._unknown("bits", bits, ("4", "8"))

    def _unknown(self, field: str, value: object, known: object) -> DataError:
        choices = ", ".join(map(str, known)) if isinstance(known, (tuple, dict)) else known
        return DataError(
            f"{self._config.path}: quantization_config: {field} {shown(value)} "
            f"is not understood; known: {choices}"
        )


def _object(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = fields.get(name)
    return value if isinstance(value, dict) else {}
