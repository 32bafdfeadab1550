// The interactive front. The cloud is an open mesh: a column holds only the axes it depends on.

const AXES = { experts: "N", top_k: "k", shared_experts: "S", draft_tokens: "K", expert_width: "width" };
const MOST_COMPARED = 5;
const MOST_WITHOUT_WEBGL = 3000;
const LOOKS = {
  front: { name: "Pareto front", color: "#0072B2", symbol: "circle", size: 8 },
  throughput_best: { name: "throughput-best", color: "#009E73", symbol: "triangle-up", size: 13 },
  published: { name: "published expert shapes", color: "#CC79A7", symbol: "square", size: 8 },
  reference: { name: "reference", color: "#D55E00", symbol: "diamond", size: 13 },
  best: { name: "best", color: "#0072B2", symbol: "star", size: 16 },
};

// Whole numbers with separators, others with four significant digits, as the tables beside.
function shown(value, column) {
  if (value === null || value === undefined) return "-";
  const scaled = value * column.factor;
  const size = Math.abs(scaled);
  let text;
  if (Number.isInteger(scaled) && size < 1e15) text = scaled.toLocaleString("en-US");
  else if (size >= 1e3 && size < 1e7) text = Math.round(scaled).toLocaleString("en-US");
  else if (size >= 1e7 || size < 1e-4) text = scaled.toExponential(3);
  else text = Number(scaled.toPrecision(4)) === scaled ? String(scaled) : scaled.toPrecision(4);
  const gap = column.suffix && column.suffix !== "×" ? " " : "";
  return (column.signed && value > 0 ? "+" : "") + text + gap + column.suffix;
}

async function inflated(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const half = planes.length / 2;
  return Uint16Array.from({ length: half }, (_, n) => planes[n] | (planes[half + n] << 8));
}

// The designs of the mesh, and any column at any of them.
function cloudOf(data, steps) {
  const names = Object.keys(data.axes);
  const sizes = names.map((name) => data.axes[name].length);
  const total = sizes.reduce((product, size) => product * size, 1);
  const place = (flat) => {
    const at = [];
    for (let axis = sizes.length - 1; axis >= 0; axis--) {
      at[axis] = flat % sizes[axis];
      flat = Math.floor(flat / sizes[axis]);
    }
    return at;
  };
  const value = (column, at) => {
    let flat = 0;
    column.shape.forEach((size, axis) => { flat = flat * size + (size > 1 ? at[axis] : 0); });
    const raw = column.low + (steps[column.at + flat] / 65535) * column.width;
    return column.log ? Math.exp(raw) : raw;
  };
  const k = names.indexOf("top_k"), n = names.indexOf("experts");
  const designs = [];
  for (let flat = 0; flat < total; flat++) {
    const at = place(flat);
    if (data.axes.top_k[at[k]] <= data.axes.experts[at[n]]) designs.push(at);
  }
  return { designs, value, violated: (at) => data.violations.flatMap((c, m) => (value(c, at) > 0.5 ? [m] : [])) };
}

