"""``lct judge rate``: let judges rate the correctness of answers, and measure them without a judge."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from long_context_tasks.cli.options import WORDING, DataDir, Json, Judges, JudgeSeeds
from long_context_tasks.cli.output import give, print_table, say

if TYPE_CHECKING:
    from long_context_tasks.judges import JudgeConfig
    from long_context_tasks.orca import OrcaItem
    from long_context_tasks.orca.study.correctness import Condition, Wording
    from long_context_tasks.orca.study.rate import Column

_CONDITIONS = (
    "What a judge is shown beside reference and candidate, with commas. with_context: question, rationale and transcript; "
    "without_transcription: question and rationale; without_context: question; without_question: no more; all: each of them."
)
_ELITR_SCALES = {"gpt-4": (1.0, 10.0), "prometheus": (2.0, 10.0)}
"""Of the published scores: Prometheus' 1 to 5 stand there doubled."""
_PEOPLE = ("gold-human", "silver-human")


def rate(
    out: Annotated[Path, typer.Option("--out", "-o", help="File of the scores, for `lct judge compare`.")],
    answers: Annotated[
        Path | None,
        typer.Argument(
            metavar="ANSWERS", help="Answers, JSON Lines as for `lct orca`; ratings are not needed."
        ),
    ] = None,
    judge_files: Judges = None,
    condition: Annotated[str, typer.Option("--condition", help=_CONDITIONS)] = "without_transcription",
    wording: Annotated[
        Literal["paper", "modified"],
        typer.Option("--wording", help=WORDING),
    ] = "paper",
    seeds: JudgeSeeds = "",
    baselines: Annotated[
        bool,
        typer.Option("--baselines", help="Also ROUGE-L and exact match, on 0 to 1; alone, without a judge."),
    ] = False,
    elitr_published: Annotated[
        bool,
        typer.Option(
            "--elitr-published",
            help="Instead of all that: the scores that GPT-4 and Prometheus gave in ELITR-Bench's published file.",
        ),
    ] = False,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Let judges rate how correct answers are, 1 to 5, with the prompts of the ORCA paper.

    A row for each answer: id, cluster (its question), and a score or null for each judge and condition, under JUDGE:CONDITION. Nothing that a
    judge has said before is asked again, so a stopped run goes on where it was. A reply without a readable score is null and counted. Exit
    code 1 when a score is missing.
    """
    from long_context_tasks.schema import InputError

    if not out.absolute().parent.is_dir():
        raise InputError(f"{out}: its folder is not there; make it, or choose another place")
    if elitr_published:
        if answers is not None or judge_files or baselines:
            raise InputError("--elitr-published stands alone; rate answers of your own in another call")
        keys, columns = published_elitr(data_dir)
        _write(out, keys, columns)
        return
    if answers is None:
        raise InputError("no answers; name a file of them, or give --elitr-published")
    _rate(answers, out, _Options(judge_files or [], conditions_of(condition), wording, seeds, baselines))


@dataclass(frozen=True)
class _Options:
    judge_files: list[Path]
    conditions: "list[Condition]"
    wording: "Wording"
    seeds: str
    baselines: bool


def conditions_of(text: str) -> "list[Condition]":
    """The conditions that ``--condition`` names, each once.

    Raises:
        InputError: an unknown one, or none.
    """
    from long_context_tasks.orca.study.correctness import CONDITIONS
    from long_context_tasks.schema import InputError

    names = [word.strip() for word in text.split(",") if word.strip()]
    if unknown := [name for name in names if name not in (*CONDITIONS, "all")]:
        raise InputError(f"--condition {', '.join(unknown)}: there are {', '.join(CONDITIONS)}, all")
    if not names:
        raise InputError(f"--condition: names none; there are {', '.join(CONDITIONS)}, all")
    return [name for name in CONDITIONS if name in names or "all" in names]


def _rate(answers: Path, out: Path, options: _Options) -> None:
    from long_context_tasks.orca import read_items
    from long_context_tasks.orca.study.rate import check_ids, cluster_of, fields_of

    items = read_items(answers)
    check_ids(items, str(answers))
    for item in items:
        fields_of(item)
    configs = _judges(options)
    columns: list[Column] = _baselines(items) if options.baselines else []
    for context, conditions in (
        ("rationale", ("with_context", "without_transcription")),
        ("transcription", ("with_context",)),
    ):
        without = sum(not (getattr(item, context) or "").strip() for item in items)
        if configs and without and set(conditions) & set(options.conditions):
            typer.echo(
                f"{without} of {len(items)} answers have no {context}; the judge is shown none", err=True
            )
    for config in configs:
        columns += _asked(items, config, options)
    _write(out, [(item.id, cluster_of(item)) for item in items], columns)


def _judges(options: _Options) -> "list[JudgeConfig]":
    """The judges, checked as far as that costs nothing."""
    from long_context_tasks.cli.judge import named_judges
    from long_context_tasks.judges.kinds import check_judge, kind_of
    from long_context_tasks.results.rejudge import with_seeds
    from long_context_tasks.schema import InputError

    if options.baselines and not options.judge_files:
        return []
    configs = [with_seeds(one, options.seeds) for one in named_judges(options.judge_files)]
    for number, config in enumerate(configs):
        if not kind_of(config).reads_prompts:
            raise InputError(
                f"judge {config.name}: is of kind {config.kind}, which reads no prompt; use `lct orca score` for it"
            )
        if config.name in [other.name for other in configs[:number]]:
            raise InputError(f"two judges are called {config.name}; give one of them another `name`")
        if config.in_process:
            check_judge(config)
    return configs


def _asked(items: "Sequence[OrcaItem]", config: "JudgeConfig", options: _Options) -> "Sequence[Column]":
    from long_context_tasks.judges import Store, check_judge, default_store_path
    from long_context_tasks.orca.study.rate import anything_to_ask, rate_answers, requests_of

    store = Store(default_store_path(config))
    requests = requests_of(items, options.conditions, options.wording)
    if not config.in_process and anything_to_ask(requests, config, store):
        check_judge(config)
    rated = rate_answers(items, config, options.conditions, options.wording, store)
    say(f"{config.name}: {rated.summary}")
    return rated.columns


def _baselines(items: "Sequence[OrcaItem]") -> "list[Column]":
    from long_context_tasks.orca.study.baselines import BASELINES, exact_match, rouge_l
    from long_context_tasks.orca.study.rate import Column, fields_of

    texts = [fields_of(item) for item in items]
    columns = []
    for name, measure in zip(BASELINES, (rouge_l, exact_match), strict=True):
        scores = tuple(measure(each.reference, each.candidate) for each in texts)
        columns.append(Column(name, scores, (0.0, 1.0)))
    return columns


def published_elitr(data_dir: Path | None) -> "tuple[list[tuple[str, str]], list[Column]]":
    """Scores of the machine judges in ELITR-Bench's published responses; ids are those of ``lct orca data --elitr``.

    Raises:
        InputError: the archive is missing or not as published.
    """
    from long_context_tasks.benchmarks.elitr_bench.archives import Archives
    from long_context_tasks.orca.study.rate import Column
    from long_context_tasks.orca.study.rows import ELITR_FILE, DataOptions, make_rows
    from long_context_tasks.schema import InputError, resolve_options

    rows = make_rows([], DataOptions(elitr=("gold",), data_dir=data_dir)).rows
    found = Archives.of(resolve_options({"lct_data_dir": data_dir})).responses(ELITR_FILE)
    if len(rows) != len(found) or any(
        row["candidate"] != response.text for row, response in zip(rows, found, strict=True)
    ):
        raise InputError(
            f"{ELITR_FILE}: its answers and their ratings do not belong together; fetch the data again"
        )
    judges = [
        name for name in dict.fromkeys(key for each in found for key in each.scores) if name not in _PEOPLE
    ]
    columns = []
    for name in judges:
        try:
            scores = tuple(
                None if (score := each.scores.get(name)) is None else float(score) for each in found
            )
        except ValueError as error:
            raise InputError(f"{ELITR_FILE}: a score of {name} is no number; fetch the data again") from error
        columns.append(Column(name, scores, _ELITR_SCALES.get(name, (1.0, 10.0))))
    return [(row["id"], row["question_id"]) for row in rows], columns


def _write(out: Path, keys: "Sequence[tuple[str, str]]", columns: "Sequence[Column]") -> None:
    """Write all rows, tell what is missing; exit code 1 when something is."""
    from long_context_tasks.orca.study.rate import rated_rows
    from long_context_tasks.schema.files import write_whole

    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rated_rows(keys, columns))
    write_whole(out, lines, remedy="choose another --out")
    table, missing = [], 0
    for column in columns:
        there = [score for score in column.scores if score is not None]
        # With several seeds one of them may be missing where the others have a score.
        said = [score for each in column.by_seed for score in each] or list(column.scores)
        missing += (without := said.count(None))
        mean = f"{sum(there) / len(there):.2f}" if there else "-"
        scale = f"{column.scale[0]:g} to {column.scale[1]:g}"
        table.append([column.name, scale, str(len(there)), str(len(keys)), str(without), mean])
    print_table(
        f"Scores in {out}", ["rater", "scale", "n", "of", "missing scores", "mean"], table, ("scale",)
    )
    give(f"{out}: {len(keys)} rows", file=out, rows=len(keys), missing=missing)
    if missing:
        typer.echo(
            f"{missing} scores are missing, see above; the same again asks for those that a judge did not answer",
            err=True,
        )
        raise typer.Exit(1)
