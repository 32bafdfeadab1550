"""Accelerators: bundled profiles, and the kernel constants an answer is priced with."""

from codesign.hardware.constants import ResolvedKernel, resolve_interconnect, resolve_kernel
from codesign.hardware.launches import eager_interconnect, eager_kernel
from codesign.hardware.lookup import list_hardware, load_hardware

__all__ = [
    "ResolvedKernel",
    "eager_interconnect",
    "eager_kernel",
    "list_hardware",
    "load_hardware",
    "resolve_interconnect",
    "resolve_kernel",
]
