"""`codesign calibrate SECTION FILES`: fit one section of a calibration file."""

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from codesign.cli.options import Format, FormatOption, known_picture, with_parameters
from codesign.cli.output import deliver, say
from codesign.cli.progress import progress_bars

if TYPE_CHECKING:
    from codesign.calibration.options import CalibrationOptions
    from codesign.spec.calibration import SectionName
    from codesign.spec.section import Section

calibrate = typer.Typer(
    name="calibrate",
    help="Fit defaults to what your engines wrote.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

FILES: Final = "The files"
MEASURED: Final = "What the files may not say"


def _option(flag: str, text: str, panel: str, least: int | None = None) -> Any:
    return typer.Option(flag, help=text, rich_help_panel=panel, min=least)


InputFormat = Annotated[
    str | None, _option("--input-format", "Reader to use [detected from the content].", FILES)
]
Arch = Annotated[
    str | None, _option("--arch", "Measured model: bundled name, config.json or YAML.", MEASURED)
]
Experts = Annotated[int | None, _option("--experts", "N, without --arch.", MEASURED, 1)]
TopK = Annotated[int | None, _option("--top-k", "k, without --arch.", MEASURED, 1)]
Layers = Annotated[
    int | None, _option("--layers", "Layers that were measured, without --arch.", MEASURED, 1)
]
BatchSize = Annotated[int | None, _option("--batch-size", "Sequences decoded together.", MEASURED)]
DraftTokens = Annotated[int | None, _option("--draft-tokens", "K of the measurement.", MEASURED, 0)]
Context = Annotated[int | None, _option("--context", "Cached tokens per sequence.", MEASURED)]
Hardware = Annotated[str | None, _option("--hw", "Bundled GPU or profile.", MEASURED)]
Backend = Annotated[str | None, _option("--backend", "vllm, sglang or trtllm.", MEASURED)]
Dtype = Annotated[str | None, _option("--dtype", "Format of the weights.", MEASURED)]
Gpus = Annotated[int | None, _option("--gpus", "GPUs of the replica.", MEASURED)]
Tp = Annotated[int | None, _option("--tp", "Tensor-parallel degree.", MEASURED)]
Ep = Annotated[int | None, _option("--ep", "Expert-parallel degree.", MEASURED)]
InputTokens = Annotated[
    int | None, _option("--input-len", "Prompt tokens, for a whole batch's time.", MEASURED)
]
OutputTokens = Annotated[
    int | None, _option("--output-len", "Generated tokens, for the same.", MEASURED)
]
Draft = Annotated[
    str, _option("--draft", "What drafted: eagle, mtp, fraction:X, model:NAME.", MEASURED)
]
Replicates = Annotated[
    int, _option("--replicates", "Bootstrap replicates behind standard errors.", FILES, 2)
]
Seed = Annotated[int, _option("--seed", "Of the bootstrap.", FILES)]

Fit = Callable[[list[Path], "CalibrationOptions"], "Section"]


def _every_section(
    files: Annotated[list[Path], typer.Argument(help="Files as the engine wrote them.")],
    out: Annotated[
        Path | None, _option("--out", "Calibration file to merge the section into.", FILES)
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot", help="Picture of the fit: .png, .svg or .pdf.", rich_help_panel=FILES,
            callback=known_picture,
        ),
    ] = None,
    format_: FormatOption = Format.TABLE,
) -> None:  # fmt: skip
    """Carry the signature; `_section` merges it into a command's own."""


def _section(command: Callable[..., Fit]) -> Callable[..., None]:
    """Register a subcommand that fits a section.

    Its parameters are fields of `CalibrationOptions`; what it returns does the fit.
    """
    files, *shared = inspect.signature(_every_section).parameters.values()
    own = inspect.signature(command).parameters.values()

    @wraps(command)
    def run(
        files: list[Path], out: Path | None, plot: Path | None, format_: Format, **given: Any
    ) -> None:
        from codesign.calibration.options import CalibrationOptions

        fit = command(**given)
        with progress_bars() as progress:
            section = fit(files, CalibrationOptions(**given, progress=progress))
        name: Any = command.__name__  # a command is called as its section is
        _finish(name, section, out, plot, format_)

    return calibrate.command()(with_parameters(run, [files, *own, *shared]))


@_section
def routing(
    architecture: Arch = None,
    experts: Experts = None,
    top_k: TopK = None,
    layers: Layers = None,
    input_format: InputFormat = None,
    replicates: Replicates = 200,
    seed: Seed = 0,
) -> Fit:
    """Fit how alike nearby tokens' experts are, from routed experts."""
    from codesign.calibration.routing import calibrate_routing

    return calibrate_routing


@_section
def acceptance(
    draft_tokens: Annotated[
        int | None, _option("--draft-tokens", "K of the measurement.", MEASURED, 1)
    ] = None,
    input_format: InputFormat = None,
    replicates: Replicates = 200,
    seed: Seed = 0,
) -> Fit:
    """Fit how many drafted tokens are accepted, from metrics, logs and bench files."""
    from codesign.calibration.acceptance import calibrate_acceptance

    return calibrate_acceptance


@_section
def latency(
    architecture: Arch = None,
    hardware: Hardware = None,
    backend: Backend = None,
    dtype: Dtype = None,
    gpus: Gpus = None,
    tensor_parallel: Tp = None,
    expert_parallel: Ep = None,
    batch_size: BatchSize = None,
    draft_tokens: DraftTokens = None,
    context: Context = None,
    input_tokens: InputTokens = None,
    output_tokens: OutputTokens = None,
    draft: Draft = "eagle",
    experts: Experts = None,
    top_k: TopK = None,
    input_format: InputFormat = None,
) -> Fit:
    """Fit step-time constants, from latency benchmarks and logs."""
    from codesign.calibration.latency import calibrate_latency

    return calibrate_latency


@_section
def profile(
    architecture: Arch = None,
    layers: Layers = None,
    hardware: Hardware = None,
    backend: Backend = None,
    batch_size: BatchSize = None,
    draft_tokens: DraftTokens = None,
    input_format: InputFormat = None,
) -> Fit:
    """Split a step's time into components, from profiler traces."""
    from codesign.calibration.profile import calibrate_profile

    return calibrate_profile


@_section
def quality(replicates: Replicates = 200, seed: Seed = 0) -> Fit:
    """Refit the effective-parameters law, from a table of ablations."""
    from codesign.calibration.quality_section import calibrate_quality

    return calibrate_quality


def _finish(
    name: "SectionName", section: "Section", out: Path | None, plot: Path | None, form: Format
) -> None:
    """Merge the section, draw it, print it."""
    from codesign.report.calibration_tables import render_section

    def save() -> None:
        if out is None:
            say("not saved; --out calibration.yaml merges the section into a file")
        else:
            from codesign.calibration.file import save_section

            save_section(out, name, section)
            say(f"merged section {name} into {out}")
        if plot is not None:
            from codesign.report.calibration_plots import plot_section

            plot_section(name, section, plot)
            say(f"drew {plot}")

    deliver(render_section(name, section, form.value), save)
