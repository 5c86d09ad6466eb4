"""Break down ETHIC scores as in the paper: coverage (5.1), context length (5.2) and position (5.3, Fig. 5).

:func:`sections` makes the tables and heat maps from scored runs. Intervals are over clusters (documents), not
cases or sections.
"""

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from long_context_tasks.benchmarks.catalogue import TaskSpec, card, parse_task
from long_context_tasks.benchmarks.ethic.data import NAME
from long_context_tasks.benchmarks.ethic.prompts import context_of
from long_context_tasks.benchmarks.ethic.scoring import repaired
from long_context_tasks.benchmarks.ethic.scoring.summaries import section_scores, stored_verdicts
from long_context_tasks.schema import Case, InputError, format_length
from long_context_tasks.schema.case_folder import NotInCache
from long_context_tasks.schema.report import (
    HeatMap,
    ScoredRun,
    Section,
    Table,
    count_text,
    figure_text,
    interval_text,
    mean_over_repeats,
    settings_text,
)
from long_context_tasks.schema.thinking import without_thinking
from long_context_tasks.stats.intervals import Interval
from long_context_tasks.stats.means import RATES, GroupMean, Scale, group_mean
from long_context_tasks.tokens import CL100K

BINS = 5  # number of equal parts into which scores by position divide a context
_SHORTEST = 1_000
_MARKER = re.compile(r"<(?:Section|Segment) \d+>\n")


class LengthSpan(NamedTuple):
    """A range of token counts from ``low`` to below ``high``; a single length if both are equal."""

    low: int
    high: int