function explore(data, cloud) {
  // A column equal to an earlier one is stored as that one's position.
  data.marked.values = data.marked.values.map((own, _, all) => (Array.isArray(own) ? own : all[own]));
  const webgl = !!document.createElement("canvas").getContext("webgl");
  const element = document.getElementById("explorer");
  const axisOf = (name) => data.columns.findIndex((column) => column.name === name);
  const width = axisOf("expert_width");
  let x = data.x, y = data.y;

  const crowd = cloud.designs.map((at) => ({ at, violated: cloud.violated(at) }));
  const kept = webgl ? 1 : Math.ceil(crowd.length / MOST_WITHOUT_WEBGL);
  const groups = [
    { name: "infeasible", color: "#8A8A8A", points: crowd.filter((p) => p.violated.length > 0) },
    { name: "feasible", color: "#009E73", points: crowd.filter((p) => p.violated.length === 0) },
  ].map((group) => ({ ...group, points: group.points.filter((_, n) => n % kept === 0) }));

  function fromCloud(point) {
    const design = {};
    Object.entries(data.axes).forEach(([axis, values], n) => { design[axis] = values[point.at[n]]; });
    design.expert_width ??= Math.round(cloud.value(data.columns[width], point.at));
    const values = data.columns.map((column, n) =>
      column.name in AXES ? design[column.name] : cloud.value(data.columns[n], point.at));
    return { title: "", design, values, violated: point.violated };
  }
  function fromMarked(n) {
    const design = {};
    for (const axis in AXES) design[axis] = data.marked.design[axis][n];
    return {
      title: data.marked.name[n], design, violated: data.marked.violated[n],
      values: data.marked.values.map((column) => column[n]),
    };
  }
  const inWords = (d) => `${d.experts}/${d.top_k}+${d.shared_experts}, width ${d.expert_width}, K = ${d.draft_tokens}`;
  const safe = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;");

  // ---- traces ------------------------------------------------------------------------------
  const marks = Object.keys(LOOKS).map((kind) => ({
    kind, members: data.marked.kind.flatMap((each, n) => (each === kind ? [n] : [])),
  })).filter(({ members }) => members.length > 0);
  function traces() {
    const [across, up] = [data.columns[x], data.columns[y]];
    const behind = groups.map((group) => ({
      type: webgl ? "scattergl" : "scatter", mode: "markers", name: group.name,
      x: group.points.map((p) => cloud.value(across, p.at) * across.factor),
      y: group.points.map((p) => cloud.value(up, p.at) * up.factor),
      hoverinfo: "none",
      marker: { color: group.color, size: 4, opacity: group.name === "feasible" ? 0.9 : 0.3 },
    }));
    const asked = data.pair && x === data.x && y === data.y;
    const front = marks.map(({ kind, members }) => ({
      type: "scatter", mode: kind === "front" && asked ? "lines+markers" : "markers", name: LOOKS[kind].name, hoverinfo: "text",
      x: members.map((n) => data.marked.values[x][n] * across.factor),
      y: members.map((n) => data.marked.values[y][n] * up.factor),
      text: members.map((n) => safe(data.marked.name[n])), line: { width: 1 },
      marker: { color: LOOKS[kind].color, symbol: LOOKS[kind].symbol, size: LOOKS[kind].size,
        line: { width: 1, color: "#ffffff" } },
    }));
    return [...behind, ...front];
  }
  const titled = (column) => column.label + (column.suffix ? ` [${column.suffix}]` : "");
  function near(column) {
    const of = marks.filter((m) => m.kind !== "published").flatMap((m) => m.members);
    const inside = [
      ...groups[1].points.map((p) => cloud.value(column, p.at)),
      ...of.map((n) => data.marked.values[data.columns.indexOf(column)][n]),
    ].filter((value) => value !== null).map((value) => value * column.factor);
    const low = inside.reduce((a, b) => Math.min(a, b)), high = inside.reduce((a, b) => Math.max(a, b));
    const margin = (high - low || Math.abs(high) || 1) * 0.12;
    return [low - margin, high + margin];
  }
  const grid = { gridcolor: "rgba(128,128,128,0.25)", zerolinecolor: "rgba(128,128,128,0.25)" };
  function layout(close) {
    const axis = (column) => ({
      ...grid, title: { text: titled(column), standoff: 8 },
      ...(close ? { range: near(column) } : { autorange: true }),
    });
    return {
      ...nested(theme(dark.matches ? "dark" : "light")), height: 520, hovermode: "closest",
      xaxis: axis(data.columns[x]), yaxis: axis(data.columns[y]),
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
      margin: { l: 60, r: 10, t: 40, b: 48 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    };
  }
  const redraw = (close) => Plotly.react(element, traces(), layout(close));

  // ---- what is pointed at, what is compared -------------------------------------------------
  // A dot of the cloud may lie under a marked design: whichever is hit, it goes by its name.
  const named = new Map(data.marked.kind.flatMap((kind, n) =>
    kind === "published" ? [] : [[inWords(fromMarked(n).design), n]]));
  function designAt(event) {
    const { curveNumber, pointNumber } = event.points[0];
    if (curveNumber < groups.length) {
      const dot = fromCloud(groups[curveNumber].points[pointNumber]);
      const known = named.get(inWords(dot.design));
      return known === undefined ? dot : fromMarked(known);
    }
    return fromMarked(marks[curveNumber - groups.length].members[pointNumber]);
  }
  function tag(name, text, className) {
    const made = document.createElement(name);
    made.textContent = text ?? "";
    if (className) made.className = className;
    return made;
  }
  function violations(design) {
    if (design.violated.length === 0) return tag("p", "meets every constraint");
    return tag("p", "violates " + design.violated.map((m) => data.violations[m].label).join(", "), "violated");
  }
  function describe(design) {
    const list = document.createElement("dl");
    for (const [axis, letter] of Object.entries(AXES)) {
      list.append(tag("dt", letter), tag("dd", String(design.design[axis])));
    }
    data.columns.forEach((column, n) => {
      if (column.key) list.append(tag("dt", column.label), tag("dd", shown(design.values[n], column)));
    });
    document.getElementById("pointed").replaceChildren(
      tag("strong", design.title || inWords(design.design)), violations(design), list);
  }
  let everything = false;
  let compared = ["best", "reference"].map((kind) => fromMarked(data.marked.kind.indexOf(kind)));
  function add(design) {
    if (compared.some((each) => inWords(each.design) === inWords(design.design))) return;
    compared = [...compared.slice(0, MOST_COMPARED - 1), design];
    tabulate();
  }
  function bestOf(column, values) {
    if (!column.better || new Set(values).size < 2) return null;
    return column.better === "maximize" ? Math.max(...values) : Math.min(...values);
  }
  function tabulate() {
    const head = document.createElement("tr");
    head.append(tag("th"));
    compared.forEach((design, n) => {
      const cell = tag("th", design.title || "picked", "n");
      const drop = tag("button", "remove", "small");
      drop.onclick = () => { compared.splice(n, 1); tabulate(); };
      cell.append(document.createElement("br"), drop);
      head.append(cell);
    });
    const rows = Object.entries(AXES).map(([axis, letter]) =>
      line(letter, compared.map((d) => tag("td", d.design[axis].toLocaleString("en-US"), "n"))));
    data.columns.forEach((column, n) => {
      if (column.name in AXES || !(column.key || everything)) return;
      const values = compared.map((design) => design.values[n]);
      const better = bestOf(column, values);
      rows.push(line(column.label, values.map((value) =>
        tag("td", shown(value, column), value === better ? "better" : ""))));
    });
    rows.push(line("violates", compared.map((d) =>
      tag("td", d.violated.map((m) => data.violations[m].label).join(", ") || "nothing", "n"))));
    const top = document.createElement("thead"), body = document.createElement("tbody");
    top.append(head);
    body.append(...rows);
    document.getElementById("compare").replaceChildren(top, body);
  }
  function line(title, cells) {
    const row = document.createElement("tr"), head = tag("th", title);
    head.scope = "row";
    row.append(head, ...cells);
    return row;
  }

  // ---- controls -----------------------------------------------------------------------------
  for (const [id, chosen] of [["axis-x", x], ["axis-y", y]]) {
    const select = document.getElementById(id);
    data.columns.forEach((column, n) => select.add(new Option(column.label, n, false, n === chosen)));
    select.onchange = () => {
      x = Number(document.getElementById("axis-x").value);
      y = Number(document.getElementById("axis-y").value);
      redraw(true);
    };
  }
  document.getElementById("zoom-near").onclick = () => redraw(true);
  document.getElementById("zoom-all").onclick = () => redraw(false);
  document.getElementById("compare-all").onchange = (event) => {
    everything = event.target.checked;
    tabulate();
  };
  for (const button of document.querySelectorAll("[data-compare]")) {
    button.onclick = () => add(fromMarked(Number(button.dataset.compare)));
  }
  draw(element, { data: traces(), layout: layout(true) }, true).then(() => {
    element.on("plotly_hover", (event) => describe(designAt(event)));
    element.on("plotly_click", (event) => { describe(designAt(event)); add(designAt(event)); });
    element.dataset.ready = "yes";
  });
  describe(compared[0]);
  tabulate();
}

if (page.explorer) {
  const told = (reason) => {
    document.getElementById("explorer").textContent =
      `The designs around the front cannot be shown here (${reason}); the table below has the front.`;
  };
  if (typeof DecompressionStream === "undefined") told("the browser is from before 2023");
  else inflated(page.explorer.blob).then((steps) => explore(page.explorer, cloudOf(page.explorer, steps)));
}
