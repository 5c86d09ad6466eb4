"""The paper's tables from the authors' published responses and scores.

``generated-responses.zip`` has one run (one response and one score per question) of 9 of the 12 models. Whatever the paper
took from a single run comes out of it to the printed digit. Its test-set figures are means over three seeds, of which the
archive holds one; those are shown as published, with the archive's run beside them.

Tables 2 and 4 were rounded twice (half up to three decimals, then to two), Table 9 and 10 once.
"""

import importlib.resources
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any, Literal

import yaml

from long_context_tasks.benchmarks.elitr_bench.archives import Archives, Meeting, Response
from long_context_tasks.benchmarks.elitr_bench.data import differing_questions
from long_context_tasks.schema import InputError, Options
from long_context_tasks.schema.report import Section, interval_text
from long_context_tasks.schema.report import Table as ShownTable
from long_context_tasks.stats import (
    GroupMean,
    Interval,
    WelchTest,
    cluster_t,
    correlate_raters,
    could_be_one_run,
    means_by_gold_bin,
    round_half_up,
    round_twice,
    welch_test,
)

# What the benchmark consists of, as in Table 1 of the paper.


@dataclass(frozen=True)
class Counts:
    """Table 1 for one split.

    Attributes:
        questions_per_meeting: by meeting id.
        by_type: questions by type.
        by_position: questions by the place of their answer.
        by_type_and_position: questions by both, as "who/B".
        differing: questions that QA and Conv word differently.
        differing_answers: questions whose gold answer differs between the two.
        tokens: mean, least and most tokens of a transcript; None when nobody counted.
    """

    questions_per_meeting: Mapping[str, int]
    by_type: Mapping[str, int]
    by_position: Mapping[str, int]
    by_type_and_position: Mapping[str, int]
    differing: int
    differing_answers: int
    tokens: tuple[float, int, int] | None = None

    @property
    def meetings(self) -> int:
        """Number of meetings."""
        return len(self.questions_per_meeting)

    @property
    def questions(self) -> int:
        """Number of questions."""
        return sum(self.questions_per_meeting.values())


def count(
    qa: Sequence[Meeting],
    conv: Sequence[Meeting],
    transcripts: Mapping[str, str] | None = None,
    count_tokens: Callable[[str], int] | None = None,
) -> Counts:
    """Counts of a split.

    Args:
        qa: meetings with the questions of the QA setting.
        conv: the same of the Conv setting.
        transcripts: by meeting id; with ``count_tokens`` their tokens are counted too.
        count_tokens: of a tokenizer; the paper's is LLaMA-2's.

    Raises:
        InputError: QA and Conv do not have the same questions.
    """
    questions = [question for meeting in qa for question in meeting.questions]
    others = [question for meeting in conv for question in meeting.questions]
    tokens = None
    if transcripts and count_tokens:
        lengths = [count_tokens(transcripts[meeting.id]) for meeting in qa]
        tokens = (sum(lengths) / len(lengths), min(lengths), max(lengths))
    return Counts(
        questions_per_meeting={meeting.id: len(meeting.questions) for meeting in qa},
        by_type=dict(Counter(question.type for question in questions)),
        by_position=dict(Counter(question.position for question in questions)),
        by_type_and_position=dict(Counter(f"{question.type}/{question.position}" for question in questions)),
        differing=len(differing_questions(qa, conv)),
        differing_answers=sum(
            one.answer != other.answer for one, other in zip(questions, others, strict=True)
        ),
        tokens=tokens,
    )


def count_split(archives: Archives, split: str, count_tokens: Callable[[str], int] | None = None) -> Counts:
    """Counts of a split of the published archives; transcripts are read only to count tokens."""
    qa, conv = archives.questions(split), archives.questions(split, conv=True)
    return count(qa, conv, archives.transcripts(split) if count_tokens else None, count_tokens)


Match = Literal["yes", "no", "published only", "not printed"]


