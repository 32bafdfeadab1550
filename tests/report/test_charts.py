"""Charts: the model's own curves, valid for plotly, drawn by matplotlib, the same each time."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from codesign.designs import Designs
from codesign.errors import UsageError
from codesign.prediction import Prediction, predict
from codesign.records import Record
from codesign.report.batch_charts import (
    best_lengths,
    measured_experts,
    regime_spans,
    sparsity_lines,
)
from codesign.report.charts import SEQUENCE, Axis, Chart, Series, look
from codesign.report.cloud import evaluate, make_cloud, published_shapes, thinned
from codesign.report.explorer import explorer_data
from codesign.report.matplotlib_charts import matplotlib_figure, save_charts
from codesign.report.plotly_charts import plotly_figure
from codesign.report.rebuilt import Rebuilt
from codesign.report.report import Report
from codesign.spec.calibration import Calibration, RoutingSection
from codesign.study import make_problem
from tests.questions import make_study


def rebuilt_of(report: Report) -> Rebuilt:
    assert isinstance(report.rebuilt, Rebuilt)
    return report.rebuilt


def test_every_chart_is_valid_for_plotly(report: Report) -> None:
    for name in report.charts:
        figure = report.figure(name)  # plotly refuses an unknown property
        assert figure.data and figure.layout.title.text


def test_every_chart_is_drawn_by_matplotlib(report: Report, tmp_path: Path) -> None:
    for name, chart in report.charts.items():
        save_charts((chart,), tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 5_000


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_chart_has_the_same_bytes(report: Report, tmp_path: Path, kind: str) -> None:
    for name in ("one", "two"):
        save_charts((report.charts["speedup"],), tmp_path / f"{name}.{kind}")
    assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"two.{kind}").read_bytes()


def test_a_picture_needs_a_known_ending(report: Report, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"ends in \.png, \.svg, \.pdf"):
        save_charts((report.charts["speedup"],), tmp_path / "chart.gif")


def test_an_unknown_chart_names_the_nearest(report: Report) -> None:
    with pytest.raises(UsageError, match="did you mean 'speedup'"):
        report.figure("spedup")
    assert report.picture("speedup").get_axes()


def test_curves_meet_the_result_at_the_target(report: Report) -> None:
    chart = report.charts["speedup"]
    for series in chart.series[:2]:
        place = list(series.x).index(32)
        stored = report.result[series.name]["prediction"]["sd_speedup"]
        assert float(series.y[place]) == pytest.approx(stored)  # type: ignore[arg-type]


def test_the_dense_control_never_loads_more_experts(report: Report) -> None:
    control = rebuilt_of(report).dense_control()
    prediction = rebuilt_of(report).over_batch_sizes(control, (1, 64, 4096))
    assert np.all(prediction.unique_experts_verify == 1)
    best = report.result["best"]["design"]
    width = (best["top_k"] + best["shared_experts"]) * best["expert_width"]
    assert int(control.expert_width[0]) == width


def test_the_best_length_is_the_shorter_of_equals() -> None:
    lengths, gains = best_lengths(np.array([0.0, 1.0, 2.0]), np.array([[1.0, 1.5, 1.5]]))
    assert lengths.tolist() == [1.0]
    assert gains.tolist() == [1.5]


def test_regimes_leave_no_gap(report: Report) -> None:
    spans = [s for s in report.charts["speedup"].spans if s.row == "best"]
    assert spans[0].start == 1 and spans[-1].stop == 4096
    assert all(left.stop == right.start for left, right in pairwise(spans))
    regimes = report.result["best"]["prediction"]["regimes"]
    assert spans[0].regime == "partial load"
    assert spans[0].stop >= regimes["partial_load_until"]


def test_a_dense_model_has_one_regime_less(report: Report) -> None:
    rebuilt = rebuilt_of(report)
    prediction = rebuilt.over_batch_sizes(rebuilt.dense_control(), (1, 32))
    assert {s.regime for s in regime_spans("dense", prediction)} <= {
        "memory bound", "compute bound",
    }  # fmt: skip


def calibrated(report: Report, experts: int, top_k: int) -> Prediction:
    """The best design in a scenario whose routing was measured at some expert shape."""
    section = RoutingSection.from_data({
        "date": "2026-01-01", "sources": [], "samples": 100, "samples_unit": "tokens",
        "experts": experts, "top_k": top_k,
        "tables": [{
            "name": "unique_by_batch", "title": "t", "columns": ["B", "measured", "uniform"],
            "rows": [[1, 8.0, 8.0], [4, 20.5, 29.0]],
        }],
    })  # fmt: skip
    rebuilt = rebuilt_of(report)
    scenario = replace(
        rebuilt.problem.scenario.at((1, 4, 16)), calibration=Calibration(routing=section)
    )
    return predict(rebuilt.design("best"), scenario)


def test_measured_experts_are_drawn_where_routing_was_calibrated(report: Report) -> None:
    best = report.result["best"]["design"]
    [points] = measured_experts(calibrated(report, best["experts"], best["top_k"]))
    assert (list(points.x), list(points.y), points.kind) == ([1, 4], [8.0, 20.5], "points")


def test_a_model_measured_at_another_shape_gets_its_own_line(report: Report) -> None:
    points, line = measured_experts(calibrated(report, 64, 6))
    assert points.name == "decode step, measured (64 experts, top-6)"
    assert float(line.y[0]) == pytest.approx(6)  # type: ignore[arg-type]


def test_nothing_is_measured_without_a_calibration(report: Report) -> None:
    chart = report.charts["unique_experts"]
    assert "No measured points" in chart.caption
    assert not any("measured" in series.name for series in chart.series)


def test_the_sparsity_map_runs_from_dense_to_sparse() -> None:
    lines = sparsity_lines(8, 512)
    assert lines[0] == 8 and lines[-1] == 512
    assert np.all(np.diff(lines) > 0)


def test_the_cloud_is_the_space_evaluated(report: Report) -> None:
    rebuilt = rebuilt_of(report)
    assert report.cloud is not None
    figures = report.cloud.figures
    shape, designs = figures.designs.shape, figures.designs
    place = np.array([int(np.prod(shape)) // 2])
    one = designs.take(place)
    alone = predict(one, rebuilt.problem.scenario)
    for name in ("sd_speedup", "total_params", "memory_bytes_per_gpu"):
        drawn = np.broadcast_to(figures.columns[name], shape).reshape(-1)[place]
        np.testing.assert_allclose(drawn, alone.value(name).reshape(-1), rtol=1e-9)
    expected = evaluate(rebuilt.problem, one).columns["expected sd_speedup"]
    drawn = np.broadcast_to(figures.columns["expected sd_speedup"], shape).reshape(-1)[place]
    np.testing.assert_allclose(drawn, expected, rtol=1e-6)


def test_the_clouds_best_feasible_design_is_the_answer(report: Report) -> None:
    assert report.cloud is not None
    figures = report.cloud.figures
    shape, designs = figures.designs.shape, figures.designs
    feasible = np.broadcast_to(designs.top_k <= designs.experts, shape).copy()
    for mask in figures.violations.values():
        feasible &= ~np.broadcast_to(mask, shape)
    assert int(feasible.sum()) == report.result["certificate"]["feasible"]
    values = np.where(feasible, figures.columns["expected sd_speedup"], -np.inf)
    [best] = designs.take(int(np.argmax(values))).rows()
    assert best == report.result["best"]["design"]


def test_a_space_is_thinned_evenly_and_keeps_its_ends() -> None:
    space = make_problem(make_study()).space
    small = thinned(space, 2_000)
    assert 1_000 < small.size <= 2_000
    for axis, values in small.axes.items():
        assert {values[0], values[-1]} == {space.axes[axis][0], space.axes[axis][-1]}
    assert thinned(space, 10**6) is space


def test_a_small_budget_still_yields_a_cloud() -> None:
    cloud = make_cloud(make_problem(make_study()), most=500)
    assert cloud.shown <= 500 < cloud.whole
    assert sum(cloud.excluded().values()) > 0


def test_published_shapes_are_those_of_released_models() -> None:
    problem = make_problem(make_study())
    names, designs = published_shapes(problem)
    rows = dict(zip(names, designs.rows(), strict=True))
    kimi = next(row for name, row in rows.items() if name.startswith("Kimi-K2"))
    assert (kimi["experts"], kimi["top_k"], kimi["shared_experts"]) == (384, 8, 1)
    assert not any(row["experts"] == 128 and row["top_k"] == 8 and row["shared_experts"] == 0
                   for row in rows.values())  # fmt: skip


def test_packed_columns_unpack_to_four_digits(report: Report) -> None:
    import base64
    import zlib

    assert report.cloud is not None and report.marked is not None
    data = explorer_data(report.result, report.cloud, report.marked)
    planes = np.frombuffer(zlib.decompress(base64.b64decode(data["blob"])), dtype=np.uint8)
    half = len(planes) // 2
    steps = planes[:half].astype(float) + 256.0 * planes[half:]
    for column in data["columns"]:
        own = report.cloud.figures.columns[column["name"]]
        flat = steps[column["at"] : column["at"] + own.size] / 65535 * column["width"]
        value = np.exp(flat + column["low"]) if column["log"] else flat + column["low"]
        known = np.isfinite(own).reshape(-1)  # pairs with k > N are no designs
        value, own = value[known], own.reshape(-1)[known]
        span = float(own.max() - own.min()) or 1.0
        np.testing.assert_allclose(value, own, rtol=1e-4, atol=span * 2e-5)


def test_labels_are_escaped_for_plotly(report: Report) -> None:
    chart = report.charts["stability"]
    series = replace(chart.series[0], name="<b>x</b>", y=["<i>a</i>"], x=[1.0])
    drawn = plotly_figure(replace(chart, series=(series,)))["data"][0]
    assert drawn["name"] == "&lt;b&gt;x&lt;/b&gt;"
    assert drawn["y"] == ["&lt;i&gt;a&lt;/i&gt;"]


def test_bars_stand_at_their_own_category_in_every_series() -> None:
    series = (
        Series("one", [1.0, 2.0], ["short", "long"], "bars", "best"),
        Series("two", [5.0, 3.0], ["long", "short"], "bars", "reference"),  # another order
    )
    chart = Chart("bars", "Bars", "", Axis("x"), Axis(""), series)
    [axes] = matplotlib_figure(chart).get_axes()
    labels = [text.get_text() for text in axes.get_yticklabels()]
    drawn = {
        (labels[round(bar.get_y() + bar.get_height() / 2)], bar.get_width())
        for bar in axes.patches
        if isinstance(bar, Rectangle)
    }
    assert drawn == {("short", 1.0), ("long", 2.0), ("long", 5.0), ("short", 3.0)}


def test_many_series_stay_apart() -> None:
    looks = [look(place) for place in range(3 * len(SEQUENCE))]
    assert len(set(looks)) == len(looks)


def test_points_of_charts_become_rows(report: Report) -> None:
    rows = report.charts["draft_length"].records()
    assert {row["series"] for row in rows} == {"best", "reference"}
    assert all(isinstance(row["y"], float) for row in rows)
    heat = report.charts["sparsity"]
    assert heat.heat is not None
    assert sum("z" in row for row in heat.records()) == heat.heat.z.size


def test_a_result_without_draws_has_fewer_charts(result: Record) -> None:
    result["stability"] = result["value_of_information"] = result["sensitivity"] = None
    names = set(Report(result).charts)
    assert not names & {"stability", "information", "axes", "elasticities", "history"}


def test_designs_of_one_architecture_need_no_arrays() -> None:
    assert Designs.of(1, 1, 0, 3, 6144).shape == (1,)
