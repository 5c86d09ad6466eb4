"use strict";
// Cases of a run: a list to search, and one case with what was asked, said, expected and scored. The address names both:
// case.html#LIST/NUMBER.

addEventListener("DOMContentLoaded", () => {
  const { h, score, ok } = LCT;
  const PAGE = 200;
  const at = (id) => document.getElementById(id);
  let list = null;
  let name = "";
  let shown = [];
  let start = 0;

  const mean = (values) => {
    const there = values.filter(ok);
    return there.length ? there.reduce((sum, value) => sum + value, 0) / there.length : null;
  };
  const address = (number) => `#${name}/${number}`;

  async function go() {
    const [wanted, number] = location.hash.slice(1).split("/");
    try {
      if (wanted !== name || !list) {
        list = await LCT.load(wanted);
        name = wanted;
        ready();
      }
      await open(Math.min(Math.max(0, Number.parseInt(number, 10) || 0), list.cases.length - 1));
    } catch (error) {
      at("status").textContent = `The cases cannot be shown. ${error.message}`;
    }
  }

  function ready() {
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
  }

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
    const current = Number.parseInt(location.hash.split("/")[1], 10) || 0;
    at("case-list").replaceChildren(...shown.slice(start, start + PAGE).map(({ row, number, mean: value }) => {
      const about = [row[2], ...row[3].map(([label, text]) => `${label} ${text}`)].filter(Boolean).join(" · ");
      return h("li", null, h("a", { href: address(number), "aria-current": number === current ? "true" : null },
        h("bdi", null, row[0]), h("span", { class: "v" }, score(value, list.points)), about && h("span", { class: "soft" }, about)));
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

  const box = (title, text, extra = "", withheld = "") => h("div", null, h("p", { class: "legend" }, title), text === null
    ? h("p", { class: "text none" }, withheld ? "Withheld." : "None.")
    : h("div", { class: `text ${extra}`, tabindex: "0", role: "group", "aria-label": title }, text));

  async function open(number) {
    const row = list.cases[number];
    if (!row) return;
    for (const link of at("case-list").querySelectorAll("a")) {
      if (link.hash === address(number)) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    const [id, , , labels, pack, place] = row;
    const [withheld, prompt, turns] = (await LCT.load(pack))[place];
    const step = (to, text) => {
      const button = h("button", { type: "button", class: "quiet", onclick: () => { location.hash = address(to); } }, text);
      button.disabled = to < 0 || to >= list.cases.length;
      return button;
    };
    at("case").replaceChildren(
      h("div", { class: "steps" }, step(number - 1, "Previous case"), step(number + 1, "Next case")),
      h("h2", { id: "case-title" }, h("bdi", null, id)),
      h("ul", { class: "chips", "aria-label": "Labels" }, labels.map(([label, text]) => h("li", null, `${label} `, h("b", null, h("bdi", null, text))))),
      withheld && h("p", { class: "withheld" }, withheld),
      promptPart(prompt, withheld),
      ...turns.map((turn, at) => turnPart(turn, at, turns.length, withheld)));
    at("case").dataset.number = String(number);
  }

  function promptPart(prompt, withheld) {
    if (!prompt) return h("p", { class: "text none" }, withheld ? "The prompt is withheld." : "The prompt was not kept.");
    const [chunk, size, messages] = prompt;
    const details = h("details", { class: "prompt" }, h("summary", null, `Prompt: ${size.toLocaleString("en")} characters in ${messages} message${messages === 1 ? "" : "s"}`));
    details.addEventListener("toggle", async () => {
      if (details.dataset.loaded) return;
      details.dataset.loaded = "1";
      const wait = h("p", { class: "soft", role: "status" }, "Loading …");
      details.append(wait);
      try {
        for (const [role, content] of await LCT.load(chunk)) details.append(box(role, content));
        wait.remove();
      } catch (error) {
        wait.textContent = error.message;
      }
    });
    return details;
  }

  function turnPart([question, gold, response, scores, reason, feedback], number, of, withheld) {
    const numbers = scores.map(([metric, value]) => h("div", null, h("dt", null, metric), h("dd", null, !ok(value) ? "–" : list.points ? String(Math.round(100 * value) / 100) : String(Math.round(1000 * value) / 1000))));
    if (reason) numbers.push(h("div", null, h("dt", null, "reason"), h("dd", null, reason)));
    return h("section", { class: "turn" },
      of > 1 && h("h3", null, `Turn ${number + 1}`),
      h("dl", { class: "numbers" }, numbers),
      question !== null && box("Question", question),
      h("div", { class: "two" }, box("Response", response, "response", withheld), box("Gold", gold, "", withheld)),
      ...feedback.map((text, at) => box(feedback.length > 1 ? `Judge, verdict ${at + 1}` : "Judge", text)));
  }

  at("case-filters").addEventListener("submit", (event) => event.preventDefault());
  for (const control of at("case-filters").elements) control.addEventListener(control.tagName === "SELECT" ? "change" : "input", () => { if (list) narrow(); });
  addEventListener("hashchange", go);
  go();
});
