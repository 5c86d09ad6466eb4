"use strict";
// All texts of the study go into the document as text nodes (textContent); nothing here parses markup.

const $ = (id) => document.getElementById(id);
const state = { study: null, name: "", items: [], done: new Set(), at: -1, item: null, busy: false };

const TEXTS = ["question", "reference", "rationale", "transcription", "candidate"];

function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

async function call(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Start it again with `lct annotate serve`, then open the new link.");
  }
  const row = await response.json().catch(() => ({ error: `status ${response.status}` }));
  if (!response.ok) throw Object.assign(new Error(row.error || `status ${response.status}`), { gone: response.status === 410 });
  return row;
}

const query = (row) => new URLSearchParams(row).toString();
const tell = (text) => { $("message").textContent = text; };

function show(id) {
  for (const part of ["start", "work", "finished"]) $(part).hidden = part !== id;
  const inside = id !== "start";
  $("progress").hidden = $("leave").hidden = !inside;
  $("who").textContent = inside ? state.name : "";
}

function buildForm() {
  const study = state.study;
  document.title = study.title;
  $("title").textContent = study.title;
  $("guidelines").textContent = $("guidelines-first").textContent = study.guidelines;
  for (const name of study.annotators) {
    const option = make("option");
    option.value = name;
    $("names").append(option);
  }
  $("name").maxLength = study.name_max;
  $("comment").maxLength = study.comment_max;
  if (study.writes) {
    $("has-candidate").hidden = $("scale").hidden = $("rating-keys").hidden = true;
    $("rating-keys").nextElementSibling.hidden = true;
    $("reference-title").textContent = "Passage";
    $("comment-title").textContent = study.writes;
    $("comment-hint").textContent = "one on each line, or None";
    $("comment").rows = 12;
  }
  for (const [number, step] of study.scale.entries()) {
    const row = make("div", "step");
    const picks = make("div", "picks");
    for (const value of step.values) {
      picks.append(pick("radio", "rating", String(value), String(value), `says-${number}`));
    }
    row.append(picks, says(`says-${number}`, step.label, step.text, picks.querySelector("input")));
    $("scale").append(row);
  }
  for (const value of study.scale.flatMap((step) => step.values)) {
    if (value <= 10 && !(value === 0 && study.scale.at(-1).values.includes(10))) $("rating-keys").append(key("span", String(value % 10)), " ");
  }
  for (const [code, each] of Object.entries(study.codes)) {
    const row = make("div", "step");
    const picks = make("div", "picks");
    picks.append(pick("checkbox", "code", code, code, `says-${code}`));
    row.append(picks, says(`says-${code}`, each.label, "", picks.querySelector("input")));
    row.title = each.text;
    $("codes").append(row);
    $("code-texts").append(key("dt", code), make("dd", "", `${each.label}. ${each.text}`));
  }
}

function key(tag, text) {
  const node = make(tag);
  node.append(make("kbd", "", text));
  return node;
}

function pick(type, name, value, shown, describedBy) {
  const label = make("label", "pick");
  const input = make("input");
  Object.assign(input, { type, name, value });
  input.id = `${name}-${value}`;
  input.setAttribute("aria-label", shown);
  input.setAttribute("aria-describedby", describedBy);
  const face = make("span", "", shown);
  face.setAttribute("aria-hidden", "true");
  label.append(input, face);
  return label;
}

function says(id, title, text, input) {
  const label = make("label", "says");
  label.id = id;
  label.htmlFor = input.id;
  if (title) label.append(make("b", "", title));
  if (text) label.append(make("span", "", text));
  return label;
}

async function enter(name) {
  state.name = name;
  const found = await call(`/api/queue?${query({ annotator: name })}`);
  state.items = found.items;
  state.done = new Set(found.done);
  sessionStorage.setItem("annotator", name);
  const open = state.items.findIndex((id) => !state.done.has(id));
  if (open < 0) finish(); else await go(open);
}

