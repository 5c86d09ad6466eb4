"""`lct tasks`: list the tasks, their metrics and the data they need; print the folders of the hosts' task files."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from long_context_tasks.cli.options import DataDir, Json, complete_task, examples
from long_context_tasks.cli.output import add_table, give, json_wanted, print_table, say

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.catalogue import TaskSpec

app = typer.Typer(add_completion=False)
# Kind of data that the tasks of each source read.
_READS = {"seed": "none", "published": "published", "recast": "carriers", "built": "your own cases"}
# Title of the table for each kind of data.
_TITLES = {
    "none": "Generated from a seed: no data needed",
    "published": "Published data: `lct data fetch BENCHMARK`, or LCT_DATA_DIR",
    "carriers": "Real texts, recast: `lct data fetch carriers`, or LCT_CARRIERS",
    "your own cases": "Your own cases only: `lct build`, then lct_cases (LCT_CASES)",
}
_WER = re.compile(r"_wer(\d+)")


def config_folder() -> Path:
    """Return the folder of OpenCompass configurations: inside an installed package, at the top of a checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "configs"
    return inside if inside.is_dir() else package.parent / "configs"


@app.command(
    epilog=examples(
        "lct tasks",
        "lct tasks lct_synthetic",
        "lct tasks '*_recall_*_synthetic' --names",
        "lct tasks tsort --json",
        'opencompass --datasets BENCHMARK_gen --config-dir "$(lct tasks --paths opencompass)"',
    )
)
def tasks(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names, groups, globs, or parts of names. Default: all.",
            show_default=False,
            autocompletion=complete_task,
        ),
    ] = None,
    names: Annotated[bool, typer.Option("--names", help="Print only full names, one per line.")] = False,
    paths: Annotated[
        Literal["lm-eval", "opencompass"] | None,
        typer.Option(
            help="Print only the folder of a host's files: for lm-eval's --include_path where the start-up hook does not run, "
            "for OpenCompass's --config-dir."
        ),
    ] = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """List the tasks: lengths, headline metric, whether they need a judge, and whether their data is on this machine.

    Tasks of all lengths or splits share a line. The hosts take full names (--names, --json). An optional judge adds metrics to
    the headline.
    """
    from long_context_tasks.benchmarks.catalogue import members_of, task_options, task_specs
    from long_context_tasks.hosts.lm_eval.task_files import lm_eval_groups

    if paths is not None:
        _print_path(paths)
        return
    specs = {spec.name: spec for spec in task_specs()}
    groups = lm_eval_groups()
    members = {group: frozenset(members_of(group, groups)) for group in groups}
    chosen = [specs[name] for name in _matching(patterns or [], specs, groups)]
    if names and not json_wanted():
        say("\n".join(spec.name for spec in chosen))
        return
    # Options are resolved once per benchmark, not once for each of its hundreds of tasks.
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
        "… stands for a length or split, NN for a word error rate in percent; --names and --json print full names. A name without … "
        "is the group of these tasks."
    )
    if not patterns:
        own_groups = {spec.group for spec in chosen}
        others = (f"{name} ({len(members[name])})" for name in groups if name not in own_groups)
        say(f"Other groups: {', '.join(others)}")


def _print_path(host: str) -> None:
    from long_context_tasks.hosts.lm_eval.task_files import task_folder

    folder = task_folder() if host == "lm-eval" else config_folder()
    give(str(folder), host=host, folder=folder)


def _matching(
    patterns: Sequence[str], specs: Mapping[str, Any], groups: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return the names of all tasks that match the patterns, in the order of the cards."""
    from long_context_tasks.benchmarks.catalogue import expand_tasks

    matching: set[str] = set()
    for word in patterns:
        parts = {name for name in specs if word in name}
        matching |= parts or set(expand_tasks([word], groups))
    return [name for name in specs if name in matching or not patterns]


def _row(spec: "TaskSpec", options: Any, members: Mapping[str, frozenset[str]]) -> dict[str, Any]:
    """Return the facts about a task; ``data_here`` is None if its benchmark does not report it."""
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
    """Print a table for each kind of data, with a line for the tasks of all lengths or splits."""
    for data, title in _TITLES.items():
        lines: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        for row in rows:
            if row["data"] == data:
                lines.setdefault((_line_of(row), row["headline"]), []).append(row)
        shown = [
            [name, _choices(same), headline, same[0]["judge"], *([] if data == "none" else [_here(same)])]
            for (name, headline), same in lines.items()
        ]
        if shown:
            columns = ["task", "length or split", "headline", "judge", *([] if data == "none" else ["here"])]
            print_table(title, columns, shown, columns)


def _here(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return whether the data of the tasks is on this machine, or for how many of them."""
    available = sum(row["data_here"] is True for row in rows)
    if rows[0]["data_here"] is None:
        return "?"
    return {0: "no", len(rows): "yes"}.get(available, f"{available}/{len(rows)}")


def _line_of(row: Mapping[str, Any]) -> str:
    """Return the name with … for the length or split, and NN for a word error rate."""
    name = _WER.sub("_werNN", row["task"])
    varying = row["length"] or row["split"]
    if not varying:
        return name
    # From the right: the same word may be a part of the family's name.
    head, _, tail = name.rpartition(f"_{varying}")
    return f"{head}_…{tail}"


def _choices(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the lengths, from first to last, or the splits of some tasks."""
    lengths = [row["length"] for row in rows if row["length"]]
    sizes, more = [length for length in lengths if length != "any"], ["any"] * ("any" in lengths)
    if len(sizes) > 2:
        sizes = [f"{sizes[0]} to {sizes[-1]}"]
    noise = [match[1] for row in rows if (match := _WER.search(row["task"]))]
    choices = [*sizes, *more] or list(dict.fromkeys(row["split"] for row in rows if row["split"]))
    return ", ".join([*choices, *([f"NN {noise[0]} to {noise[-1]}"] if noise else [])])
