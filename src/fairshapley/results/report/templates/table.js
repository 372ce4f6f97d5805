"use strict";
// The table of players. Only the rows in sight are in the page, so that many thousands stay smooth.
(() => {
  const { data, players, number, count, order } = report;
  // Rows are as high as their text needs; until one was drawn, it counts as one line.
  const rowHeight = 36, margin = 10 * rowHeight;
  const heights = new Float64Array(players.name.length).fill(rowHeight);
  const columns = [
    { key: "name", title: "Player", text: true },
    ...(players.label ? [{ key: "label", title: "Label", text: true, wide: true }] : []),
    ...(players.rows ? [{ key: "rows", title: "Rows", wide: true }] : []),
    { key: "value", title: "Value" },
    // An exact value has no interval, no error and no samples.
    ...(data.exact ? [] : [
      { key: "lower", title: "From", wide: true },
      { key: "upper", title: "To", wide: true },
      { key: "error", title: "Std. error", wide: true },
      { key: "fidelity", title: "Fidelity", wide: true },
      { key: "count", title: "Samples", wide: true },
    ]),
    { key: "remark", title: "Remarks", text: true, wide: true },
  ];
  const box = document.getElementById("players-box"), table = document.getElementById("players");
  const head = table.tHead, body = table.tBodies[0], status = document.getElementById("matches");
  const field = (id) => document.getElementById(id);
  const controls = ["search", "sign", "certainty", "kind", "label"].map(field).filter(Boolean);
  const chosen = (id) => (field(id) ? field(id).value : "");
  const total = players.name.length;
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  const searched = players.name.map((name, at) => (players.label ? `${name}\n${players.label[at]}` : name).toLocaleLowerCase());
  // The weight of a remark, for sorting: below zero first, then identical, then near zero.
  const weight = (at) => (players.sign[at] < 0 ? 4 : 0) + (players.group[at] >= 0 ? 2 : 0) + players.null[at];
  let sorting = { key: "value", down: true }, rows = order, drawn = [-1, -1];

  function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  function header() {
    const line = element("tr");
    line.setAttribute("aria-rowindex", "1");
    for (const column of columns) {
      const cell = element("th", undefined, (column.text ? "text" : "") + (column.wide ? " wide" : ""));
      cell.scope = "col";
      cell.dataset.key = column.key;
      const button = element("button", column.title);
      button.type = "button";
      button.addEventListener("click", () => {
        const down = sorting.key === column.key ? !sorting.down : !column.text;
        sorting = { key: column.key, down };
        update();
      });
      cell.append(button);
      line.append(cell);
    }
    head.replaceChildren(line);
  }

  function wanted(at) {
    const sign = chosen("sign"), certainty = chosen("certainty"), kind = chosen("kind"), label = chosen("label");
    if (sign && !(Number(sign) * players.value[at] > 0)) return false;
    if (certainty && (players.sign[at] !== 0) !== (certainty === "settled")) return false;
    if (kind === "duplicate" && players.group[at] < 0) return false;
    if (kind === "null" && !players.null[at]) return false;
    if (label && players.label[at] !== label) return false;
    return true;
  }

  function sorted(indices) {
    const { key, down } = sorting, side = down ? -1 : 1;
    if (key === "name" || key === "label") return indices.sort((a, b) => side * compare(players[key][a], players[key][b]) || a - b);
    const of = key === "remark" ? weight : (at) => players[key][at];
    // What is not known goes last, whichever way is up.
    return indices.sort((a, b) => {
      const one = of(a), other = of(b);
      if (Number.isNaN(one) || Number.isNaN(other)) return Number.isNaN(one) - Number.isNaN(other) || a - b;
      return (one === other ? 0 : one < other ? -side : side) || a - b;
    });
  }

  function update() {
    const text = field("search").value.trim().toLocaleLowerCase();
    rows = sorted(order.filter((at) => (!text || searched[at].includes(text)) && wanted(at)));
    for (const cell of head.rows[0].cells) {
      if (cell.dataset.key === sorting.key) cell.setAttribute("aria-sort", sorting.down ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
    table.setAttribute("aria-rowcount", rows.length + 1);
    status.textContent = rows.length === total ? `${count(total)} players` : `${count(rows.length)} of ${count(total)} players`;
    box.scrollTop = 0;
    drawn = [-1, -1];
    draw();
  }

  function badge(text, kind) {
    return element("span", text, `badge ${kind}`);
  }

  function remarks(at) {
    const made = [];
    if (players.sign[at] < 0) made.push(badge("below zero", "negative"));
    if (players.group[at] >= 0) made.push(badge(`identical, group ${players.group[at] + 1}`, "duplicate"));
    if (players.null[at]) made.push(badge("near zero", "null"));
    if (players.found[at]) made.push(badge(players.found[at], "duplicate"));
    return made;
  }

  // On narrow pages a row has the columns that are hidden there in a second line.
  function below(...content) {
    const made = element("span", undefined, "narrow small");
    made.append(...content);
    return made;
  }

  function line(place) {
    const at = rows[place], made = element("tr");
    made.setAttribute("aria-rowindex", place + 2);
    for (const column of columns) {
      const content = column.key === "remark" ? "" : players[column.key][at];
      const cell = element(column.key === "name" ? "th" : "td", undefined, (column.text ? "text" : "") + (column.wide ? " wide" : ""));
      if (column.key === "remark") {
        cell.append(...remarks(at));
      } else if (column.text) {
        cell.append(element("bdi", content));
      } else {
        cell.textContent = column.key === "count" || column.key === "rows" ? count(content) : number(content);
      }
      if (column.key === "name") {
        cell.scope = "row";
        cell.append(below(...(players.label && players.label[at] ? [element("bdi", players.label[at]), " "] : []), ...remarks(at)));
      }
      if (column.key === "value") {
        if (content < 0) cell.classList.add("negative-value");
        if (!data.exact) cell.append(below(Number.isNaN(players.lower[at]) ? "" : `${number(players.lower[at])} to ${number(players.upper[at])}`));
      }
      made.append(cell);
    }
    return made;
  }

  // Narrow pages hide columns; a cell that spans more than there are would make room for them.
  const shownColumns = () => [...head.rows[0].cells].filter((cell) => cell.offsetWidth > 0).length;

  function space(height) {
    const made = element("tr", undefined, "space"), cell = element("td");
    made.setAttribute("aria-hidden", "true");
    cell.colSpan = shownColumns();
    cell.style.height = `${height}px`;
    made.append(cell);
    return made;
  }

  function draw() {
    // The box is as high as its rows, up to what the style sheet allows: at least one screen of them.
    const from = box.scrollTop - margin, to = box.scrollTop + Math.max(box.clientHeight, 480) + margin;
    let first = 0, above = 0;
    while (first < rows.length && above + heights[rows[first]] < from) above += heights[rows[first++]];
    let last = first, reached = above, rest = 0;
    while (last < rows.length && reached < to) reached += heights[rows[last++]];
    if (first === drawn[0] && last === drawn[1]) return;
    drawn = [first, last];
    for (let place = last; place < rows.length; place++) rest += heights[rows[place]];
    const lines = rows.slice(first, last).map((_, place) => line(first + place));
    const made = [...lines];
    if (above) made.unshift(space(above));
    if (rest) made.push(space(rest));
    if (!rows.length) {
      const none = element("tr"), cell = element("td", "No player matches.", "text");
      cell.colSpan = shownColumns();
      none.append(cell);
      made.push(none);
    }
    body.replaceChildren(...made);
    lines.forEach((made, place) => { heights[rows[first + place]] = made.offsetHeight || rowHeight; });
  }

  let timer;
  field("search").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(update, 120); });
  for (const control of controls) if (control.id !== "search") control.addEventListener("change", update);
  field("reset").addEventListener("click", () => {
    for (const control of controls) control.value = "";
    sorting = { key: "value", down: true };
    update();
  });
  for (const button of document.querySelectorAll("[data-show]")) {
    button.addEventListener("click", () => {
      for (const control of controls) control.value = "";
      if (button.dataset.show === "negative") { field("sign").value = "-1"; if (field("certainty")) field("certainty").value = "settled"; } else field("kind").value = button.dataset.show;
      sorting = { key: "value", down: button.dataset.show !== "negative" };
      update();
      document.getElementById("table-title").scrollIntoView();
      field("kind").focus({ preventScroll: true });
    });
  }
  box.addEventListener("scroll", draw, { passive: true });
  window.addEventListener("resize", () => { heights.fill(rowHeight); drawn = [-1, -1]; draw(); });
  header();
  update();
})();
