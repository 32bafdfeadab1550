"use strict";
// Draws the charts of the page and runs the explorer; everything comes from the JSON beside it.

const page = JSON.parse(document.getElementById("data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const narrow = matchMedia("(max-width: 760px)");
const touch = matchMedia("(pointer: coarse)").matches;
const INK = { light: "#16191d", dark: "#eceef0", print: "#111111" };
const PAPER = { light: "#ffffff", dark: "#1e2226", print: "#ffffff" };
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const PRINT_WIDTH = 680;

function theme(mode) {
  return {
    "font.color": INK[mode], "font.family": FONT, "font.size": narrow.matches ? 11 : 12,
    "hoverlabel.bgcolor": PAPER[mode], "hoverlabel.font.color": INK[mode],
    "modebar.bgcolor": "rgba(0,0,0,0)", "modebar.color": "#8A8A8A", "modebar.activecolor": INK[mode],
    dragmode: touch ? false : "zoom",
  };
}

function nested(flat) {
  const made = {};
  for (const [path, value] of Object.entries(flat)) {
    const keys = path.split(".");
    const last = keys.pop();
    keys.reduce((inner, key) => (inner[key] ??= {}), made)[last] = value;
  }
  return made;
}

function draw(element, figure, buttons) {
  const layout = { ...figure.layout, ...nested(theme(dark.matches ? "dark" : "light")) };
  const config = {
    responsive: true, displaylogo: false, displayModeBar: buttons && !touch && "hover",
    modeBarButtons: [["zoom2d", "pan2d", "resetScale2d", "toImage"]],
  };
  return Plotly.newPlot(element, figure.data, layout, config);
}

function repaint(change) {
  for (const plot of document.querySelectorAll(".js-plotly-plot")) Plotly.relayout(plot, change);
}

dark.addEventListener("change", () => repaint(theme(dark.matches ? "dark" : "light")));
const printed = document.querySelectorAll("details.printed");
addEventListener("beforeprint", () => {
  for (const each of printed) each.open = true;
  repaint({ ...theme("print"), width: PRINT_WIDTH, autosize: false });
});
addEventListener("afterprint", () => {
  for (const each of printed) each.open = false;
  repaint({ ...theme(dark.matches ? "dark" : "light"), width: null, autosize: true });
});

for (const element of document.querySelectorAll("[data-chart]")) {
  draw(element, page.charts[element.dataset.chart], false);
}
