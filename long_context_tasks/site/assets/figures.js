"use strict";
// Curves with bands, heat maps, and the same numbers as a table. The drawing library is loaded when the first figure comes near.

(() => {
  const { h, ok, score, interval, count, tokens } = LCT;
  const SVG = "http://www.w3.org/2000/svg";
  // Okabe and Ito's colours in an order that keeps neighbours apart, each with a shape and a dash of its own; the yellow, too
  // pale on white, is left out.
  const STYLES = [
    ["#0072b2", "#56b4e9", "circle", "solid"], ["#d55e00", "#f28c3a", "square", "dash"], ["#009e73", "#2fc79d", "diamond", "dot"],
    ["#b85f94", "#e39cc4", "triangle-up", "dashdot"], ["#b87800", "#e69f00", "cross", "longdash"], ["#2f8fc4", "#9bd4f5", "triangle-down", "longdashdot"],
    ["#55595f", "#c3c7cd", "star", "solid"], ["#7a5195", "#c3a0dd", "x", "dash"],
  ];
  const PATHS = {
    circle: "M14 7m-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0", square: "M10.6 3.6h6.8v6.8h-6.8z", diamond: "M14 2.4L18.6 7L14 11.6L9.4 7z",
    "triangle-up": "M14 2.6L18.4 10.4H9.6z", cross: "M12.6 2.8h2.8v2.8h2.8v2.8h-2.8v2.8h-2.8v-2.8h-2.8v-2.8h2.8z",
    "triangle-down": "M14 11.4L9.6 3.6H18.4z", star: "M14 2l1.4 3.4 3.6.3-2.8 2.3.9 3.6L14 9.7l-3.1 1.9.9-3.6L9 5.7l3.6-.3z",
    x: "M11 2.9L14 5.6L17 2.9L18.4 4.3L15.5 7L18.4 9.7L17 11.1L14 8.4L11 11.1L9.6 9.7L12.5 7L9.6 4.3z",
  };
  // Levels to compare curves with: name in the data, words, width and dash of the line.
  const LEVELS = [["chance", "chance", 1, "dot"], ["human", "people", 2, "dash"]];
  const DASHES = { solid: "", dash: "5 3", dot: "1.5 2.5", dashdot: "5 2 1.5 2", longdash: "8 3", longdashdot: "8 2 1.5 2" };

  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const style = (number) => STYLES[number % STYLES.length];
  const color = (number) => style(number)[isDark() ? 1 : 0];
  const markColor = (line) => (ok(line) ? color(line) : ink("mark"));
  const faint = (hex, alpha) => `rgba(${[1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)).join(",")},${alpha})`;

  function ink(name) {
    const probe = h("span");
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  }

  // Styles that the library would add for its maps, which are not drawn here: where an element has their name, it adds none.
  function withoutStyles() {
    for (const id of (document.documentElement.dataset.styles || "").split(" ").filter(Boolean)) document.head.append(h("meta", { id }));
  }

  let library = null;
  const plotly = () => (library ||= load());
  function load() {
    withoutStyles();
    return LCT.addScript("assets/plotly.min.js").then(() => window.Plotly);
  }

  function base(spec) {
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, dragmode: false, hovermode: "closest",
      margin: { l: 52, r: 14, t: 14, b: 46 }, height: 350,
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink("soft") },
      hoverlabel: { bgcolor: ink("card"), bordercolor: ink("edge"), font: { color: ink("ink") }, align: "left" },
      xaxis: { title: { text: spec.xTitle, standoff: 10 }, gridcolor: ink("line"), linecolor: ink("edge"), zeroline: false, fixedrange: true },
      yaxis: { title: { text: spec.yTitle, standoff: 8 }, gridcolor: ink("line"), linecolor: ink("line"), zeroline: false, fixedrange: true },
    };
  }

  // Names come from outside: the library reads < and & in texts as markup, so they are written as what they are.
  const plain = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

  const cases = (p) => (ok(p[4]) ? `n ${count(p[4], p[5])}` : "");

  function curves(spec) {
    const scale = spec.points ? 1 : 100;
    const traces = [];
    spec.lines.forEach(([name, points], number) => {
      const there = points.filter((point) => ok(point[1]));
      const banded = there.filter((point) => ok(point[2]) && ok(point[3]));
      if (banded.length > 1) {
        traces.push({
          x: [...banded.map((p) => p[0]), ...banded.map((p) => p[0]).reverse()],
          y: [...banded.map((p) => scale * p[3]), ...banded.map((p) => scale * p[2]).reverse()],
          fill: "toself", fillcolor: faint(color(number), spec.lines.length > 3 ? 0.1 : 0.16), line: { width: 0 }, mode: "lines",
          hoverinfo: "skip", type: "scatter",
        });
      }
      traces.push({
        x: there.map((p) => p[0]), y: there.map((p) => scale * p[1]), type: "scatter", mode: "lines+markers",
        line: { color: color(number), width: 2, dash: style(number)[3] },
        marker: { symbol: style(number)[2], size: 8, color: color(number), line: { width: 1.5, color: ink("card") } },
        text: there.map((p) => `${plain(name)}<br><b>${score(p[1], spec.points)}</b>  ${interval(p[2], p[3], spec.points)}<br>${cases(p)}`),
        hovertemplate: "%{text}<extra></extra>",
      });
    });
    for (const [key, name, width, dash] of LEVELS) {
      const points = spec[key] || [];
      if (points.length) traces.push({
        x: points.map((p) => p[0]), y: points.map((p) => scale * p[1]), type: "scatter", mode: "lines",
        line: { color: ink("edge"), width, dash }, hovertemplate: `${name} %{y:.1f}<extra></extra>`,
      });
    }
    const layout = base(spec);
    const xs = [...new Set(spec.lines.flatMap(([, points]) => points.map((p) => p[0])))].sort((a, b) => a - b);
    const marks = spec.marks || [];
    const ends = [...xs, ...marks.map((mark) => mark[0])];
    if (spec.log) {
      // The scale goes by factors of the lengths; ticks are at measured lengths, as far as their words have room.
      const log = Math.log10;
      const wide = Math.max(0.05, log(Math.max(...ends)) - log(Math.min(...ends)));
      const ticks = [];
      for (const x of xs) if (!ticks.length || log(x) - log(ticks[ticks.length - 1]) > wide / 9) ticks.push(x);
      Object.assign(layout.xaxis, { type: "log", tickvals: ticks, ticktext: ticks.map(tokens), range: [log(Math.min(...ends)) - 0.05 * wide, log(Math.max(...ends)) + 0.07 * wide] });
    }
    layout.yaxis.range = [0, scale * spec.top * 1.02];
    layout.shapes = marks.map(([x, , line]) => ({ type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, line: { color: markColor(line), width: 1.5, dash: "dash" } }));
    // Above the frame, where no curve crosses them. A phone has no room for them; the key names the windows as well.
    const labels = innerWidth < 600 ? [] : marks;
    layout.annotations = labels.map(([x, , line], number) => ({
      x: spec.log ? Math.log10(x) : x, yref: "paper", y: 1, yanchor: "bottom", yshift: 15 * (number % 4), text: `claimed ${tokens(x)}`, showarrow: false,
      font: { size: 11, color: markColor(line) },
    }));
    layout.margin.t += 15 * Math.min(4, labels.length);
    layout.height += 15 * Math.min(4, labels.length);
    return [traces, layout];
  }

  // Names in place of numbers: a row for each, dots with their intervals, models a little apart.
  function rows(spec) {
    const scale = spec.points ? 1 : 100;
    const layout = base(spec);
    const traces = spec.lines.map(([name, points], number) => {
      const there = points.filter((point) => ok(point[1]));
      const shift = spec.lines.length > 1 ? (0.5 * number) / (spec.lines.length - 1) - 0.25 : 0;
      return {
        x: there.map((p) => scale * p[1]), y: there.map((p) => p[0] + shift), type: "scatter", mode: "markers",
        marker: { symbol: style(number)[2], size: 8, color: color(number) },
        error_x: {
          type: "data", symmetric: false, thickness: 1.5, width: 0, color: faint(color(number), 0.6),
          array: there.map((p) => (ok(p[3]) ? scale * (p[3] - p[1]) : 0)), arrayminus: there.map((p) => (ok(p[2]) ? scale * (p[1] - p[2]) : 0)),
        },
        text: there.map((p) => `${plain(name)}<br><b>${score(p[1], spec.points)}</b>  ${interval(p[2], p[3], spec.points)}<br>${cases(p)}`),
        hovertemplate: "%{text}<extra></extra>",
      };
    });
    layout.height = 80 + spec.names.length * Math.max(26, 13 * spec.lines.length);
    Object.assign(layout.xaxis, { title: { text: spec.yTitle, standoff: 8 }, range: [0, scale * spec.top * 1.02] });
    Object.assign(layout.yaxis, {
      title: { text: "" }, tickvals: spec.names.map((_, at) => at), ticktext: spec.names.map((text) => plain(text.length > 32 ? `${text.slice(0, 31)}…` : text)),
      range: [spec.names.length - 0.4, -0.6], automargin: true,
    });
    return [traces, layout];
  }

  function heat(spec) {
    const layout = base(spec);
    layout.xaxis.type = layout.yaxis.type = "category";
    layout.yaxis.autorange = "reversed";
    for (const axis of [layout.xaxis, layout.yaxis]) Object.assign(axis, { showgrid: false, automargin: true, linecolor: "rgba(0,0,0,0)" });
    layout.xaxis.autotickangles = [0, -45, -90]; // the first at which names do not overlap
    layout.xaxis.title.standoff = 16;
    layout.height = Math.min(400, 210 + 40 * spec.y.length);
    layout.plot_bgcolor = ink("track"); // what has no value differs from the lowest one
    const range = ok(spec.low) && ok(spec.high) ? { zmin: spec.low, zmax: spec.high } : {};
    // The count of a cell is in it where it has room, and always in its tooltip.
    const counts = spec.counts ? { text: spec.counts.map((row, y) => row.map((n, x) => (ok(spec.values[y][x]) ? `n ${n}` : ""))), texttemplate: spec.x.length > 6 ? "" : "%{text}" } : {};
    const hover = `%{y}, %{x}: %{z:.3g}${spec.counts ? ", %{text}" : ""}<extra></extra>`;
    return [[{
      type: "heatmap", x: spec.x.map(plain), y: spec.y.map(plain), z: spec.values, colorscale: "Cividis", xgap: 1, ygap: 1, ...range,
      colorbar: { thickness: 10, outlinewidth: 0, len: 1 }, hovertemplate: hover, hoverongaps: false, ...counts,
    }], layout];
  }

  // The legend, as text beside a piece of the line.
  function key(spec) {
    const draw = (tag, attributes) => {
      const element = document.createElementNS(SVG, tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      return element;
    };
    return h("ul", { class: "key" }, spec.lines.map(([name], number) => {
      const picture = draw("svg", { width: 28, height: 14, viewBox: "0 0 28 14", "aria-hidden": "true" });
      picture.append(
        draw("path", { d: "M0 7H28", stroke: color(number), "stroke-width": 2, "stroke-dasharray": DASHES[style(number)[3]] }),
        draw("path", { d: PATHS[style(number)[2]], fill: color(number) }),
      );
      return h("li", null, picture, h("bdi", null, name));
    }), (spec.marks || []).map(([, text, line]) => {
      const picture = draw("svg", { width: 14, height: 14, viewBox: "0 0 14 14", "aria-hidden": "true" });
      picture.append(draw("path", { d: "M7 0V14", stroke: markColor(line), "stroke-width": 1.5, "stroke-dasharray": "4 2" }));
      return h("li", null, picture, h("bdi", null, text));
    }), LEVELS.filter(([name]) => (spec[name] || []).length).map(([, text, width, dash]) => {
      const picture = draw("svg", { width: 28, height: 14, viewBox: "0 0 28 14", "aria-hidden": "true" });
      picture.append(draw("path", { d: "M0 7H28", stroke: ink("edge"), "stroke-width": width, "stroke-dasharray": DASHES[dash] }));
      return h("li", null, picture, text);
    }));
  }

  // A cell's text breaks between score, interval and count only.
  const pieces = (text) => text.split(/(?<=,) | (?=\()/).flatMap((piece, at) => [at ? " " : "", h("span", { class: "nowrap" }, piece)]);

  function table(spec, title) {
    const caption = h("caption", null, title);
    let heads;
    let rows;
    if (spec.kind === "heat") {
      heads = ["", ...spec.x];
      rows = spec.y.map((name, y) => [name, ...spec.values[y].map((value, x) => (ok(value) ? `${Math.round(1e4 * value) / 1e4}${spec.counts ? `, n ${spec.counts[y][x]}` : ""}` : "–"))]);
    } else {
      const xs = [...new Set(spec.lines.flatMap(([, points]) => points.map((p) => p[0])))].sort((a, b) => a - b);
      heads = [spec.xTitle, ...xs.map((x) => (spec.log ? tokens(x) : spec.names ? spec.names[x] : String(Math.round(10 * x) / 10)))];
      rows = spec.lines.map(([name, points]) => {
        const at = new Map(points.map((point) => [point[0], point]));
        return [name, ...xs.map((x) => {
          const point = at.get(x);
          if (!point) return "–";
          const ends = interval(point[2], point[3], spec.points);
          return `${score(point[1], spec.points)}${ends ? ` (${ends})` : ""}${ok(point[4]) ? `, ${cases(point)}` : ""}`;
        })];
      });
    }
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
      h("table", null, caption,
        h("thead", null, h("tr", null, heads.map((text) => h("th", { scope: "col" }, h("bdi", null, text))))),
        h("tbody", null, rows.map(([name, ...cells]) => h("tr", null, h("th", { scope: "row" }, h("bdi", null, name)), cells.map((text) => h("td", null, pieces(text))))))));
  }

  // Draws into a figure with a .plot; draws again in the colours of another theme.
  function draw(figure, spec, title) {
    const place = figure.querySelector(".plot");
    const paint = async () => {
      if (!figure.isConnected) return;
      figure.querySelector(".key")?.remove();
      if (spec.kind === "curves") place.before(key(spec));
      try {
        const Plotly = await plotly();
        place.querySelector(".wait")?.remove();
        const [traces, layout] = (spec.kind === "heat" ? heat : spec.names ? rows : curves)(spec);
        await Plotly.react(place, traces, layout, { displayModeBar: false, responsive: true, doubleClick: false });
        // Without a height of its own, the place would collapse when the window is resized, and the figure cover the text below.
        place.style.height = `${layout.height}px`;
        figure.dataset.drawn = "1";
      } catch (error) {
        place.replaceChildren(h("p", { class: "soft" }, `The figure could not be drawn. ${error.message} The table below has the numbers.`));
      }
    };
    figure.querySelector("details.numbers-table")?.remove();
    figure.append(h("details", { class: "numbers-table" }, h("summary", null, "The numbers as a table"), table(spec, title)));
    document.addEventListener("lct-theme", paint);
    return paint();
  }

  function figure(title, caption) {
    return h("figure", { class: "figure" },
      h("div", { class: "plot", role: "img", "aria-label": `${title}. ${caption} The numbers follow as a table.` }),
      h("figcaption", null, caption));
  }

  LCT.draw = draw;
  LCT.figure = figure;

  addEventListener("DOMContentLoaded", () => {
    const near = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        const title = target.querySelector("h3").textContent;
        LCT.load(target.dataset.figure).then((spec) => draw(target, spec, title), (error) => target.querySelector(".plot").replaceChildren(h("p", null, error.message)));
      }
    }, { rootMargin: "400px" });
    for (const each of document.querySelectorAll("[data-figure]")) near.observe(each);
  });
})();
