"use strict";
// Cases of a run: a list to search, and one case with what was asked, said, expected and scored, beside other models' answers.
// The address names all: case.html#LIST/NUMBER/OTHER LIST/...

addEventListener("DOMContentLoaded", () => {
  const { h, score, ok } = LCT;
  const PAGE = 200;
  const MOST = 3; // other models beside the one
  const at = (id) => document.getElementById(id);
  let list = null;
  let name = "";
  let others = []; // names of lists
  let labels = new Map(); // of lists, what distinguishes runs of one model
  let shown = [];
  let start = 0;

  const mean = (values) => {
    const there = values.filter(ok);
    return there.length ? there.reduce((sum, value) => sum + value, 0) / there.length : null;
  };
  const address = (number, beside = others) => `#${[name, number, ...beside].join("/")}`;

  // Points of a scale are neither right nor wrong.
  function verdict(value) {
    if (list.points) return ["", ""];
    if (!ok(value)) return ["unknown", "No score"];
    return value >= 1 ? ["right", "Right"] : value <= 0 ? ["wrong", "Wrong"] : ["partly", "Partly right"];
  }

  async function go() {
    const [wanted, number, ...beside] = location.hash.slice(1).split("/");
    try {
      const fresh = wanted !== name || !list;
      if (fresh) {
        list = await LCT.load(wanted);
        name = wanted;
      }
      others = beside.filter((each) => each !== name).slice(0, MOST);
      if (fresh) await ready();
      for (const box of at("beside").querySelectorAll("input")) box.checked = others.includes(box.value);
      await open(Math.min(Math.max(0, Number.parseInt(number, 10) || 0), list.cases.length - 1));
    } catch (error) {
      at("status").textContent = `The cases cannot be shown. ${error.message}`;
    }
  }

  async function ready() {
    document.title = `${list.task} · ${list.model}`;
    at("heading").replaceChildren(list.task, " ", h("span", { class: "soft" }, "by "), h("bdi", null, list.model));
    const crumb = (href, text) => [" / ", h("a", { href }, h("bdi", null, text))];
    at("crumbs").replaceChildren(...crumb(list.modelPage, list.model), ...crumb(list.taskPage, list.task), " / Cases");
    at("facts").replaceChildren(...list.facts.map(([label, text]) => h("span", null, `${label} `, h("b", null, h("bdi", null, text)))));
    at("cases").hidden = false;
    const reasons = [...new Set(list.cases.map((row) => row[2]).filter(Boolean))].sort();
    at("case-show").replaceChildren(
      h("option", { value: "" }, "All"), h("option", { value: "low" }, "Lowest scores first"), h("option", { value: "high" }, "Highest scores first"),
      h("option", { value: "none" }, "Without a score"), ...reasons.map((reason) => h("option", { value: `=${reason}` }, `Reason: ${reason}`)));
    narrow();
    const beside = await LCT.load(list.beside);
    labels = new Map(beside.map(([, label, chunk]) => [chunk, label]));
    const known = beside.filter((each) => each[2] !== name);
    at("beside").hidden = !known.length;
    at("beside").replaceChildren(h("legend", null, "Compare with"), ...known.map(([model, label, chunk]) => h("label", null,
      h("input", { type: "checkbox", value: chunk, onchange: (event) => choose(event.target) }), h("bdi", null, model), label && h("span", { class: "soft" }, ` ${label}`))));
  }

  function choose(box) {
    const rest = others.filter((each) => each !== box.value);
    // One more than fits takes the place of the first.
    location.hash = address(current(), box.checked ? [...rest, box.value].slice(-MOST) : rest);
  }

  const current = () => Number.parseInt(location.hash.split("/")[1], 10) || 0;

  function narrow() {
    const sought = at("case-search").value.trim().toLocaleLowerCase();
    const show = at("case-show").value;
    shown = list.cases.map((row, number) => ({ row, number, mean: mean(row[1]) }));
    if (sought) shown = shown.filter(({ row }) => [row[0], row[2] || "", ...row[3].flat()].some((text) => String(text).toLocaleLowerCase().includes(sought)));
    if (show === "none") shown = shown.filter((each) => each.row[1].some((value) => !ok(value)));
    if (show.startsWith("=")) shown = shown.filter((each) => each.row[2] === show.slice(1));
    if (show === "low") shown.sort((a, b) => (a.mean ?? Infinity) - (b.mean ?? Infinity) || a.number - b.number);
    if (show === "high") shown.sort((a, b) => (b.mean ?? -Infinity) - (a.mean ?? -Infinity) || a.number - b.number);
    start = 0;
    draw();
  }

  function draw() {
    const open = current();
    at("case-list").replaceChildren(...shown.slice(start, start + PAGE).map(({ row, number, mean: value }) => {
      const about = [row[2], ...row[3].map(([label, text]) => `${label} ${text}`)].filter(Boolean).join(" · ");
      return h("li", null, h("a", { href: address(number), "data-number": String(number), "aria-current": number === open ? "true" : null },
        h("bdi", null, row[0]), h("span", { class: `v ${verdict(value)[0]}` }, score(value, list.points)), about && h("span", { class: "soft" }, about)));
    }));
    at("status").textContent = shown.length === list.cases.length ? `${list.cases.length} cases` : `${shown.length} of ${list.cases.length} cases`;
    const go = (to) => () => { start = to; draw(); };
    const before = h("button", { type: "button", onclick: go(start - PAGE) }, "Previous");
    const after = h("button", { type: "button", onclick: go(start + PAGE) }, "Next");
    before.disabled = start === 0;
    after.disabled = start + PAGE >= shown.length;
    at("case-pager").hidden = shown.length <= PAGE;
    at("case-pager").replaceChildren(before, after);
  }

  // A response of line ends only, or with hundreds of them, would be an empty box of any height.
  const folded = (text) => text.replace(/\n{6,}/g, (ends) => `\n[${ends.length - 1} empty lines]\n`);
  const box = (title, text, extra = "", withheld = "") => h("div", null, h("p", { class: "legend" }, title), text === null
    ? h("p", { class: "text none" }, withheld ? "Withheld." : "None.")
    : text && !text.trim()
      ? h("p", { class: "text none" }, `White space only, ${text.length.toLocaleString("en")} characters.`)
      : h("div", { class: `text ${extra}`, tabindex: "0", role: "group", "aria-label": title }, folded(text)));

  // The same case of another list, as far as it has it: by its id, of a run that answers cases several times by the repeat as well.
  async function answerOf(other, row) {
    const held = await LCT.load(other);
    const repeat = (each) => each[3].find(([label]) => label === "repeat")?.[1];
    const own = held.cases.filter((each) => each[0] === row[0]);
    const found = own.find((each) => repeat(each) === repeat(row)) ?? own[0];
    return { list: held, label: labels.get(other), row: found, case: found ? (await LCT.load(found[4]))[found[5]] : null };
  }

  async function open(number) {
    const row = list.cases[number];
    if (!row) return;
    for (const link of at("case-list").querySelectorAll("a")) {
      link.hash = address(link.dataset.number);
      if (link.dataset.number === String(number)) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    const [id, , , about, pack, place] = row;
    const answers = [{ list, label: labels.get(name), row, case: (await LCT.load(pack))[place] }, ...await Promise.all(others.map((other) => answerOf(other, row)))];
    const [withheld, prompt, turns] = answers[0].case;
    const step = (to, text) => {
      const button = h("button", { type: "button", class: "quiet", onclick: () => { location.hash = address(to); } }, text);
      button.disabled = to < 0 || to >= list.cases.length;
      return button;
    };
    const parts = [
      h("div", { class: "steps" }, step(number - 1, "Previous case"), step(number + 1, "Next case")),
      h("h2", { id: "case-title" }, h("bdi", null, id)),
      h("ul", { class: "chips", "aria-label": "Labels" }, about.map(([label, text]) => h("li", null, `${label} `, h("b", null, h("bdi", null, text))))),
      withheld && h("p", { class: "withheld" }, withheld),
      promptPart(prompt, withheld),
      ...turns.map((turn, at) => turnPart(answers, at, withheld)),
    ];
    at("case").replaceChildren(...parts.filter(Boolean));
    at("case").dataset.number = String(number);
  }

  function promptPart(prompt, withheld) {
    if (!prompt) return h("p", { class: "text none" }, withheld ? "The prompt is withheld." : "The prompt was not kept.");
    const [chunk, size, messages] = prompt;
    const details = h("details", { class: "prompt" }, h("summary", null, `Prompt: ${size.toLocaleString("en")} characters in ${messages} message${messages === 1 ? "" : "s"}`));
    let loaded = null;
    async function load() {
      const wait = h("p", { class: "soft", role: "status" }, "Loading …");
      details.append(wait);
      try {
        const texts = await LCT.load(chunk);
        wait.replaceWith(...texts.map(([role, content]) => box(role, content)));
      } catch (error) {
        wait.textContent = error.message;
      }
    }
    details.addEventListener("toggle", () => { loaded ||= load(); });
    return details;
  }

  function turnPart(answers, number, withheld) {
    const [question, gold] = answers[0].case[2][number];
    return h("section", { class: "turn" },
      answers[0].case[2].length > 1 && h("h3", null, `Turn ${number + 1}`),
      question !== null && box("Question", question),
      answers.length > 1 && box("Accepted answer", gold, "", withheld),
      h("div", { class: "answers" }, answers.length === 1 && box("Accepted answer", gold, "", withheld), answers.map((answer) => answerPart(answer, number, answers))));
  }

  function answerPart({ list: own, label, row, case: found }, number, answers) {
    const named = answers.length > 1 && h("h4", null, h("bdi", null, own.model), label && h("span", { class: "soft" }, ` ${label}`));
    const turn = found?.[2][number];
    if (!turn) return h("section", { class: "answer" }, named, h("p", { class: "text none" }, "This run does not have the case."));
    const [, , response, scores, reason, feedback] = turn;
    // Cases made from other seeds may have the same id.
    const other = found[1] && answers[0].case[1] && found[1][0] !== answers[0].case[1][0];
    const [kind, word] = verdict(row[1][number]);
    const digits = (value) => (!ok(value) ? "–" : String(Math.round((own.points ? 100 : 1000) * value) / (own.points ? 100 : 1000)));
    const numbers = scores.map(([metric, value]) => h("div", null, h("dt", null, metric), h("dd", null, digits(value))));
    if (reason) numbers.push(h("div", null, h("dt", null, "reason"), h("dd", null, reason)));
    return h("section", { class: `answer ${kind}` }, named,
      word && h("p", { class: `verdict ${kind}` }, word),
      other && h("p", { class: "withheld" }, "This run sent a different prompt under the same id."),
      h("dl", { class: "numbers" }, numbers),
      box("Response", response, "response", found[0]),
      feedback.map((text, at) => box(feedback.length > 1 ? `Judge, verdict ${at + 1}` : "Judge", text)));
  }

  at("case-filters").addEventListener("submit", (event) => event.preventDefault());
  for (const control of at("case-filters").elements) control.addEventListener(control.tagName === "SELECT" ? "change" : "input", () => { if (list) narrow(); });
  addEventListener("hashchange", go);
  go();
});