@dataclass(frozen=True)
class Cell:
    """One figure of the paper.

    Attributes:
        published: as printed, ``low to high`` where the text only gives a range; ``None`` when the paper prints no figure.
        value: from the archives, unrounded; ``None`` when they do not have what it takes.
        n: scores in it.
        interval: 95 %, over meetings.
        places: decimals of the printed figure.
        twice: printed after two roundings.
        reason: why ``value`` is not what the paper printed, although both may be there.
        note: more about the value.
    """

    row: str
    column: str
    published: str | None
    value: Fraction | float | None = None
    n: int | None = None
    interval: Interval | None = None
    places: int = 2
    twice: bool = False
    reason: str = ""
    note: str = ""

    @property
    def plain(self) -> str | None:
        """The value rounded half up, once."""
        return None if self.value is None else str(round_half_up(self.value, self.places))

    @property
    def recomputed(self) -> str | None:
        """The value in the paper's own rounding."""
        if self.value is None or not self.twice:
            return self.plain
        return str(round_twice(self.value, self.places))

    @property
    def match(self) -> Match:
        """Whether the paper's figure came out, digit by digit."""
        if self.reason:
            return "published only"
        if self.published is None or self.value is None:
            return "not printed"
        if " to " in self.published:
            low, high = (float(end) for end in self.published.split(" to "))
            return "yes" if low <= self.value <= high else "no"
        return "yes" if self.recomputed == self.published else "no"


@dataclass(frozen=True)
class Table:
    """A table or figure of the paper: ``key`` as in the data file, what it shows, its cells."""

    key: str
    title: str
    cells: tuple[Cell, ...]

    def cell(self, row: str, column: str) -> Cell:
        """One cell by its row and column.

        Raises:
            KeyError: no such cell.
        """
        for cell in self.cells:
            if (cell.row, cell.column) == (row, column):
                return cell
        raise KeyError(f"{self.key}: {row}, {column}")


SETTINGS = {
    "st_qa_dev": "qa_dev_st_gpt-4-eval",
    "mt_qa_dev": "qa_dev_mt_gpt-4-eval",
    "mt_conv_dev": "conv_dev_mt_gpt-4-eval",
    "st_qa_test": "qa_test2_st_gpt-4-eval",
    "mt_qa_test": "qa_test2_mt_gpt-4-eval",
    "mt_conv_test": "conv_test2_mt_gpt-4-eval",
}
"""Setting (single or multi-turn, question set, split) to the file of responses."""
ALL_EVALUATORS = "qa_test2_st_all-eval"
EVALUATORS = ("gpt-4", "prometheus", "gold-human", "silver-human")
TYPES, POSITIONS = ("who", "what", "when", "howmany"), ("B", "M", "E", "S")
SEEDS = 3


class Scores:
    """What the archives hold, read once, by setting."""

    def __init__(self, archives: Archives) -> None:
        """Nothing is read before it is asked for."""
        self.responses: Callable[[str], list[Response]] = cache(archives.responses)
        self.questions: Callable[[str, bool], list[Meeting]] = cache(archives.questions)

    def of(self, setting: str, model: str) -> list[Response]:
        """The responses of a model in a setting; empty when the archive has none."""
        return [response for response in self.responses(SETTINGS[setting]) if response.model == model]

    def differing(self, split: str) -> set[tuple[str, str]]:
        """Meeting and question ids whose wording differs between QA and Conv."""
        return differing_questions(self.questions(split, False), self.questions(split, True))

    def counts(self, split: str) -> Counts:
        """Counts of a split (dev, test)."""
        return count(self.questions(split, False), self.questions(split, True))


@cache
def published() -> dict[str, Any]:
    """The paper's figures, as printed."""
    text = importlib.resources.files(__package__).joinpath("tables.yaml").read_text(encoding="utf-8")
    figures: dict[str, Any] = yaml.safe_load(text)
    return figures


def score(response: Response, evaluator: str = "gpt-4") -> Fraction:
    """A published score, exactly as stored; Prometheus' are doubled there already (2 to 10).

    Raises:
        InputError: the archive has none from this evaluator, or it is no number.
    """
    stored = response.scores.get(evaluator)
    try:
        return Fraction(stored or "")
    except ValueError as error:
        raise InputError(
            f"generated-responses.zip, {response.meeting}, question {response.question.id}, {response.model}: "
            f"score of {evaluator} is {stored!r}; fetch the archive again with `lct data fetch elitr_bench`"
        ) from error


