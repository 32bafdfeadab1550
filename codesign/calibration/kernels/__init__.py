"""Kernel constants from measured kernels: the tables of aiconfigurator-core (extra ``kernels``).

Read top down: `tables` finds and reads them, `benchmark_routing` says how many experts a benchmark
loaded, `routed`, `dense`, `attention` and `collectives` turn rows into bytes and FLOP and say which
rows are left out and why, `fit` fits, `profile` puts a device's constants together.
"""

from codesign.calibration.kernels.fit import FittedKernel, fit_kernel
from codesign.calibration.kernels.profile import DeviceFits, fit_device, fitted_profile

__all__ = ["DeviceFits", "FittedKernel", "fit_device", "fit_kernel", "fitted_profile"]
