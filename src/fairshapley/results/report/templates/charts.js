"use strict";
// The charts, drawn by plotly in the colours of the page.
(() => {
  const { data, players, number, count, escaped, short, order } = report;
  const named = 40, marked = 1500;
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  const interval = (at) => (data.exact || Number.isNaN(players.lower[at]) ? "" : `<br>${number(players.lower[at])} to ${number(players.upper[at])}`);
  const hover = (at) => `${escaped(short(players.name[at], 60))}<br><b>${number(players.value[at])}</b>${interval(at)}`;
  const tint = (at) => colour(players.sign[at] < 0 ? "bad" : players.sign[at] > 0 ? "accent" : "neutral");
  const clipped = (value) => (Number.isFinite(value) ? value : null);
  // Powers of ten where there are several, else digits between them as well.
  const log = (title, values) => {
    const known = values.filter((value) => value > 0), span = Math.log10(Math.max(...known) / Math.min(...known));
    return { title: { text: title }, type: "log", exponentformat: "power", dtick: span > 5 ? 2 : span > 1.5 ? 1 : span > 0.5 ? "D2" : "D1" };
  };
  const dashed = (axis, value, text) => {
    const across = axis === "y";
    return {
      shape: { type: "line", xref: across ? "paper" : "x", yref: across ? "y" : "paper", x0: across ? 0 : value, x1: across ? 1 : value, y0: across ? value : 0, y1: across ? value : 1, line: { color: colour("warn"), width: 1.5, dash: "dash" } },
      annotation: { xref: "paper", yref: "y", x: 0, xanchor: "left", y: Math.log10(value), yanchor: "bottom", showarrow: false, text, font: { color: colour("warn"), size: 12 } },
    };
  };

  function namedValues(indices, element) {
    const shown = indices.slice().reverse(), y = shown.map((_, place) => place);
    const bars = (key, side) => shown.map((at) => clipped(side * (players[key][at] - players.value[at])));
    element.style.height = `${Math.max(220, 24 * shown.length + 70)}px`;
    const room = element.clientWidth < 500 ? 14 : 32;
    return {
      traces: [{ type: "scatter", mode: "markers", x: shown.map((at) => players.value[at]), y, hoverinfo: "text", hovertext: shown.map(hover), marker: { size: 9, color: shown.map(tint) }, error_x: { type: "data", symmetric: false, array: bars("upper", 1), arrayminus: bars("lower", -1), color: colour("neutral"), thickness: 1.5, width: 3, visible: !data.exact } }],
      layout: { xaxis: { title: { text: "value" }, zeroline: true }, yaxis: { tickvals: y, ticktext: shown.map((at) => escaped(short(players.name[at], room))), range: [-0.8, shown.length - 0.2], showgrid: false, zeroline: false }, hovermode: "closest" },
    };
  }

  function rankedValues(indices) {
    const x = indices.map((_, place) => place + 1), few = indices.length <= marked;
    const edge = (key, more) => ({ type: "scatter", mode: "lines", x, y: indices.map((at) => clipped(players[key][at])), hoverinfo: "skip", line: { width: 0, color: colour("accent") }, ...more });
    return {
      traces: [
        edge("upper", {}),
        edge("lower", { fill: "tonexty", fillcolor: colour("band") }),
        { type: "scatter", mode: few ? "markers" : "lines", x, y: indices.map((at) => players.value[at]), hoverinfo: "text", hovertext: indices.map(hover), line: { color: colour("accent"), width: 2 }, marker: { size: 5, color: few ? indices.map(tint) : colour("accent") } },
      ],
      layout: { xaxis: { title: { text: "players, from the highest value" } }, yaxis: { title: { text: "value" }, zeroline: true }, hovermode: "closest" },
    };
  }

  function ranked(key, title, scale) {
    const known = order.filter((at) => Number.isFinite(players[key][at]) && (scale !== "log" || players[key][at] > 0));
    known.sort((a, b) => players[key][a] - players[key][b]);
    const text = known.map((at) => `${escaped(short(players.name[at], 60))}<br><b>${(key === "count" ? count : number)(players[key][at])}</b>`);
    return {
      traces: [{ type: "scatter", mode: known.length <= 300 ? "lines+markers" : "lines", x: known.map((_, place) => place + 1), y: known.map((at) => players[key][at]), hoverinfo: "text", hovertext: text, line: { color: colour("accent"), width: 2 }, marker: { size: 4 } }],
      layout: { xaxis: { title: { text: "players, from the lowest" } }, yaxis: scale === "log" ? log(title, known.map((at) => players[key][at])) : { title: { text: title }, rangemode: "tozero" }, hovermode: "closest" },
    };
  }

  const sized = (chart, text) => chart.label.map((label, at) => `size ${label}<br><b>${text(at)}</b>`);
  const bars = (chart, title) => ({
    traces: [{ type: "bar", x: chart.x, y: chart.y, width: chart.width.map((width) => 0.85 * width), hoverinfo: "text", hovertext: sized(chart, (at) => (Number.isInteger(chart.y[at]) ? count : number)(chart.y[at])), textposition: "none", marker: { color: chart.y.map((y) => colour(y < 0 ? "bad" : "accent")) } }],
    layout: { xaxis: { title: { text: "coalition size" } }, yaxis: { title: { text: title }, zeroline: true } },
  });

  const drawings = {
    values: (_, element) => {
      const known = order.filter((at) => Number.isFinite(players.value[at]));
      return known.length <= named ? namedValues(known, element) : rankedValues(known);
    },
    fidelity: (chart) => {
      const drawn = ranked("fidelity", "fidelity", "log"), line = dashed("y", chart.target, "required");
      drawn.layout.shapes = [line.shape];
      drawn.layout.annotations = [line.annotation];
      return drawn;
    },
    contributions: () => ranked("count", "contributions", "linear"),
    requests: (chart) => bars(chart, "coalitions requested"),
    marginals: (chart) => bars(chart, "added by one more player"),
    convergence: (chart) => {
      const line = dashed("y", chart.target, "required");
      const course = (name, y, look) => ({ type: "scatter", mode: "lines+markers", name, x: chart.x, y, marker: { size: 5 }, hoverinfo: "text", hovertext: y.map((item, at) => `${count(chart.x[at])} evaluations<br>${name} <b>${number(item)}</b>`), ...look });
      return {
        traces: [course("minimum fidelity", chart.lowest, { line: { color: colour("accent"), width: 2 } }), course("cautious estimate", chart.low, { line: { color: colour("neutral"), width: 2, dash: "dot" } })],
        layout: { xaxis: log("evaluations", chart.x), yaxis: log("minimum fidelity", chart.low.concat(chart.lowest, chart.target)), shapes: [line.shape], annotations: [line.annotation], showlegend: true },
      };
    },
    utilities: (chart) => {
      const edge = (side, more) => ({ type: "scatter", mode: "lines", x: chart.x, y: chart.y.map((y, at) => y + side * chart.spread[at]), hoverinfo: "skip", line: { width: 0, color: colour("accent") }, ...more });
      return {
        traces: [edge(1, {}), edge(-1, { fill: "tonexty", fillcolor: colour("band") }), { type: "scatter", mode: chart.x.length > 40 ? "lines" : "lines+markers", x: chart.x, y: chart.y, hoverinfo: "text", hovertext: sized(chart, (at) => `${number(chart.y[at])} ± ${number(chart.spread[at])}`), line: { color: colour("accent"), width: 2 } }],
        layout: { xaxis: { title: { text: "coalition size" } }, yaxis: { title: { text: "mean utility" } } },
      };
    },
    tolerance: (chart) => {
      const looks = { certificate: { color: colour("good"), width: 3 }, "Proposition 1, normal": { color: colour("accent"), width: 2 } };
      const other = { color: colour("neutral"), width: 2, dash: "dot" };
      const traces = chart.lines.map(({ name, x, y }) => ({ type: "scatter", mode: name === "certificate" ? "lines+markers" : "lines", name, x, y, line: looks[name] || other, hoverinfo: "text", hovertext: x.map((item, at) => `${name}<br>ε1 <b>${number(item)}</b>, δ <b>${number(y[at])}</b>`) }));
      traces.push({ type: "scatter", mode: "markers", name: "marked", x: [chart.asked[0]], y: [chart.asked[1]], marker: { symbol: "star", size: 14, color: colour("warn") }, hoverinfo: "text", hovertext: [`ε1 <b>${number(chart.asked[0])}</b>, δ <b>${number(chart.asked[1])}</b>`] });
      return { traces, layout: { xaxis: log("tolerance ε1", traces.flatMap((trace) => trace.x)), yaxis: log("probability of failure δ", traces.flatMap((trace) => trace.y)), showlegend: true } };
    },
  };

  function themed(layout, width) {
    const axis = ({ title = {}, ...given }) => ({ gridcolor: colour("grid"), zeroline: false, zerolinecolor: colour("neutral"), zerolinewidth: 1, linecolor: colour("line"), automargin: true, fixedrange: true, exponentformat: "power", separatethousands: true, tickfont: { size: 12 }, title: { font: { size: 13 }, standoff: 8, ...title }, ...given });
    return {
      showlegend: false, ...layout, xaxis: axis(layout.xaxis), yaxis: axis(layout.yaxis), width,
      margin: { l: 56, r: 16, t: layout.showlegend ? 34 : 12, b: 46 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: colour("muted") },
      hoverlabel: { bgcolor: colour("raised"), bordercolor: colour("neutral"), font: { color: colour("text"), size: 13 }, align: "left" },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)" },
    };
  }

  function draw(width) {
    for (const element of document.querySelectorAll("[data-chart]")) {
      const { traces, layout } = drawings[element.dataset.chart](data.charts[element.dataset.chart], element);
      Plotly.react(element, traces, themed(layout, width), { displayModeBar: false, responsive: true, scrollZoom: false });
    }
  }

  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
  // On paper: the light colours of the print style, and the width of a page.
  const paper = (on) => { document.documentElement.classList.toggle("paper", on); draw(on ? 660 : undefined); };
  window.addEventListener("beforeprint", () => paper(true));
  window.addEventListener("afterprint", () => paper(false));
})();
