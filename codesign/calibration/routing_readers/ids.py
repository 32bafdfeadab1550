"""Expert ids as engines put them into JSON: base64 of a .npy, a payload with its shape, lists."""

import base64
import binascii
import io
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from codesign.calibration.router.rows import flat_shape, read_header
from codesign.calibration.router.trace import Ids, RowRange
from codesign.errors import DataError

PAYLOAD_KEYS: Final = frozenset({"data", "shape", "dtype"})


def is_payload(value: object) -> bool:
    """Tell whether a JSON value is base64 data with its shape and type beside it."""
    return isinstance(value, dict) and value.keys() >= PAYLOAD_KEYS


def decode_ids(value: object, where: str) -> Ids:
    """Return ids of shape (tokens, layers, k), whatever way they were written.

    Raises
    ------
    DataError
        If they are broken, or no ids.
    """
    if isinstance(value, str):
        array = _npy(base64_bytes(value, where), where)
    elif isinstance(value, dict):
        array = _payload(value, where)
    else:
        array = _nested(value, where)
    if array.ndim != 3:
        raise DataError(f"{where}: expert ids are [tokens, layers, k], not {list(array.shape)}")
    flat_shape(array.shape, array.dtype, where)
    return array


def base64_bytes(text: str, where: str) -> bytes:
    """Decode base64.

    Raises
    ------
    DataError
        If it is none.
    """
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise DataError(f"{where}: not valid base64 (cut off?)") from None


def _npy(data: bytes, where: str) -> NDArray[Any]:
    if not data.startswith(b"\x93NUMPY"):
        raise DataError(
            f"{where}: the base64 data is no .npy; raw ids as SGLang writes them stand under "
            "meta_info or sglext"
        )
    stream = io.BytesIO(data)
    shape, fortran, dtype = read_header(stream, where)
    return _shaped(stream.read(), shape, dtype, "F" if fortran else "C", where)


def _payload(value: dict[str, Any], where: str) -> NDArray[Any]:
    try:
        dtype, shape = np.dtype(value["dtype"]), tuple(int(size) for size in value["shape"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise DataError(f"{where}: ids need data, shape and dtype") from None
    if any(size < 0 for size in shape):
        raise DataError(f"{where}: {list(shape)} is no shape")
    if dtype.kind not in "iu":
        raise DataError(f"{where}: expert ids are whole numbers, not {dtype}")
    return _shaped(base64_bytes(str(value["data"]), where), shape, dtype, "C", where)


def _shaped(
    data: bytes, shape: tuple[int, ...], dtype: np.dtype[Any], order: Any, where: str
) -> NDArray[Any]:
    wanted = math.prod(shape) * dtype.itemsize
    if len(data) != wanted:
        raise DataError(
            f"{where}: {len(data):,} bytes of ids, but {list(shape)} of {dtype} are {wanted:,}"
        )
    return np.frombuffer(data, dtype).reshape(shape, order=order)


def _nested(value: object, where: str) -> NDArray[Any]:
    try:
        array = np.array(value)
    except ValueError:
        raise DataError(f"{where}: the lists of expert ids have unequal lengths") from None
    if array.dtype.kind not in "iu":
        raise DataError(f"{where}: expert ids are whole numbers in nested lists")
    return array


def joined(pieces: Sequence[Ids], where: str) -> tuple[Ids, tuple[RowRange, ...]]:
    """Put ids of several requests one after the other; also the rows of each.

    Raises
    ------
    DataError
        If they differ in layers or k.
    """
    shapes = {piece.shape[1:] for piece in pieces}
    if len(shapes) > 1:
        listed = " and ".join(str(list(shape)) for shape in sorted(shapes))
        raise DataError(f"{where}: requests of different models: layers and k are {listed}")
    ends = np.cumsum([len(piece) for piece in pieces]).tolist()
    return np.concatenate(pieces), tuple(zip([0, *ends[:-1]], ends, strict=True))
