"use strict";
// What comes first: curves of the best models, or of those picked, and a coloured table of all models by length, word error rate or task.

LCT.overview = (() => {
  const { h, ok, score, interval, count, tokens } = LCT;
  const MOST = 8; // picked models in one figure
  const BEST = 5; // models drawn where none is picked
  const ROWS = 30;
  const COLUMNS = 40;
  const STEPS = 8; // colours of the table

  // What can be shown: every mean over tasks that have lengths in common, every group with lengths, groups that differ in noise
  // alone, all tasks of a benchmark. `places` maps a place on the axis to the leaves that its figure is the mean of.
  function choices(board) {
    const found = [];
    const add = (key, name, by, leaves, place) => {
      const places = new Map();
      for (const leaf of leaves) {
        const x = place(leaf);
        if (x !== null) places.set(x, [...(places.get(x) || []), leaf]);
      }
      if (places.size > (by === "task" ? 0 : 1)) found.push({ key, name, by, places: new Map([...places].sort((a, b) => a[0] - b[0])), points: board.leaves[leaves[0]].points });
    };
    const length = (leaf) => board.leaves[leaf].length;
    const several = (group) => group.leaves.filter((leaf) => length(leaf) !== null).length > 1;
    for (const [benchmark, title] of board.benchmarks) {
      const groups = board.groups.filter((group) => group.benchmark === benchmark && !group.variant && several(group) && !board.leaves[group.leaves[0]].points);
      const alike = groups.filter((group) => group.judge === groups[0].judge && group.settings === groups[0].settings);
      if (alike.length < 2) continue;
      const shared = alike.map((group) => new Set(group.leaves.map(length))).reduce((held, own) => new Set([...held].filter((one) => own.has(one))));
      add(`${benchmark}/mean`, `${title}: mean of ${alike.length} tasks`, "length", alike.flatMap((group) => group.leaves).filter((leaf) => shared.has(length(leaf))), length);
    }
    for (const group of board.groups) if (several(group)) add(group.key, LCT.board.groupName(group), "length", group.leaves, length);
    const noisy = new Map();
    for (const group of board.groups) {
      const variant = group.variant.replace(/(^|_)wer\d+/, "").replace(/^_|_$/g, "");
      const key = JSON.stringify([group.benchmark, group.name, variant, group.judge, group.settings]);
      if (!noisy.has(key)) noisy.set(key, { key: `${group.benchmark}/${group.name}/noise`, name: LCT.board.groupName({ ...group, variant }), leaves: [] });
      noisy.get(key).leaves.push(...group.leaves);
    }
    for (const { key, name, leaves } of noisy.values()) {
      if (leaves.some((leaf) => board.leaves[leaf].wer !== null)) add(key, `${name} · noise`, "wer", leaves, (leaf) => board.leaves[leaf].wer ?? 0);
    }
    for (const [benchmark, title] of board.benchmarks) {
      for (const inPoints of [false, true]) {
        const leaves = board.leaves.flatMap((leaf, at) => (board.groups[leaf.group].benchmark === benchmark && leaf.points === inPoints ? [at] : []));
        if (leaves.length) add(`${benchmark}/tasks${inPoints ? "/points" : ""}`, `${title}: all tasks${inPoints ? ", points" : ""}`, "task", leaves, (leaf) => leaves.indexOf(leaf));
      }
    }
    return found;
  }

  // A model's figure at a place: the mean over its tasks, of a model that has them all.
  function figure(model, leaves) {
    const cells = leaves.map((leaf) => model.cells.get(leaf)).filter((cell) => cell && ok(cell.mean) && !cell.apart);
    if (cells.length < leaves.length) return null;
    const mean = (name) => (cells.every((cell) => ok(cell[name])) ? cells.reduce((sum, cell) => sum + cell[name], 0) / cells.length : null);
    const sum = (name) => cells.reduce((total, cell) => total + cell[name], 0);
    return { mean: mean("mean"), low: mean("low"), high: mean("high"), n: sum("n"), total: sum("total"), ranked: cells.every((cell) => cell.ranked), parts: 1, of: 1 };
  }

  // Models with something to show, those that have every place first, the best ahead.
  function rowsOf(models, choice) {
    const rows = models.map((model) => {
      const figures = [...choice.places.values()].map((leaves) => figure(model, leaves));
      const there = figures.filter(Boolean);
      return { model, figures, there: there.length, mean: there.reduce((sum, found) => sum + found.mean, 0) / there.length };
    });
    return rows.filter((row) => row.there).sort((a, b) => b.there - a.there || b.mean - a.mean || LCT.compare(a.model.name, b.model.name));
  }

  function heading(board, choice, x, leaves) {
    if (choice.by === "wer") return x === 0 ? "none" : `${Math.round(x)} %`;
    return choice.by === "length" ? tokens(x) : LCT.board.leafName(board)(leaves[0]);
  }

  const titles = { length: "Length in tokens", wer: "Word error rate, percent", task: "Task" };

  function spec(board, rows, choice, top) {
    const models = rows.map((row) => row.model);
    let entries = [...choice.places];
    // Of all tasks of a benchmark those that one of the models has.
    if (choice.by === "task") entries = entries.filter(([, leaves]) => models.some((model) => model.cells.has(leaves[0])));
    const x = (at) => (choice.by === "task" ? at : entries[at][0]);
    const lines = models.map((model) => [model.name + (model.paper ? " (published)" : ""), entries.flatMap(([, leaves], at) => {
      const found = figure(model, leaves);
      return found ? [[x(at), found.mean, found.low, found.high, found.n, found.total]] : [];
    })]);
    const known = entries.map(([place, leaves]) => [place, leaves.length === 1 ? board.leaves[leaves[0]].chance : null]);
    const windows = choice.by === "length" ? models.flatMap((model, number) => (model.window ? [[model.window, `claimed window of ${model.name}, ${tokens(model.window)}`, number]] : [])) : [];
    return {
      kind: "curves", xTitle: titles[choice.by], yTitle: choice.points ? "Score, points" : "Score, percent", log: choice.by === "length" ? 1 : 0, points: choice.points, top,
      lines, marks: windows.slice(0, 4), chance: choice.by === "length" && known.every((each) => ok(each[1])) ? known : [],
      names: choice.by === "task" ? entries.map(([, leaves]) => heading(board, choice, null, leaves)) : null,
    };
  }

  // Colour goes with the score on the scale from 0; the number is in the cell.
  function heat(board, rows, choice, top) {
    const entries = [...choice.places].slice(0, COLUMNS);
    const page = (leaves, model) => (leaves.length === 1 ? LCT.board.taskPage(board.leaves[leaves[0]], model) : null);
    const cell = (found, model, leaves) => {
      if (!found) return h("td", { class: "none" }, h("span", { "aria-hidden": "true" }, "·"), h("span", { class: "unseen" }, "no score"));
      const why = model.paper ? "" : LCT.board.marks(found);
      const ends = interval(found.low, found.high, choice.points);
      const said = [ends && `95 % ${ends}`, found.total && `n ${count(found.n, found.total)}`, why].filter(Boolean).join(", ");
      const step = Math.max(0, Math.min(STEPS - 1, Math.floor((STEPS * found.mean) / top)));
      const text = score(found.mean, choice.points);
      return h("td", { class: `n heat${step}`, title: said }, why && h("span", { class: "part-of", "aria-hidden": "true" }, "◐ "),
        page(leaves, model) ? h("a", { href: page(leaves, model) }, text) : text, " ", h("span", { class: "unseen" }, said));
    };
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Scores of models, ${choice.name}` }, h("table", { class: "heat" },
      h("caption", null, `${titles[choice.by]}${rows.length > ROWS ? `; the first ${ROWS} of ${rows.length} models` : ""}`),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Model"), entries.map(([x, leaves]) => {
        const text = heading(board, choice, x, leaves);
        return h("th", { scope: "col", class: "n" }, page(leaves) ? h("a", { href: page(leaves) }, text) : text);
      }))),
      h("tbody", null, rows.slice(0, ROWS).map(({ model, figures }) => h("tr", { class: model.paper ? "paper" : null },
        h("th", { scope: "row" }, model.slug ? h("a", { href: `model/${model.slug}.html` }, h("bdi", null, model.name)) : [h("bdi", null, model.name), h("span", { class: "tag" }, " published")]),
        entries.map(([, leaves], at) => cell(figures[at], model, leaves)))))));
  }

  function setUp(board, onpick, onchange) {
    const section = document.getElementById("overview");
    const picker = document.getElementById("overview-choice");
    const all = choices(board);
    const everyone = [...board.models, ...board.papers];
    picker.append(...all.map((choice) => h("option", { value: choice.key }, choice.name)));
    // To begin with, the choice in which models have most scores: over lengths, else over noise, else tasks.
    const filled = (choice, models) => models.reduce((sum, model) => sum + [...choice.places.values()].filter((leaves) => figure(model, leaves)).length, 0);
    const order = ["length", "wer", "task"];
    const best = (models) => [...all].filter((choice) => filled(choice, models)).sort((a, b) => order.indexOf(a.by) - order.indexOf(b.by) || filled(b, models) - filled(a, models))[0]?.key ?? "";
    const preset = best(board.models);
    const picked = new Set();
    let chosen = "";

    function draw() {
      const choice = all.find((each) => each.key === (chosen || preset)) ?? all[0];
      section.hidden = !choice;
      if (!choice) return;
      picker.value = choice.key;
      const rows = rowsOf(everyone, choice);
      const drawn = picked.size ? [...picked].flatMap((model) => rows.filter((row) => row.model === model)) : rows.filter((row) => !row.model.paper).slice(0, BEST);
      const leaves = [...choice.places.values()].flat();
      const top = Math.max(...leaves.map((leaf) => board.leaves[leaf].top));
      // The table has all models, the chart a part of them.
      const part = picked.size ? `the chart shows ${picked.size} picked` : drawn.length < rows.length ? `the chart shows the best ${drawn.length}` : "";
      document.getElementById("overview-title").textContent = `${rows.length} model${rows.length === 1 ? "" : "s"}${part && `; ${part}`}`;
      document.getElementById("picked").replaceChildren(...[...picked].map((model) =>
        h("button", { type: "button", "aria-label": `Remove ${model.name}`, onclick: () => { pick(model, false); } }, h("bdi", null, model.name), " ×")));
      document.getElementById("overview-heat").replaceChildren(rows.length ? heat(board, rows, choice, top) : "");
      const place = document.getElementById("overview-figure");
      if (!drawn.length) {
        place.replaceChildren(h("p", { class: "soft" }, "None of the picked models has a score here."));
        return;
      }
      const what = { length: "score against length", wer: "score against word error rate", task: "scores by task" }[choice.by];
      const caption = `${choice.name}: ${what}. ${choice.by === "task" ? "Lines" : "Bands"} are 95 % intervals.`;
      const figure = LCT.figure(choice.name, caption);
      place.replaceChildren(figure);
      LCT.draw(figure, spec(board, drawn, choice, top), choice.name);
    }

    function pick(model, on) {
      if (on && picked.size >= MOST) {
        onpick(`At most ${MOST} models fit into one figure; unpick a model first.`);
        return;
      }
      if (on) picked.add(model);
      else picked.delete(model);
      // A choice that the first model has something in.
      if (on && picked.size === 1 && !filled(all.find((each) => each.key === picker.value), [model])) chosen = best([model]);
      onpick("");
      onchange();
      draw();
    }

    function show(models, choice) {
      picked.clear();
      for (const model of models.slice(0, MOST)) picked.add(model);
      chosen = all.some((each) => each.key === choice) ? choice : "";
      draw();
    }

    picker.addEventListener("change", () => {
      chosen = picker.value;
      onchange();
      draw();
    });
    return { picked, pick, show, chosen: () => chosen };
  }

  return { setUp };
})();
