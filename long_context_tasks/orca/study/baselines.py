"""Two measures of correctness that ask nobody: ROUGE-L and exact match, on 0 to 1.

Several references are written in one text with `` / `` between them, as collections of graded answers do; the best one counts.
"""

import re
import string
from collections.abc import Callable
from functools import cache

from long_context_tasks.schema import InputError

BASELINES = ("rouge_l", "exact_match")
"""Names of the raters."""
_BETWEEN = " / "
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def squad_normalised(text: str) -> str:
    """A text as SQuAD's evaluation compares it: lower case, without ASCII punctuation and articles, single spaces.

    >>> squad_normalised("The  U.S.,  a country")
    'us country'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def references_of(text: str) -> list[str]:
    """The references in one text.

    >>> references_of("Ana / Ana Silva"), references_of("and/or")
    (['Ana', 'Ana Silva'], ['and/or'])
    """
    return [part for part in text.split(_BETWEEN) if part.strip()] or [text]


def exact_match(reference: str, candidate: str) -> float:
    """1 if the candidate is one of the references after SQuAD's normalisation, else 0.

    >>> exact_match("Ana / the owl", "An owl."), exact_match("Ana", "It is Ana.")
    (1.0, 0.0)
    """
    said = squad_normalised(candidate)
    return float(any(said == squad_normalised(each) for each in references_of(reference)))


def rouge_l(reference: str, candidate: str) -> float | None:
    """F-measure of ROUGE-L (Lin, 2004) by the package rouge-score, without stemming; of several references the best.

    Its words are runs of a-z and 0-9, so a reference in another script has none: None, as nothing was measured.

    Raises:
        InputError: rouge-score is not installed.
    """
    scorer, words = _rouge()
    counting = [each for each in references_of(reference) if words(each)]
    if not counting:
        return None
    return max(scorer(each, candidate) for each in counting)


@cache
def _rouge() -> tuple[Callable[[str, str], float], Callable[[str], list[str]]]:
    try:
        from rouge_score.rouge_scorer import RougeScorer
        from rouge_score.tokenizers import DefaultTokenizer
    except ImportError as error:
        raise InputError(
            "ROUGE-L needs rouge-score; install it with: pip install 'long_context_tasks[agreement]'"
        ) from error
    scorer, tokenizer = RougeScorer(["rougeL"], use_stemmer=False), DefaultTokenizer(use_stemmer=False)

    def score(reference: str, candidate: str) -> float:
        return float(scorer.score(reference, candidate)["rougeL"].fmeasure)

    def words(text: str) -> list[str]:
        return list(tokenizer.tokenize(text))

    return score, words
