"""Recompute the paper's tables from its published runs, and read the ratings of their answers.

``generated-responses.zip`` has one run (one response and one score per question) for 9 of the 12 models. The
paper's single-run figures are reproduced to the printed digit. Its test-set figures are means over three
seeds, of which the archive has one; they are shown as published, next to the archive's run.

Tables 2 and 4 were rounded twice (half up to three decimals, then to two), Tables 9 and 10 once.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any, Literal

from long_context_tasks.benchmarks.elitr_bench.archives import (
    NAME,
    Archives,
    PublishedMeeting,
    PublishedResponse,
)
from long_context_tasks.benchmarks.elitr_bench.data import differing_questions
from long_context_tasks.benchmarks.elitr_bench.report import middle_test
from long_context_tasks.schema import InputError, Options
from long_context_tasks.schema.files import packaged_yaml
from long_context_tasks.schema.report import Section, Table, interval_text
from long_context_tasks.stats.intervals import Interval, cluster_t
from long_context_tasks.stats.means import could_be_one_run, round_half_up, round_twice
from long_context_tasks.stats.raters import correlate_raters, means_by_gold_bin

# Setting (single- or multi-turn, question set, split) to its response file.
RESPONSES = {
    "st_qa_dev": "qa_dev_st_gpt-4-eval",
    "mt_qa_dev": "qa_dev_mt_gpt-4-eval",
    "mt_conv_dev": "conv_dev_mt_gpt-4-eval",
    "st_qa_test": "qa_test2_st_gpt-4-eval",
    "mt_qa_test": "qa_test2_mt_gpt-4-eval",
    "mt_conv_test": "conv_test2_mt_gpt-4-eval",
}
ALL_EVALUATORS = "qa_test2_st_all-eval"  # the only published file with human scores
EVALUATORS = ("gpt-4", "prometheus", "gold-human", "silver-human")
RATERS = ("gold", "silver")
SEEDS = 3
_SCALE = (1.0, 10.0)
# In the file, Prometheus scores (1 to 5) are doubled.
_SCALES = {"prometheus": (2.0, 10.0)}


def rated_answers(options: Options, raters: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield the published responses as rows of rated answers.

    The raters are ``gold`` (an expert) and ``silver`` (the mean of ten crowd workers).
    """
    if unknown := [name for name in raters if name not in RATERS]:
        raise InputError(f"--raters {', '.join(unknown)}: raters of {NAME} are {', '.join(RATERS)}")
    for response in Archives.of(options).responses(ALL_EVALUATORS):
        question = f"{response.meeting}/{response.question.id}"
        yield {
            "id": f"{NAME}/{question}/{response.model}",
            "question": response.question.text,
            "reference": response.question.answer,
            "candidate": response.text,
            "rationale": None,
            "ratings": [float(score(response, f"{rater}-human")) for rater in raters or RATERS],
            "scale": list(map(int, _SCALE)),
            "source": f"{NAME}/{response.question.type}",
            "question_id": question,
            "candidate_model": response.model,
        }


def machine_scores(options: Options) -> list[tuple[str, tuple[float | None, ...], tuple[float, float]]]:
    """Return each judge's name, scores in the order of :func:`rated_answers` (None if missing) and scale."""
    responses = Archives.of(options).responses(ALL_EVALUATORS)
    judges = dict.fromkeys(name for each in responses for name in each.scores if not name.endswith("-human"))
    return [
        (
            name,
            tuple(float(score(each, name)) if name in each.scores else None for each in responses),
            _SCALES.get(name, _SCALE),
        )
        for name in judges
    ]


def score(response: PublishedResponse, evaluator: str = "gpt-4") -> Fraction:
    """Return a published score exactly as stored; Prometheus scores are already doubled (2 to 10)."""
    # A fraction, because rounding half up depends on the exact value.
    stored = response.scores.get(evaluator)
    try:
        return Fraction(stored or "")
    except ValueError as error:
        raise InputError(
            f"generated-responses.zip, {response.meeting}, question {response.question.id}, {response.model}: "
            f"score of {evaluator} is {stored!r}; fetch the archive again with `lct data fetch {NAME}`"
        ) from error


