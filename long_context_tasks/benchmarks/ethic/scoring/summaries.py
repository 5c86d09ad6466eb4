"""Query a judge about section summaries, and turn its verdicts into section and case scores.

Scores are on the paper's scale, 1 to 5. The official score of a judgement is the sum of rating times
probability, without renormalizing for missing probability mass; ``summary_score`` divides it by the mass that
was found. A judge without log-probabilities is sampled several times (once per seed), and the rating
frequencies replace the probabilities; a sample without a rating counts as missing mass.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from long_context_tasks.benchmarks.ethic.prompts import sections_of, split_sections, template
from long_context_tasks.benchmarks.ethic.scoring import SUMMARY_METRICS, SUMMARY_POINTS, official
from long_context_tasks.benchmarks.ethic.scoring.official import CRITERIA
from long_context_tasks.benchmarks.ethic.scoring.repaired import is_refusal
from long_context_tasks.judges.parsers import last_boxed
from long_context_tasks.judges.verdict import JudgeRequest, Rubric, Verdict
from long_context_tasks.schema import Case, CaseScores, Documents, InputError, Message, Score
from long_context_tasks.schema.response import (
    ENDPOINT_FAILED,
    JUDGE_FAILED,
    JUDGE_UNPARSABLE,
    NOT_JUDGED,
    REFUSED,
    UNPARSED,
)
from long_context_tasks.schema.thinking import without_thinking

LOW, HIGH = 1, 5
DEFAULT = "geval"
# Template family to its slots for section and summary: G-Eval's, as in the official code, and LongEval's.
_SLOTS = {"geval": ("{{Document}}", "{{Summary}}"), "longeval": ("{{article}}", "{{summary}}")}
# Suffix of rubrics that send a user message, which some chat templates require; the official code sends a
# system message.
_USER = "_user"
RUBRICS = tuple(f"{family}{role}" for role in ("", _USER) for family in _SLOTS)


def judge_message(name: str, criterion: str, section: str, summary: str) -> Message:
    """Return the single message to the judge about a criterion: con, faith or rel."""
    family = name.removesuffix(_USER)
    document_slot, summary_slot = _SLOTS[family]
    # The section first, as in the official code: a slot inside a section is replaced by the summary.
    prompt = template(f"{family}_{criterion}")
    text = prompt.replace(document_slot, section).replace(summary_slot, summary)
    return Message("system" if name == family else "user", text, prompt.index(document_slot))


def rubric(name: str = DEFAULT) -> Rubric:
    """Return a rubric from 1 to 5, weighted by the first token's log-probabilities if available."""
    if name not in RUBRICS:
        raise InputError(
            f"rubric {name!r}: ETHIC has {', '.join(RUBRICS)}; correct `rubric` in the judge file"
        )
    return Rubric(f"ethic_{name}", LOW, HIGH, stated_rating, official.normalized)


_STATED = re.compile(
    r"\W*(?:(?:consistency|faithfulness|relevance|overall|final|score|rating)\b\W*(?:is\b\W*)?)*"
    r"([1-5](?:\.\d{1,3})?)(?:[\s*_`]*(?:/|out of)\s*5(?:\.0)?)?[\s*_`.)\]]*",
    re.IGNORECASE | re.ASCII,
)
_BOXED = last_boxed(LOW, HIGH)


def stated_rating(reply: str) -> float | None:
    """Parse the rating from 1 to 5 on a reply's first or last line or in its last box.

    The prompts ask for "scores ONLY". The result is None if the two lines differ.

    >>> stated_rating("- Consistency: 4"), stated_rating("**3**/5"), stated_rating("4\\nIt is faithful."), stated_rating("12")
    (4.0, 3.0, 4.0, None)
    """
    text = without_thinking(reply).text
    lines = [line for line in text.splitlines() if line.strip()]
    ends = [_STATED.fullmatch(line) for line in lines[:1] + lines[-1:]]
    stated = {float(match[1]) for match in ends if match}
    if len(stated) == 1:
        value = stated.pop()
        return value if value <= HIGH else None
    return None if stated else _BOXED(reply)


