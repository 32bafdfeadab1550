"""`codesign calibrate kernels`: constants of a hardware profile from measured kernel tables."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from codesign.cli.options import Format, FormatOption
from codesign.cli.output import deliver, say


def kernels(
    device: Annotated[str, typer.Option("--device", help="Bundled GPU, such as h100-sxm.")],
    backend: Annotated[
        list[str] | None, typer.Option("--backend", help="vllm, sglang or trtllm [all].")
    ] = None,
    dtype: Annotated[
        list[str] | None, typer.Option("--dtype", help="Format of the weights or cache [all].")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Profile to write, the fits put in.")
    ] = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Fit floors, bandwidths and compute of a GPU's kernels, from aiconfigurator-core's tables."""
    from codesign.calibration.kernels import fit_device, fitted_profile
    from codesign.calibration.kernels.choices import chosen_backends, chosen_dtypes
    from codesign.hardware import load_hardware
    from codesign.report.kernel_tables import render_fits

    hardware = load_hardware(device)
    fits = fit_device(
        hardware,
        backends=chosen_backends(backend),
        dtypes=chosen_dtypes(dtype),
        progress=lambda step: say(step) if sys.stderr.isatty() else None,
    )

    def save() -> None:
        if out is None:
            say("not saved; --out my-gpu.yaml writes a profile with these constants")
            return
        from codesign.calibration.kernels.profile import save_profile

        save_profile(fitted_profile(hardware, fits), out)
        say(f"wrote profile {out}")

    deliver(render_fits(hardware, fits, format_.value), save)
