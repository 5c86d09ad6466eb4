"""How runs of one cell differ: repeats within a host, which have a spread, and hosts, which are no repeats of one another."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

_SAME = 1e-9
"""Values that differ by less are the same: hosts write a mean of verdicts with other last digits."""


@dataclass(frozen=True)
class HostsApart:
    """How the hosts of a cell differ, each with the mean over its own repeats.

    Attributes:
        turns: that all of them ran.
        differing: of these, turns with another value of some metric, or a value in one host and none in another.
        spread: the highest host's mean of the headline less the lowest one's, over all turns of each; not a number where a host has none.
    """

    turns: int
    differing: int
    spread: float


def run_means(headlines: pl.DataFrame) -> dict[int, dict[str, list[float | None]]]:
    """Cell to host to the headline's mean in each repeat.

    Args:
        headlines: columns ``cell``, ``host``, ``run``, ``repeat`` and ``value`` of the headline's scores.
    """
    means: dict[int, dict[str, list[float | None]]] = {}
    for cell, host, _, _, mean in (
        headlines.group_by("cell", "host", "run", "repeat", maintain_order=True)
        .agg(pl.col("value").mean())
        .iter_rows()
    ):
        means.setdefault(cell, {}).setdefault(str(host), []).append(mean)
    return means


def spread_within(means: Mapping[str, Sequence[float | None]]) -> float | None:
    """Standard deviation of the means of repeats around those of their hosts; None where no host has two.

    With one host it is the sample standard deviation; with several the pooled one.

    >>> spread_within({"lm_eval": [0.1, 0.3], "opencompass": [0.9]})
    0.1414213562373095
    >>> spread_within({"lm_eval": [0.1], "opencompass": [0.9]}) is None
    True
    """
    squares, free = 0.0, 0
    for own in means.values():
        there = [one for one in own if one is not None]
        if len(there) > 1:
            middle = math.fsum(there) / len(there)
            squares += math.fsum((one - middle) ** 2 for one in there)
            free += len(there) - 1
    return math.sqrt(squares / free) if free else None


def hosts_apart(
    joined: pl.DataFrame, means: Mapping[int, Mapping[str, Sequence[float | None]]]
) -> dict[int, HostsApart]:
    """Cells with several hosts to how these differ.

    Args:
        joined: columns ``cell``, ``host``, ``metric``, ``case``, ``turn`` and ``value`` of all scores.
        means: see :func:`run_means`.
    """
    several = {cell: len(own) for cell, own in means.items() if len(own) > 1}
    if not several:
        return {}
    hosts = pl.DataFrame(
        {"cell": list(several), "hosts": list(several.values())}, schema_overrides={"cell": pl.Int64()}
    )
    turn = ["cell", "case", "turn"]
    of_hosts = (
        joined.join(hosts, on="cell", how="inner")
        .group_by(*turn, "metric", "host", "hosts")
        .agg(pl.col("value").mean())
        .group_by(*turn, "metric", "hosts")
        .agg(
            pl.len().alias("n"),
            pl.col("value").null_count().alias("without"),
            (pl.col("value").max() - pl.col("value").min()).alias("width"),
        )
        .filter(pl.col("n") == pl.col("hosts"))
        .with_columns(
            (
                (pl.col("width").fill_nan(0.0) > _SAME)
                | ((pl.col("without") > 0) & (pl.col("without") < pl.col("hosts")))
            )
            .fill_null(False)
            .alias("differs")
        )
        .group_by(turn)
        .agg(pl.col("differs").any())
        .group_by("cell")
        .agg(pl.len().alias("turns"), pl.col("differs").sum().alias("differing"))
    )
    counted = {int(cell): (int(turns), int(differing)) for cell, turns, differing in of_hosts.iter_rows()}
    return {
        cell: HostsApart(*counted.get(cell, (0, 0)), _spread([_mean(own) for own in means[cell].values()]))
        for cell in several
    }


def _mean(values: Sequence[float | None]) -> float:
    there = [one for one in values if one is not None]
    return math.fsum(there) / len(there) if there else math.nan


def _spread(means: Sequence[float]) -> float:
    return math.nan if any(math.isnan(one) for one in means) else max(means) - min(means)
