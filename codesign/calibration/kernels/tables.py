"""Measured kernel tables of aiconfigurator-core: where they are and which version to read."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codesign.calibration.kernels.rows import Reasons, kernel_names, without
from codesign.errors import UsageError, did_you_mean
from codesign.spec.hardware import Backend
from codesign.spec.precision import Dtype

if TYPE_CHECKING:
    from pandas import DataFrame

PACKAGE: Final = "aiconfigurator-core 0.12.0"

DEVICES: Final = {
    "a100-sxm": "a100_sxm",
    "h100-sxm": "h100_sxm",
    "h200-sxm": "h200_sxm",
    "b200-sxm": "b200_sxm",
    "b300-sxm": "b300_sxm",
    "gb200": "gb200",
    "gb300": "gb300",
    "l40s": "l40s",
    "rtx-pro-6000": "rtx_pro_6000_server",
}
"""Folder of each bundled profile that has tables."""

BACKENDS: Final[tuple[Backend, ...]] = ("vllm", "sglang", "trtllm")

FORMATS: Final[dict[Dtype, str]] = {
    "bf16": "bfloat16",
    "fp8": "fp8",
    "fp8_block": "fp8_block",
    "nvfp4": "nvfp4",
    "mxfp4": "w4a16_mxfp4",
    "int4": "int4_wo",
}
"""What the tables call a number format of weights."""


@dataclass(frozen=True)
class Measured:
    """Rows of one version that can be used.

    Parameters
    ----------
    rows : DataFrame
    origin : str
        Package, table, engine and version.
    left_out : dict of str to int
        Reason and number of rows that are not here.
    """

    rows: "DataFrame"
    origin: str
    left_out: dict[str, int]

    @property
    def source(self) -> str:
        """Where the rows come from, their kernels included."""
        return f"{self.origin}, {kernel_names(self.rows)}"


@dataclass(frozen=True)
class KernelTable:
    """One kind of table.

    Parameters
    ----------
    group, name : str
        Folder and file name, such as ``moe`` and ``moe_perf``.
    format_column : str
        Column that holds the number format.
    shape : tuple of str
        Columns that make a shape.
    formats : collection of str
        Number formats it is read for.
    """

    group: str
    name: str
    format_column: str
    shape: tuple[str, ...]
    formats: Collection[Dtype] = tuple(FORMATS)

    def measured(
        self,
        device: str,
        backend: Backend,
        dtype: Dtype,
        reasons: Callable[["DataFrame"], Reasons],
        mislabelled: Collection[str] = (),
    ) -> Measured | None:
        """Return the usable rows of one device, engine and number format.

        Parameters
        ----------
        device : str
            Bundled profile.
        backend : Backend
        dtype : Dtype
        reasons : callable
            Rows -> by reason, which of them to leave out.
        mislabelled : collection of str
            Versions not to read.

        Returns
        -------
        Measured or None
            None where nothing usable was measured.
        """
        if dtype not in self.formats:
            return None
        versions = {
            version: rows[rows[self.format_column] == FORMATS[dtype]]
            for version, rows in read_versions(device, self.group, backend, self.name).items()
            if version not in mislabelled
        }
        chosen = richest_version(versions, list(self.shape))
        if chosen is None:
            return None
        version, rows = chosen
        kept, left_out = without(rows, reasons(rows))
        if kept.empty:
            return None
        return Measured(kept, f"{PACKAGE} {self.name}, {backend} {version}", left_out)


def tables_folder() -> Path:
    """Return the folder with one sub-folder per device.

    Raises
    ------
    UsageError
        If the package is not installed.
    """
    found = find_spec("aiconfigurator_core")
    if found is None or not found.submodule_search_locations:
        raise UsageError(
            "measured kernels are read from aiconfigurator-core, which is not installed; "
            "pip install 'codesign[kernels]'"
        )
    return Path(found.submodule_search_locations[0]) / "systems" / "data"


def device_folder(device: str) -> Path:
    """Return the tables of one bundled profile.

    Raises
    ------
    UsageError
        If the device has none.
    """
    if device not in DEVICES:
        raise UsageError(
            f"no kernels were measured on {device!r}{did_you_mean(device, DEVICES)}; measured: "
            f"{', '.join(DEVICES)}"
        )
    return tables_folder() / DEVICES[device]


def read_versions(device: str, group: str, backend: str, table: str) -> dict[str, "DataFrame"]:
    """Read one kind of table of one engine, newest version first.

    Parameters
    ----------
    device : str
        Bundled profile.
    group, table : str
        Folder and file name, such as ``moe`` and ``moe_perf``.
    backend : str
        Engine, or the library that was measured.

    Returns
    -------
    dict of str to DataFrame
        By version; empty where nothing was measured.
    """
    import pandas as pd

    found = (device_folder(device) / group / backend).glob(f"*/{table}.parquet")
    paths = sorted(found, key=lambda path: version_key(path.parent.name), reverse=True)
    return {path.parent.name: pd.read_parquet(path) for path in paths}


def version_key(version: str) -> tuple[int, ...]:
    """Order versions such as ``0.24.0``, ``0.5.6.post2`` and ``1.3.0rc20``.

    Examples
    --------
    >>> version_key("1.3.0rc20") > version_key("1.3.0rc3")
    True
    """
    return tuple(int(part) for part in re.findall(r"\d+", version))


def richest_version(
    versions: dict[str, "DataFrame"], shape: list[str]
) -> tuple[str, "DataFrame"] | None:
    """Return the newest version with at least half the shapes of the one that has most.

    A later release often re-measures only the shapes that its new kernel concerns.

    Parameters
    ----------
    versions : dict of str to DataFrame
        Newest first, rows already chosen.
    shape : list of str
        Columns that make a shape.
    """
    counts = {name: len(rows[shape].drop_duplicates()) for name, rows in versions.items()}
    most = max(counts.values(), default=0)
    for name, count in counts.items():
        if count and 2 * count >= most:
            return name, versions[name]
    return None
