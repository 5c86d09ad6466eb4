"""Scores of ETHIC split as in the paper's analyses: by context length (5.2), by position (5.3), low against high coverage (5.1);
and by input length and output length at once, which the paper leaves open.

:func:`sections` makes the tables and heat maps from scored runs. Intervals are over clusters (documents), not cases or sections.
"""

import hashlib
import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from long_context_tasks.benchmarks.catalogue import parse_task
from long_context_tasks.benchmarks.ethic.context_sections import context_of
from long_context_tasks.benchmarks.ethic.scoring import repaired
from long_context_tasks.benchmarks.ethic.scoring.repaired import answer_of
from long_context_tasks.benchmarks.ethic.scoring.summaries import section_scores, stored_verdicts
from long_context_tasks.judges import Verdict
from long_context_tasks.schema import Case, InputError, LoadedTask, format_length
from long_context_tasks.schema.report import (
    HeatMap,
    ScoredRun,
    ScoredTurn,
    Section,
    Table,
    count_text,
    figure_text,
    interval_text,
    mean_over_repeats,
    settings_text,
)
from long_context_tasks.stats import GroupMean, group_mean, interval_of_mean
from long_context_tasks.tokens import CL100K

BINS = 5
"""Parts of equal size that a context is cut into for scores by position."""
_SHORTEST = 1_000
_MARKER = re.compile(r"<(?:Section|Segment) \d+>\n")
_NO_ITEM = ("", "none")


@dataclass(frozen=True, order=True)
class Span:
    """Numbers from ``low`` to below ``high``; a single number where both are equal. Spans sort by size."""

    low: int
    high: int

    def __contains__(self, number: int) -> bool:
        """Whether a number lies in it."""
        return self.low <= number < max(self.high, self.low + 1)


