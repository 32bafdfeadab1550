"""Charts of a prediction: what `predict --plot` draws."""

from pathlib import Path

import numpy as np

from codesign.prediction import Prediction
from codesign.report.batch_charts import BATCH
from codesign.report.charts import Axis, Chart, Series, look
from codesign.report.glossary import component_label
from codesign.report.matplotlib_charts import save_charts

LENGTHS = Axis("drafted tokens K", whole=True)


def prediction_charts(prediction: Prediction) -> tuple[Chart, ...]:
    """Return speedup, throughput, experts and time breakdown of one architecture.

    Parameters
    ----------
    prediction : Prediction
        Of one architecture with one or several draft lengths, at one or several batch sizes.
    """
    return (
        _lines(prediction, "speedup", "Does speculative decoding pay?", "sd_speedup",
               Axis("SD speedup [×]")),
        _lines(prediction, "throughput", "How many tokens per second does a GPU yield?",
               "sd_tokens_per_s_per_gpu", Axis("tokens/s per GPU with SD")),
        _lines(prediction, "unique_experts", "How many experts does a verify pass load?",
               "unique_experts_verify", Axis("experts loaded per layer")),
        _breakdown(prediction),
    )  # fmt: skip


def plot_prediction(prediction: Prediction, path: Path) -> None:
    """Draw a prediction into a picture; the ending says which kind.

    Raises
    ------
    UsageError
        If the ending is none of .png, .svg, .pdf, or the file cannot be written.
    """
    save_charts(prediction_charts(prediction), path)


def _grid(prediction: Prediction, name: str) -> np.ndarray:
    shape = (len(prediction.scenario.batch_sizes), *prediction.designs.shape)
    return np.broadcast_to(getattr(prediction, name), shape)


def _lines(prediction: Prediction, name: str, title: str, figure: str, axis: Axis) -> Chart:
    """Against batch size, a line per draft length; against draft length where there is one size."""
    values = _grid(prediction, figure)
    sizes, lengths = prediction.scenario.batch_sizes, prediction.designs.draft_tokens
    series = []
    if len(sizes) > 1:
        for place, length in enumerate(lengths):
            role, dash = look(place)
            series.append(Series(f"K = {int(length)}", sizes, values[:, place], "line", role, dash))
    else:
        series.append(Series(f"batch size {sizes[0]:,}", lengths, values[0], "line"))
    caption = f"{prediction.scenario.reference.name}, at the values in use."
    return Chart(name, title, caption, BATCH if len(sizes) > 1 else LENGTHS, axis, tuple(series))


def _breakdown(prediction: Prediction) -> Chart:
    """At the first batch size, with the draft length that pays most there."""
    size = prediction.scenario.batch_sizes[0]
    best = int(np.argmax(_grid(prediction, "sd_speedup")[0]))
    length = int(prediction.designs.draft_tokens[best])
    shape = (len(prediction.scenario.batch_sizes), *prediction.designs.shape)
    series = []
    for words, costs, role in (
        (f"verify pass, K = {length}", prediction.verify_costs, look(0)[0]),
        ("decode step", prediction.decode_costs, look(1)[0]),
    ):
        times = {n: np.broadcast_to(c.seconds, shape)[0, best] * 1e3 for n, c in costs.items()}
        names = sorted(times, key=lambda name: times[name])
        titles = [component_label(name) for name in names]
        series.append(Series(words, [times[n] for n in names], titles, "bars", role))
    return Chart(
        "breakdown",
        f"Where does the time go at batch size {size:,}?",
        "With the draft length that pays most there.",
        Axis("time [ms]"),
        Axis(""),
        tuple(series),
    )
