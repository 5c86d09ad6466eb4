"""`lct tasks`: which tasks there are, what they score, and what they need."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from long_context_tasks.cli.options import DataDir, Json, complete_task, examples
from long_context_tasks.cli.output import add_table, json_wanted, print_table, say

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.catalogue import TaskSpec

app = typer.Typer(add_completion=False)
_READS = {"seed": "none", "published": "published", "recast": "carriers", "built": "your own cases"}
"""Source of a task's cases to the data that it reads."""
_DATA = {
    "none": "Written from a seed: no data needed",
    "published": "Published data: `lct data fetch BENCHMARK`, or LCT_DATA_DIR",
    "carriers": "Real texts, recast: `lct data fetch carriers`, or LCT_CARRIERS",
    "your own cases": "Your own cases only: `lct build`, then lct_cases (LCT_CASES)",
}
"""Kinds of data, with the titles of their tables."""
_WHICH = "length or split"
"""Title of the column that says what … in a name may be."""
_WER = re.compile(r"_wer(\d+)")
_NAME = 40
"""Characters of a name that stays on one line in a terminal of 80 columns."""


@app.command(
    epilog=examples(
        "lct tasks",
        "lct tasks lct_synthetic",
        "lct tasks '*_recall_*_synthetic' --names",
        "lct tasks tsort --json",
    )
)
def tasks(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names, groups, globs, or a part of names. Default: all.",
            show_default=False,
            autocompletion=complete_task,
        ),
    ] = None,
    names: Annotated[bool, typer.Option("--names", help="Print full names only, one a line.")] = False,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """List the tasks: lengths, headline metric, whether a judge is needed, and whether the data are on this machine.

    A line stands for the tasks of all lengths, or of all splits. Both hosts know a task by its full name (--names, --json). A judge
    that is optional adds metrics to the headline.
    """
    from long_context_tasks.benchmarks.catalogue import members_of, task_options, task_specs
    from long_context_tasks.hosts.lm_eval.generate import lm_eval_groups

    every = {spec.name: spec for spec in task_specs()}
    groups = lm_eval_groups()
    members = {group: frozenset(members_of(group, groups)) for group in groups}
    chosen = [every[name] for name in _named(patterns or [], every, groups)]
    if names and not json_wanted():
        say("\n".join(spec.name for spec in chosen))
        return
    options = {
        spec.benchmark: task_options(spec.name, {"lct_data_dir": data_dir})
        for spec in {spec.benchmark: spec for spec in chosen}.values()
    }
    rows = [_row(spec, options[spec.benchmark], members) for spec in chosen]
    if json_wanted():
        add_table("tasks", rows)
        named = [group for group in groups if any(group in row["groups"] for row in rows)]
        add_table("groups", [{"group": group, "tasks": sorted(members[group])} for group in named])
        return
    _show(rows)
    say(
        "… is a length or split, NN a word error rate in percent; --names and --json have full names. Without … a name is "
        "the group of these tasks."
    )
    if not patterns:
        own = {spec.group for spec in chosen}
        say(
            "Other groups: "
            + ", ".join(f"{name} ({len(members[name])})" for name in groups if name not in own)
        )


def _named(
    patterns: Sequence[str], every: Mapping[str, Any], groups: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return the names of all tasks that the patterns mean, in the order of the cards.

    Raises:
        InputError: a pattern that means nothing.
    """
    from long_context_tasks.benchmarks.catalogue import expand_tasks

    found: set[str] = set()
    for word in patterns:
        held = {name for name in every if word in name}
        found |= held if held and word not in groups else held | set(expand_tasks([word], groups))
    return [name for name in every if name in found or not patterns]


def _row(spec: "TaskSpec", options: Any, members: Mapping[str, frozenset[str]]) -> dict[str, Any]:
    """Return what is known of a task; ``data_here`` is None where its benchmark does not say."""
    from long_context_tasks.benchmarks.catalogue import card, has_data

    judge = "no"
    if spec.judged:
        judge = "needed" if spec.headline in card(spec.benchmark).points else "optional"
    return {
        "task": spec.name,
        "benchmark": spec.benchmark,
        "groups": [name for name, tasks in members.items() if spec.name in tasks],
        "split": spec.split,
        "length": spec.length,
        "variant": spec.variant,
        "headline": spec.headline,
        "scoring": spec.scoring,
        "judge": judge,
        "data": _READS[spec.source],
        "data_here": has_data(spec, options),
    }


def _show(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table for each kind of data; a line stands for the tasks of all lengths, or of all splits."""
    for data, title in _DATA.items():
        lines: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        for row in rows:
            if row["data"] == data:
                lines.setdefault((_line_of(row), row["headline"]), []).append(row)
        shown = [
            [name, _choices(same), headline, same[0]["judge"], *([] if data == "none" else [_here(same)])]
            for (name, headline), same in lines.items()
        ]
        if shown:
            columns = ["task", _WHICH, "headline", "judge", *([] if data == "none" else ["here"])]
            folded = [_WHICH, *(["task"] if max(len(line[0]) for line in shown) > _NAME else [])]
            whole = [name for name in columns if name not in folded]
            print_table(title, columns, shown, columns, whole=whole)


def _here(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return for how many tasks the data are on this machine."""
    there = sum(row["data_here"] is True for row in rows)
    if rows[0]["data_here"] is None:
        return "?"
    return {0: "no", len(rows): "yes"}.get(there, f"{there}/{len(rows)}")


def _line_of(row: Mapping[str, Any]) -> str:
    """Return the name with dots in place of what several tasks differ in, and NN for a word error rate."""
    name = _WER.sub("_werNN", row["task"])
    differing = row["length"] or row["split"]
    if not differing:
        return name
    # The family may hold the same word.
    head, _, tail = name.rpartition(f"_{differing}")
    return f"{head}_…{tail}"


def _choices(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the lengths, from the first to the last, or the splits of some tasks."""
    lengths = [row["length"] for row in rows if row["length"]]
    sizes, more = [length for length in lengths if length != "any"], ["any"] * ("any" in lengths)
    if len(sizes) > 2:
        sizes = [f"{sizes[0]} to {sizes[-1]}"]
    noise = [match[1] for row in rows if (match := _WER.search(row["task"]))]
    found = [*sizes, *more] or list(dict.fromkeys(row["split"] for row in rows if row["split"]))
    return ", ".join([*found, *([f"NN {noise[0]} to {noise[-1]}"] if noise else [])])
