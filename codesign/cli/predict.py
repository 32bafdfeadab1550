"""`codesign predict`: every figure of one architecture."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from codesign.cli.options import (
    Flags,
    Format,
    FormatOption,
    build_study,
    known_picture,
    study_command,
    study_file,
)
from codesign.cli.output import deliver, say


@study_command
def predict(
    flags: Flags,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Picture of it: .png, .svg or .pdf.", callback=known_picture),
    ] = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Predict an architecture, by batch size and K."""
    import numpy as np

    from codesign.cli.axes import axis_option
    from codesign.designs import Designs
    from codesign.prediction import predict as predict_designs
    from codesign.report.prediction_tables import render_prediction
    from codesign.resolve import build_scenario
    from codesign.spec.study_file import located

    sizes = axis_option("--target-bs", flags["target_bs"], least=1)
    lengths = axis_option("--draft-tokens", flags["draft_tokens"])
    first = {"target_bs": str(sizes[0]) if sizes else None}
    study = build_study(flags | first)
    lengths = lengths or study.space.draft_tokens
    with located(study_file(flags), study):
        scenario = build_scenario(study, longest_draft=max(*lengths, 1), batch_sizes=sizes)
    designs = Designs.of_architecture(scenario.reference, np.array(lengths))
    prediction = predict_designs(designs, scenario)
    save = None
    if plot is not None:
        from codesign.report.prediction_charts import plot_prediction

        save = partial(plot_prediction, prediction, plot)
    deliver(render_prediction(prediction, format_.value), save)
    if plot is not None:
        say(f"drew {plot}")
