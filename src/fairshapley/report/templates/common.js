"use strict";
// Shared by the table and the charts: the data, numbers in words, texts for plotly.
const report = (() => {
  document.documentElement.classList.add("js");
  const data = JSON.parse(document.getElementById("data").textContent);
  const finite = (item) => (item === null ? NaN : item === "inf" ? Infinity : item === "-inf" ? -Infinity : item);
  const players = data.players;
  for (const key of ["value", "lower", "upper", "error", "fidelity"]) players[key] = players[key].map(finite);

  const plain = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });
  function number(value) {
    if (Number.isNaN(value)) return "not known";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    const size = Math.abs(value);
    const text = size !== 0 && (size < 1e-4 || size >= 1e9) ? value.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e") : plain.format(value);
    return text.replace(/-/g, "−");
  }
  // Plotly reads tags and entities in texts; names from the data stay what they are.
  const escaped = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const short = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);
  const order = players.name.map((_, at) => at);
  const missingLast = (value) => (Number.isNaN(value) ? -Infinity : value);
  order.sort((a, b) => missingLast(players.value[b]) - missingLast(players.value[a]) || a - b);
  return { data, players, number, escaped, short, order, finite };
})();
