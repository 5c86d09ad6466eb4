"use strict";
// The leaderboard: filters, order, pages of rows.

addEventListener("DOMContentLoaded", async () => {
  const { h, ok, tokens } = LCT;
  const ROWS = 50;
  const WIDE = 40; // columns from which on a page has half the rows
  let size = ROWS;
  const at = (id) => document.getElementById(id);
  const place = at("board");
  let board;
  try {
    board = LCT.board.read(await LCT.load(place.dataset.chunk));
  } catch (error) {
    at("status").textContent = `The table cannot be shown. ${error.message}`;
    return;
  }
  const sort = { key: null, down: true };
  let start = 0;
  const models = [...board.models, ...board.papers];
  models.forEach((model, number) => { model.id = number; model.sought = model.name.toLocaleLowerCase(); });

  const fill = (id, options) => at(id).append(...options.map(([value, text]) => h("option", { value }, text)));
  const lengths = [...new Set(board.leaves.map((leaf) => leaf.length).filter((length) => length !== null))].sort((a, b) => a - b);
  const variants = [...new Set(board.groups.map((group) => group.variant))].sort();
  fill("benchmark", board.benchmarks);
  fill("group", board.groups.map((group, number) => [String(number), LCT.board.groupName(group)]));
  fill("length", lengths.map((length) => [String(length), tokens(length)]));
  fill("variant", variants.map((variant) => [`=${variant}`, variant || "plain"]));
  fill("host", board.hosts.map((host, number) => [String(number), host]));
  // What leaves no choice is not asked.
  const asked = { benchmark: board.benchmarks.length, length: lengths.length, variant: variants.length, host: board.hosts.length };
  for (const [id, number] of Object.entries(asked)) at(id).closest("label").hidden = number < 2;
  if (!board.groups.some((group) => group.leaves.length > 1)) at("columns").closest("label").hidden = true;

  const overlay = LCT.overlay.setUp(board, picks);

  function filters() {
    return { benchmark: at("benchmark").value, group: at("group").value, length: at("length").value, variant: at("variant").value, columns: at("columns").value };
  }

  function ordered(shown) {
    const host = at("host").value === "" ? "" : Number(at("host").value);
    const sought = at("search").value.trim().toLocaleLowerCase();
    const entries = [];
    for (const model of models) {
      if (model.paper && at("published") && !at("published").checked) continue;
      if (sought && !model.sought.includes(sought)) continue;
      const figures = shown.map((column) => LCT.board.figure(model, column, host));
      if (figures.some(Boolean)) entries.push({ model, id: model.id, figures, rank: null });
    }
    const column = shown.findIndex((each) => each.key === sort.key);
    const byName = (a, b) => LCT.compare(a.model.name, b.model.name);
    if (column < 0) {
      entries.sort(sort.key === "model" && sort.down ? (a, b) => byName(b, a) : byName);
      return entries;
    }
    // Ranked ones first, then those with a score, then figures that are no scores of this column, then the others: a part of the
    // cases wins nothing.
    const kind = (entry) => {
      const found = entry.figures[column];
      if (!found || !ok(found.mean)) return 3;
      if (found.apart) return 2;
      return found.ranked || entry.model.paper ? 0 : 1;
    };
    entries.sort((a, b) => {
      const [x, y] = [kind(a), kind(b)];
      if (x !== y) return x - y;
      if (x > 1) return byName(a, b);
      const by = a.figures[column].mean - b.figures[column].mean;
      return (sort.down ? -by : by) || byName(a, b);
    });
    let rank = 0;
    const ranked = entries.filter((entry) => entry.figures[column]?.ranked);
    for (const entry of sort.down ? ranked : ranked.reverse()) entry.rank = ++rank;
    return entries;
  }

  function render() {
    const shown = LCT.board.columns(board, filters());
    if (sort.key === null || (sort.key !== "model" && !shown.some((column) => column.key === sort.key))) {
      sort.key = fullest(shown);
      sort.down = sort.key !== "model";
    }
    const entries = ordered(shown);
    size = shown.length > WIDE ? ROWS / 2 : ROWS;
    start = Math.min(start, Math.max(0, entries.length - 1));
    start -= start % size;
    const options = { picked: overlay.picked, details: at("details").checked, onpick: overlay.pick };
    const focus = document.activeElement;
    const kept = focus?.dataset?.key ? `button[data-key="${CSS.escape(focus.dataset.key)}"]` : focus?.id?.startsWith("pick-") ? `#${CSS.escape(focus.id)}` : null;
    at("table").replaceChildren(h("table", { class: "board" },
      h("caption", { class: "unseen" }, "Models by task: mean scores with 95 % intervals"),
      LCT.board.head(board, shown, sort, onsort),
      h("tbody", null, entries.slice(start, start + size).map((entry) => LCT.board.row(entry, shown, options)))));
    if (kept) at("table").querySelector(kept)?.focus({ preventScroll: true });
    // The legend explains the signs in the table.
    for (const line of document.querySelectorAll("[data-explains]")) line.hidden = !document.querySelector(line.dataset.explains);
    pages(entries.length);
    const word = entries.length === 1 ? "model" : "models";
    at("status").textContent = shown.length ? `${entries.length} ${word} in ${shown.length} column${shown.length === 1 ? "" : "s"}.` : "No task fits these filters.";
  }

  // What is picked shows in the rows; a note says why something could not be.
  function picks(note) {
    for (const row of at("table").querySelectorAll("tbody tr")) {
      const picked = overlay.picked.has(models[Number(row.dataset.model)]);
      row.classList.toggle("chosen", picked);
      row.querySelector("input").checked = picked;
    }
    if (note) at("status").textContent = note;
  }

  // The column to begin with: the first that most models are ranked in.
  function fullest(shown) {
    let [best, most] = ["model", -1];
    for (const column of shown) {
      const ranked = board.models.filter((model) => LCT.board.figure(model, column, "")?.ranked).length;
      if (ranked > most) [best, most] = [column.key, ranked];
    }
    return best;
  }

  function onsort(key) {
    if (sort.key === key) sort.down = !sort.down;
    else Object.assign(sort, { key, down: key !== "model" });
    start = 0;
    render();
  }

  function pages(total) {
    at("pager").hidden = total <= size;
    const go = (to) => () => { start = to; render(); at("table").scrollIntoView({ block: "nearest" }); };
    const before = h("button", { type: "button", onclick: go(start - size) }, "Previous");
    const after = h("button", { type: "button", onclick: go(start + size) }, "Next");
    before.disabled = start === 0;
    after.disabled = start + size >= total;
    at("pager").replaceChildren(before, h("span", null, `${start + 1}–${Math.min(total, start + size)} of ${total}`), after);
  }

  at("filters").hidden = false;
  at("filters").addEventListener("submit", (event) => event.preventDefault());
  for (const control of at("filters").elements) control.addEventListener(control.tagName === "SELECT" ? "change" : "input", () => { start = 0; render(); });
  render();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
});