function count() {
  $("bar").max = Math.max(state.items.length, 1);
  $("bar").value = state.done.size;
  $("count").textContent = `${state.done.size} of ${state.items.length} done`;
}

function finish() {
  state.item = null;
  count();
  show("finished");
  const none = state.items.length === 0;
  $("finished-title").textContent = none ? "Nothing to annotate" : "All done";
  $("finished-text").textContent = none
    ? "The study has no items for you: they are not prepared yet, or others have done them."
    : "Thank you. Every annotation is saved; you may close this page.";
  $("again").hidden = none;
}

// An item that others have done in the meantime, or that was corrected: on to the next open one.
async function leaveOut(index, why) {
  state.done.delete(state.items[index]);
  state.items.splice(index, 1);
  const order = [...state.items.keys()];
  const open = order.slice(index).concat(order.slice(0, index)).find((place) => !state.done.has(state.items[place]));
  if (open === undefined) { finish(); return; }
  await go(open);
  if (!$("message").textContent) tell(`One item was left out: ${why}.`);
}

async function go(index) {
  const id = state.items[index];
  state.item = null; // until the texts are there, no key may rate or save what was shown before
  state.at = index;
  let item;
  try {
    item = await call(`/api/item?${query({ id, annotator: state.name })}`);
  } catch (error) {
    if (state.at !== index || state.items[index] !== id) return;
    if (error.gone) {
      await leaveOut(index, error.message);
      return;
    }
    for (const name of TEXTS) $(name).textContent = ""; // nothing that could be taken for this item
    show("work");
    tell(error.message);
    return;
  }
  if (state.at !== index) return; // another item was asked for in the meantime
  state.item = item;
  show("work");
  count();
  for (const name of TEXTS) $(name).textContent = item[name] ?? "";
  if (!item.candidate.trim()) $("candidate").textContent = "(empty answer)";
  $("has-rationale").hidden = !item.rationale;
  $("has-transcription").hidden = !item.transcription;
  $("has-transcription").open = false;
  $("open-document").hidden = item.document === null;
  $("open-document").textContent = `Open the ${state.study.source}`;
  const before = item.annotation;
  for (const input of $("rating").querySelectorAll("input")) {
    input.checked = before !== null && (input.name === "rating" ? Number(input.value) === before.rating : before.codes.includes(input.value));
  }
  $("comment").value = before?.comment ?? "";
  $("previous").disabled = index === 0;
  $("next").disabled = index === state.items.length - 1;
  tell("");
  $("status").textContent = `Item ${index + 1} of ${state.items.length}${before ? ", already annotated" : ""}`;
  $(state.study.writes ? "comment" : "rating").focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

function given() {
  const rating = $("rating").querySelector("input[name=rating]:checked");
  const codes = [...$("rating").querySelectorAll("input[name=code]:checked")].map((input) => input.value).join("");
  return { rating: rating ? Number(rating.value) : null, codes, comment: $("comment").value.trim() };
}

function changed() {
  if (!state.item) return false;
  const before = state.item.annotation ?? { rating: null, codes: "", comment: "" };
  const now = given();
  return now.rating !== before.rating || now.codes !== before.codes || now.comment !== before.comment;
}

async function save() {
  if (state.busy || !state.item) return;
  const answer = given();
  if (answer.rating === null && !answer.codes && !answer.comment) {
    tell(state.study.writes
      ? `Write ${state.study.writes.toLowerCase()}, or None, or say with a code why there are none.`
      : "Choose a rating, or say with a code or a comment why there is none.");
    return;
  }
  state.busy = $("save").disabled = true;
  try {
    await call("/api/annotation", { item: state.item.id, annotator: state.name, ...answer });
    state.item.annotation = answer;
    state.done.add(state.item.id);
    const later = [...state.items.keys()].slice(state.at + 1).concat([...state.items.keys()].slice(0, state.at));
    const open = later.find((index) => !state.done.has(state.items[index]));
    if (open === undefined) finish(); else await go(open);
  } catch (error) {
    tell(`Not saved: ${error.message}`);
  } finally {
    state.busy = $("save").disabled = false;
  }
}

function step(by) {
  const index = state.at + by;
  if (index < 0 || index >= state.items.length) return;
  if (changed() && !window.confirm("Leave this item without saving?")) return;
  go(index);
}

async function openDocument() {
  const id = state.item?.document;
  if (id === null || id === undefined) return;
  const address = `/document?${query({ id })}`;
  $("document-title").textContent = id;
  $("document-tab").href = address;
  $("document-text").textContent = "Loading …";
  $("document").showModal();
  try {
    const response = await fetch(address);
    if (!response.ok) throw new Error(`status ${response.status}`);
    $("document-text").textContent = await response.text();
  } catch (error) {
    $("document-text").textContent = `The ${state.study.source} cannot be shown: ${error.message}`;
  }
  $("document-text").scrollTop = 0;
  $("document-text").focus();
}

function toggle(input) {
  if (!input) return;
  input.checked = input.type === "radio" || !input.checked;
  input.focus();
}

function onKey(event) {
  if (document.querySelector("dialog[open]")) return;
  if ((event.ctrlKey || event.metaKey) && event.key === "Enter" && !$("work").hidden) {
    event.preventDefault();
    save();
    return;
  }
  const field = event.target.closest?.("textarea, #name");
  if (field) {
    if (event.key === "Escape") field.blur();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || !$("keys-on").checked) return;
  const key = event.key.toLowerCase();
  if (key === "?") { event.preventDefault(); $("help").showModal(); return; }
  if ($("work").hidden || !state.item) return;
  const actions = { c: () => $("comment").focus(), d: openDocument, s: save, p: () => step(-1), n: () => step(1) };
  if (/^[0-9]$/.test(key)) toggle(key === "0" ? ($("rating-10") ?? $("rating-0")) : $(`rating-${key}`));
  else if (/^[qarue]$/.test(key)) toggle($(`code-${key.toUpperCase()}`));
  else if (actions[key]) actions[key]();
  else return;
  event.preventDefault();
}

async function begin() {
  $("keys-on").checked = localStorage.getItem("keys") !== "off";
  $("keys-on").addEventListener("change", () => localStorage.setItem("keys", $("keys-on").checked ? "on" : "off"));
  $("open-help").addEventListener("click", () => $("help").showModal());
  $("open-document").addEventListener("click", openDocument);
  for (const button of document.querySelectorAll("dialog .close")) button.addEventListener("click", () => button.closest("dialog").close());
  $("previous").addEventListener("click", () => step(-1));
  $("next").addEventListener("click", () => step(1));
  $("again").addEventListener("click", () => go(0));
  $("rating").addEventListener("submit", (event) => { event.preventDefault(); save(); });
  $("leave").addEventListener("click", () => {
    if (changed() && !window.confirm("Leave this item without saving?")) return;
    state.item = null;
    sessionStorage.removeItem("annotator");
    show("start");
    $("name").value = "";
    $("name").focus();
  });
  $("sign-in").addEventListener("submit", (event) => {
    event.preventDefault();
    $("name").setCustomValidity("");
    enter($("name").value.trim()).catch((error) => { $("name").setCustomValidity(error.message); $("name").reportValidity(); });
  });
  $("name").addEventListener("input", () => $("name").setCustomValidity(""));
  document.addEventListener("keydown", onKey);
  window.addEventListener("beforeunload", (event) => { if (changed()) event.preventDefault(); });
  try {
    state.study = await call("/api/study");
    buildForm();
    const name = sessionStorage.getItem("annotator");
    if (name) await enter(name);
    else { show("start"); $("name").focus(); }
  } catch (error) {
    show("finished");
    $("finished-title").textContent = "The study cannot be shown";
    $("finished-text").textContent = error.message;
    $("again").hidden = true;
  }
}

begin();
