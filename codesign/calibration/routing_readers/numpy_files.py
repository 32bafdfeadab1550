"""Plain .npy and .npz files: [tokens, layers, k], or [sequences, tokens, layers, k]."""

from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.router.rows import (
    open_member,
    open_npy,
    runs_of_shape,
    small_array,
    unpadded,
)
from codesign.calibration.router.trace import RoutingTrace, RowRange
from codesign.calibration.sample import Sample, open_archive
from codesign.errors import DataError

ID_ARRAYS: Final = (
    "routed_experts", "experts", "topk_ids", "expert_ids", "selected_experts", "expert_indices",
)  # fmt: skip
LENGTHS: Final = ("sequence_lengths", "seq_lens", "lengths")
OFFSETS: Final = ("offsets", "sequence_offsets", "cu_seqlens", "boundaries")
EXPERTS: Final = ("N", "num_experts", "n_experts", "num_local_experts", "n_routed_experts")
TOP_K: Final = ("k", "top_k", "num_experts_per_tok")
LAYERS: Final = ("layers", "layer_ids")

VLLM_DTYPES: Final = {
    "uint8": "uint8: vLLM 0.22 or later writes it where N <= 256",
    "uint16": "uint16: vLLM 0.22 or later writes it where N > 256",
    "int16": "int16: vLLM 0.21 writes it, routed layers only",
    "int32": "int32: vLLM 0.14 to 0.20 writes it",
}


def _lacks_npy(sample: Sample) -> str | None:
    return None if sample.container == "npy" else "is no .npy file"


def _read_npy(sample: Sample, _: CalibrationOptions) -> tuple[RoutingTrace, ...]:
    path = sample.path
    selections, shape = open_npy(path)
    trace = RoutingTrace(
        str(path), selections, runs_of_shape(shape), tuple(range(shape[-2])),
        facts=(VLLM_DTYPES.get(selections.dtype.name, selections.dtype.name),),
        warnings=_one_sequence(str(path), shape),
    )  # fmt: skip
    return (trace,)


def _one_sequence(where: str, shape: tuple[int, ...]) -> tuple[str, ...]:
    if len(shape) == 4:
        return ()
    return (
        f"{where}: no sequence boundaries and no split into prompt and output: all "
        f"{shape[0]:,} rows count as one sequence",
    )


NPY_READER: Final = Reader("npy", "numpy array of expert ids", _lacks_npy, _read_npy)


def _members(sample: Sample) -> dict[str, str]:
    """Arrays of a .npz by name, each with its member of the archive."""
    with open_archive(sample.path) as archive:
        return {name.removesuffix(".npy"): name for name in archive.namelist()}


def _lacks_npz(sample: Sample) -> str | None:
    if sample.container != "zip":
        return "is no .npz file"
    names = _members(sample)
    if not any(name in names for name in ID_ARRAYS):
        return f"holds no array {', '.join(ID_ARRAYS)} (it has {', '.join(names) or 'none'})"
    return None


def _read_npz(sample: Sample, _: CalibrationOptions) -> tuple[RoutingTrace, ...]:
    path, names = sample.path, _members(sample)
    key = next((name for name in ID_ARRAYS if name in names), None)
    if key is None:
        raise DataError(f"{path}: holds no array {', '.join(ID_ARRAYS)}")
    with open_archive(path) as archive:

        def small(choices: tuple[str, ...]) -> NDArray[Any] | None:
            found = next((names[name] for name in choices if name in names), None)
            return None if found is None else small_array(archive, found, str(path))

        selections, shape = open_member(archive, names[key], f"{path}: {key}")
        lengths, offsets, layers = small(LENGTHS), small(OFFSETS), small(LAYERS)
        experts, top_k = small(EXPERTS), small(TOP_K)
        mask = small(("attention_mask",))
    _check_top_k(path, top_k, shape[-1])
    runs = _boundaries(str(path), lengths, offsets, shape)
    trace = RoutingTrace(
        f"{path}: {key}", selections, unpadded(runs, mask, str(path)),
        tuple(range(shape[-2])) if layers is None else tuple(layers.ravel().tolist()),
        experts=None if experts is None else int(experts.ravel()[0]),
        warnings=_one_sequence(str(path), shape) if len(runs) == 1 else (),
    )  # fmt: skip
    return (trace,)


def _check_top_k(path: object, top_k: NDArray[Any] | None, width: int) -> None:
    if top_k is not None and int(top_k.ravel()[0]) != width:
        raise DataError(f"{path}: k is said to be {int(top_k.ravel()[0])}, but rows have {width}")


def _boundaries(
    where: str,
    lengths: NDArray[Any] | None,
    offsets: NDArray[Any] | None,
    shape: tuple[int, ...],
) -> tuple[tuple[RowRange, ...], ...]:
    if len(shape) == 4:
        return runs_of_shape(shape)
    if lengths is not None:
        ends = np.concatenate([[0], np.cumsum(lengths)])
    elif offsets is not None:
        ends = np.unique(np.concatenate([[0], np.ravel(offsets), [shape[0]]]))
    else:
        return runs_of_shape(shape)
    if ends.dtype.kind not in "iu" or ends[-1] != shape[0] or (np.diff(ends) < 0).any():
        raise DataError(f"{where}: the sequence boundaries do not add up to {shape[0]:,} rows")
    return tuple(((start, stop),) for start, stop in pairwise(ends.tolist()) if stop > start)


NPZ_READER: Final = Reader("npz", "numpy archive of expert ids", _lacks_npz, _read_npz)
