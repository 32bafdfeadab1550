"""`codesign calibrate SECTION FILES`: fit one section of a calibration file."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from codesign.cli.options import Format, FormatOption
from codesign.cli.output import deliver, say
from codesign.cli.progress import progress_bars

if TYPE_CHECKING:
    from codesign.calibration.options import CalibrationOptions
    from codesign.spec.calibration import SectionName
    from codesign.spec.section import Section

calibrate = typer.Typer(
    name="calibrate",
    help="Fit a section of a calibration file from the files that engines write.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

FILES: Final = "The files"
MEASURED: Final = "What the files may not say"
PICTURES: Final = (".png", ".svg", ".pdf")


def _option(flag: str, text: str, panel: str, least: int | None = None) -> Any:
    return typer.Option(flag, help=text, rich_help_panel=panel, min=least)


def _known_picture(path: Path | None) -> Path | None:
    """Refuse a picture that cannot be drawn before the fit, not after it."""
    if path is not None:
        from codesign.errors import UsageError

        if path.suffix.lower() not in PICTURES:
            endings = ", ".join(PICTURES)
            raise UsageError(f"--plot: a picture ends in {endings}, not {path.suffix!r}")
    return path


Files = Annotated[list[Path], typer.Argument(help="Files as the engine wrote them.")]
Out = Annotated[Path | None, _option("--out", "Calibration file to merge the section into.", FILES)]
Plot = Annotated[
    Path | None,
    typer.Option(
        "--plot", help="Picture of the fit: .png, .svg or .pdf.", rich_help_panel=FILES,
        callback=_known_picture,
    ),
]  # fmt: skip
InputFormat = Annotated[
    str | None, _option("--input-format", "Reader to use [detected from the content].", FILES)
]
Arch = Annotated[
    str | None, _option("--arch", "Measured model: bundled name, config.json or YAML.", MEASURED)
]
BatchSize = Annotated[int | None, _option("--batch-size", "Sequences decoded together.", MEASURED)]
DraftTokens = Annotated[int | None, _option("--draft-tokens", "K of the measurement.", MEASURED)]
Context = Annotated[int | None, _option("--context", "Cached tokens per sequence.", MEASURED)]
Hardware = Annotated[str | None, _option("--hw", "Bundled GPU or profile.", MEASURED)]
Backend = Annotated[str | None, _option("--backend", "vllm, sglang or trtllm.", MEASURED)]
Dtype = Annotated[str | None, _option("--dtype", "Format of the weights.", MEASURED)]
Gpus = Annotated[int | None, _option("--gpus", "GPUs of the replica.", MEASURED)]
Tp = Annotated[int | None, _option("--tp", "Tensor-parallel degree.", MEASURED)]
Ep = Annotated[int | None, _option("--ep", "Expert-parallel degree.", MEASURED)]
Replicates = Annotated[
    int, _option("--replicates", "Bootstrap replicates behind standard errors.", FILES, 2)
]
Seed = Annotated[int, _option("--seed", "Of the bootstrap.", FILES)]


@calibrate.command()
def routing(
    files: Files,
    arch: Arch = None,
    experts: Annotated[int | None, _option("--experts", "N, without --arch.", MEASURED, 1)] = None,
    top_k: Annotated[int | None, _option("--top-k", "k, without --arch.", MEASURED, 1)] = None,
    layers: Annotated[
        int | None, _option("--layers", "Layers in the file, without --arch.", MEASURED, 1)
    ] = None,
    input_format: InputFormat = None,
    replicates: Replicates = 200,
    seed: Seed = 0,
    out: Out = None,
    plot: Plot = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Fit how alike nearby tokens' experts are, from routed experts."""
    from codesign.calibration.routing import calibrate_routing

    options = _options(
        architecture=arch, experts=experts, top_k=top_k, layers=layers, input_format=input_format,
        replicates=replicates, seed=seed,
    )  # fmt: skip
    with _watched(options) as watched:
        section = calibrate_routing(files, watched)
    _finish("routing", section, out, plot, format_)