def doubling(tokens: int) -> LengthSpan:
    """Return the bin of a token count: below 1k, or between consecutive doublings of 1k (1k, 2k, 4k ...).

    >>> doubling(5_000), doubling(999)
    (LengthSpan(low=4000, high=8000), LengthSpan(low=0, high=1000))
    """
    if tokens < _SHORTEST:
        return LengthSpan(0, _SHORTEST)
    low = _SHORTEST << ((tokens // _SHORTEST).bit_length() - 1)
    return LengthSpan(low, 2 * low)


def length_text(span: LengthSpan) -> str:
    """Format a span for tables.

    >>> length_text(LengthSpan(4_000, 8_000)), length_text(LengthSpan(4_000, 4_000)), length_text(LengthSpan(0, 1_000))
    ('4k to 8k', '4k', 'under 1k')
    """
    if not span.low:
        return f"under {format_length(span.high)}"
    return " to ".join(map(format_length, dict.fromkeys(span)))


def position_text(place: int, bins: int) -> str:
    return f"{100 * place / bins:.0f} to {100 * (place + 1) / bins:.0f} %"


@dataclass(frozen=True)
class ScoredItem:
    """The score of a case, or of one label or section in it, with attributes for grouping."""

    key: tuple[Hashable, ...]  # identical across runs
    domain: str
    cluster: str  # the document or group of documents, over which intervals are computed
    length: LengthSpan  # a single length if the case was built, otherwise the bin of the prompt's tokens
    value: float | None
    tokens: int = 0  # in the whole prompt, in cl100k
    context: str = ""  # hash, equal for cases with the same context; empty if unknown
    position: float = 0.0  # of a label or section, from 0 (beginning of the context) to 1 (end)


def scored_case(case: Case, value: float | None, context: str = "") -> ScoredItem:
    domain, tokens = str(case.labels["domain"]), int(case.num_tokens.get(CL100K, 0))
    built = case.labels.get("length")
    return ScoredItem(
        key=(domain, case.id),
        domain=domain,
        cluster=case.cluster,
        length=doubling(tokens) if built is None else LengthSpan(int(built), int(built)),
        value=value,
        tokens=tokens,
        context=context,
    )


def context_key(user_message: str) -> str:
    """Return a hash of the context without its section markers; empty if a message has no context."""
    context = context_of(user_message)
    if context is None:
        return ""
    return hashlib.sha256(_MARKER.sub("", context).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def label_parts(case: Case, response: str | None) -> list[ScoredItem]:
    """Return, for each label, whether a recall response lists it (1) or not (0).

    The position is that of the first chunk that contains the label.
    """
    [turn] = case.turns
    # Published cases do not record the positions of their labels.
    places = turn.labels.get("first_chunk")
    if not places:
        return []
    domain, chunks = str(case.labels["domain"]), int(case.labels["num_chunks"])
    answer = without_thinking(response)
    listed = set() if answer.failure else set(repaired.recalled_items(answer.text, domain))
    right = [bool(listed & repaired.recall_labels([label], domain)) for label in turn.gold]
    return [
        _part(case, index, (place + 0.5) / chunks, float(value))
        for index, (value, place) in enumerate(zip(right, places, strict=True))
    ]


def _part(case: Case, index: int, position: float, value: float | None) -> ScoredItem:
    whole = scored_case(case, value)
    return replace(whole, key=(*whole.key, index), position=position)


K = TypeVar("K", LengthSpan, tuple[LengthSpan, int])


def figures_by(
    scored: Sequence[ScoredItem], key: Callable[[ScoredItem], K], scale: Scale | None
) -> dict[K, GroupMean]:
    groups: dict[K, list[ScoredItem]] = defaultdict(list)
    for item in scored:
        groups[key(item)].append(item)
    return {
        name: group_mean([item.value for item in items], [item.cluster for item in items], scale)
        for name, items in sorted(groups.items())
    }


def by_length(cases: Sequence[ScoredItem], scale: Scale | None = RATES) -> dict[LengthSpan, GroupMean]:
    return figures_by(cases, lambda case: case.length, scale)


def by_position(parts: Sequence[ScoredItem], bins: int = BINS) -> dict[LengthSpan, dict[int, GroupMean]]:
    """Return scores by context length and part of the context (Fig. 5); parts without items are omitted."""
    table: dict[LengthSpan, dict[int, GroupMean]] = defaultdict(dict)
    # Labels of one document are not independent, so a single document has no interval.
    groups = figures_by(parts, lambda part: (part.length, min(int(part.position * bins), bins - 1)), None)
    for (length, place), group in groups.items():
        table[length][place] = group
    return table


def of_domain(scored: Sequence[ScoredItem]) -> Mapping[str, Sequence[ScoredItem]]:
    """Group scores by domain; if there are several domains, the scores of all of them come first."""
    domains = dict.fromkeys(score.domain for score in scored)
    parts = {"all": scored} if len(domains) > 1 else {}
    return {**parts, **{domain: [score for score in scored if score.domain == domain] for domain in domains}}


def compare(
    low: Sequence[ScoredItem], high: Sequence[ScoredItem], scale: Scale | None = RATES
) -> tuple[GroupMean, GroupMean, GroupMean] | None:
    """Compare low with high coverage (5.1), paired by context.

    Return the figures for low coverage, for high coverage and for high minus low, or None if no context is
    shared.
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
    lows, highs, clusters = zip(*pairs, strict=True)
    # Paired by context, because contexts vary more than the measured effect.
    loss = group_mean([high_value - value for value, high_value, _ in pairs], clusters)
    if scale == RATES and loss.interval is not None:
        # The limit is the second argument, so that a NaN bound stays NaN.
        ends = Interval(max(loss.interval.low, -1.0), min(loss.interval.high, 1.0))
        loss = replace(loss, interval=ends)
    return group_mean(lows, clusters, RATES), group_mean(highs, clusters, scale), loss


_WHO = ("host", "model", "task", "judge", "settings", "domain")
_SIDES = ("low task", "low metric", "high task", "high metric", "high judge")
_TEXT = frozenset((*_WHO, "length", "position", "of", *_SIDES))
# These options select cases; they do not change the prompts.
_CHOICES = ("lct_length", "lct_n", "lct_prompt_tokens", "cases")
_RECALL, _SUMMARIZE = "recall", "summarize"
# Counterpart to the tasks with the same contexts; the other tasks' contexts are shorter or built differently.
_HIGH = {"single_qa": (_RECALL,), "multi_qa": (_RECALL,), "focused_summary": (_SUMMARIZE, _RECALL)}
_CAPTIONS = {
    _SUMMARIZE: "Mean score of the sections (1 to 5) in this part of the context; a section left out has 1.",
    _RECALL: "Percent of the names or numbers recalled, by the part of the context that first names them.",
}


@dataclass
class MeasuredTask:
    """All runs of a task with one model, judge and settings, over all domains run."""

    first: ScoredRun  # source of the properties that all runs share
    spec: TaskSpec
    cases: list[ScoredItem] = field(default_factory=list)
    parts: list[ScoredItem] = field(default_factory=list)  # scores of labels or sections
    without_verdicts: bool = False  # some summaries are scored but the files lack the judge's replies

    @property
    def how(self) -> str:
        return settings_text(self.first.settings, _CHOICES)

    @property
    def whose(self) -> tuple[str, ...]:
        """Host, model and settings, without the options that select cases and the case folder."""
        how = settings_text(self.first.settings, (*_CHOICES, "lct_cases"))
        return self.first.host, self.first.model, how

    @property
    def row(self) -> tuple[str, ...]:
        return self.first.host, self.first.model, self.spec.family, self.first.judge, self.how

    def figures(self, group: GroupMean) -> tuple[str, ...]:
        places = 2 if self.first.points else 3
        return (
            count_text(group.n, group.total),
            figure_text(group.mean, places),
            interval_text(group.interval, places),
        )

    def add(self, run: ScoredRun) -> None:
        task = run.load()
        comparable = task.options.cases is not None and self.spec.task in (*_HIGH, _SUMMARIZE, _RECALL)
        named = f"{run.task} ({run.host}, {run.model}, {run.made})"
        for turn in run.turns():
            case = task.by_id.get(turn.case)
            if case is None:
                raise InputError(
                    f"{named}: has a score of case {turn.case}, which the task does not have; it was made with other data, give their "
                    "folder (--data-dir, --cases)"
                )
            text = turn.response.text
            try:
                # Hashing contexts takes time, so it is done only for comparable tasks.
                context = context_key(task.cases.documents[case.inputs["user"]]) if comparable else ""
                self.cases.append(scored_case(case, turn.value, context))
                if text is None:
                    continue
                # A judge rates the response as a whole, not its labels.
                if self.spec.task == _RECALL and not run.judge:
                    self.parts += label_parts(case, text)
                elif self.spec.task == _SUMMARIZE and run.points:
                    if turn.value is not None and text.strip() and not turn.verdicts:
                        self.without_verdicts = True
                    else:
                        self.parts += [
                            _part(case, section.index, section.position, section.mean)
                            for section in section_scores(case, text, stored_verdicts(turn.verdicts))
                        ]
            except (KeyError, TypeError, ValueError) as error:
                raise InputError(f"{named}: its scores do not match its cases ({error!r})") from error


def measure(runs: Sequence[ScoredRun]) -> tuple[list[MeasuredTask], list[str]]:
    """Group the scores of runs by setting, over all domains and lengths, and return notes on omitted runs."""
    found: dict[Hashable, MeasuredTask] = {}
    left_out: list[NotInCache] = []
    for run in runs:
        try:
            run.load()
        except NotInCache as error:
            left_out.append(error)
            continue
        new = MeasuredTask(run, parse_task(run.task))
        key = (run.host, run.model, new.spec.family, run.version, run.judge, new.how, run.metric)
        found.setdefault(key, new).add(run)
    # If no run is left, the user needs the reason rather than an empty report.
    if left_out and not found:
        raise left_out[0]
    measured = [
        replace(entry, cases=mean_over_repeats(entry.cases), parts=mean_over_repeats(entry.parts))
        for entry in found.values()
    ]
    return measured, [f"left out: {error}" for error in left_out]


def sections(runs: Sequence[ScoredRun], bins: int = BINS) -> list[Section]:
    """Return one section with the coverage, length and position tables and the heat maps of Fig. 5.

    ``bins`` is the number of parts into which a context is divided.
    """
    measured, left_out = measure(runs)
    bare = [entry for entry in measured if entry.without_verdicts]
    notes = (
        f"{len(bare)} settings of {_SUMMARIZE} hold no replies of the judge (bundles do not), so that scores by position are missing",
    )
    return [
        Section(
            "ethic",
            "ETHIC as in the paper's analyses",
            (coverage_table(measured), *split_tables(measured, bins)),
            tuple(heat_map(entry, bins) for entry in measured if entry.parts),
            notes if bare else (),
            tuple(left_out),
        )
    ]


def heat_maps(runs: Sequence[ScoredRun]) -> list[HeatMap]:
    """Return only the heat maps; runs of tasks that have none are not read."""
    measured, left_out = measure([run for run in runs if parse_task(run.task).task in _CAPTIONS])
    if left_out:
        raise InputError(left_out[0])
    return [heat_map(entry, BINS) for entry in measured if entry.parts]


def split_tables(measured: Sequence[MeasuredTask], bins: int) -> list[Table]:
    """Return the tables of scores by context length and by position."""
    length, position = [], []
    for entry in measured:
        points, metric = entry.first.points, entry.first.metric
        scale = card(NAME).points.get(metric, RATES)
        for domain, cases in of_domain(entry.cases).items():
            who = (*entry.row, domain)
            for span, group in by_length(cases, scale).items():
                tokens = [case.tokens for case in cases if case.length == span]
                mean = f"{sum(tokens) / len(tokens):,.0f}"
                length.append((*who, length_text(span), mean, metric, *entry.figures(group)))
        for domain, parts in of_domain(entry.parts).items():
            of = "section score" if points else "labels recalled"
            for span, places in by_position(parts, bins).items():
                who = (*entry.row, domain, length_text(span))
                for place, group in places.items():
                    position.append((*who, position_text(place, bins), of, *entry.figures(group)))
    ending = ("n", "score", "95 % interval")
    tables = (
        ("length", "by context length (5.2)", ("mean tokens", "metric", *ending), length),
        ("position", "by position in the context (5.3, Fig. 5)", ("position", "of", *ending), position),
    )
    return [
        Table(key, title, (*_WHO, "length", *columns), tuple(rows), _TEXT)
        for key, title, columns, rows in tables
    ]


def coverage_table(measured: Sequence[MeasuredTask]) -> Table:
    """Compare low- and high-coverage tasks on the same contexts (Fig. 4).

    There is a row for each length, preceded by one for all lengths if there are several.
    """
    rows = []
    for low in measured:
        for high in measured:
            # Only tasks with the same contexts, run in the same way, can be compared.
            if high.spec.task not in _HIGH.get(low.spec.task, ()) or low.whose != high.whose:
                continue
            points, scale = high.first.points, card(NAME).points.get(high.first.metric, RATES)
            for domain, cases in of_domain(low.cases).items():
                spans = sorted({case.length for case in cases})
                parts = {"all": cases} if len(spans) > 1 else {}
                parts |= {
                    length_text(span): [case for case in cases if case.length == span] for span in spans
                }
                for length, own in parts.items():
                    if found := compare(own, high.cases, scale):
                        n, *low_cells = low.figures(found[0])
                        # A difference between points and rates has no meaning.
                        loss = ("", "") if points else high.figures(found[2])[1:]
                        who = (*low.whose, domain, length, n)
                        low_side = (low.spec.family, low.first.metric, *low_cells)
                        high_side = (high.spec.family, high.first.metric, high.first.judge)
                        rows.append((*who, *low_side, *high_side, *high.figures(found[1])[1:], *loss))
    columns = (
        *("host", "model", "settings", "domain", "length", "n", "low task", "low metric", "low"),
        *("interval of low", "high task", "high metric", "high judge", "high", "interval of high"),
        *("high - low", "interval of high - low"),
    )
    title = "low against high coverage on the same contexts (5.1)"
    return Table("coverage", title, columns, tuple(rows), _TEXT)


def heat_map(measured: MeasuredTask, bins: int) -> HeatMap:
    """Return the heat map of scores by position and context length, over all domains (Fig. 5)."""
    table = by_position(measured.parts, bins)
    scale, low, high = (1, 1.0, 5.0) if measured.first.points else (100, 0.0, 100.0)
    rows = [[row.get(place) for place in range(bins)] for row in table.values()]
    values = [
        [scale * group.mean if group and math.isfinite(group.mean) else None for group in row] for row in rows
    ]
    return HeatMap(
        title=", ".join(
            filter(None, (measured.first.model, measured.spec.family, measured.first.judge, measured.how))
        ),
        caption=_CAPTIONS[measured.spec.task],
        x_title="Place in the context",
        y_title="Length of the context",
        x=[position_text(place, bins) for place in range(bins)],
        y=[length_text(span) for span in table],
        values=values,
        counts=[[group.clusters if group else 0 for group in row] for row in rows],
        low=low,
        high=high,
    )