def mean_cell(cell: Cell, responses: Sequence[Response], evaluator: str = "gpt-4") -> Cell:
    """The cell with the plain mean over the responses, meetings pooled; unchanged when there are none."""
    if not responses:
        return cell if cell.reason else replace(cell, reason="not in the archive")
    values = [score(response, evaluator) for response in responses]
    interval = cluster_t([float(v) for v in values], [r.meeting for r in responses])
    return replace(cell, value=sum(values) / Fraction(len(values)), n=len(values), interval=interval)


def table1(scores: Scores) -> Table:
    """Statistics of the questions."""
    cells = []
    for split, row in published()["table1"].items():
        counts = scores.counts(split)
        found: dict[str, int] = {
            "meetings": counts.meetings,
            "questions": counts.questions,
            "QA/Conv differing": counts.differing,
            **counts.by_type,
            **counts.by_position,
        }
        for column, printed in row.items():
            value = Fraction(found[column]) if column in found else None
            reason = "" if column in found else "needs the LLaMA-2 tokenizer"
            cells.append(Cell(split, column, printed, value, places=0, reason=reason))
    return Table("table1", "Table 1: questions", tuple(cells))


def table2(scores: Scores) -> Table:
    """Mean scores of all settings: dev recomputed, test and mean as published."""
    cells = []
    for row, column, printed in _grid("table2"):
        if column.endswith("_mean"):
            cells.append(Cell(row, column, printed, reason="three seeds"))
            continue
        reason = "three seeds" if column.endswith("_test") else ""
        cell = Cell(row, column, printed, twice=not reason, reason=reason)
        cells.append(mean_cell(cell, scores.of(column, row)))
    return Table("table2", "Table 2: mean score by GPT-4, dev and test", tuple(cells))


def table3(scores: Scores) -> Table:
    """By question type and answer position: as published, the archive's run beside it."""
    cells = []
    for row, column, printed in _grid("table3"):
        chosen = [
            response
            for response in scores.of("st_qa_test", row)
            if column in (response.question.type, response.question.position)
        ]
        cells.append(mean_cell(Cell(row, column, printed, reason="three seeds"), chosen))
    return Table(
        "table3", "Table 3: by question type and answer position, test, QA single-turn", tuple(cells)
    )


def table4(scores: Scores) -> Table:
    """Mean scores by evaluator."""
    everything = scores.responses(ALL_EVALUATORS)
    cells = [
        mean_cell(
            Cell(row, column, printed, twice=True),
            [response for response in everything if response.model == row],
            column,
        )
        for row, column, printed in _grid("table4")
    ]
    return Table("table4", "Table 4: mean score by evaluator, test, QA single-turn", tuple(cells))


def search_table(scores: Scores, key: str) -> Table:
    """Tables 7 and 8: of the configurations tried, the archive has only the one that each model kept."""
    retained = published()[key]["retained"]
    cells = []
    for row, column, printed in _grid(key):
        kept = retained.get(column) == row
        cell = Cell(row, column, printed, twice=True, reason="" if kept else "not in the archive")
        cells.append(mean_cell(cell, scores.of("st_qa_dev", column)) if kept else cell)
    step = {
        "table7": "Table 7: configuration search, step 1",
        "table8": "Table 8: step 2, repetition penalty",
    }
    return Table(key, f"{step[key]}, dev, QA single-turn", tuple(cells))


def table9(scores: Scores) -> Table:
    """Mean and standard deviation over seeds: as published, with whether the archive's run can be one of the three."""
    cells = []
    for row, column, printed in _grid("table9"):
        mean, sd = printed
        cell = mean_cell(Cell(row, column, f"{mean} ± {sd}", reason="three seeds"), scores.of(column, row))
        if cell.value is not None:
            fits = could_be_one_run(float(cell.value), float(mean), float(sd), SEEDS)
            cell = replace(cell, note=f"{'can' if fits else 'CANNOT'} be one of the three runs")
        cells.append(cell)
    return Table("table9", "Table 9: mean and standard deviation over seeds, test", tuple(cells))


