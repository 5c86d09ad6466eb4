"use strict";
// The leaderboard's table: which columns there are, a model's figures in each, and the rows of one page as elements.

LCT.board = (() => {
  const { h, ok, score, interval, count, tokens, bar } = LCT;
  const DIGITS = 1e7;
  const value = (whole) => (whole === null ? null : whole / DIGITS);
  const judged = (judge) => (judge ? `judge ${judge}` : "");
  const groupName = (group) => [group.name, group.variant, group.settings, judged(group.judge)].filter(Boolean).join(" · ");

  // Scripts carry the numbers in columns; here they become one object a cell, found by model and leaf.
  function read(data) {
    const leaves = data.leaves.map(([task, slug, group, length, wer, metric, points, short, chance], number) =>
      ({ task, slug, group, length, wer, metric, points: Boolean(points), short, chance, top: data.tops[number] }));
    const groups = data.groups.map(([benchmark, name, variant, judge, settings], number) => {
      const group = { benchmark, name, variant, judge, settings, leaves: leaves.flatMap((leaf, at) => (leaf.group === number ? [at] : [])) };
      return { ...group, key: `${benchmark}/${groupName(group)}` };
    });
    const models = data.models.map(([name, slug, window, size, licence]) => ({ key: slug, name, slug, window, size, licence, cells: new Map(), paper: false }));
    const papers = data.papers.map((name) => ({ key: `published:${name}`, name, slug: null, window: null, size: "", licence: "", cells: new Map(), paper: true }));
    const [ms, ls, means, lows, highs, ns, totals, hosts, ranked] = data.cells;
    ms.forEach((model, at) => {
      models[model].cells.set(ls[at], {
        mean: value(means[at]), low: value(lows[at]), high: value(highs[at]), n: ns[at], total: totals[at], hosts: hosts[at], ranked: Boolean(ranked[at]),
      });
    });
    for (const [model, leaf, mean, n, metric, source, apart] of data.published) {
      papers[model].cells.set(leaf, { mean: value(mean), low: null, high: null, n: n ?? 0, total: n ?? 0, hosts: 0, ranked: false, metric, source, apart: Boolean(apart) });
    }
    return { leaves, groups, models, papers, hosts: data.hosts, benchmarks: data.benchmarks };
  }

  // A name may break after its underscores.
  const breakable = (text) => text.split(/(?<=_)/).flatMap((piece, at) => (at ? [h("wbr"), piece] : [piece]));

  const leafName = (board) => (at) => {
    const leaf = board.leaves[at];
    return [leaf.short, board.groups[leaf.group].settings].filter(Boolean).join(" · ");
  };

  // What is known about models, where it is known of any.
  const FACTS = [
    { key: "size", title: "Size", text: (model) => model.size, sort: (model) => size(model.size) },
    { key: "licence", title: "Licence", text: (model) => model.licence, sort: (model) => model.licence.toLocaleLowerCase() || null },
    { key: "window", title: "Window", text: (model) => (model.window ? tokens(model.window) : ""), sort: (model) => model.window },
  ];
  const facts = (board) => FACTS.filter((fact) => board.models.some((model) => fact.text(model)));
  function size(text) {
    const found = /^([\d.]+)\s*([KMBT]?)/i.exec(text);
    return found && Number.isFinite(Number(found[1])) ? Number(found[1]) * { "": 1, K: 1e3, M: 1e6, B: 1e9, T: 1e12 }[found[2].toUpperCase()] : null;
  }

  // Columns for the filters: each has the leaves that its figure is the mean of.
  function columns(board, filters) {
    const fits = (at) => filters.length === "" || board.leaves[at].length === Number(filters.length);
    const found = [];
    for (const group of board.groups) {
      if (filters.benchmark && group.benchmark !== filters.benchmark) continue;
      if (filters.group && group.key !== filters.group) continue;
      if (filters.variant !== "" && group.variant !== filters.variant.slice(1)) continue;
      const leaves = group.leaves.filter(fits);
      if (!leaves.length) continue;
      const apart = filters.columns === "leaves" || filters.group !== "";
      for (const own of apart ? leaves.map((leaf) => [leaf]) : [leaves]) {
        const first = board.leaves[own[0]];
        const lengths = own.map((leaf) => board.leaves[leaf].length).filter((length) => length !== null);
        found.push({
          key: own.length === 1 ? `${group.key}@${first.task}` : group.key, group, leaves: own, points: first.points, metric: first.metric, benchmark: group.benchmark,
          slug: first.slug, top: Math.max(...own.map((leaf) => board.leaves[leaf].top)), lengths, judge: group.judge,
          title: own.length === 1 && first.length !== null ? `${group.name} ${tokens(first.length)}` : group.name,
          sub: [group.variant, own.length > 1 ? `${tokens(Math.min(...lengths))}–${tokens(Math.max(...lengths))}` : ""].filter(Boolean),
        });
      }
    }
    return found;
  }

  // A model's figure in a column: the unweighted mean over its leaves, the interval's ends likewise, which needs no claim about
  // what the leaves have in common.
  // Published figures that are no scores of the column (apart) are taken only where there are no others.
  function figure(model, column, host) {
    let own = [];
    for (const leaf of column.leaves) {
      const cell = model.cells.get(leaf);
      if (cell && (host === "" || model.paper || cell.hosts & (1 << host))) own.push([leaf, cell]);
    }
    const scores = own.filter(([, cell]) => !cell.apart);
    if (scores.length) own = scores;
    const cells = own.map(([, cell]) => cell);
    const scored = cells.filter((cell) => ok(cell.mean));
    if (!cells.length) return null;
    const mean = (name) => (scored.length && scored.every((cell) => ok(cell[name])) ? scored.reduce((sum, cell) => sum + cell[name], 0) / scored.length : null);
    const sum = (name) => cells.reduce((total, cell) => total + cell[name], 0);
    return {
      mean: mean("mean"), low: mean("low"), high: mean("high"), n: sum("n"), total: sum("total"), parts: scored.length, of: column.leaves.length,
      ranked: scored.length === column.leaves.length && cells.every((cell) => cell.ranked), leaf: own[0][0],
      other: [...new Set(cells.map((cell) => cell.metric).filter((metric) => metric && metric !== column.metric))].join(", "), apart: !scores.length, source: cells[0].source,
    };
  }

  function marks(found) {
    if (found.parts < found.of) return `${found.parts}/${found.of} lengths`;
    if (found.n < found.total) return `${(100 * found.n / found.total).toFixed(0)} % of cases`;
    return found.ranked ? "" : "not ranked";
  }

  // The page of a task, at the row of the model.
  const taskPage = (leaf, model) => `task/${leaf.slug}.html${model?.slug ? `#model-${model.slug}` : ""}`;

  function cell(found, column, model, options) {
    if (!found) return h("td", { class: "none" }, h("span", { "aria-hidden": "true" }, "·"), h("span", { class: "unseen" }, "no run"));
    const ends = interval(found.low, found.high, column.points);
    const why = model.paper ? "" : marks(found);
    const cases = found.total ? count(found.n, found.total) : "";
    const inside = h("div", { class: "cell" },
      h("span", null,
        why && h("span", { class: "mark part-of", "aria-hidden": "true", title: why }, "◐ "),
        found.other && h("abbr", { class: "mark dagger", title: `by ${found.other}` }, "† "),
        h("a", { class: "v", href: taskPage(options.board.leaves[found.leaf], model) }, score(found.mean, column.points))));
    if (ok(found.mean) && !found.apart) inside.append(drawn(found, column.top, why));
    const said = [ends && `95 % ${ends}`, cases && `n ${cases}`, why].filter(Boolean).join(", ");
    if (options.details) inside.append(h("span", { class: "digits" }, ends || "–"), h("span", { class: "digits" }, [cases && `n ${cases}`, why].filter(Boolean).join(" · ")));
    else if (said) inside.append(h("span", { class: "unseen" }, said));
    const about = [said, found.source, found.other && `by ${found.other}`].filter(Boolean).join("; ");
    return h("td", { class: "n", title: about }, inside);
  }

  function drawn(found, top, part) {
    const element = bar((found.low ?? found.mean) / top, found.mean / top, (found.high ?? found.mean) / top);
    if (part) element.classList.add("part");
    return element;
  }

  function winCell(found, details) {
    if (!found) return h("td", { class: "none" }, h("span", { "aria-hidden": "true" }, "·"), h("span", { class: "unseen" }, "not compared"));
    const ends = interval(found.low, found.high, false);
    const why = found.ranked ? "" : `only ${found.n} of ${found.total} cells`;
    const said = `95 % ${ends}, ${why || `${found.n} cells`}`;
    return h("td", { class: "n win", title: said }, h("div", { class: "cell" },
      h("span", null, why && h("span", { class: "mark part-of", "aria-hidden": "true" }, "◐ "), h("span", { class: "v" }, score(found.mean, false))),
      drawn(found, 1, why),
      details ? [h("span", { class: "digits" }, ends), h("span", { class: "digits" }, why || `${found.n} cells`)] : h("span", { class: "unseen" }, said)));
  }

  // layout: columns, facts and, where models are compared over several cells, the number of these.
  function head(board, layout, sort, onsort) {
    const { shown, known, cells } = layout;
    const click = (key) => ({ type: "button", class: "sort", "data-key": key, onclick: () => onsort(key) });
    const button = (key, text, sub = []) => h("button", click(key), h("span", { class: "t" }, text), sub.map((each) => h("span", { class: "sub" }, each)));
    const state = (key) => (sort.key === key ? (sort.down ? "descending" : "ascending") : null);
    const spans = [];
    for (const column of shown) {
      const last = spans[spans.length - 1];
      if (last && last.name === column.benchmark) {
        last.size += 1;
        last.columns.push(column);
      } else spans.push({ name: column.benchmark, size: 1, columns: [column] });
    }
    // A judge or settings of all columns of a benchmark are named once, in its heading.
    const about = (column) => [column.group.settings, judged(column.judge)];
    const common = new Map(spans.map(({ name, columns: [first, ...others] }) => [name, about(first).map((text, at) => (others.every((other) => about(other)[at] === text) ? text : ""))]));
    const subs = (column) => [...column.sub, ...about(column).filter((text, at) => text && !common.get(column.benchmark)[at])];
    const titles = new Map(board.benchmarks);
    return h("thead", null,
      h("tr", { class: "bench" }, h("td", { class: "pick" }), h("td", { class: "rank" }), h("td", { class: "model" }), cells > 0 && h("td"), known.map(() => h("td", { class: "fact" })),
        spans.map((span) => h("th", { scope: "colgroup", colspan: String(span.size), class: "first" }, titles.get(span.name) || span.name, common.get(span.name).filter(Boolean).map((text) => h("span", { class: "sub" }, text))))),
      h("tr", null,
        h("th", { scope: "col", class: "pick" }, h("span", { class: "unseen" }, "Pick")),
        h("th", { scope: "col", class: "rank" }, h("span", { class: "unseen" }, "Rank")),
        h("th", { scope: "col", class: "model", "aria-sort": state("model") }, button("model", "Model")),
        cells > 0 && h("th", { scope: "col", class: "win n", "aria-sort": state("wins"), title: "Of the other models, the share that the model beats, percent" }, button("wins", "Win rate", [`over ${cells} cells`])),
        known.map((fact) => h("th", { scope: "col", class: "fact", "aria-sort": state(fact.key) }, button(fact.key, fact.title))),
        shown.map((column, at) => h("th", {
          scope: "col", class: `col${at === 0 || shown[at - 1].benchmark !== column.benchmark ? " first" : ""}`, "aria-sort": state(column.key), title: `${column.metric}${column.points ? ", points" : ", percent"}`,
        }, h("span", { class: "named" }, h("button", { ...click(column.key), class: "sort arrow", "aria-label": `Sort by ${[column.title, ...subs(column)].join(", ")}` }),
        h("a", { class: "t", href: taskPage(board.leaves[column.leaves[0]]) }, breakable(column.title))), subs(column).map((each) => h("span", { class: "sub" }, each))))));
  }

  function row(entry, layout, options) {
    const { model, rank } = entry;
    const id = `pick-${entry.id}`;
    const name = h("bdi", null, model.name);
    const element = h("tr", { "data-model": String(entry.id), class: [model.paper ? "paper" : "", options.picked.has(model) ? "chosen" : ""].filter(Boolean).join(" ") || null },
      h("td", { class: "pick" }, h("input", { type: "checkbox", id, "aria-label": `Pick ${model.name}`, onchange: (event) => options.onpick(model, event.target.checked) })),
      h("td", { class: "rank" }, rank),
      h("th", { scope: "row", class: "model" }, model.slug ? h("a", { href: `model/${model.slug}.html` }, name) : name, model.paper && h("span", { class: "tag" }, " published")),
      layout.cells > 0 && winCell(entry.wins, options.details),
      layout.known.map((fact) => h("td", { class: "fact" }, fact.text(model) ? h("bdi", null, fact.text(model)) : h("span", { class: "unseen" }, "unknown"))),
      layout.shown.map((column, at) => {
        const found = cell(entry.figures[at], column, model, options);
        if (at === 0 || layout.shown[at - 1].benchmark !== column.benchmark) found.classList.add("first");
        return found;
      }));
    element.querySelector("input").checked = options.picked.has(model);
    return element;
  }

  // The rows as a file for spreadsheets; rates from 0 to 1. A text that a sheet would take for a formula gets an apostrophe.
  function csv(entries, layout) {
    const text = (value) => `"${String(value).replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""')}"`;
    const number = (value) => (ok(value) ? String(Math.round(1e6 * value) / 1e6) : "");
    const four = (name) => [name, `${name} low`, `${name} high`, `${name} n`].map(text);
    const lines = [[
      "rank", "model", "published", ...layout.known.map((fact) => fact.key), ...(layout.cells ? ["win rate", "win rate low", "win rate high", "win rate cells"] : []),
      ...layout.shown.flatMap((column) => four(`${column.key}${column.lengths.length > 1 ? ` mean of ${column.sub.at(-1)}` : ""} ${column.metric}`)),
    ]];
    for (const { model, rank, wins, figures } of entries) {
      lines.push([
        rank, text(model.name), model.paper ? "yes" : "no", ...layout.known.map((fact) => text(fact.text(model))),
        ...(layout.cells ? [number(wins?.mean), number(wins?.low), number(wins?.high), wins?.n ?? ""] : []),
        ...figures.flatMap((found) => (found ? [number(found.mean), number(found.low), number(found.high), found.n] : ["", "", "", ""])),
      ]);
    }
    return lines.map((line) => `${line.join(",")}\r\n`).join("");
  }

  return { read, columns, facts, figure, head, row, csv, groupName, leafName, marks, taskPage };
})();
