"""The table that ``lct judge run`` prints."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from long_context_tasks.runs.rejudge import JudgedRun


def table_of(judged: "Sequence[JudgedRun]") -> tuple[list[str], list[list[str]]]:
    """Columns and rows of the table."""
    headlines = {one.metrics[0] for one in judged}
    official = {name for one in judged for name in one.metrics if name.startswith("official_")}
    columns = ["host", "model", "made", "task", "judge", "n", "n_scored"]
    columns += [headlines.pop() if len(headlines) == 1 else "score", "95 % interval"]
    columns += [
        *([official.copy().pop() if len(official) == 1 else "official"] if official else []),
        "not scored",
    ]
    rows = []
    for one in judged:
        run, headline = one.run, one.metrics[0]
        places = 2 if headline in one.points else 3
        theirs = next((name for name in one.metrics if name in official), None)
        row = [run.host, run.model, run.made.split(".")[0], run.task, one.judge]
        row += [str(int(one.numbers["n"])), str(int(one.numbers["n_scored"]))]
        row += [figure(one.numbers[headline], places)]
        row += [_interval(one.numbers, headline, places)]
        row += [figure(one.numbers[theirs], places) if theirs else ""] if official else []
        row += [", ".join(f"{count} {reason}" for reason, count in sorted(one.not_scored.items()))]
        rows.append(row)
    return columns, rows


def figure(value: float, places: int) -> str:
    """A number with so many places; a dash for not-a-number."""
    return "-" if value != value else f"{value:.{places}f}"  # noqa: PLR0124


def _interval(numbers: Mapping[str, float], name: str, places: int) -> str:
    from long_context_tasks.cli.tables import interval_text
    from long_context_tasks.stats import Interval

    if f"{name}_low" not in numbers:
        return ""
    return interval_text(Interval(numbers[f"{name}_low"], numbers[f"{name}_high"]), places)