Match = Literal["yes", "no", "published only", "not printed"]


@dataclass(frozen=True)
class PaperFigure:
    """One number from the paper."""

    row: str
    column: str
    # As printed, or "low to high" if the text gives a range; None if the paper prints no number.
    published: str | None
    # Recomputed from the archives, unrounded; None if they lack the scores.
    value: Fraction | float | None = None
    n: int | None = None
    interval: Interval | None = None  # over meetings
    places: int = 2  # decimals of the printed number
    twice: bool = False  # whether the paper rounded it twice
    reason: str = ""  # why the value cannot equal the printed number
    note: str = ""

    @property
    def plain(self) -> str | None:
        """The value, rounded half up once."""
        return None if self.value is None else str(round_half_up(self.value, self.places))

    @property
    def recomputed(self) -> str | None:
        """The value, rounded as in the paper."""
        if self.value is None or not self.twice:
            return self.plain
        return str(round_twice(self.value, self.places))

    @property
    def match(self) -> Match:
        """Whether the recomputed number equals the printed one digit by digit."""
        if self.reason:
            return "published only"
        if self.published is None or self.value is None:
            return "not printed"
        if " to " in self.published:
            low, high = map(float, self.published.split(" to "))
            return "yes" if low <= self.value <= high else "no"
        return "yes" if self.recomputed == self.published else "no"

    def of(self, responses: Sequence[PublishedResponse], evaluator: str = "gpt-4") -> "PaperFigure":
        """Return the figure with its unweighted mean over responses, or with a reason if there are none."""
        if not responses:
            return self if self.reason else replace(self, reason="not in the archive")
        values = [score(response, evaluator) for response in responses]
        interval = cluster_t(list(map(float, values)), [response.meeting for response in responses])
        return replace(self, value=sum(values) / Fraction(len(values)), n=len(values), interval=interval)


class Scores:
    """The archives' contents by setting, read once."""

    def __init__(self, archives: Archives) -> None:
        self.responses: Callable[[str], list[PublishedResponse]] = cache(archives.responses)
        self.questions: Callable[[str, bool], list[PublishedMeeting]] = cache(archives.questions)

    def of(self, setting: str, model: str) -> list[PublishedResponse]:
        return [response for response in self.responses(RESPONSES[setting]) if response.model == model]

    def differing(self, split: str) -> set[tuple[str, str]]:
        return differing_questions(self.questions(split, False), self.questions(split, True))

    def counts(self, split: str) -> dict[str, int]:
        """Return a split's (dev, test) counts in Table 1."""
        meetings = self.questions(split, False)
        questions = [question for meeting in meetings for question in meeting.questions]
        return {
            "meetings": len(meetings),
            "questions": len(questions),
            "QA/Conv differing": len(self.differing(split)),
            **Counter(question.type for question in questions),
            **Counter(question.position for question in questions),
        }

    def by_evaluator(self) -> tuple[dict[str, list[float]], list[str]]:
        """Return the four evaluators' scores on the 390 responses that all scored, and their meetings."""
        responses = self.responses(ALL_EVALUATORS)
        raters = {name: [float(score(response, name)) for response in responses] for name in EVALUATORS}
        return raters, [response.meeting for response in responses]


@cache
def published() -> dict[str, Any]:
    figures: dict[str, Any] = packaged_yaml(__package__, "paper.yaml")
    return figures


def _printed(key: str) -> Iterator[tuple[str, str, Any]]:
    """Yield row, column and printed number, skipping blanks."""
    table = published()[key]
    for row, figures in table["rows"].items():
        for column, printed in zip(table["columns"], figures, strict=True):
            if printed is not None:
                yield row, column, printed


def _questions(scores: Scores) -> Iterator[PaperFigure]:
    for split, row in published()["table1"].items():
        counts = scores.counts(split)
        for column, printed in row.items():
            yield PaperFigure(split, column, printed, Fraction(counts[column]), places=0)