def middle_test(scores: Scores, model: str) -> WelchTest:
    """Answers in the middle of the meeting against all others, test, QA single-turn.

    Raises:
        ValueError: the archive has no responses of this model.
    """
    groups: dict[bool, list[float]] = {True: [], False: []}
    for response in scores.of("st_qa_test", model):
        groups[response.question.position == "M"].append(float(score(response)))
    return welch_test(groups[True], groups[False], "less")


def table10(scores: Scores) -> Table:
    """Lost in the middle: p of the test above."""
    cells = []
    for model, printed in published()["table10"].items():
        cell = Cell(model, "p", printed, places=3)
        if not scores.of("st_qa_test", model):
            cells.append(replace(cell, reason="not in the archive"))
            continue
        test = middle_test(scores, model)
        note = f"t {test.t:.3f}, df {test.df:.1f}, n {test.n_first} and {test.n_second}"
        cells.append(replace(cell, value=test.p, n=test.n_first + test.n_second, note=note))
    return Table("table10", "Table 10: one-tailed Welch test of middle answers", tuple(cells))


def only_published(key: str, title: str, column: str, reason: str) -> Table:
    """A table of which the archives hold nothing."""
    return Table(
        key,
        title,
        tuple(Cell(row, column, printed, reason=reason) for row, printed in published()[key].items()),
    )


def evaluator_scores(scores: Scores) -> tuple[dict[str, list[float]], list[str]]:
    """Scores of the four evaluators for the 390 responses that all of them scored, and their meetings."""
    everything = scores.responses(ALL_EVALUATORS)
    raters = {name: [float(score(response, name)) for response in everything] for name in EVALUATORS}
    return raters, [response.meeting for response in everything]


def gold_bins(scores: Scores, evaluator: str) -> dict[int, GroupMean]:
    """Scores of an evaluator for each score of the gold human."""
    raters, meetings = evaluator_scores(scores)
    return means_by_gold_bin(raters[evaluator], raters["gold-human"], meetings)


def figure2a(scores: Scores) -> Table:
    """Distribution of scores in each bin of gold scores; the figure has no printed numbers."""
    cells = [
        Cell(f"gold {gold}", evaluator, None, group.mean, group.n, group.interval, note=f"sd {group.sd:.2f}")
        for evaluator in ("gpt-4", "silver-human")
        for gold, group in gold_bins(scores, evaluator).items()
    ]
    return Table("fig2a", "Figure 2a: mean score in each bin of gold human scores", tuple(cells))


def figure2b(scores: Scores, seed: int = 0) -> Table:
    """Pearson correlation of the evaluators over the pooled responses."""
    raters, meetings = evaluator_scores(scores)
    cells = []
    for entry in published()["fig2b"]:
        first, second = entry["pair"]
        found = correlate_raters((first, raters[first]), (second, raters[second]), meetings, "pearson", seed)
        cells.append(Cell(first, second, entry["published"], found.value, found.n, found.interval))
    return Table("fig2b", "Figure 2b: Pearson correlation of evaluators", tuple(cells))


# Models of the paper's judges, with the names that its figures give them.
_JUDGES = {"gpt-4-0613": "gpt-4", "prometheus-13b-v1.0": "prometheus"}


def judge_agreement(model: str) -> str:
    """Return a sentence on what the paper prints on a judge's agreement with people; empty for other models. The site shows it."""
    rater = _JUDGES.get(model.rpartition("/")[2].lower())
    if rater is None:
        return ""
    printed = {frozenset(entry["pair"]): entry["published"] for entry in published()["fig2b"]}
    gold, silver = (printed[frozenset((rater, f"{kind}-human"))] for kind in ("gold", "silver"))
    return (
        f"Pearson correlation with people {gold} (gold) and {silver} (silver scores), as the ELITR-Bench paper prints it "
        "(Fig. 2b): published, not measured here."
    )


