// Texts whose contrast as in WCAG 2.2, against the first ground that is not see-through, is too low, with the ratio.
const light = (rgb) => rgb.map((v) => v / 255).map((v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
const rgb = (text) => text.match(/[\d.]+/g).map(Number);
const ground = (node) => {
  for (; node; node = node.parentElement) {
    const found = rgb(getComputedStyle(node).backgroundColor);
    if (found.length < 4 || found[3] === 1) return found.slice(0, 3);
  }
  return [255, 255, 255];
};
return [...document.querySelectorAll("body *")].filter((node) => node.checkVisibility() && !node.matches(":disabled, .unseen")
    && [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim())).map((node) => {
  const [one, other] = [light(rgb(getComputedStyle(node).color).slice(0, 3)), light(ground(node))];
  return [node.textContent.slice(0, 30), (Math.max(one, other) + .05) / (Math.min(one, other) + .05)];
}).filter(([, ratio]) => ratio < 4.5);
