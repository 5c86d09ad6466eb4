"""Score cases from their responses, with pure functions that use no files or network.

Every task has official metrics, which follow the official code, and strict ones, which read a response as the
instruction intends. The official code does not handle thinking, so its rules are applied to the whole
response, except that a judge never sees thinking. A mean over cases is unweighted, as in the paper.

The paper does not name its metrics for the low-coverage counterparts (section 5.1). Questions are scored with
the token F1 of SQuAD (Rajpurkar et al., 2016) and by whether the correct answer occurs in the response;
query-focused summaries are scored with ROUGE-L (Lin, 2004) against the annotator's summary, without stemming.
Words in any script are supported, so all Unicode punctuation is stripped, not only ASCII.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from rapidfuzz.distance import LCSseq

from long_context_tasks.benchmarks.ethic.scoring import official, repaired
from long_context_tasks.benchmarks.ethic.scoring.official import F1, NOTHING, rates
from long_context_tasks.benchmarks.ethic.scoring.repaired import is_refusal
from long_context_tasks.schema import Case, CaseScores, Score
from long_context_tasks.schema.response import AMBIGUOUS, REFUSED, UNPARSED, WRONG_LENGTH
from long_context_tasks.schema.thinking import Visible, without_thinking

F1_METRICS = (
    *("strict_f1", "official_f1", "strict_precision", "strict_recall"),
    *("official_precision", "official_recall"),
)
ORDER_METRICS = ("strict_lcs", "official_lcs", "length_adjusted_lcs")
QA_METRICS = ("answer_f1", "answer_found")
# Metrics on a scale from 1 to 5, which need a judge.
SUMMARY_POINTS = ("summary_score", "official_summary_score", "consistency", "faithfulness", "relevance")
SUMMARY_METRICS = (*SUMMARY_POINTS, "sections_covered", "judged_share")
FOCUSED_METRICS = ("rouge_l_f1", "rouge_l_precision", "rouge_l_recall")
# Task to its metrics: the headline metric first, then the official one if the paper has one.
METRICS = {
    "recall": F1_METRICS,
    "attribute": F1_METRICS,
    "organize": ORDER_METRICS,
    "summarize": SUMMARY_METRICS,
    "single_qa": QA_METRICS,
    "multi_qa": QA_METRICS,
    "focused_summary": FOCUSED_METRICS,
    "sections": F1_METRICS,
}


def score_recall(case: Case, response: str | None, status: str | None = None) -> CaseScores:
    """Score a recall case; see ``official.recalling`` and ``repaired.recall_f1``.

    Args:
        case: its gold is a list of labels; its label ``domain`` decides how they are parsed.
        response: None counts as empty.
        status: reason for a failure on our side; if given, no metric has a value.
    """
    if status is not None:
        return dict.fromkeys(F1_METRICS, Score(None, status))
    [turn] = case.turns
    domain = str(case.labels["domain"])
    answer = without_thinking(response)
    items = [] if answer.failure else repaired.recalled_items(answer.text, domain)
    strict = repaired.recall_f1(items, repaired.recall_labels(turn.gold, domain))
    failure = _failure(answer, strict.f1, parsed=bool(items))
    return _f1_scores(strict, official.recalling(response or "", turn.gold), failure)


def score_attribute(case: Case, response: str | None, status: str | None = None) -> CaseScores:
    """Score an Attributing case; the gold is a list of entries with one id each, or "none"."""
    if status is not None:
        return dict.fromkeys(F1_METRICS, Score(None, status))
    [turn] = case.turns
    answer = without_thinking(response)
    ids = None if answer.failure else repaired.attributed_ids(answer.text)
    strict = official.NOTHING
    if ids is not None:
        strict = repaired.attribution_f1(ids, repaired.attribution_labels(turn.gold))
    failure = _failure(answer, strict.f1, parsed=ids is not None)
    return _f1_scores(strict, official.attributing(response or "", turn.gold), failure)


def _failure(answer: Visible, value: float = 0.0, *, parsed: bool = True) -> str | None:
    """Return why a scored answer counts as a model failure, or None."""
    if answer.failure is None and value == 0 and is_refusal(answer.text):
        return REFUSED
    return answer.failure or (None if parsed else UNPARSED)


def _f1_scores(strict: F1, as_published: F1, failure: str | None) -> CaseScores:
    return {
        "strict_f1": Score(strict.f1, failure),
        "official_f1": Score(as_published.f1),
        "strict_precision": Score(strict.precision, failure),
        "strict_recall": Score(strict.recall, failure),
        "official_precision": Score(as_published.precision),
        "official_recall": Score(as_published.recall),
    }


def score_organize(case: Case, response: str | None, status: str | None = None) -> CaseScores:
    """Score an Organizing case; the gold is the list of option numbers in the correct order.

    ``strict_lcs`` is 0 for an order with the wrong number of options. ``length_adjusted_lcs`` divides by the
    length of the longer list, so that omitted or repeated options lower the score in proportion.
    """
    if status is not None:
        return dict.fromkeys(ORDER_METRICS, Score(None, status))
    [turn] = case.turns
    gold = list(turn.gold)
    answer = without_thinking(response)
    order, ambiguous = ([], False) if answer.failure else repaired.listed_order(answer.text, len(gold))
    common = LCSseq.similarity(order, gold)
    failure = answer.failure
    if failure is None and len(order) != len(gold):
        failure = AMBIGUOUS if ambiguous else _failure(answer, common, parsed=bool(order)) or WRONG_LENGTH
    # The official code stores this text after an API failure, and then crashes on it.
    as_published = Score(0.0, REFUSED) if response == official.REFUSAL else None
    return {
        "strict_lcs": Score(0.0 if failure else common / len(gold), failure),
        "official_lcs": as_published or Score(official.organizing(response or "", gold)),
        "length_adjusted_lcs": Score(common / max(len(order), len(gold)), failure),
    }


_ARTICLES = frozenset(("a", "an", "the"))
_WORD = re.compile(r"\w+")


def answer_tokens(text: str) -> list[str]:
    """Return an answer's tokens as in SQuAD: lower case, without punctuation and English articles.

    >>> answer_tokens("The U.S. Senate’s vote"), answer_tokens("“1,234” patients.")
    (['us', 'senates', 'vote'], ['1234', 'patients'])
    """
    # NFKC, because models and annotators write ligatures, full-width letters and superscripts differently.
    folded = unicodedata.normalize("NFKC", text).casefold()
    plain = "".join(char for char in folded if not unicodedata.category(char).startswith("P"))
    return [token for token in plain.split() if token not in _ARTICLES]


def token_f1(answer: Sequence[str], right: Sequence[str]) -> float:
    """Return the F1 of two bags of tokens, 0 to 1; two empty answers agree.

    >>> token_f1(["us", "senate"], ["senate"])
    0.6666666666666666
    """
    if not answer or not right:
        return float(list(answer) == list(right))
    common = (Counter(answer) & Counter(right)).total()
    return rates(common, len(answer), len(right)).f1


def occurs(right: Sequence[str], answer: Sequence[str]) -> bool:
    """Return whether tokens occur contiguously and in order in an answer; False for no tokens.

    >>> occurs(["new", "york"], ["in", "new", "york"]), occurs(["new", "york"], ["york", "new"]), occurs([], ["york"])
    (True, False, False)
    """
    n = len(right)
    return n > 0 and any(list(answer[at : at + n]) == list(right) for at in range(len(answer) - n + 1))


def rouge_l(summary: str, right: str) -> F1:
    """Return ROUGE-L of two texts, each treated as one sentence, lower-cased and not stemmed."""
    words = [_WORD.findall(text.casefold()) for text in (summary, right)]
    if not all(words):
        return NOTHING
    return rates(LCSseq.similarity(*words), len(words[0]), len(words[1]))


def score_qa(case: Case, response: str | None, status: str | None = None) -> CaseScores:
    """Score a low-coverage question; an empty response or a refusal scores 0 with its reason."""
    if status is not None:
        return dict.fromkeys(QA_METRICS, Score(None, status))
    [gold] = case.turns[0].gold
    answer = without_thinking(response)
    right, given = answer_tokens(gold), answer_tokens(answer.text)
    value = token_f1(given, right)
    # An answer that consists only of articles has no tokens, so equal bags of tokens count as found.
    found = occurs(right, given) or value == 1
    failure = answer.failure if found else _failure(answer)
    if failure:
        return dict.fromkeys(QA_METRICS, Score(0.0, failure))
    return {"answer_f1": Score(value), "answer_found": Score(float(found))}


def score_focused_summary(case: Case, response: str | None, status: str | None = None) -> CaseScores:
    """Score a query-focused summary by ROUGE-L against the annotator's."""
    if status is not None:
        return dict.fromkeys(FOCUSED_METRICS, Score(None, status))
    [gold] = case.turns[0].gold
    answer = without_thinking(response)
    failure = _failure(answer)
    same = NOTHING if failure else rouge_l(answer.text, gold)
    return {
        "rouge_l_f1": Score(same.f1, failure),
        "rouge_l_precision": Score(same.precision, failure),
        "rouge_l_recall": Score(same.recall, failure),
    }


# Task to its scoring function; summaries need a judge, see summaries.score_turn.
SCORES = {
    "recall": score_recall,
    "attribute": score_attribute,
    "organize": score_organize,
    "single_qa": score_qa,
    "multi_qa": score_qa,
    "focused_summary": score_focused_summary,
    "sections": score_recall,
}