@calibrate.command()
def acceptance(
    files: Files,
    draft_tokens: Annotated[
        int | None, _option("--draft-tokens", "K of the measurement.", MEASURED, 1)
    ] = None,
    input_format: InputFormat = None,
    replicates: Replicates = 200,
    seed: Seed = 0,
    out: Out = None,
    plot: Plot = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Fit how many drafted tokens are accepted, from metrics, logs and bench files."""
    from codesign.calibration.acceptance import calibrate_acceptance

    options = _options(
        draft_tokens=draft_tokens, input_format=input_format, replicates=replicates, seed=seed
    )
    with _watched(options) as watched:
        section = calibrate_acceptance(files, watched)
    _finish("acceptance", section, out, plot, format_)


@calibrate.command()
def latency(
    files: Files,
    arch: Arch = None,
    hw: Hardware = None,
    backend: Backend = None,
    dtype: Dtype = None,
    gpus: Gpus = None,
    tp: Tp = None,
    ep: Ep = None,
    batch_size: BatchSize = None,
    draft_tokens: DraftTokens = None,
    context: Context = None,
    input_len: Annotated[
        int | None, _option("--input-len", "Prompt tokens, for a whole batch's time.", MEASURED)
    ] = None,
    output_len: Annotated[
        int | None, _option("--output-len", "Generated tokens, for the same.", MEASURED)
    ] = None,
    draft: Annotated[
        str, _option("--draft", "What drafted: eagle, mtp, fraction:X, model:NAME.", MEASURED)
    ] = "eagle",
    experts: Annotated[
        int | None, _option("--experts", "N, for kernel times without --arch.", MEASURED)
    ] = None,
    top_k: Annotated[
        int | None, _option("--top-k", "k, for kernel times without --arch.", MEASURED)
    ] = None,
    input_format: InputFormat = None,
    out: Out = None,
    plot: Plot = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Fit step-time constants, from latency benchmarks and logs."""
    from codesign.calibration.latency import calibrate_latency

    options = _options(
        architecture=arch, hardware=hw, backend=backend, dtype=dtype, gpus=gpus,
        tensor_parallel=tp, expert_parallel=ep, batch_size=batch_size, draft_tokens=draft_tokens,
        context=context, input_tokens=input_len, output_tokens=output_len, draft=draft,
        experts=experts, top_k=top_k, input_format=input_format,
    )  # fmt: skip
    with _watched(options) as watched:
        section = calibrate_latency(files, watched)
    _finish("latency", section, out, plot, format_)


@calibrate.command()
def profile(
    files: Files,
    arch: Arch = None,
    layers: Annotated[
        int | None, _option("--layers", "Layers of the model, without --arch.", MEASURED)
    ] = None,
    hw: Hardware = None,
    backend: Backend = None,
    batch_size: BatchSize = None,
    draft_tokens: DraftTokens = None,
    input_format: InputFormat = None,
    out: Out = None,
    plot: Plot = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Split a step's time into components, from profiler traces."""
    from codesign.calibration.profile import calibrate_profile

    options = _options(
        architecture=arch, layers=layers, hardware=hw, backend=backend, batch_size=batch_size,
        draft_tokens=draft_tokens, input_format=input_format,
    )  # fmt: skip
    with _watched(options) as watched:
        section = calibrate_profile(files, watched)
    _finish("profile", section, out, plot, format_)


@calibrate.command()
def quality(
    files: Files,
    replicates: Replicates = 200,
    seed: Seed = 0,
    out: Out = None,
    plot: Plot = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Refit the effective-parameters law, from a table of ablations."""
    from codesign.calibration.quality_section import calibrate_quality

    section = calibrate_quality(files, _options(replicates=replicates, seed=seed))
    _finish("quality", section, out, plot, format_)


def _options(**given: Any) -> "CalibrationOptions":
    from codesign.calibration.options import CalibrationOptions

    return CalibrationOptions(**given)


@contextmanager
def _watched(options: "CalibrationOptions") -> Iterator["CalibrationOptions"]:
    with progress_bars() as progress:
        yield replace(options, progress=progress)


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