_NAMES = {"con": "consistency", "faith": "faithfulness", "rel": "relevance"}


@dataclass(frozen=True)
class Judgement:
    """A judge's rating of one section on one criterion."""

    score: float | None  # 1 to 5; None if no reply has a rating
    # By the official rule, which can be below 1; None if there are no ratings and no log-probabilities.
    official: float | None
    failed: bool = False  # whether all calls failed


@dataclass(frozen=True)
class SectionScore:
    """One section's scores, which Fig. 5 shows by position."""

    marker: str  # such as <Section 3>
    index: int  # index of the section in the context, from 0
    position: float  # middle of the section among all sections, from 0 (beginning) to 1 (end)
    written: bool  # whether the response has a non-blank summary of it
    # Criterion to judgement; empty before judging, or if the response lacks the section.
    judgements: Mapping[str, Judgement] = field(default_factory=dict)

    def score(self, criterion: str) -> float | None:
        """Return the score from 1 to 5: the lowest without a summary, None if the judge gave no rating."""
        if not self.written:
            return float(LOW)
        judgement = self.judgements.get(criterion)
        return None if judgement is None else judgement.score

    @property
    def mean(self) -> float | None:
        """Mean over the scored criteria."""
        there = [score for name in CRITERIA if (score := self.score(name)) is not None]
        return math.fsum(there) / len(there) if there else None


def summaries(case: Case, response: str | None) -> dict[str, str]:
    """Return the section summaries found in a response, keyed by marker, in context order.

    Unknown markers are ignored. If the context is a single section, a response without markers counts as its
    summary; the official code drops it.
    """
    [turn] = case.turns
    answer = without_thinking(response)
    text = "" if answer.failure else answer.text.strip()
    found = split_sections(text, str(case.labels["domain"]))
    # With one section, models often omit the marker.
    if not found and len(turn.gold) == 1 and text:
        return {turn.gold[0]: text}
    return {marker: found[marker] for marker in turn.gold if marker in found}


def judge_requests(
    case: Case,
    responses: Sequence[str | None],
    name: str = DEFAULT,
    *,
    documents: Documents | Mapping[str, str],
) -> list[JudgeRequest]:
    """Return the judge requests: for each criterion, one per section in the response, in context order.

    Blank summaries are included, because the official metric counts their score. The single response is None
    after a failure on our side.
    """
    rubric(name)
    [response] = responses
    if response is None or not (written := summaries(case, response)):
        return []
    context = sections_of(case, documents)
    if missing := [marker for marker in written if marker not in context]:
        raise InputError(
            f"case {case.id}: {missing[0]} is not in its context; the cases are damaged, make them again"
        )
    return [
        JudgeRequest(
            id=f"{case.cluster}_{marker}_{criterion}",
            messages=(judge_message(name, criterion, context[marker], summary),),
            meta={"case": case.id, "turn": 0, "section": marker, "criterion": criterion},
        )
        for criterion in CRITERIA
        for marker, summary in written.items()
    ]


def judgement(verdicts: Sequence[Verdict]) -> Judgement:
    answered = [verdict for verdict in verdicts if verdict.reason != ENDPOINT_FAILED]
    if not answered:
        return Judgement(None, None, failed=True)
    # A failed call is our failure and is retried; an unreadable reply is the judge's and officially counts as
    # 0.
    scores = [verdict.score for verdict in answered if verdict.score is not None]
    if not scores and all(verdict.top_logprobs is None for verdict in answered):
        return Judgement(None, None)
    as_published = [
        official.weighted(verdict.top_logprobs) if verdict.top_logprobs is not None else verdict.score or 0.0
        for verdict in answered
    ]
    return Judgement(
        math.fsum(scores) / len(scores) if scores else None, math.fsum(as_published) / len(answered)
    )


