"use strict";
// The table of players. Only the rows in sight are in the page, so that many thousands stay smooth.
(() => {
  const { players, number, order } = report;
  const rowHeight = 36, margin = 10;
  const columns = [
    { key: "name", title: "Player", text: true },
    ...(players.label ? [{ key: "label", title: "Label", text: true, wide: true }] : []),
    { key: "value", title: "Value" },
    { key: "lower", title: "From" },
    { key: "upper", title: "To" },
    { key: "error", title: "Std. error", wide: true },
    { key: "fidelity", title: "Fidelity", wide: true },
    { key: "count", title: "Samples", wide: true },
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
  // The weight of a remark, for sorting: harmful first, then duplicates, then null players.
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
    const counted = (count) => count.toLocaleString("en-US");
    status.textContent = rows.length === total ? `${counted(total)} players` : `${counted(rows.length)} of ${counted(total)} players`;
    box.scrollTop = 0;
    drawn = [-1, -1];
    draw();
  }

  function badge(text, kind) {
    return element("span", text, `badge ${kind}`);
  }

  function remarks(at) {
    const cell = element("td", undefined, "text wide");
    if (players.sign[at] < 0) cell.append(badge("negative", "negative"));
    if (players.sign[at] > 0) cell.append(badge("positive", "positive"));
    if (players.group[at] >= 0) cell.append(badge(`duplicate ${players.group[at] + 1}`, "duplicate"));
    if (players.null[at]) cell.append(badge("null", "null"));
    return cell;
  }

  function line(place) {
    const at = rows[place], made = element("tr");
    made.setAttribute("aria-rowindex", place + 2);
    for (const column of columns) {
      if (column.key === "remark") { made.append(remarks(at)); continue; }
      const content = players[column.key][at];
      const cell = element(column.key === "name" ? "th" : "td", undefined, (column.text ? "text" : "") + (column.wide ? " wide" : ""));
      if (column.text) {
        cell.append(element("bdi", content));
        cell.title = content;
        if (column.key === "name") cell.scope = "row";
      } else {
        cell.textContent = number(content);
        if (column.key === "value" && content < 0) cell.classList.add("negative-value");
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
    const first = Math.max(0, Math.floor(box.scrollTop / rowHeight) - margin);
    const last = Math.min(rows.length, Math.ceil((box.scrollTop + box.clientHeight) / rowHeight) + margin);
    if (first === drawn[0] && last === drawn[1]) return;
    drawn = [first, last];
    const made = [];
    if (first > 0) made.push(space(first * rowHeight));
    for (let place = first; place < last; place++) made.push(line(place));
    if (last < rows.length) made.push(space((rows.length - last) * rowHeight));
    if (!rows.length) {
      const none = element("tr"), cell = element("td", "No player matches.", "text");
      cell.colSpan = shownColumns();
      none.append(cell);
      made.push(none);
    }
    body.replaceChildren(...made);
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
      if (button.dataset.show === "negative") { field("sign").value = "-1"; field("certainty").value = "settled"; } else field("kind").value = button.dataset.show;
      sorting = { key: "value", down: button.dataset.show !== "negative" };
      update();
      document.getElementById("table-title").scrollIntoView();
      field("kind").focus({ preventScroll: true });
    });
  }
  box.addEventListener("scroll", draw, { passive: true });
  window.addEventListener("resize", () => { drawn = [-1, -1]; draw(); });
  header();
  update();
})();
