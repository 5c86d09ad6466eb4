"use strict";
// The summary rank: of the other models, the share that a model beats, over all chosen cells (the mean win rate; Borda's count as a
// share). A cell is a task at one length, with the models that are ranked in it. Ties count half.

LCT.rank = (() => {
  const { ok } = LCT;

  // The 95 % interval of the difference leaves out 0 (from the two scores' own intervals; Zou and Donner 2008).
  const ahead = (a, b) => a.mean > b.mean && ok(a.low) && ok(b.high) && (a.mean - b.mean) ** 2 > (a.mean - a.low) ** 2 + (b.high - b.mean) ** 2;

  // The interval goes from the share of comparisons that a model wins beyond chance to the share that it does not lose beyond chance.
  function winRates(models, leaves, host) {
    const sums = models.map(() => ({ won: 0, least: 0, most: 0, n: 0 }));
    let total = 0;
    for (const leaf of leaves) {
      const cells = models.flatMap((model, at) => {
        const cell = model.cells.get(leaf);
        return cell && cell.ranked && ok(cell.mean) && (host === "" || cell.hosts & (1 << host)) ? [[cell, sums[at]]] : [];
      });
      if (cells.length < 2) continue;
      total += 1;
      const share = 1 / (cells.length - 1);
      for (const [cell, own] of cells) {
        own.n += 1;
        for (const [other] of cells) {
          if (other === cell) continue;
          own.won += cell.mean > other.mean ? share : cell.mean === other.mean ? share / 2 : 0;
          if (ahead(cell, other)) own.least += share;
          if (!ahead(other, cell)) own.most += share;
        }
      }
    }
    return new Map(models.flatMap((model, at) => {
      const { won, least, most, n } = sums[at];
      return n ? [[model, { mean: won / n, low: least / n, high: most / n, n, total, parts: n, of: total, ranked: n === total }]] : [];
    }));
  }

  return { winRates };
})();
