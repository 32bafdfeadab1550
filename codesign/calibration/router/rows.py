"""Expert ids in numpy files, read piece by piece: never unpickled, never whole."""

import io
import math
import shutil
import tempfile
import tokenize
import warnings
import weakref
import zipfile
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from codesign.calibration.router.trace import ArraySelections, Ids, RowRange, Selections
from codesign.calibration.sample import ZIP_FAULTS
from codesign.calibration.stream import ALWAYS_ALLOWED, LARGEST_EXPANSION
from codesign.errors import DataError

HEADER_FAULTS: Final = (
    ValueError, EOFError, SyntaxError, TypeError, RecursionError, MemoryError, tokenize.TokenError,
)  # fmt: skip
"""What numpy raises on a broken header, which is a Python literal."""

WHOLE_BYTES: Final = 32 << 20
"""Arrays up to this size are simply loaded."""


class FileSelections:
    """Selections in an open file, row after row.

    Parameters
    ----------
    stream : binary file
        Positioned anywhere.
    offset : int
        Of the first row [byte].
    dtype : dtype
    shape : tuple of int
        Rows, planes, ids per row.
    """

    def __init__(
        self, stream: IO[bytes], offset: int, dtype: np.dtype[Any], shape: tuple[int, int, int]
    ) -> None:
        self._stream, self._offset = stream, offset
        self.dtype, self.shape = dtype, shape
        weakref.finalize(self, stream.close)

    def rows(self, start: int, stop: int) -> Ids:
        """Return some rows, shape (rows, planes, k)."""
        _, planes, width = self.shape
        row = planes * width * self.dtype.itemsize
        self._stream.seek(self._offset + start * row)
        data = self._stream.read((stop - start) * row)
        return np.frombuffer(data, self.dtype).reshape(-1, planes, width)


Opened = tuple[Selections, tuple[int, ...]]
"""Ids row after row, and the shape of the array that holds them."""


def open_npy(path: Path) -> Opened:
    """Open a .npy file of ids, [tokens, layers, k] or [sequences, tokens, layers, k].

    Raises
    ------
    DataError
        If it is no array of ids, or cut off.
    """
    return _open_array(path.open("rb"), f"{path}", path.stat().st_size)


def open_member(archive: zipfile.ZipFile, name: str, where: str) -> Opened:
    """Open one array of a .npz file, unpacked to a temporary file if it is large."""
    member_info = archive.getinfo(name)
    size, packed = member_info.file_size, member_info.compress_size
    if size > ALWAYS_ALLOWED and size > LARGEST_EXPANSION * packed:
        raise DataError(
            f"{where}: {packed:,} bytes of zip expand to {size:,}, which no routing does"
        )
    try:
        with archive.open(name) as member:
            unpacked = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the selections
            shutil.copyfileobj(member, unpacked, 1 << 20)
    except ZIP_FAULTS:
        raise DataError(f"{where}: the zip data is cut off or broken") from None
    return _open_array(unpacked, where, size)


def small_array(archive: zipfile.ZipFile, name: str, where: str) -> NDArray[Any]:
    """Load a whole array of a .npz file.

    Raises
    ------
    DataError
        If it is broken, holds Python objects, or is too large for what it is.
    """
    if archive.getinfo(name).file_size > WHOLE_BYTES:
        raise DataError(f"{where}: {name} is too large")
    try:
        stream = io.BytesIO(archive.read(name))
        shape, _, dtype = read_header(stream, f"{where}: {name}")
        if math.prod(shape) * dtype.itemsize > len(stream.getvalue()):
            raise DataError(f"{where}: {name} is cut off")
        stream.seek(0)
        array: NDArray[Any] = npy.read_array(stream, allow_pickle=False)
    except (*ZIP_FAULTS, *HEADER_FAULTS) as error:
        raise DataError(f"{where}: {name} cannot be read: {error}") from None
    return array


def read_header(stream: IO[bytes], where: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, column order and type of a .npy stream, positioned after its header.

    Raises
    ------
    DataError
        If the header is broken or announces Python objects.
    """
    try:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of Python 2: as good as any
            shape, fortran, dtype = read(stream)
    except HEADER_FAULTS as error:
        raise DataError(f"{where}: not a readable .npy array: {error}") from None
    if dtype.hasobject:
        raise DataError(
            f"{where}: holds pickled Python objects, which could run code when read; save plain "
            "integers with numpy.save(file, array, allow_pickle=False)"
        )
    return shape, fortran, dtype


def _open_array(stream: IO[bytes], where: str, size: int) -> Opened:
    try:
        stream.seek(0)
        shape, fortran, dtype = read_header(stream, where)
        flat = flat_shape(shape, dtype, where)
        offset, wanted = stream.tell(), math.prod(shape) * dtype.itemsize
        if size - offset < wanted:
            raise DataError(
                f"{where}: cut off: {wanted:,} bytes of data announced, {size - offset:,} there"
            )
        if wanted > WHOLE_BYTES:
            if fortran:
                raise DataError(
                    f"{where}: stored column by column; save numpy.ascontiguousarray(array)"
                )
            return FileSelections(stream, offset, dtype, flat), shape
        array = np.frombuffer(stream.read(wanted), dtype)
    except BaseException:
        stream.close()
        raise
    stream.close()
    array = array.reshape(shape, order="F" if fortran else "C")
    return ArraySelections(array.reshape(flat)), shape


def flat_shape(shape: tuple[int, ...], dtype: np.dtype[Any], where: str) -> tuple[int, int, int]:
    """Return rows, planes and ids per row of an array of ids.

    Raises
    ------
    DataError
        If it cannot be one.
    """
    if dtype.kind not in "iu":
        what = "router logits or weights" if dtype.kind == "f" else "something else"
        raise DataError(f"{where}: expert ids are whole numbers; {dtype} is {what}")
    if len(shape) not in (3, 4) or min(shape) < 1:
        raise DataError(
            f"{where}: expert ids are [tokens, layers, k] or [sequences, tokens, layers, k]; "
            f"the shape here is {list(shape)}"
        )
    return math.prod(shape[:-2]), int(shape[-2]), int(shape[-1])


def runs_of_shape(shape: tuple[int, ...]) -> tuple[tuple[RowRange, ...], ...]:
    """Return the sequences of an array of ids: all rows, or those of each first index."""
    if len(shape) == 3:
        return (((0, shape[0]),),)
    return tuple((((i * shape[1]), (i + 1) * shape[1]),) for i in range(shape[0]))


def unpadded(
    sequences: tuple[tuple[RowRange, ...], ...], mask: NDArray[Any] | None, where: str
) -> tuple[tuple[RowRange, ...], ...]:
    """Keep the rows of each sequence that an attention mask marks, padded left or right.

    Raises
    ------
    DataError
        If the mask is for another number of sequences.
    """
    if mask is None:
        return sequences
    if len(mask) != len(sequences):
        raise DataError(
            f"{where}: attention_mask has {len(mask)} rows for {len(sequences)} sequences"
        )
    kept = []
    for ((start, _),), row in zip(sequences, mask, strict=True):
        real = np.flatnonzero(row)
        if real.size:
            kept.append(((start + int(real[0]), start + int(real[-1]) + 1),))
    return tuple(kept)
