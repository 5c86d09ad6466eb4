"use strict";
// The leaderboard: filters, order, pages of rows. What is shown is in the address, so that a link shows the same.

addEventListener("DOMContentLoaded", async () => {
  const { h, ok, tokens } = LCT;
  const ROWS = 50;
  const WIDE = 40; // columns from which on a page has half the rows
  const SAME = 1e-9; // means over several columns differ by less if the scores are equal
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
  let held = { entries: [], layout: null };
  const models = [...board.models, ...board.papers];
  models.forEach((model, number) => { model.id = number; model.sought = model.name.toLocaleLowerCase(); });

  const fill = (id, options) => at(id).append(...options.map(([value, text]) => h("option", { value }, text)));
  const lengths = [...new Set(board.leaves.map((leaf) => leaf.length).filter((length) => length !== null))].sort((a, b) => a - b);
  const variants = [...new Set(board.groups.map((group) => group.variant))].sort();
  fill("benchmark", board.benchmarks);
  fill("group", board.groups.map((group) => [group.key, LCT.board.groupName(group)]));
  fill("length", lengths.map((length) => [String(length), tokens(length)]));
  fill("variant", variants.map((variant) => [`=${variant}`, variant || "plain"]));
  fill("host", board.hosts.map((host) => [host, host]));
  // What leaves no choice is not asked.
  const asked = { benchmark: board.benchmarks.length, length: lengths.length, variant: variants.length, host: board.hosts.length };
  for (const [id, number] of Object.entries(asked)) at(id).closest("label").hidden = number < 2;
  if (!board.groups.some((group) => group.leaves.length > 1)) at("columns").closest("label").hidden = true;

  const overview = LCT.overview.setUp(board, picks, write);
  const SELECTS = ["benchmark", "group", "length", "variant", "host", "columns"];

  function filters() {
    return Object.fromEntries(SELECTS.map((id) => [id, at(id).value]));
  }

  // The address after #: only what differs from the page as it opens.
  function write() {
    const state = new URLSearchParams();
    for (const id of ["search", ...SELECTS]) {
      if (at(id).value && at(id).value !== "groups") state.set(id, at(id).value);
    }
    if (at("details").checked) state.set("details", "1");
    if (at("published") && !at("published").checked) state.set("published", "0");
    if (sort.chosen) state.set("sort", `${sort.down ? "" : "-"}${sort.key}`);
    if (start) state.set("from", String(start));
    for (const model of overview.picked) state.append("pick", model.key);
    if (overview.chosen()) state.set("curves", overview.chosen());
    history.replaceState(null, "", state.size ? `#${state}` : location.pathname + location.search);
  }

  function read() {
    const state = new URLSearchParams(location.hash.slice(1));
    for (const id of ["search", ...SELECTS]) {
      at(id).value = state.get(id) ?? (id === "columns" ? "groups" : "");
      if (at(id).selectedIndex === -1) at(id).selectedIndex = 0;
    }
    at("details").checked = state.has("details");
    if (at("published")) at("published").checked = state.get("published") !== "0";
    const key = state.get("sort") || "";
    Object.assign(sort, { key: key.replace(/^-/, "") || null, down: !key.startsWith("-"), chosen: Boolean(key) });
    start = Math.max(0, Number.parseInt(state.get("from"), 10) || 0);
    const wanted = state.getAll("pick");
    overview.show(models.filter((model) => wanted.includes(model.key)), state.get("curves") || "");
    unfold(SELECTS.some((id) => state.has(id)));
    render();
  }

  // On a small screen filters are folded (the style sheet); those in use are shown.
  function unfold(open) {
    at("more-filters").setAttribute("aria-expanded", String(open));
  }

  // Win rates take a while for hundreds of models, and order and pages do not change them.
  let compared = { key: "", wins: new Map(), cells: 0 };
  function wins(shown, host) {
    const leaves = shown.flatMap((column) => column.leaves);
    const key = `${host}:${leaves}`;
    if (compared.key !== key) {
      const found = leaves.length > 1 ? LCT.rank.winRates(board.models, leaves, host) : new Map();
      compared = { key, wins: found, cells: found.values().next().value?.total ?? 0 };
      if (compared.cells < 2) compared = { key, wins: new Map(), cells: 0 };
    }
    return compared;
  }

  // Kinds of rows, each after the one before: ranked, with a score of a part only, with a figure that is no score of the column, and
  // without any. A part of the cases wins nothing.
  function kind(found, model) {
    if (!found || !ok(found.mean)) return 3;
    if (found.apart) return 2;
    return found.ranked || model.paper ? 0 : 1;
  }

  // Ranks of the models with a ranked figure, best first, as texts: equal figures share a rank ("2="). A search or the choice to leave
  // out published figures hides rows and changes no rank.
  function ranks(figureOf) {
    const figures = new Map(models.map((model) => [model.id, figureOf(model)]).filter(([, figure]) => figure?.ranked));
    const means = [...figures.values()].map((figure) => figure.mean);
    const rank = (mean) => `${1 + means.filter((other) => other > mean + SAME).length}`;
    const shared = (mean) => means.filter((other) => Math.abs(other - mean) <= SAME).length > 1;
    return new Map([...figures].map(([id, { mean }]) => [id, `${rank(mean)}${shared(mean) ? "=" : ""}`]));
  }

  function ordered(layout, host) {
    const sought = at("search").value.trim().toLocaleLowerCase();
    const column = layout.shown.findIndex((each) => each.key === sort.key);
    const figure = (model) => (sort.key === "wins" ? layout.wins.get(model) : column < 0 ? null : LCT.board.figure(model, layout.shown[column], host));
    const rank = ranks(figure);
    const entries = [];
    for (const model of models) {
      if (model.paper && at("published") && !at("published").checked) continue;
      if (sought && !model.sought.includes(sought)) continue;
      const figures = layout.shown.map((each) => LCT.board.figure(model, each, host));
      if (figures.some(Boolean)) entries.push({ model, id: model.id, figures, wins: layout.wins.get(model), rank: rank.get(model.id) ?? "" });
    }
    const byName = (a, b) => LCT.compare(a.model.name, b.model.name);
    const sign = sort.down ? -1 : 1;
    const fact = layout.known.find((each) => each.key === sort.key);
    if (sort.key === "model") entries.sort((a, b) => sign * byName(a, b));
    else if (fact) {
      const value = ({ model }) => fact.sort(model);
      entries.sort((a, b) => (value(a) === null) - (value(b) === null) || sign * LCT.compare(String(value(a)), String(value(b))) || byName(a, b));
    } else {
      const found = (entry) => (sort.key === "wins" ? entry.wins : entry.figures[column]);
      entries.sort((a, b) => {
        const [x, y] = [kind(found(a), a.model), kind(found(b), b.model)];
        if (x !== y || x > 1) return x - y || byName(a, b);
        return sign * (found(a).mean - found(b).mean) || byName(a, b);
      });
    }
    return entries;
  }

  function render() {
    const host = board.hosts.indexOf(at("host").value);
    const shown = LCT.board.columns(board, filters());
    const layout = { shown, known: LCT.board.facts(board), ...wins(shown, host < 0 ? "" : host) };
    const keys = ["model", ...layout.known.map((fact) => fact.key), ...(layout.cells ? ["wins"] : []), ...shown.map((column) => column.key)];
    if (!sort.chosen || !keys.includes(sort.key)) {
      const key = first(layout);
      Object.assign(sort, { key, down: key !== "model", chosen: false });
    }
    const entries = ordered(layout, host < 0 ? "" : host);
    held = { entries, layout };
    size = shown.length > WIDE ? ROWS / 2 : ROWS;
    start = Math.min(start, Math.max(0, entries.length - 1));
    start -= start % size;
    const options = { board, picked: overview.picked, details: at("details").checked, onpick: overview.pick };
    const focus = document.activeElement;
    const kept = focus?.dataset?.key ? `button[data-key="${CSS.escape(focus.dataset.key)}"]` : focus?.id?.startsWith("pick-") ? `#${CSS.escape(focus.id)}` : null;
    at("table").replaceChildren(h("table", { class: "board" },
      h("caption", { class: "unseen" }, "Models by task: mean scores with 95 % intervals"),
      LCT.board.head(board, layout, sort, onsort),
      h("tbody", null, entries.slice(start, start + size).map((entry) => LCT.board.row(entry, layout, options)))));
    if (kept) at("table").querySelector(kept)?.focus({ preventScroll: true });
    // The legend explains the signs in the table.
    for (const line of document.querySelectorAll("[data-explains]")) line.hidden = !document.querySelector(line.dataset.explains);
    pages(entries.length);
    at("csv").hidden = !entries.length;
    const word = entries.length === 1 ? "model" : "models";
    at("status").textContent = shown.length ? `${entries.length} ${word} in ${shown.length} column${shown.length === 1 ? "" : "s"}.` : "No task fits these filters.";
    write();
  }

  // What is picked shows in the rows; a note says why something could not be.
  function picks(note) {
    for (const row of at("table").querySelectorAll("tbody tr")) {
      const picked = overview.picked.has(models[Number(row.dataset.model)]);
      row.classList.toggle("chosen", picked);
      row.querySelector("input").checked = picked;
    }
    if (note) at("status").textContent = note;
  }

  // The order to begin with: by the win rate where a model is in all its cells, else by the first column that most models are ranked in.
  function first(layout) {
    if ([...layout.wins.values()].some((found) => found.ranked)) return "wins";
    let [best, most] = ["model", 0];
    for (const column of layout.shown) {
      const ranked = board.models.filter((model) => LCT.board.figure(model, column, "")?.ranked).length;
      if (ranked > most) [best, most] = [column.key, ranked];
    }
    return best;
  }

  function onsort(key) {
    if (sort.key === key) sort.down = !sort.down;
    else Object.assign(sort, { key, down: !["model", "licence"].includes(key) });
    sort.chosen = true;
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

  at("csv").addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([LCT.board.csv(held.entries, held.layout)], { type: "text/csv" }));
    h("a", { href: address, download: "leaderboard_view.csv" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
  });
  at("more-filters").addEventListener("click", () => unfold(at("more-filters").getAttribute("aria-expanded") === "false"));
  at("filters").hidden = false;
  at("filters").addEventListener("submit", (event) => event.preventDefault());
  for (const control of at("filters").querySelectorAll("input, select")) control.addEventListener(control.tagName === "SELECT" ? "change" : "input", () => { start = 0; render(); });
  addEventListener("hashchange", read);
  read();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
});
