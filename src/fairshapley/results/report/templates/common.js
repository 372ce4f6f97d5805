"use strict";
// Shared by the table and the charts: the data, numbers in words, texts for plotly.
const report = (() => {
  document.documentElement.classList.add("js");
  const data = JSON.parse(document.getElementById("data").textContent);
  const finite = (item) => (item === null ? NaN : item === "inf" ? Infinity : item === "-inf" ? -Infinity : item);
  const players = data.players;
  for (const key of ["value", "lower", "upper", "error", "fidelity"]) players[key] = players[key].map(finite);

  const plain = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });
  // At most ten letters, which is what a column of the table has room for.
  function number(value) {
    if (Number.isNaN(value)) return "not known";
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    const size = Math.abs(value), short = size === 0 || (size >= 1e-4 && size < 1e6);
    const text = short ? plain.format(value) : value.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
    return text.replace(/-/g, "−");
  }
  const count = (value) => value.toLocaleString("en-US");
  // Plotly reads tags and entities in texts; names from the data stay what they are.
  const escaped = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  // Where a chart has no room for a name; the table has it in full. Letters outside the basic
  // plane stay whole, and a name's direction of writing does not turn its neighbours'.
  const short = (text, length) => {
    const letters = [...text];
    return `\u2068${letters.length > length ? letters.slice(0, length - 1).join("") + "…" : text}\u2069`;
  };
  const order = players.name.map((_, at) => at);
  const missingLast = (value) => (Number.isNaN(value) ? -Infinity : value);
  order.sort((a, b) => missingLast(players.value[b]) - missingLast(players.value[a]) || a - b);
  return { data, players, number, count, escaped, short, order };
})();