def figure3(scores: Scores) -> Table:
    """Scores on the questions whose wording differs between QA and Conv, dev and test pooled; no printed numbers.

    The figure averages three test runs; the archive has one. The last column is the loss from the Conv wording, question
    by question, in multi-turn.
    """
    wanted = {(split, *key) for split in ("dev", "test") for key in scores.differing(split)}
    cells = []
    for model in published()["table2"]["rows"]:
        found: dict[str, dict[tuple[str, str, str], Response]] = {}
        for setting in ("st_qa", "mt_qa", "mt_conv"):
            found[setting] = {
                (split, response.meeting, response.question.id): response
                for split in ("dev", "test")
                for response in scores.of(f"{setting}_{split}", model)
                if (split, response.meeting, response.question.id) in wanted
            }
            if found[setting]:
                cells.append(mean_cell(Cell(model, setting, None), list(found[setting].values())))
        if not found["mt_conv"]:
            continue
        losses = {
            key: score(response) - score(found["mt_qa"][key]) for key, response in found["mt_conv"].items()
        }
        interval = cluster_t([float(v) for v in losses.values()], [key[1] for key in losses], skewed=False)
        mean = sum(losses.values()) / Fraction(len(losses))
        cells.append(Cell(model, "mt_conv - mt_qa", None, mean, len(losses), interval))
    return Table("fig3", "Figure 3: questions that differ between QA and Conv, dev and test", tuple(cells))


def paper_tables(archives: Archives, seed: int = 0) -> list[Table]:
    """All tables and figures with numbers, in the paper's order.

    Raises:
        InputError: an archive is missing, damaged or of another shape.
    """
    scores = Scores(archives)
    return [
        table1(scores),
        table2(scores),
        table3(scores),
        table4(scores),
        figure2a(scores),
        figure2b(scores, seed),
        only_published(
            "table5", "Table 5: WER after noise, by target", "WER", "noisy transcripts not published"
        ),
        search_table(scores, "table7"),
        search_table(scores, "table8"),
        table9(scores),
        figure3(scores),
        table10(scores),
        only_published(
            "table11", "Table 11: ICC of the annotators", "ICC", "annotators' scores not published"
        ),
    ]


def sections(options: Options, only: str = "") -> list[Section]:
    """The tables as a section, with how many figures come out.

    Test-set means over three seeds cannot be recomputed from the run that was published: it stands beside them. Intervals are over
    meetings.

    Args:
        options: where the data lie.
        only: keys with commas between; empty: all.

    Raises:
        InputError: an unknown key; or see :func:`paper_tables`.
    """
    tables = paper_tables(Archives.of(options))
    wanted = [word.strip() for word in only.split(",") if word.strip()]
    if unknown := sorted(set(wanted) - {table.key for table in tables}):
        raise InputError(f"--only {', '.join(unknown)}: there are {', '.join(table.key for table in tables)}")
    tables = [table for table in tables if not wanted or table.key in wanted]
    matches = Counter(cell.match for table in tables for cell in table.cells)
    counts = (
        f"{matches['yes']} of {matches['yes'] + matches['no']} figures that can be recomputed come out as printed; "
        f"{matches['published only']} can only be shown as published, {matches['not printed']} are not printed in the paper."
    )
    problems = (f"{matches['no']} figures do not come out",) if matches["no"] else ()
    shown = tuple(map(_shown_table, tables))
    return [Section("paper", "Tables of the paper", shown, notes=(counts,), problems=problems)]


def _shown_table(table: Table) -> ShownTable:
    columns = ("row", "column", "recomputed", "rounded once", "n", "95 % interval", "published", "match")
    notes = any(cell.note for cell in table.cells)
    rows = tuple((*_shown_cells(cell), *([cell.note] if notes else [])) for cell in table.cells)
    text = frozenset(("row", "column", "match", "note"))
    return ShownTable(table.key, table.title, (*columns, *(["note"] if notes else [])), rows, text)


def _shown_cells(cell: Cell) -> list[str]:
    one_run = cell.reason == "three seeds" and cell.recomputed is not None
    return [
        cell.row,
        cell.column,
        f"{cell.recomputed} (one seed)" if one_run else cell.recomputed or "",
        cell.plain or "",
        "" if cell.n is None else str(cell.n),
        interval_text(cell.interval),
        cell.published or "",
        f"{cell.match}: {cell.reason}" if cell.reason else str(cell.match),
    ]


def _grid(key: str) -> list[tuple[str, str, Any]]:
    """Row, column and printed figure of a table, blanks left out."""
    table = published()[key]
    return [
        (row, column, printed)
        for row, figures in table["rows"].items()
        for column, printed in zip(table["columns"], figures, strict=True)
        if printed is not None
    ]