def _settings(scores: Scores) -> Iterator[PaperFigure]:
    # Dev is recomputed; test and mean are shown as published.
    for row, column, printed in _printed("table2"):
        # Only the dev figures come from a single run.
        reason = "" if column.endswith("_dev") else "three seeds"
        responses = [] if column.endswith("_mean") else scores.of(column, row)
        yield PaperFigure(row, column, printed, twice=not reason, reason=reason).of(responses)


def _labels(scores: Scores) -> Iterator[PaperFigure]:
    for row, column, printed in _printed("table3"):
        responses = scores.of("st_qa_test", row)
        chosen = [
            response
            for response in responses
            if column in (response.question.type, response.question.position)
        ]
        yield PaperFigure(row, column, printed, reason="three seeds").of(chosen)


def _evaluators(scores: Scores) -> Iterator[PaperFigure]:
    for row, column, printed in _printed("table4"):
        chosen = [response for response in scores.responses(ALL_EVALUATORS) if response.model == row]
        yield PaperFigure(row, column, printed, twice=True).of(chosen, column)


def _bins(scores: Scores) -> Iterator[PaperFigure]:
    # Mean in each bin of gold scores; the paper's figure prints no numbers.
    raters, meetings = scores.by_evaluator()
    for rater in ("gpt-4", "silver-human"):
        for gold, group in means_by_gold_bin(raters[rater], raters["gold-human"], meetings).items():
            note = f"sd {group.sd:.2f}"
            yield PaperFigure(f"gold {gold}", rater, None, group.mean, group.n, group.interval, note=note)


def _correlations(scores: Scores) -> Iterator[PaperFigure]:
    raters, meetings = scores.by_evaluator()
    for entry in published()["fig2b"]:
        first, second = entry["pair"]
        pearson = correlate_raters((first, raters[first]), (second, raters[second]), meetings, "pearson")
        yield PaperFigure(first, second, entry["published"], pearson.value, pearson.n, pearson.interval)


def _search(scores: Scores, key: str) -> Iterator[PaperFigure]:
    # The archive has only the configuration selected for each model, not all that were tried.
    retained = published()[key]["retained"]
    for row, column, printed in _printed(key):
        responses = scores.of("st_qa_dev", column) if retained.get(column) == row else []
        yield PaperFigure(row, column, printed, twice=True).of(responses)


def _seeds(scores: Scores) -> Iterator[PaperFigure]:
    # As published, with a note on whether the archive's run can be one of the three.
    for row, column, (mean, sd) in _printed("table9"):
        cell = PaperFigure(row, column, f"{mean} ± {sd}", reason="three seeds").of(scores.of(column, row))
        if cell.value is not None:
            # The archive does not state which of the three runs it contains.
            fits = could_be_one_run(float(cell.value), float(mean), float(sd), SEEDS)
            cell = replace(cell, note=f"{'can' if fits else 'CANNOT'} be one of the three runs")
        yield cell


def _differing(scores: Scores) -> Iterator[PaperFigure]:
    """Yield the means on questions that QA and Conv word differently, with dev and test pooled.

    The paper's figure prints no numbers and averages three test runs; the archive has one. The last column is
    the loss due to the Conv wording in multi-turn, paired by question.
    """
    wanted = {(split, *key) for split in ("dev", "test") for key in scores.differing(split)}
    for model in published()["table2"]["rows"]:
        responses: dict[str, dict[tuple[str, str, str], PublishedResponse]] = {}
        for setting in ("st_qa", "mt_qa", "mt_conv"):
            responses[setting] = {
                key: response
                for split in ("dev", "test")
                for response in scores.of(f"{setting}_{split}", model)
                if (key := (split, response.meeting, response.question.id)) in wanted
            }
            if responses[setting]:
                yield PaperFigure(model, setting, None).of(list(responses[setting].values()))
        if conv := responses["mt_conv"]:
            losses = {key: score(response) - score(responses["mt_qa"][key]) for key, response in conv.items()}
            ends = cluster_t(list(map(float, losses.values())), [key[1] for key in losses], skewed=False)
            mean = sum(losses.values()) / Fraction(len(losses))
            yield PaperFigure(model, "mt_conv - mt_qa", None, mean, len(losses), ends)


