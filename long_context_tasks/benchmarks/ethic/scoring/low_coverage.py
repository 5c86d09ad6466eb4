"""Scores of the low-coverage counterparts (section 5.1): questions with a short answer, and summaries on a query.

The paper names no metric for them. Questions have the token F1 of SQuAD (Rajpurkar et al., 2016) and whether the right answer
occurs in the response; summaries have ROUGE-L (Lin, 2004) against the annotator's summary, without stemming. Words are read in
any script: Unicode's punctuation, not only ASCII's, is left out.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from long_context_tasks.benchmarks.ethic.scoring.official import F1, NOTHING, lcs_length, rates
from long_context_tasks.benchmarks.ethic.scoring.repaired import answer_of
from long_context_tasks.schema import Case, CaseScores, Score

QA_METRICS = ("answer_f1", "answer_found")
FOCUSED_METRICS = ("rouge_l_f1", "rouge_l_precision", "rouge_l_recall")

_ARTICLES = frozenset(("a", "an", "the"))
_WORD = re.compile(r"\w+")


def answer_tokens(text: str) -> list[str]:
    """Return the tokens of an answer as in SQuAD: without case, punctuation and English articles.

    >>> answer_tokens("The U.S. Senate’s vote"), answer_tokens("“1,234” patients.")
    (['us', 'senates', 'vote'], ['1234', 'patients'])
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    plain = "".join(char for char in folded if not unicodedata.category(char).startswith("P"))
    return [token for token in plain.split() if token not in _ARTICLES]


def token_f1(answer: Sequence[str], right: Sequence[str]) -> float:
    """Return F1 of the bags of tokens, 0 to 1; two empty answers agree.

    >>> token_f1(["us", "senate"], ["senate"])
    0.6666666666666666
    """
    if not answer or not right:
        return float(list(answer) == list(right))
    common = (Counter(answer) & Counter(right)).total()
    return rates(common, len(answer), len(right)).f1


def occurs(right: Sequence[str], answer: Sequence[str]) -> bool:
    """Return whether tokens occur side by side, in order, in an answer; no tokens never do.

    >>> occurs(["new", "york"], ["in", "new", "york"]), occurs(["new", "york"], ["york", "new"]), occurs([], ["york"])
    (True, False, False)
    """
    n = len(right)
    return n > 0 and any(list(answer[at : at + n]) == list(right) for at in range(len(answer) - n + 1))


def rouge_l(summary: str, right: str) -> F1:
    """Return ROUGE-L of two texts as one sentence each: longest common subsequence of their words, without case and stemming."""
    words = [_WORD.findall(text.casefold()) for text in (summary, right)]
    if not all(words):
        return NOTHING
    return rates(lcs_length(*words), len(words[0]), len(words[1]))


def score_qa(case: Case, response: str | None, status: str | None = None) -> CaseScores:
    """Score a question; an empty response or a refusal scores 0 with its reason.

    Args:
        case: its gold is a list with one answer.
        response: None counts as empty.
        status: a failure of ours: no metric has a value then.
    """
    if status is not None:
        return dict.fromkeys(QA_METRICS, Score(None, status))
    [turn] = case.turns
    [gold] = turn.gold
    answer = answer_of(response)
    right, given = answer_tokens(gold), answer_tokens(answer.text)
    value = token_f1(given, right)
    found = occurs(right, given) or value == 1
    failure = answer.failure if found else answer.why(None)
    if failure:
        return dict.fromkeys(QA_METRICS, Score(0.0, failure))
    return {"answer_f1": Score(value), "answer_found": Score(float(found))}


def score_focused_summary(case: Case, response: str | None, status: str | None = None) -> CaseScores:
    """Score a summary on a query by ROUGE-L against the annotator's; the arguments are those of :func:`score_qa`."""
    if status is not None:
        return dict.fromkeys(FOCUSED_METRICS, Score(None, status))
    [turn] = case.turns
    [gold] = turn.gold
    answer = answer_of(response)
    failure = answer.why(None)
    same = NOTHING if failure else rouge_l(answer.text, gold)
    return {
        "rouge_l_f1": Score(same.f1, failure),
        "rouge_l_precision": Score(same.precision, failure),
        "rouge_l_recall": Score(same.recall, failure),
    }
