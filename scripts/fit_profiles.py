"""Regenerate the measured constants of every bundled profile from the kernel tables.

    pip install 'codesign[kernels]'; python scripts/fit_profiles.py [DEVICE ...]

Rewrites codesign/hardware/profiles/*.yaml in place: kernels, all_reduce, expert_all_to_all. What
the tables do not have (datasheet figures, elementwise kernels, prices) stays as it is.
"""

import sys
from typing import Any, Final

import yaml

from codesign.calibration.kernels import fit_device, fitted_profile
from codesign.calibration.kernels.tables import DEVICES
from codesign.hardware.lookup import PROFILES
from codesign.spec.hardware import Hardware
from codesign.spec.load import load_spec

FITTED: Final = ("kernels", "all_reduce", "expert_all_to_all")


def main(names: list[str]) -> None:
    """Fit the devices named, or all."""
    for name in names or DEVICES:
        path = PROFILES / f"{name}.yaml"
        hardware = load_spec(path, Hardware)
        fits = fit_device(hardware, progress=lambda step: print(step, file=sys.stderr))
        fitted = fitted_profile(hardware, fits).to_data()
        data = yaml.safe_load(path.read_text())  # datasheet figures stay as they are written
        notes = data.pop("notes", None)
        data |= {section: _readable(fitted[section]) for section in FITTED if section in fitted}
        data |= {"notes": notes} if notes else {}
        path.write_text(yaml.safe_dump(data, sort_keys=False, width=100, allow_unicode=True))
        print(f"{name}: {len(fits.kernels)} fits, {len(data['kernels'])} kernels")


def _readable(data: Any) -> Any:
    """Write times in us and compute in FLOP/s, and leave out what says nothing."""
    if isinstance(data, list):
        return [_readable(item) for item in data]
    if isinstance(data, dict):
        return {key: _readable(value) for key, value in data.items() if not _silent(key, value)}
    if isinstance(data, str):
        return data.replace(" µs", " us").replace("TOP/s", "TFLOP/s")
    return data


def _silent(key: str, value: object) -> bool:
    return (key, value) in (("norm", 1.0), ("narrow_width", 0.0))


if __name__ == "__main__":
    main(sys.argv[1:])
