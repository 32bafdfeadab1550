"""Charts by plotly: as plain dictionaries for a page, as figures for a notebook."""

from html import escape
from typing import Any, Final

import numpy as np

from codesign.report.charts import COLOURS, REGIME_COLOURS, SYMBOLS, Chart, Series, Span
from codesign.report.charts import Axis as ChartAxis

Figure = dict[str, Any]

GRID: Final = "rgba(128,128,128,0.25)"
CROWD: Final = 500
"""Points from which a series is drawn small."""

SIZES: Final = ((1, 14), (60, 9), (CROWD, 6), (float("inf"), 4))
"""Size of a point by how many there are at most [px]."""

RIBBON: Final = 0.055
"""Height of one ribbon, as a share of the plot."""

PALE: Final = {role: f"rgba({', '.join(map(str, bytes.fromhex(c[1:])))}, 0.4)"
               for role, c in COLOURS.items()}  # fmt: skip
"""Fills of bars that are compared with solid ones."""


def plotly_figure(chart: Chart) -> Figure:
    """Return a chart as plotly's own plain data: traces and layout.

    `plotly.graph_objects.Figure` takes it as it is. Colours of text and background are left to
    whoever shows it, light or dark.
    """
    rows = list(dict.fromkeys(span.row for span in chart.spans))
    traces = [_trace(chart, each) for each in chart.series]
    if chart.heat is not None:
        traces = [_heat(chart), _trace(chart, chart.heat.ridge), *traces]
    bottom = RIBBON * len(rows) + (0.16 if rows else 0.0)
    layout: dict[str, Any] = {
        "xaxis": _axis(chart.x) | {"anchor": "free" if rows else "y", "position": bottom},
        "yaxis": _axis(chart.y) | {"domain": [bottom, 1.0]},
        "shapes": [*_marks(chart), *_ribbons(chart, rows)],
        "annotations": [*_mark_labels(chart), *_ribbon_labels(chart, rows)],
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "margin": {"l": 60, "r": 16, "t": 48, "b": 44 if not rows else 12},
        "height": 440 if rows else 380,
        "barmode": "group",
        "hovermode": "x unified" if _is_curve(chart) else "closest",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
    }
    if any(each.kind == "bars" for each in chart.series):
        layout |= _bar_layout(chart)
    return {"data": traces, "layout": layout}


def _is_curve(chart: Chart) -> bool:
    return chart.heat is None and all(each.kind in ("line", "steps") for each in chart.series)


def _bar_layout(chart: Chart) -> dict[str, Any]:
    categories = len(dict.fromkeys(str(y) for each in chart.series for y in each.y))
    height = 110 + categories * (14 + 13 * len(chart.series))
    alone = len(chart.series) == 1
    return {
        "height": height,
        "showlegend": not alone,
        "yaxis": {"automargin": True, "ticksuffix": "  ", "showgrid": False},
        "margin": {"l": 10, "r": 16, "t": 16 if alone else 56, "b": 44},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom",
                   "traceorder": "reversed"},
    }  # fmt: skip


def _axis(axis: ChartAxis) -> dict[str, Any]:
    drawn: dict[str, Any] = {
        "title": {"text": axis.label, "standoff": 8},
        "gridcolor": GRID,
        "zerolinecolor": GRID,
        "type": "log" if axis.log else "linear",
    }
    if axis.whole:
        drawn |= {"dtick": 1, "rangemode": "tozero"}
    if axis.log:
        drawn |= {"dtick": "D2", "tickformat": "~s"}
    if axis.percent:
        drawn["tickformat"] = ".2~p"
    return drawn


def _trace(chart: Chart, series: Series) -> dict[str, Any]:
    x, y = _values(series.x), _values(series.y)
    colour = COLOURS[series.role]
    trace: dict[str, Any] = {"name": escape(series.name), "x": x, "y": y}
    if series.labels:
        trace["text"] = [escape(text) for text in series.labels]
    match series.kind:
        case "bars":
            fill = colour if series.dash == "solid" else PALE[series.role]
            form = ".3~%" if chart.x.percent else ".4~r"
            trace |= {
                "type": "bar", "orientation": "h", "marker": {"color": fill},
                "hovertemplate": f"%{{y}}: %{{x:{form}}}<extra>%{{fullData.name}}</extra>",
            }  # fmt: skip
        case "points":
            marker = {"color": colour, "symbol": SYMBOLS[series.role], "size": _size(series)}
            if len(series.x) <= CROWD:
                marker["line"] = {"width": 1, "color": "#ffffff"}
            trace |= {"type": "scatter", "mode": "markers", "marker": marker}
        case _:
            dash = {"solid": "solid", "dash": "dash", "dot": "dot"}[series.dash]
            shape = "hv" if series.kind == "steps" else "linear"
            trace |= {
                "type": "scatter", "mode": "lines",
                "line": {"color": colour, "dash": dash, "width": 2.4, "shape": shape},
                "hovertemplate": "%{y:.4~r}" + (" · %{text}" if series.labels else ""),
            }  # fmt: skip
    return trace


