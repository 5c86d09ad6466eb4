"use strict";
// What all pages share: chunks loaded as scripts, elements made of text, bars, sorting of tables, the theme.
// Text of others enters the page through textContent alone.

const LCT = (() => {
  const root = document.documentElement.dataset.root || "";
  const waiting = new Map();

  function addScript(path) {
    return new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = root + path;
      script.onload = () => done();
      script.onerror = () => failed(new Error(`The file ${path} is missing from the folder; copy the whole folder or build it again.`));
      document.head.append(script);
    });
  }

  // A chunk calls take() with its name as it runs; load() waits for that, and runs each script once.
  function load(name) {
    if (!/^[0-9a-f]{16}$/.test(name)) return Promise.reject(new Error("The address names no data of this site."));
    if (!waiting.has(name)) {
      const entry = {};
      entry.promise = new Promise((done, failed) => {
        entry.done = done;
        addScript(`data/${name}.js`).then(() => failed(new Error(`The file data/${name}.js is damaged; build the site again.`)), failed);
      });
      waiting.set(name, entry);
    }
    return waiting.get(name).promise;
  }

  function take(name, value) {
    const entry = waiting.get(name);
    if (entry) entry.done(value);
  }

  // h("td", {class: "n"}, "text", child): attributes are our own names, texts become text nodes.
  function h(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children.flat()) {
      if (child !== null && child !== undefined && child !== false && child !== "") element.append(child);
    }
    return element;
  }

  const ok = (value) => value !== null && value !== undefined && Number.isFinite(value);
  const score = (value, points) => (!ok(value) ? "–" : points ? value.toFixed(2) : (100 * value).toFixed(1));
  const interval = (low, high, points) => (ok(low) && ok(high) ? `${score(low, points)}–${score(high, points)}` : "");
  const count = (n, total) => (n === total ? n.toLocaleString("en") : `${n.toLocaleString("en")} of ${total.toLocaleString("en")}`);
  function tokens(length) {
    for (const thousand of [1000, 1024]) if (length >= thousand && length % thousand === 0) return `${length / thousand}k`;
    return length.toLocaleString("en");
  }

  // Low, mean, high as shares of the scale.
  function bar(low, mean, high) {
    const element = h("span", { class: "bar", "aria-hidden": "true" });
    setBar(element, low, mean, high);
    return element;
  }
  function setBar(element, low, mean, high) {
    const percent = (share) => `${100 * Math.min(1, Math.max(0, share))}%`;
    element.style.setProperty("--l", percent(low));
    element.style.setProperty("--m", percent(mean));
    element.style.setProperty("--h", percent(high));
  }

  function drawBars(within) {
    for (const place of within.querySelectorAll("[data-bar]")) {
      const [low, mean, high] = place.dataset.bar.split(" ").map((text) => Number(text) / 1000);
      if (place.matches("td")) place.replaceChildren(bar(low, mean, high));
      else setBar(place, low, mean, high);
    }
  }

  // A table whose rows are in the page: its headings become buttons.
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  function makeSortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (head.querySelector(".unseen") || head.dataset.sort === "no") return;
      const button = h("button", { type: "button", class: "sort" }, h("span", { class: "t" }, ...head.childNodes));
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : head.dataset.sort === "num";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => {
          const cell = row.cells[column];
          return cell.dataset.value !== undefined ? cell.dataset.value : cell.textContent.trim();
        };
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => {
          const [x, y] = [key(a), key(b)];
          // What has no value stands last, whichever way.
          if (!x || !y) return (x ? 0 : 1) - (y ? 0 : 1);
          if (head.dataset.sort === "num") {
            const by = parseFloat(x.replaceAll(",", "")) - parseFloat(y.replaceAll(",", ""));
            return down ? -by : by;
          }
          return down ? compare(y, x) : compare(x, y);
        });
        table.tBodies[0].append(...rows);
      });
      head.replaceChildren(button);
    });
  }

  // A search over the rows of a long table.
  function makeSearchable(table) {
    const rows = [...table.tBodies[0].rows];
    const said = h("span", { class: "soft small", role: "status" });
    const box = h("input", { type: "search", autocomplete: "off", spellcheck: "false", oninput: () => {
      const sought = box.value.trim().toLocaleLowerCase().split(/\s+/);
      for (const row of rows) row.hidden = !sought.every((word) => row.textContent.toLocaleLowerCase().includes(word));
      said.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} rows`;
    } });
    table.closest(".scroll").before(h("div", { class: "filters" }, h("label", { class: "grow" }, "Search rows ", box), said));
  }

  // On a small screen notes take one line (the style sheet), and all of them on a click.
  function foldNotes(within) {
    const watch = new ResizeObserver((entries) => {
      for (const { target } of entries) {
        const button = target.nextElementSibling;
        if (!target.classList.contains("whole")) button.hidden = target.scrollHeight <= target.clientHeight + 1;
      }
    });
    for (const text of within.querySelectorAll(".notes > .text-of")) {
      const button = h("button", { type: "button", class: "more", "aria-expanded": "false" }, "More");
      button.hidden = true;
      button.addEventListener("click", () => {
        const whole = text.classList.toggle("whole");
        button.textContent = whole ? "Less" : "More";
        button.setAttribute("aria-expanded", String(whole));
      });
      text.after(button);
      watch.observe(text);
    }
  }

  // A table that is wider than its place says so above its first row; a scroll bar is easily missed on a phone.
  function hintAtColumns(table) {
    const place = table.closest(".scroll");
    if (place) new ResizeObserver(() => place.classList.toggle("more-columns", place.scrollWidth > place.clientWidth + 8)).observe(table);
  }

  function hintAtAllColumns() {
    const seen = new WeakSet();
    const look = () => {
      for (const table of document.querySelectorAll(".scroll > table")) {
        if (!seen.has(table)) hintAtColumns(table);
        seen.add(table);
      }
    };
    look();
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true }); // tables that scripts draw later
  }

  function theme() {
    const button = document.getElementById("theme");
    const system = matchMedia("(prefers-color-scheme: dark)");
    const dark = () => (document.documentElement.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
    const say = () => {
      button.textContent = dark() ? "Light" : "Dark";
      button.setAttribute("aria-label", `Switch to ${dark() ? "light" : "dark"} colours`);
      document.dispatchEvent(new Event("lct-theme"));
    };
    button.hidden = false;
    button.addEventListener("click", () => {
      const chosen = dark() ? "light" : "dark";
      document.documentElement.dataset.theme = chosen;
      try { localStorage.setItem("lct-theme", chosen); } catch { /* not kept, then */ }
      say();
    });
    system.addEventListener("change", say);
    say();
  }

  addEventListener("DOMContentLoaded", () => {
    theme();
    // Without a change of the address, which on the page of cases names the case.
    for (const link of document.querySelectorAll("a.skip")) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        document.getElementById(link.hash.slice(1)).focus();
      });
    }
    drawBars(document);
    foldNotes(document);
    hintAtAllColumns();
    for (const table of document.querySelectorAll("table[data-sortable]")) makeSortable(table);
    for (const table of document.querySelectorAll("table[data-searchable]")) makeSearchable(table);
  });

  return { take, load, addScript, h, ok, score, interval, count, tokens, bar, compare, makeSortable };
})();
