"use strict";
// The summary rank: of the other models, the share that a model beats, over all chosen cells (the mean win rate; Borda's count as a
// share). A cell is a task at one length, with the models that are ranked in it. Ties count half.

LCT.rank = (() => {
  const { ok } = LCT;
  const WORK = 2e6; // cells times draws
  const Z95 = 1.959964;

  // Normal numbers from a fixed seed (mulberry32, Box and Muller): the same page shows the same intervals.
  function normals(seed) {
    let state = seed;
    const uniform = () => {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
    };
    return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  }

  // The first place in sorted values that holds no less than the value.
  function below(sorted, value) {
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle] < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  function addShares(values, sums) {
    const sorted = Float64Array.from(values).sort();
    values.forEach((value, at) => {
      const less = below(sorted, value);
      let same = less;
      while (same < sorted.length && sorted[same] === value) same += 1;
      sums[at] += (less + (same - less - 1) / 2) / (values.length - 1);
    });
  }

  // The interval repeats the ranking with every score drawn from its own 95 % interval: what other cases of the same tasks could change.
  function winRates(models, leaves, host) {
    const taken = leaves.map((leaf) => models.flatMap((model, at) => {
      const cell = model.cells.get(leaf);
      return cell && cell.ranked && ok(cell.mean) && (host === "" || cell.hosts & (1 << host)) ? [[at, cell]] : [];
    })).filter((cells) => cells.length > 1);
    const counts = new Array(models.length).fill(0);
    for (const cells of taken) for (const [at] of cells) counts[at] += 1;
    const draws = Math.round(Math.min(400, Math.max(60, WORK / Math.max(1, counts.reduce((sum, count) => sum + count, 0)))));
    const next = normals(1);
    const seen = Array.from({ length: draws }, () => new Float64Array(models.length));
    const real = new Float64Array(models.length);
    for (const cells of taken) {
      const add = (values, to) => {
        const sums = new Float64Array(values.length);
        addShares(values, sums);
        cells.forEach(([at], place) => { to[at] += sums[place]; });
      };
      add(cells.map(([, cell]) => cell.mean), real);
      for (const sums of seen) {
        add(cells.map(([, { mean, low, high }]) => {
          if (!ok(low) || !ok(high)) return mean;
          const z = next();
          return mean + (z * (z > 0 ? high - mean : mean - low)) / Z95;
        }), sums);
      }
    }
    return new Map(models.flatMap((model, at) => {
      if (!counts[at]) return [];
      const mean = real[at] / counts[at];
      const drawn = seen.map((sums) => sums[at] / counts[at]).sort((a, b) => a - b);
      const low = Math.min(mean, drawn[Math.floor(0.025 * draws)]);
      const high = Math.max(mean, drawn[Math.ceil(0.975 * draws) - 1]);
      return [[model, { mean, low, high, n: counts[at], total: taken.length, parts: counts[at], of: taken.length, ranked: counts[at] === taken.length }]];
    }));
  }

  return { winRates };
})();