def _size(series: Series) -> int:
    """A crowd is drawn in small points, a single design in a large one."""
    return next(size for most, size in SIZES if len(series.x) <= most)


def _values(values: Any) -> list[Any]:
    return [escape(v) if isinstance(v, str) else float(f"{float(v):.6g}") for v in values]


def _heat(chart: Chart) -> dict[str, Any]:
    heat = chart.heat
    assert heat is not None
    return {
        "type": "heatmap",
        "x": _values(heat.x),
        "y": _values(heat.y),
        "z": [[round(float(v), 4) for v in row] for row in np.asarray(heat.z)],
        "colorscale": "Cividis",
        "colorbar": {"title": {"text": heat.label}, "thickness": 12, "outlinewidth": 0},
        "hovertemplate": (
            "batch size %{x}, active share %{y:.3~p}<br>"
            f"{heat.label} %{{z:.3~r}}<extra></extra>"
        ),
    }


def _marks(chart: Chart) -> list[dict[str, Any]]:
    return [
        {
            "type": "line", "x0": mark.x, "x1": mark.x, "yref": "y domain", "y0": 0, "y1": 1,
            "line": {"color": COLOURS[mark.role], "width": 1.2, "dash": "dash"},
        }
        for mark in chart.marks
    ]  # fmt: skip


def _mark_labels(chart: Chart) -> list[dict[str, Any]]:
    """Words beside a line; a log axis places annotations by the logarithm."""
    return [
        {
            "x": float(np.log10(mark.x)) if chart.x.log else mark.x, "y": place * 0.07,
            "yref": "y domain", "text": mark.label, "showarrow": False,
            "xanchor": "left" if place else "right", "xshift": 3 if place else -3,
            "yanchor": "bottom", "font": {"size": 11},
        }
        for place, mark in enumerate(chart.marks)
    ]  # fmt: skip


def _ribbons(chart: Chart, rows: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "type": "rect", "xref": "x", "yref": "paper", "x0": span.start, "x1": span.stop,
            "y0": _level(rows, span.row), "y1": _level(rows, span.row) + RIBBON * 0.85,
            "fillcolor": REGIME_COLOURS[span.regime], "line": {"width": 0},
        }
        for span in chart.spans
    ]  # fmt: skip


def _level(rows: list[str], row: str) -> float:
    return RIBBON * (len(rows) - 1 - rows.index(row))


def _ribbon_labels(chart: Chart, rows: list[str]) -> list[dict[str, Any]]:
    """The design at the left of each ribbon, the regime within it."""
    return [
        {
            "xref": "x", "yref": "paper", "x": _middle(span), "text": span.regime,
            "y": _level(rows, span.row) + RIBBON * 0.42, "yanchor": "middle", "showarrow": False,
            "font": {"size": 10, "color": "#000"},
        }
        for span in chart.spans
        if span.stop / span.start > 4
    ] + [
        {
            "xref": "paper", "yref": "paper", "x": 0, "xanchor": "right", "xshift": -4,
            "y": _level(rows, row) + RIBBON * 0.42, "yanchor": "middle", "showarrow": False,
            "text": row.replace("dense control", "dense"), "font": {"size": 10},
        }
        for row in rows
    ]  # fmt: skip


def _middle(span: Span) -> float:
    return float(np.log10(span.start * span.stop) / 2)


def notebook_figure(chart: Chart) -> Any:
    """Return a chart as `plotly.graph_objects.Figure`, which a notebook shows."""
    from plotly.graph_objects import Figure as PlotlyFigure

    figure = PlotlyFigure(plotly_figure(chart))
    figure.update_layout(title={"text": chart.title}, template="plotly_white")
    figure.update_layout(margin={"t": 100})
    return figure