def doubling(number: int, first: int) -> Span:
    """The span of a number where each span ends at twice its beginning; below ``first`` there is one more.

    >>> doubling(5_000, 1_000), doubling(999, 1_000), doubling(1, 1)
    (Span(low=4000, high=8000), Span(low=0, high=1000), Span(low=1, high=2))
    """
    if number < first:
        return Span(0, first)
    low = first << ((number // first).bit_length() - 1)
    return Span(low, 2 * low)


def length_text(span: Span) -> str:
    """A span of tokens as it stands in a table.

    >>> length_text(Span(4_000, 8_000)), length_text(Span(4_000, 4_000)), length_text(Span(0, 1_000))
    ('4k to 8k', '4k', 'under 1k')
    """
    if span.low == span.high:
        return format_length(span.low)
    return (
        f"{format_length(span.low)} to {format_length(span.high)}"
        if span.low
        else f"under {format_length(span.high)}"
    )


def count_span_text(span: Span) -> str:
    """A span of counts as it stands in a table.

    >>> count_span_text(Span(4, 8)), count_span_text(Span(1, 2))
    ('4 to 7', '1')
    """
    return str(span.low) if span.high <= span.low + 1 else f"{span.low} to {span.high - 1}"


@dataclass(frozen=True)
class ScoredCase:
    """The score of a case, with what it is split by.

    Attributes:
        id: unique within the domain.
        domain: books, debates, medicine or law.
        cluster: the document or group that it comes from, the unit of intervals.
        tokens: of the whole prompt, in cl100k.
        length: the length that a built case was built for; for published data a span of ``tokens``.
        items: items of the right answer (labels, ids, options, sections); 0 where nothing is to be listed.
        context: tells whether two cases show the same context; empty where it is not known.
        value: the score; None where there is none.
    """

    id: str
    domain: str
    cluster: str
    tokens: int
    length: Span
    items: int
    context: str
    value: float | None

    @property
    def key(self) -> tuple[Hashable, ...]:
        """Of the case, the same in every run."""
        return self.domain, self.id


@dataclass(frozen=True)
class ScoredPart:
    """The score of a label or a section, which has a place in the context.

    Attributes:
        case: id.
        index: of the label or section in the right answer.
        domain, cluster, length: of the case.
        position: from 0 (beginning of the context) to 1 (end).
        value: the score; None where there is none.
    """

    case: str
    index: int
    domain: str
    cluster: str
    length: Span
    position: float
    value: float | None

    @property
    def key(self) -> tuple[Hashable, ...]:
        """Of the part, the same in every run."""
        return self.domain, self.case, self.index


S = TypeVar("S", ScoredCase, ScoredPart)
K = TypeVar("K", Span, tuple[Span, Span], tuple[Span, int])


def scored_case(case: Case, value: float | None, context: str = "") -> ScoredCase:
    """A score with the labels of its case.

    Args:
        case: published or built.
        value: its score.
        context: see :func:`context_key`.
    """
    tokens = int(case.num_tokens.get(CL100K, 0))
    return ScoredCase(
        id=case.id,
        domain=str(case.labels["domain"]),
        cluster=case.cluster,
        tokens=tokens,
        length=length_of(case),
        items=len([item for item in case.turns[0].gold if str(item).strip().casefold() not in _NO_ITEM]),
        context=context,
        value=value,
    )


def length_of(case: Case) -> Span:
    """The length that a case was built for, else the span that its prompt's cl100k tokens lie in."""
    built = case.labels.get("length")
    if built is not None:
        return Span(int(built), int(built))
    return doubling(int(case.num_tokens.get(CL100K, 0)), _SHORTEST)


def context_key(user_message: str) -> str:
    """A short name for the context in a user message, without the markers of its sections; empty where there is none."""
    context = context_of(user_message)
    if context is None:
        return ""
    return hashlib.sha256(_MARKER.sub("", context).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def label_parts(case: Case, response: str | None) -> list[ScoredPart]:
    """Whether a recalling response lists each label (1) or not (0), by the chunk that first names it.

    Responses are read as for ``strict_recall``. Empty for published cases, which do not say where their labels stand.
    """
    [turn] = case.turns
    places = turn.labels.get("first_chunk")
    if not places:
        return []
    domain, chunks = str(case.labels["domain"]), int(case.labels["num_chunks"])
    answer = answer_of(response)
    listed = set() if answer.failure else set(repaired.recalled_items(answer.text, domain))
    return [
        _part(
            case, index, (place + 0.5) / chunks, float(bool(listed & repaired.recall_labels([label], domain)))
        )
        for index, (label, place) in enumerate(zip(turn.gold, places, strict=True))
    ]


def section_parts(case: Case, response: str | None, verdicts: Sequence[Verdict]) -> list[ScoredPart]:
    """The scores of the sections of a summarizing case; see ``summaries.section_scores``.

    Raises:
        InputError: the verdicts are not those of the response.
    """
    return [
        _part(case, section.index, section.position, section.mean)
        for section in section_scores(case, response, verdicts)
    ]


def _part(case: Case, index: int, position: float, value: float | None) -> ScoredPart:
    return ScoredPart(
        case.id, index, str(case.labels["domain"]), case.cluster, length_of(case), position, value
    )


def figures(values: Sequence[float | None], clusters: Sequence[Hashable], *, rates: bool) -> GroupMean:
    """Mean, counts and the interval that the hosts' results have, too.

    Args:
        values: scores; None where there is none.
        clusters: of each score.
        rates: see :func:`~long_context_tasks.stats.mean_of_scores`.
    """
    group = group_mean(values, clusters)
    pairs = [(value, cluster) for value, cluster in zip(values, clusters, strict=True) if value is not None]
    if not pairs:
        return group
    ends = interval_of_mean([value for value, _ in pairs], [one for _, one in pairs], rates=rates)
    return replace(group, interval=ends)


def _by(scored: Sequence[S], key: Callable[[S], K], *, rates: bool) -> dict[K, GroupMean]:
    groups: dict[K, list[S]] = {}
    for one in scored:
        groups.setdefault(key(one), []).append(one)
    return {
        name: figures([one.value for one in own], [one.cluster for one in own], rates=rates)
        for name, own in sorted(groups.items(), key=lambda item: item[0])
    }


def by_length(cases: Sequence[ScoredCase], *, rates: bool = True) -> dict[Span, GroupMean]:
    """Figures by context length (5.2), shortest first."""
    return _by(cases, lambda case: case.length, rates=rates)


def by_length_and_items(
    cases: Sequence[ScoredCase], *, rates: bool = True
) -> dict[tuple[Span, Span], GroupMean]:
    """Figures by context length and, within it, by the number of items of the right answer: input against output."""
    return _by(cases, lambda case: (case.length, doubling(case.items, 1)), rates=rates)


def position_bin(position: float, bins: int = BINS) -> int:
    """The part of the context, from 0, that a position lies in.

    >>> position_bin(0.0), position_bin(0.5), position_bin(1.0)
    (0, 2, 4)
    """
    return min(int(position * bins), bins - 1)


def by_position(parts: Sequence[ScoredPart], bins: int = BINS) -> dict[Span, dict[int, GroupMean]]:
    """Context length to part of the context (from 0; those without a label or section are left out) to figures: Fig. 5.

    Labels of one document are not independent, so a single document has no interval.
    """
    table: dict[Span, dict[int, GroupMean]] = {}
    groups = _by(parts, lambda part: (part.length, position_bin(part.position, bins)), rates=False)
    for (length, place), group in groups.items():
        table.setdefault(length, {})[place] = group
    return table


def of_domain(scored: Sequence[S]) -> Mapping[str, list[S]]:
    """Domain to its scores; where there are several domains, all of them first."""
    domains = dict.fromkeys(one.domain for one in scored)
    parts = {"all": list(scored)} if len(domains) > 1 else {}
    return {**parts, **{domain: [one for one in scored if one.domain == domain] for domain in domains}}


@dataclass(frozen=True)
class Row:
    """A row of a table: what it is of, in words, domain first, and its figures."""

    labels: tuple[str, ...]
    group: GroupMean


def length_rows(cases: Sequence[ScoredCase], *, rates: bool = True) -> list[Row]:
    """Domain, context length, mean tokens of a prompt."""
    rows = []
    for domain, own in of_domain(cases).items():
        for length, group in by_length(own, rates=rates).items():
            tokens = [case.tokens for case in own if case.length == length]
            mean = f"{sum(tokens) / len(tokens):,.0f}"
            rows.append(Row((domain, length_text(length), mean), group))
    return rows


def items_rows(cases: Sequence[ScoredCase], *, rates: bool = True) -> list[Row]:
    """Domain, context length, items of the right answer."""
    return [
        Row((domain, length_text(length), count_span_text(items)), group)
        for domain, own in of_domain(cases).items()
        for (length, items), group in by_length_and_items(own, rates=rates).items()
    ]


def position_text(place: int, bins: int) -> str:
    """A part of the context.

    >>> position_text(1, 5)
    '20 to 40 %'
    """
    return f"{100 * place / bins:.0f} to {100 * (place + 1) / bins:.0f} %"


def position_rows(parts: Sequence[ScoredPart], bins: int = BINS) -> list[Row]:
    """Domain, context length, part of the context."""
    return [
        Row((domain, length_text(length), position_text(place, bins)), group)
        for domain, own in of_domain(parts).items()
        for length, places in by_position(own, bins).items()
        for place, group in places.items()
    ]


@dataclass(frozen=True)
class Comparison:
    """A low- and a high-coverage task on the same contexts.

    Attributes:
        low, high: figures of the contexts that both have a score for.
        difference: of high minus low, context by context.
    """

    low: GroupMean
    high: GroupMean
    difference: GroupMean


def compare(
    low: Sequence[ScoredCase], high: Sequence[ScoredCase], *, rates: bool = True
) -> Comparison | None:
    """Low against high coverage (5.1) over equal contexts that both have a score for; None where there is none.

    Args:
        low: of a counterpart; its scores are rates.
        high: of the other task.
        rates: the scores of ``high`` are rates, too.
    """
    others = {
        (case.key, case.context): case.value for case in high if case.context and case.value is not None
    }
    pairs = [
        (case.value, others[case.key, case.context], case.cluster)
        for case in low
        if case.value is not None and (case.key, case.context) in others
    ]
    if not pairs:
        return None
    clusters = [cluster for *_, cluster in pairs]
    return Comparison(
        low=figures([here for here, *_ in pairs], clusters, rates=True),
        high=figures([there for _, there, _ in pairs], clusters, rates=rates),
        difference=figures([there - here for here, there, _ in pairs], clusters, rates=False),
    )


_WHO = ("host", "model", "task", "judge", "settings", "domain")
_TEXT = frozenset((*_WHO, "length", "items", "position", "of", "low task", "high task"))
# They choose cases and not how these are asked: cases are told apart by their ids.
_CHOICES = ("lct_length", "lct_n", "lct_prompt_tokens", "cases")
_RECALL, _SUMMARIZE = "recall", "summarize"
# Counterpart to tasks that have the same contexts; those of the other tasks are shorter or made otherwise.
_HIGH = {
    "single_qa": (_RECALL,),
    "multi_qa": (_RECALL,),
    "focused_summary": (_SUMMARIZE, _RECALL),
}
_COMPARED = (*_HIGH, _SUMMARIZE, _RECALL)
_CAPTIONS = {
    _SUMMARIZE: "Mean score of the sections (1 to 5) that stand in this part of the context; a section left out has 1.",
    _RECALL: "Percent of the names or numbers recalled, by the part of the context that first names them.",
}


@dataclass(frozen=True)
class Measured:
    """All runs of a task with one model, judge and settings, over all domains that were run.

    Attributes:
        first: a run of them, for what all share.
        family: such as ``ethic_recall``.
        task: of the card, such as ``recall``.
        how: the settings in words, but for the choice of cases.
        same_cases_how: the same without the folder of built cases.
        cases, parts: scores, the mean over runs where there are several.
        without_verdicts: some summaries have scores, and the files do not hold the judge's replies.
    """

    first: ScoredRun
    family: str
    task: str
    how: str
    same_cases_how: str
    cases: tuple[ScoredCase, ...]
    parts: tuple[ScoredPart, ...]
    without_verdicts: bool

    @property
    def row(self) -> tuple[str, ...]:
        """Cells of a table, without the domain."""
        return self.first.host, self.first.model, self.family, self.first.judge, self.how

    def figures(self, group: GroupMean) -> tuple[str, ...]:
        """Cells of n, mean and interval."""
        places = 2 if self.first.points else 3
        return (
            count_text(group.n, group.total),
            figure_text(group.mean, places),
            interval_text(group.interval, places),
        )


def sections(runs: Sequence[ScoredRun], bins: int = BINS) -> list[Section]:
    """One section: low against high coverage, length, position, heat maps of Fig. 5, input against output length.

    Args:
        runs: of any model, task and setting.
        bins: parts of a context, for scores by position.

    Raises:
        InputError: damaged files, or data of a task that are not here.
    """
    measured = measure(runs)
    bare = [one for one in measured if one.without_verdicts]
    notes = (
        f"{len(bare)} settings of {_SUMMARIZE} hold no replies of the judge (bundles do not), so that scores by position are missing",
    )
    return [
        Section(
            "ethic",
            "ETHIC as in the paper's analyses",
            (coverage_table(measured), *split_tables(measured, bins)),
            tuple(heat_map(one, bins) for one in measured if one.parts),
            notes if bare else (),
        )
    ]


def heat_maps(runs: Sequence[ScoredRun], bins: int = BINS) -> list[HeatMap]:
    """The heat maps alone: runs of tasks that have none are not read.

    Raises:
        InputError: see :func:`sections`.
    """
    mapped = [run for run in runs if parse_task(run.task).task in _CAPTIONS]
    return [heat_map(one, bins) for one in measure(mapped) if one.parts]


def measure(runs: Sequence[ScoredRun]) -> list[Measured]:
    """Scores of runs, those of one setting over all domains and lengths together.

    Raises:
        InputError: damaged files, cases that the task does not have, or data that are not here.
    """
    found: dict[Hashable, list[tuple[ScoredRun, _Scores]]] = {}
    for run in runs:
        spec = parse_task(run.task)
        key = (run.host, run.model, spec.family, run.version, run.judge, _how(run), run.metric)
        found.setdefault(key, []).append((run, _scores(run, spec.task)))
    measured = []
    for same in found.values():
        first = same[0][0]
        spec = parse_task(first.task)
        measured.append(
            Measured(
                first=first,
                family=spec.family,
                task=spec.task,
                how=_how(first),
                same_cases_how=settings_text(first.settings, (*_CHOICES, "lct_cases")),
                cases=tuple(mean_over_repeats(case for _, scores in same for case in scores.cases)),
                parts=tuple(mean_over_repeats(part for _, scores in same for part in scores.parts)),
                without_verdicts=any(scores.without_verdicts for _, scores in same),
            )
        )
    return measured


def _how(run: ScoredRun) -> str:
    return settings_text(run.settings, _CHOICES)


@dataclass
class _Scores:
    """Of a run."""

    cases: list[ScoredCase]
    parts: list[ScoredPart]
    without_verdicts: bool = False


def _scores(run: ScoredRun, task_name: str) -> _Scores:
    """Scores of the cases of a run, and of their labels or sections."""
    task = run.load()
    found = _Scores([], [])
    for turn in run.turns():
        case = task.by_id.get(turn.case)
        if case is None:
            raise InputError(
                f"{_named(run)}: has a score of case {turn.case}, which the task does not have; it was made with other data, give "
                "their folder (--data-dir, --cases)"
            )
        try:
            _add(found, run, task, task_name, case, turn)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{_named(run)}: its scores cannot be laid beside its cases ({error!r})"
            ) from error
    return found


def _add(
    found: _Scores, run: ScoredRun, task: LoadedTask, task_name: str, case: Case, turn: ScoredTurn
) -> None:
    comparable = task.options.cases is not None and task_name in _COMPARED
    context = context_key(task.cases.documents[case.inputs["user"]]) if comparable else ""
    found.cases.append(scored_case(case, turn.value, context))
    text = turn.response.text
    if text is None:
        return
    if task_name == _RECALL and not run.judge:
        found.parts += label_parts(case, text)
    elif task_name == _SUMMARIZE and run.points:
        if turn.value is not None and text.strip() and not turn.verdicts:
            found.without_verdicts = True
        else:
            found.parts += section_parts(case, text, stored_verdicts(turn.verdicts))


def _named(run: ScoredRun) -> str:
    return f"{run.task} ({run.host}, {run.model}, {run.made})"


def split_tables(measured: Sequence[Measured], bins: int) -> list[Table]:
    """Scores by context length, by position, and by input and output length; a heat map of sections."""
    ending = ("n", "score", "95 % interval")
    length, position, heat, items = [], [], [], []
    for one in measured:
        who, rates = one.row, not one.first.points
        length += [
            (*who, *row.labels, one.first.metric, *one.figures(row.group))
            for row in length_rows(one.cases, rates=rates)
        ]
        of = "labels recalled" if rates else "section score"
        position += [
            (*who, *row.labels, of, *one.figures(row.group)) for row in position_rows(one.parts, bins)
        ]
        if one.task not in _HIGH:
            items += [
                (*who, *row.labels, one.first.metric, *one.figures(row.group))
                for row in items_rows(one.cases, rates=rates)
            ]
        for domain, parts in of_domain(() if rates else one.parts).items():
            for span, places in by_position(parts, bins).items():
                cells = [figure_text(places[at].mean) if at in places else "" for at in range(bins)]
                total = str(sum(group.n for group in places.values()))
                heat.append((*who, domain, length_text(span), total, *cells))
    across = [position_text(at, bins) for at in range(bins)]
    output = "items of the right answer: labels, options, ids, sections"
    parts_of = (
        ("length", "by context length (5.2)", ("mean tokens", "metric", *ending), length),
        ("position", "by position in the context (5.3)", ("position", "of", *ending), position),
        ("heat_map", "mean scores of sections by position (Fig. 5)", ("sections", *across), heat),
        ("items", f"input against output length ({output})", ("items", "metric", *ending), items),
    )
    return [
        Table(key, title, (*_WHO, "length", *columns), tuple(rows), _TEXT)
        for key, title, columns, rows in parts_of
    ]


def coverage_table(measured: Sequence[Measured]) -> Table:
    """Low- against high-coverage tasks on the same contexts."""
    rows = []
    pairs = [(low, high) for low in measured if low.task in _HIGH for high in measured]
    for low, high in pairs:
        whose, other = ((one.first.host, one.first.model, one.same_cases_how) for one in (low, high))
        if whose != other or high.task not in _HIGH[low.task]:
            continue
        for domain, cases in of_domain(low.cases).items():
            found = compare(cases, high.cases, rates=not high.first.points)
            if found is None:
                continue
            n, *low_cells = low.figures(found.low)
            # Points and rates have no difference.
            loss = ("", "") if high.first.points else high.figures(found.difference)[1:]
            who = (*whose, high.first.judge, domain, n)
            row = (low.family, *low_cells, high.family, *high.figures(found.high)[1:], *loss)
            rows.append((*who, *row))
    columns = (
        *("host", "model", "settings", "judge", "domain", "n", "low task", "low", "interval of low"),
        *("high task", "high", "interval of high", "high - low", "interval of high - low"),
    )
    title = "low against high coverage on the same contexts (5.1); each task has a metric of its own"
    return Table("coverage", title, columns, tuple(rows), _TEXT)


def heat_map(one: Measured, bins: int) -> HeatMap:
    """Scores of labels or sections by place in the context and its length, all domains together (Fig. 5)."""
    table = by_position(one.parts, bins)
    scale, low, high = (1, 1.0, 5.0) if one.first.points else (100, 0.0, 100.0)
    return HeatMap(
        title=", ".join(part for part in (one.first.model, one.family, one.first.judge, one.how) if part),
        caption=_CAPTIONS[one.task],
        x_title="Place in the context",
        y_title="Length of the context",
        x=[position_text(place, bins) for place in range(bins)],
        y=[length_text(span) for span in table],
        values=[
            [_finite(scale * row[place].mean) if place in row else None for place in range(bins)]
            for row in table.values()
        ],
        counts=[
            [row[place].clusters if place in row else 0 for place in range(bins)] for row in table.values()
        ],
        low=low,
        high=high,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
