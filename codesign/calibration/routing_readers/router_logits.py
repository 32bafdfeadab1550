"""Transformers' `output_router_logits`: a tuple over MoE layers of [batch * sequence, N]."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from codesign.architectures import load_architecture
from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.router.trace import ArraySelections, RoutingTrace
from codesign.calibration.sample import Sample
from codesign.errors import CalibrationError, DataError

SUM_TOLERANCE: Final = 1e-2
"""Half-precision softmax rows add up to 1 within this."""


def _lacks(sample: Sample) -> str | None:
    if sample.container != "torch":
        return "is no torch file"
    content = sample.tensors
    if not isinstance(content, tuple | list) or not content:
        return "is no tuple over layers"
    shapes = {tuple(getattr(item, "shape", ())) for item in content}
    if len(shapes) != 1 or len(next(iter(shapes))) != 2 or not hasattr(content[0], "float"):
        return "has no tensors of one shape [tokens, experts]"
    return None


def _read(sample: Sample, options: CalibrationOptions) -> tuple[RoutingTrace, ...]:
    where, content = str(sample.path), sample.tensors
    assert isinstance(content, tuple | list)
    scores = np.stack([np.asarray(item.float()) for item in content], axis=1)
    if not np.isfinite(scores).all():
        raise DataError(f"{where}: router logits hold NaN or infinity")
    kind, seen = _kind(scores)
    top_k = _top_k(options) or seen
    if top_k is None:
        raise CalibrationError(
            f"{where}: {kind} of {scores.shape[2]} experts over {scores.shape[0]} tokens and "
            f"{scores.shape[1]} layers; k is missing: give --arch or --top-k"
        )
    ids = np.argsort(-scores, axis=-1, kind="stable")[..., :top_k]
    trace = RoutingTrace(
        where, ArraySelections(ids), (((0, len(ids)),),), tuple(range(ids.shape[1])),
        experts=int(scores.shape[2]), facts=(kind,), warnings=_warnings(where, options),
    )  # fmt: skip
    return (trace,)


def _kind(scores: NDArray[Any]) -> tuple[str, int | None]:
    """What the numbers are, and k where sparse scores show it."""
    if (scores < 0).any():
        return "raw logits", None
    chosen = np.unique((scores > 0).sum(axis=-1))
    if chosen.size == 1 and 0 < chosen[0] < scores.shape[2]:
        return "sparse scores", int(chosen[0])
    if np.allclose(scores.sum(axis=-1), 1.0, atol=SUM_TOLERANCE):
        return "softmax probabilities", None
    return "scores", None


def _top_k(options: CalibrationOptions) -> int | None:
    if options.top_k is None and options.architecture:
        model = load_architecture(options.architecture)
        return model.moe.top_k if model.moe else None
    return options.top_k


def _warnings(where: str, options: CalibrationOptions) -> tuple[str, ...]:
    return (
        f"{where}: batch and sequence are not told apart: all rows count as one sequence; layers "
        "are numbered among the MoE layers",
        f"{where}: the top-k of router logits is not the real choice of routers with a sigmoid and "
        "bias, or limited to groups of experts"
        + ("" if options.architecture else " (no --arch given to tell)"),
    )


READER: Final = Reader("hf-router-logits", "Transformers router logits", _lacks, _read)
