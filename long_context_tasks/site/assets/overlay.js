"use strict";
// Picked models over one another: curves over length or word error rate, or scores side by side.

LCT.overlay = (() => {
  const { h, ok } = LCT;
  const MOST = 8;

  function points(board, model, leaves, place) {
    return leaves.flatMap((leaf) => {
      const cell = model.cells.get(leaf);
      const x = place(leaf);
      return cell && ok(cell.mean) && !cell.apart && x !== null ? [[x, cell.mean, cell.low, cell.high, cell.n, cell.total]] : [];
    }).sort((a, b) => a[0] - b[0]);
  }

  // Choices: every group with lengths; for groups that differ in noise alone, their word error rates.
  function choices(board) {
    const found = [];
    board.groups.forEach((group) => {
      if (group.leaves.filter((leaf) => board.leaves[leaf].length !== null).length > 1) {
        found.push({ name: LCT.board.groupName(group), benchmark: group.benchmark, leaves: group.leaves, by: "length" });
      }
    });
    const noisy = new Map();
    board.groups.forEach((group) => {
      const variant = group.variant.replace(/(^|_)wer\d+/, "").replace(/^_|_$/g, "");
      const key = JSON.stringify([group.benchmark, group.name, variant, group.judge, group.settings]);
      if (!noisy.has(key)) noisy.set(key, { name: [group.name, variant, group.settings, group.judge && `judge ${group.judge}`, "noise"].filter(Boolean).join(" · "), benchmark: group.benchmark, leaves: [], by: "wer" });
      noisy.get(key).leaves.push(...group.leaves);
    });
    for (const choice of noisy.values()) if (choice.leaves.some((leaf) => board.leaves[leaf].wer !== null) && choice.leaves.length > 1) found.push(choice);
    for (const [benchmark, title] of board.benchmarks) {
      for (const inPoints of [false, true]) {
        const leaves = board.leaves.flatMap((leaf, at) => (board.groups[leaf.group].benchmark === benchmark && leaf.points === inPoints ? [at] : []));
        if (leaves.length) found.push({ name: `${title}: all tasks${inPoints ? ", points" : ""}`, benchmark, leaves, by: "task" });
      }
    }
    return found;
  }

  function spec(board, models, choice) {
    // Of all tasks of a benchmark those that one of the models has.
    const leaves = choice.by === "task" ? choice.leaves.filter((leaf) => models.some((model) => model.cells.has(leaf))) : choice.leaves;
    const first = board.leaves[choice.leaves[0]];
    const by = {
      length: [(leaf) => board.leaves[leaf].length, "Length in tokens"],
      wer: [(leaf) => board.leaves[leaf].wer ?? 0, "Word error rate, percent"],
      task: [(leaf) => leaves.indexOf(leaf), "Task"],
    }[choice.by];
    const lines = models.map((model) => [model.name + (model.paper ? " (published)" : ""), points(board, model, leaves, by[0])]).filter(([, line]) => line.length);
    const chance = choice.by === "length" && choice.leaves.every((leaf) => ok(board.leaves[leaf].chance))
      ? choice.leaves.map((leaf) => [board.leaves[leaf].length, board.leaves[leaf].chance]).sort((a, b) => a[0] - b[0]) : [];
    const windows = choice.by === "length" ? models.filter((model) => model.window).map((model) => [model.window, `claimed window of ${model.name}, ${LCT.tokens(model.window)}`]) : [];
    return {
      kind: "curves", xTitle: by[1], yTitle: first.points ? "Score, points" : "Score, percent", log: choice.by === "length" ? 1 : 0, points: first.points,
      top: Math.max(...choice.leaves.map((leaf) => board.leaves[leaf].top)), lines, marks: windows.slice(0, 4), chance,
      names: choice.by === "task" ? leaves.map(LCT.board.leafName(board)) : null,
    };
  }

  function setUp(board, onchange) {
    const section = document.getElementById("overlay");
    const picker = document.getElementById("overlay-group");
    const all = choices(board);
    picker.append(...all.map((choice, at) => h("option", { value: String(at) }, choice.name)));
    const picked = new Set();

    function show() {
      section.hidden = picked.size === 0;
      if (!picked.size) return;
      document.getElementById("overlay-title").textContent = picked.size === 1 ? "1 picked model" : `${picked.size} picked models`;
      document.getElementById("picked").replaceChildren(...[...picked].map((model) =>
        h("button", { type: "button", "aria-label": `Let go of ${model.name}`, onclick: () => { pick(model, false); } }, h("bdi", null, model.name), " ×")));
      const choice = all[Number(picker.value)];
      const drawn = spec(board, [...picked], choice);
      const place = document.getElementById("overlay-figure");
      if (!drawn.lines.length) {
        place.replaceChildren(h("p", { class: "soft" }, "None of the picked models has a score here."));
        return;
      }
      const caption = `${choice.name}: ${choice.by === "task" ? "scores by task" : `score against ${choice.by === "wer" ? "word error rate" : "length"}`}. ${choice.by === "task" ? "Lines" : "Bands"} are 95 % intervals.`;
      const figure = LCT.figure(choice.name, caption);
      place.replaceChildren(figure);
      LCT.draw(figure, drawn, choice.name);
    }

    function pick(model, on) {
      if (on && picked.size >= MOST) {
        onchange(`At most ${MOST} models fit into one figure; unpick a model first.`);
        return;
      }
      if (on) picked.add(model);
      else picked.delete(model);
      // The first choice that the models have something in.
      if (on && picked.size === 1) {
        const has = (choice) => choice.leaves.filter((leaf) => model.cells.has(leaf)).length;
        const best = [2, 1].map((fewest) => all.findIndex((choice) => has(choice) >= fewest)).find((at) => at >= 0);
        if (best !== undefined) picker.value = String(best);
      }
      onchange("");
      show();
    }

    picker.addEventListener("change", show);
    return { picked, pick };
  }

  return { setUp };
})();
