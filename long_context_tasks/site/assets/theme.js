"use strict";
// Before the first paint: the theme that the reader chose, else that of the system.
(() => {
  let theme = null;
  try { theme = localStorage.getItem("lct-theme"); } catch { /* a browser may keep nothing for files */ }
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
})();