def stored_verdicts(rows: Sequence[Mapping[str, Any]]) -> list[Verdict]:
    """Restore verdicts for :func:`section_scores` from stored rows (see ``Verdict.row``)."""
    verdicts = []
    for row in rows:
        top = row.get("top_logprobs")
        if top is not None:
            top = tuple((str(token), None if value is None else float(value)) for token, value in top)
        own = (row["score"], row["reason"], row["feedback"], (), row["seed"], str(row["key"]))
        verdicts.append(Verdict(*own, top_logprobs=top))
    return verdicts


def section_scores(case: Case, response: str | None, verdicts: Sequence[Verdict] = ()) -> list[SectionScore]:
    """Return the scores of all sections of a case, in context order.

    The verdicts correspond to the requests of :func:`judge_requests`, in order, with one per seed for each;
    empty before judging.
    """
    [turn] = case.turns
    written = summaries(case, response)
    asked = [(criterion, marker) for criterion in CRITERIA for marker in written]
    seeds, left = divmod(len(verdicts), len(asked)) if asked else (0, len(verdicts))
    if left:
        raise InputError(
            f"case {case.id}: {len(verdicts)} verdicts on {len(asked)} judgements; they belong to a different response; judge it again"
        )
    found: dict[str, dict[str, Judgement]] = {marker: {} for marker in written}
    if verdicts:
        for place, (criterion, marker) in enumerate(asked):
            found[marker][criterion] = judgement(verdicts[place * seeds : (place + 1) * seeds])
    n = len(turn.gold)
    return [
        SectionScore(
            marker, index, (index + 0.5) / n, bool(written.get(marker, "").strip()), found.get(marker, {})
        )
        for index, marker in enumerate(turn.gold)
    ]


def score_turn(
    case: Case,
    turn: int,
    response: str | None,
    verdicts: Sequence[Verdict] = (),
    name: str = DEFAULT,
    status: str | None = None,
) -> CaseScores:
    """Score a case on all metrics.

    A section that the response omits or leaves blank gets the lowest score; the official score omits it from
    the mean (but judges a blank one). A response without any section crashes the official run; here it gets
    the lowest score. If a judge call failed, the case has no score yet. A judge reply without a rating is
    left out and lowers ``judged_share``. If there is a status (a failure on our side during generation), no
    metric has a value.
    """
    case.turns[turn]  # raises IndexError for a turn that the case lacks
    if status is not None:
        return dict.fromkeys(SUMMARY_METRICS, Score(None, status))
    if not summaries(case, response):
        answer = without_thinking(response)
        failure = answer.failure or (REFUSED if is_refusal(answer.text) else UNPARSED)
        nothing = dict.fromkeys(SUMMARY_POINTS, Score(float(LOW), failure))
        return {**nothing, "sections_covered": Score(0.0, failure), "judged_share": Score(None, failure)}
    sections = section_scores(case, response, verdicts)
    covered = Score(sum(section.written for section in sections) / len(sections))
    # A missing call would change the mean, so the case is not scored until it is available.
    given = [judged for section in sections for judged in section.judgements.values()]
    if not given or any(judged.failed for judged in given):
        waiting = Score(None, JUDGE_FAILED if given else NOT_JUDGED)
        return {
            **dict.fromkeys(SUMMARY_POINTS, waiting),
            "sections_covered": covered,
            "judged_share": waiting,
        }
    by_criterion = {
        label: _mean([section.score(criterion) for section in sections])
        for criterion, label in _NAMES.items()
    }
    means = [score.value for score in by_criterion.values() if score.value is not None]
    whole = len(means) == len(CRITERIA)
    return {
        "summary_score": Score(math.fsum(means) / len(means)) if whole else Score(None, JUDGE_UNPARSABLE),
        # The official mean over criteria of means over sections equals the plain mean, because every
        # criterion has the same sections.
        "official_summary_score": _mean([rated.official for rated in given]),
        **by_criterion,
        "sections_covered": covered,
        "judged_share": Score(sum(rated.score is not None for rated in given) / len(given)),
    }


def _mean(scores: Sequence[float | None]) -> Score:
    there = [score for score in scores if score is not None]
    return Score(math.fsum(there) / len(there)) if there else Score(None, JUDGE_UNPARSABLE)
