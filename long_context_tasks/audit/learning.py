"""The learners behind the attackers: logistic regression on named features, and similarity of texts by tf-idf."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import expit

Features = Mapping[str, float]
Array = NDArray[np.float64]
_PENALTY = 1.0
_WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters."""
    return _WORD.findall(text.casefold())


def fit(rows: Sequence[Features], labels: Sequence[float]) -> Callable[[Sequence[Features]], Array]:
    """Fit a logistic regression of labels from 0 to 1, and return rows to log-odds; features seen once are left out."""
    target = np.asarray(labels, float)
    seen = Counter(name for row in rows for name in row)
    columns = {name: at for at, name in enumerate([""] + [name for name, n in seen.items() if n > 1])}
    known = _matrix(rows, columns)

    def loss(weights: Array) -> tuple[float, Array]:
        odds = known @ weights
        value = np.logaddexp(0, odds).sum() - target @ odds + 0.5 * _PENALTY * weights[1:] @ weights[1:]
        slope = known.T @ (expit(odds) - target)
        slope[1:] += _PENALTY * weights[1:]
        return value, slope

    found = minimize(loss, np.zeros(len(columns)), jac=True, method="L-BFGS-B", options={"maxiter": 100})
    weights = dict(zip(columns, map(float, found.x), strict=True))
    constant = weights.pop("")

    def odds_of(others: Sequence[Features]) -> Array:
        return np.array(
            [constant + sum(value * weights.get(name, 0.0) for name, value in row.items()) for row in others]
        )

    return odds_of


def _matrix(rows: Sequence[Features], columns: Mapping[str, int]) -> csr_matrix:
    """Rows with a constant in the column of the empty name; unknown features are left out."""
    values, places, ends = [], [], [0]
    for row in rows:
        values.append(1.0)
        places.append(columns[""])
        for name, value in row.items():
            if name in columns:
                values.append(value)
                places.append(columns[name])
        ends.append(len(values))
    return csr_matrix((values, places, ends), (len(rows), len(columns)))


def similarity(
    texts: Sequence[str], others: Sequence[str], rarity: Callable[[str], float] | None = None
) -> Array:
    """Return the cosines of tf-idf vectors; words weigh by their rarity, by default among all these texts.

    >>> similarity(["a red hat", "a dog"], ["the red dog", "a red hat"]).round(1).tolist()
    [[0.2, 1.0], [0.4, 0.3]]
    """
    counts = [Counter(words_of(text)) for text in (*texts, *others)]
    spread = Counter(word for count in counts for word in count)
    weight = {word: rarity(word) if rarity else math.log(1 + len(counts) / n) for word, n in spread.items()}
    columns = {word: at for at, word in enumerate(["", *weight])}
    vectors = _matrix([{w: n * weight[w] for w, n in count.items()} for count in counts], columns)[:, 1:]
    norms = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
    product = (vectors[: len(texts)] @ vectors[len(texts) :].T).toarray()
    return np.asarray(product / np.maximum(np.outer(norms[: len(texts)], norms[len(texts) :]), 1e-12))


def rarity_in(texts: Iterable[str]) -> Callable[[str], float]:
    """Return how rare a word is among texts (inverse document frequency); one that they lack is as rare as one of a single text."""
    spread = Counter[str]()
    n = 0
    for text in texts:
        n += 1
        spread.update(set(words_of(text)))
    return lambda word: math.log(1 + n / max(1, spread[word]))


def best_threshold(scored: Sequence[tuple[Iterable[float], Iterable[bool]]]) -> float:
    """Return the score from which items are named, so that the mean F1 over cases is highest.

    Args:
        scored: for each case, scores of its items and whether they are right.
    """
    cases = [(np.asarray(list(scores)), np.asarray(list(right), bool)) for scores, right in scored]
    every = np.concatenate([scores for scores, _ in cases]) if cases else np.zeros(1)

    def mean_f1(threshold: float) -> float:
        return math.fsum(
            2.0 * (right & (scores >= threshold)).sum() / max(1, right.sum() + (scores >= threshold).sum())
            for scores, right in cases
        )

    return float(max(np.unique(np.quantile(every, np.linspace(0, 1, 101))), key=mean_f1))