def _middle(scores: Scores) -> Iterator[PaperFigure]:
    for model, printed in published()["table10"].items():
        cell = PaperFigure(model, "p", printed, places=3)
        responses = scores.of("st_qa_test", model)
        test = middle_test((response.question.position, float(score(response))) for response in responses)
        if test is None:
            yield replace(cell, reason="not in the archive")
            continue
        note = f"t {test.t:.3f}, df {test.df:.1f}, n {test.n_first} and {test.n_second}"
        yield replace(cell, value=test.p, n=test.n_first + test.n_second, note=note)


# Tables and figures with numbers, in the paper's order: title, and the function that recomputes them.
_TABLES: Mapping[str, tuple[str, Callable[[Scores], Iterator[PaperFigure]]]] = {
    "table1": ("Table 1: questions", _questions),
    "table2": ("Table 2: mean score by GPT-4, dev and test", _settings),
    "table3": ("Table 3: by question type and answer position, test, QA single-turn", _labels),
    "table4": ("Table 4: mean score by evaluator, test, QA single-turn", _evaluators),
    "fig2a": ("Figure 2a: mean score in each bin of gold human scores", _bins),
    "fig2b": ("Figure 2b: Pearson correlation of evaluators", _correlations),
    "table7": ("Table 7: configuration search, step 1, dev, QA single-turn", partial(_search, key="table7")),
    "table8": ("Table 8: step 2, repetition penalty, dev, QA single-turn", partial(_search, key="table8")),
    "table9": ("Table 9: mean and standard deviation over seeds, test", _seeds),
    "fig3": ("Figure 3: questions that differ between QA and Conv, dev and test", _differing),
    "table10": ("Table 10: one-tailed Welch test of middle answers", _middle),
}


def paper_tables(scores: Scores, wanted: Sequence[str] = tuple(_TABLES)) -> dict[str, list[PaperFigure]]:
    """Return the requested tables' figures by their keys in ``paper.yaml``, in the paper's order."""
    return {key: list(cells_of(scores)) for key, (_, cells_of) in _TABLES.items() if key in wanted}


def sections(options: Options, only: str = "") -> list[Section]:
    """Return the tables as a section; ``only`` lists table keys, separated by commas."""
    wanted = [word.strip() for word in only.split(",") if word.strip()]
    if unknown := sorted(set(wanted) - set(_TABLES)):
        raise InputError(f"--only {', '.join(unknown)}: there are {', '.join(_TABLES)}")
    tables = paper_tables(Scores(Archives.of(options)), wanted or tuple(_TABLES))
    matches = Counter(cell.match for cells in tables.values() for cell in cells)
    counts = (
        f"{matches['yes']} of {matches['yes'] + matches['no']} figures that can be recomputed come out as printed; "
        f"{matches['published only']} can only be shown as published, {matches['not printed']} are not printed in the paper."
    )
    problems = (f"{matches['no']} figures do not come out",) if matches["no"] else ()
    shown = tuple(_shown(key, cells) for key, cells in tables.items())
    return [Section("paper", "Tables of the paper", shown, notes=(counts,), problems=problems)]


def _shown(key: str, cells: Sequence[PaperFigure]) -> Table:
    columns = ("row", "column", "recomputed", "rounded once", "n", "95 % interval", "published", "match")
    notes = any(cell.note for cell in cells)
    rows = []
    for cell in cells:
        one_run = cell.reason == "three seeds" and cell.recomputed is not None
        shown = (
            cell.row,
            cell.column,
            f"{cell.recomputed} (one seed)" if one_run else cell.recomputed or "",
            cell.plain or "",
            "" if cell.n is None else str(cell.n),
            interval_text(cell.interval),
            cell.published or "",
            f"{cell.match}: {cell.reason}" if cell.reason else str(cell.match),
        )
        rows.append((*shown, cell.note) if notes else shown)
    text = frozenset(("row", "column", "match", "note"))
    title, _ = _TABLES[key]
    return Table(key, title, (*columns, "note") if notes else columns, tuple(rows), text)


# Models that the paper used as judges, and their names in its figures.
