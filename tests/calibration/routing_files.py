"""Routed experts in the form that engines write, made from known ids or from the model itself."""

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codesign.model.routing import RouterParameters
from tests.model.oracle_router import SimulatedRouter

Ids = NDArray[Any]

PROMPT, OUTPUT = 5, 8
ROWS = PROMPT + OUTPUT - 1
"""The last sampled token has no row."""
EXPERTS, TOP_K, LAYERS = 16, 4, 4


def ids(
    rows: int = ROWS, layers: int = LAYERS, experts: int = EXPERTS, top_k: int = TOP_K,
    *, dense: int = 1, seed: int = 0, dtype: Any = np.uint8,
) -> Ids:  # fmt: skip
    """Distinct ids in every row; the first planes are dense: all zero."""
    generator = np.random.default_rng(seed)
    order = np.argsort(generator.random((rows, layers, experts)), axis=-1)
    chosen = order[..., :top_k].astype(dtype)
    chosen[:, :dense] = 0
    return np.asarray(chosen)


def simulated(
    experts: int, top_k: int, router: RouterParameters, *, sequences: int, tokens: int,
    layers: int, seed: int,
) -> Ids:  # fmt: skip
    """A trace drawn from the model with an exact top-k, [sequences, tokens, layers, k]."""
    found = np.empty((sequences, tokens, layers, top_k), np.int16)
    drawn = SimulatedRouter(experts, top_k, router).batches(sequences, tokens, layers, seed)
    for layer, selected in enumerate(drawn):
        found[:, :, layer] = np.nonzero(selected)[2].reshape(sequences, tokens, top_k)
    return found


def npy_bytes(array: Ids) -> bytes:
    """The bytes of a .npy file."""
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def encoded(data: bytes) -> str:
    """Base64."""
    return base64.b64encode(data).decode()


def payload(array: Ids) -> dict[str, Any]:
    """Base64 of raw ids with their shape and type."""
    return {
        "data": encoded(array.tobytes()), "shape": list(array.shape), "dtype": array.dtype.name
    }  # fmt: skip


def vllm_response(array: Ids, kind: str = "completion", **more: Any) -> dict[str, Any]:
    """vLLM >= 0.22: a completion, a chat completion, or token-in/token-out."""
    choice: dict[str, Any] = {"index": 0, "finish_reason": "length"}
    choice["routed_experts"] = encoded(npy_bytes(array))
    usage = {"prompt_tokens": PROMPT, "completion_tokens": OUTPUT, "total_tokens": 13}
    if kind == "generate":
        return {"request_id": "r", "choices": [choice | {"token_ids": [*range(OUTPUT)]}]} | more
    names = {"completion": "text_completion", "chat": "chat.completion"}
    return {"object": names[kind], "choices": [choice], "usage": usage} | more


def vllm_nested(array: Ids) -> dict[str, Any]:
    """vLLM 0.21: prompt and output apart, nested lists."""
    output = {"index": 0, "routed_experts": array[PROMPT:].tolist()}
    return {"prompt_routed_experts": array[:PROMPT].tolist(), "choices": [output]}


def sglang_response(array: Ids, *, openai: bool = False) -> dict[str, Any]:
    """SGLang >= 0.5.7: base64 of raw int32 without a shape."""
    written = encoded(array.astype("<i4").tobytes())
    counts = {"prompt_tokens": PROMPT, "completion_tokens": OUTPUT}
    if openai:
        return {"choices": [{"index": 0}], "usage": counts, "sglext": {"routed_experts": written}}
    return {"text": "a", "meta_info": counts | {"routed_experts": written}}


def written(folder: Path, name: str, content: object) -> Path:
    """Write bytes, arrays and text as they are, anything else as JSON."""
    path = folder / name
    if isinstance(content, np.ndarray):
        content = npy_bytes(content)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def npz(folder: Path, name: str, **arrays: Any) -> Path:
    """Write a .npz file."""
    path = folder / name
    np.savez(path, **arrays)
    return path
