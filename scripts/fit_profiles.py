"""Regenerate the measured constants of every bundled profile from the kernel tables.

    pip install 'codesign[kernels]'; python scripts/fit_profiles.py [DEVICE ...]

Rewrites codesign/hardware/profiles/*.yaml in place: kernels, all_reduce, expert_all_to_all. What
the tables do not have (datasheet figures, elementwise kernels, prices) stays as it is.
"""

import sys

import yaml

from codesign.calibration.kernels import fit_device, fitted_profile
from codesign.calibration.kernels.tables import DEVICES
from codesign.hardware.lookup import PROFILES
from codesign.spec.hardware import Hardware
from codesign.spec.load import load_spec


def main(names: list[str]) -> None:
    """Fit the devices named, or all."""
    for name in names or DEVICES:
        path = PROFILES / f"{name}.yaml"
        hardware = load_spec(path, Hardware)
        fits = fit_device(hardware, progress=lambda step: print(step, file=sys.stderr))
        data = fitted_profile(hardware, fits).to_data()
        path.write_text(yaml.safe_dump(data, sort_keys=False, width=100, allow_unicode=True))
        print(f"{name}: {len(fits.kernels)} fits, {len(data['kernels'])} kernels")


if __name__ == "__main__":
    main(sys.argv[1:])
