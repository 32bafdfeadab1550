"""Designs in a file: the feasible ones, or all of the space, streamed shard by shard."""

import gzip
from collections.abc import Iterable, Iterator
from functools import partial
from importlib.util import find_spec
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from codesign.designs import AXES, Designs
from codesign.errors import UsageError
from codesign.search.enumerate import CHUNKS_PER_SHARD, POINTS_AT_ONCE
from codesign.search.executor import Pool, Shared
from codesign.search.problem import Problem
from codesign.search.variants import Variants
from codesign.whole_file import whole_file

ROWS_AT_ONCE: Final = 2**16

Task = tuple[int, tuple[int, ...]]


def design_table(problem: Problem, designs: Designs) -> pd.DataFrame:
    """Return designs with what they were judged by, at the values in use.

    Columns are the axes, the settings of further axes, the objectives, by how much of its limit
    each constraint is exceeded (0 or less where it is met), and whether all are met.
    """
    evaluation = problem.evaluate(designs)

    def column(values: NDArray[Any]) -> NDArray[Any]:
        return np.broadcast_to(values, designs.shape).reshape(-1)

    table: dict[str, Any] = {axis: column(getattr(designs, axis)).astype(np.int64) for axis in AXES}
    table |= dict(problem.settings)
    table |= {name: column(values) for name, values in evaluation.objectives.items()}
    for name, each in evaluation.assessments.items():
        table[f"{name}_excess"] = column(each.violation)
    table["feasible"] = column(evaluation.violated) == 0
    return pd.DataFrame(table)


def listed_tables(problem: Problem, designs: Designs) -> Iterator[pd.DataFrame]:
    """Yield the tables of a list of designs, a bounded number of rows at a time."""
    for start in range(0, designs.shape[0], ROWS_AT_ONCE):
        rows = np.arange(start, min(start + ROWS_AT_ONCE, designs.shape[0]))
        yield design_table(problem, designs.take(rows))


def all_tables(variants: Variants, pool: Pool) -> Iterator[pd.DataFrame]:
    """Yield the tables of every design of every variant, in the order of the space."""
    shards = [*variants.own.space.chunks(POINTS_AT_ONCE * CHUNKS_PER_SHARD)]
    tasks: Iterable[Task] = ((index, shard) for index in range(len(variants)) for shard in shards)
    yield from pool.map(partial(_shard_table, Shared(variants)), tasks)


def _shard_table(shared: Shared[Variants], task: Task) -> pd.DataFrame:
    index, shard = task
    problem, tables = shared.value.problem(index), []
    for experts in problem.space.chunks(POINTS_AT_ONCE, shard):
        for top_k in problem.space.slices(experts, POINTS_AT_ONCE):
            designs, valid = problem.space.mesh(experts, top_k)
            index_of = np.flatnonzero(np.broadcast_to(valid, designs.shape))
            tables.append(design_table(problem, designs.take(index_of)))
    return pd.concat(tables, ignore_index=True)


def write_tables(tables: Iterable[pd.DataFrame], folder: Path, parquet: bool) -> Path:
    """Write designs.parquet, or designs.csv.gz, table after table; whole or not at all.

    Raises
    ------
    UsageError
        If Parquet is asked for and pyarrow is missing, or the folder cannot be written.
    """
    if parquet and find_spec("pyarrow") is None:
        raise UsageError("Parquet needs pyarrow: pip install 'codesign[parquet]'")
    path = folder / ("designs.parquet" if parquet else "designs.csv.gz")
    with whole_file(path) as file:
        (_write_parquet if parquet else _write_csv)(tables, file)
    return path


def _write_csv(tables: Iterable[pd.DataFrame], file: BinaryIO) -> None:
    """Compress without a time stamp: the same designs give the same bytes."""
    with (
        gzip.GzipFile("", "wb", 6, file, mtime=0) as packed,
        TextIOWrapper(packed, encoding="utf-8", newline="") as text,
    ):
        for number, table in enumerate(tables):
            table.to_csv(text, index=False, header=number == 0, lineterminator="\n")


def _write_parquet(tables: Iterable[pd.DataFrame], file: BinaryIO) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    for table in tables:
        rows = pa.Table.from_pandas(table, preserve_index=False)
        writer = writer or pq.ParquetWriter(file, rows.schema, compression="zstd")
        writer.write_table(rows)
    if writer is not None:
        writer.close()
