"""How wide intervals are when many questions share a text, against as many texts as questions.

``python tests/stats/nano_simulation.py`` prints the figures of docs/nano.md (a few seconds); the correlations of published
answers need ELITR-Bench's archives in ``LCT_DATA_DIR``.
"""

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from coverage_simulation import Setting, draw

from long_context_tasks.stats.comparison import spread_of
from long_context_tasks.stats.intervals import graded_ends

ALONE = 200
DESIGNS = {"meetings": (20, 16), "sections": (36, 8)}
"""Texts and questions on each."""
CORRELATIONS = (0.001, 0.02, 0.05, 0.1, 0.2)
"""Of the scores of two questions on a text."""
RATES = (0.2, 0.5, 0.8)


def width(clusters: int, size: int, rate: float, correlation: float, kind: str, samples: int = 600) -> float:
    """Return the mean width of the 95 % intervals that reports show."""
    # Graded scores vary about their rate by a third of what hits do.
    icc = correlation if kind == "hits" else correlation / (3 - 2 * correlation)
    low, high = graded_ends(*draw(Setting(rate, clusters, size, icc, kind=kind), samples))
    return float(np.mean(high - low))


def ratios(clusters: int, size: int, correlation: float) -> Iterator[float]:
    """Yield the width of a design over that of 200 texts with a question each, for hits and graded scores."""
    for kind in ("hits", "graded"):
        for rate in RATES:
            alone = width(ALONE, 1, rate, correlation, kind)
            yield width(clusters, size, rate, correlation, kind) / alone


def published_correlations() -> list[float]:
    """Return the intraclass correlation within meetings of the published answers' scores, of each model and split."""
    from long_context_tasks.benchmarks.elitr_bench.archives import Archives
    from long_context_tasks.benchmarks.elitr_bench.paper import score

    found = []
    for split in ("test2", "dev"):
        models = defaultdict(list)
        archives = Archives(Path(os.environ["LCT_DATA_DIR"]) / "elitr_bench")
        for response in archives.responses(f"qa_{split}_st_gpt-4-eval"):
            models[response.model].append((float(score(response)), response.meeting))
        found += [spread_of(*zip(*rows, strict=True)).icc for rows in models.values()]
    return found


def main() -> None:
    """Print the tables."""
    if os.environ.get("LCT_DATA_DIR"):
        found = published_correlations()
        low, middle, high = np.quantile(found, (0.1, 0.5, 0.9))
        print(
            f"published answers, {len(found)} models and splits: median {middle:.3f}, {low:.3f} to {high:.3f}"
        )
    print(
        "| correlation | " + " | ".join(f"{name}: {k} x {size}" for name, (k, size) in DESIGNS.items()) + " |"
    )
    for correlation in CORRELATIONS:
        found = [list(ratios(*design, correlation)) for design in DESIGNS.values()]
        print(
            f"| {correlation:g} | " + " | ".join(f"{min(one):.2f} to {max(one):.2f}" for one in found) + " |"
        )


if __name__ == "__main__":
    main()
