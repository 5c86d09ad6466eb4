"""Words that a question and an answer share must not give the accepted answer away in cases as they are built.

Baselines on pairs of question and answer: overlap without training, and a conditional logistic regression on overlap
features and on hashed pairs of words. "Near chance" means below chance + 3 standard errors of the test set + 1
percentage point.
"""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from forum_reader import choose

from long_context_tasks.benchmarks.ada_leval import build
from long_context_tasks.benchmarks.ada_leval.settings import BestAnswerSettings
from long_context_tasks.schema import CaseSet, format_length
from long_context_tasks.synthetic.forum.parts import devices

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

FAMILY = "ada_leval_bestanswer_synthetic"
BITS = 16


@dataclass
class Choice:
    """A question, its candidates and the index of the accepted one."""

    question: str
    answers: list[str]
    gold: int
    ids: list[str]


def cases(folder: Path, length: int, number: int, seed: int) -> list[Choice]:
    """Cases as the command line builds them."""
    build.build(FAMILY, None, BestAnswerSettings((length,), seed=seed, n=number), folder)
    made = CaseSet.read(folder, f"ada_leval_bestanswer_{format_length(length)}_synthetic")
    found = []
    for case in made.cases:
        ids = list(case.inputs["answers"])
        texts = [made.documents[post] for post in ids]
        found.append(
            Choice(made.documents[case.inputs["question"]], texts, int(case.turns[0].gold[1:]) - 1, ids)
        )
    return found


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


class Overlap:
    """Features of a pair; idf is counted over the texts that are given."""

    def __init__(self, texts: list[str]) -> None:
        seen = Counter(word for text in texts for word in set(words(text)))
        self.number = len(texts)
        self.idf = {word: np.log(self.number / count) for word, count in seen.items()}

    def pair(self, question: str, answer: str) -> list[float]:
        asked, said = words(question), words(answer)
        shared = set(asked) & set(said)
        weights = [self.idf.get(word, np.log(self.number)) for word in shared]
        counts = Counter(said)
        grams = [
            len(
                set(zip(*(asked[i:] for i in range(n)), strict=False))
                & set(zip(*(said[i:] for i in range(n)), strict=False))
            )
            for n in (2, 3)
        ]
        return [
            sum(weights),
            float(sum(weight > 2 for weight in weights)),
            float(sum(weight > 1 for weight in weights)),
            sum(counts[word] * weight for word, weight in zip(shared, weights, strict=True)),
            float(len(shared)),
            *map(float, grams),
            len(shared) / len(set(said)),
            float(len(said)),
        ]

    def matrix(self, found: list[Choice]) -> list[np.ndarray]:
        return [np.array([self.pair(case.question, answer) for answer in case.answers]) for case in found]

    def crossed(self, found: list[Choice]) -> "csr_matrix":
        """Hashed pairs of a word of the question with a word or a pair of words of the answer, common words left out."""
        from scipy.sparse import csr_matrix

        rows, columns = [], []
        row = 0
        for case in found:
            asked = np.array(
                [_hash(word) for word in set(words(case.question)) if self.idf.get(word, 9) > 1.2]
            )
            for answer in case.answers:
                said = words(answer)
                terms = {word for word in said if self.idf.get(word, 9) > 0.7}
                terms |= {f"{a} {b}" for a, b in pairwise(said) if b in terms}
                hashed = np.array([_hash(term) for term in terms])
                both = ((asked[:, None] * 31 + hashed[None, :] * 17) % 1000003 % 2**BITS).ravel()
                rows.append(np.full(len(both), row))
                columns.append(both)
                row += 1
        column = np.concatenate(columns)
        return csr_matrix((np.ones(len(column)), (np.concatenate(rows), column)), shape=(row, 2**BITS))


def _hash(text: str) -> int:
    value = 0
    for letter in text:
        value = (value * 131 + ord(letter)) % 1000003
    return value


def fit(features: "np.ndarray | csr_matrix", found: list[Choice], penalty: float) -> np.ndarray:
    """Weights of a conditional logistic regression: the softmax over the candidates of each case."""
    from scipy.optimize import minimize

    sizes = np.array([len(case.answers) for case in found])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    gold = starts + np.array([case.gold for case in found])

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = features @ weights
        scores = scores - np.repeat(np.maximum.reduceat(scores, starts), sizes)
        powers = np.exp(scores)
        sums = np.add.reduceat(powers, starts)
        part = powers / np.repeat(sums, sizes)
        part[gold] -= 1
        value = float(np.log(sums).sum() - scores[gold].sum()) + penalty * float(weights @ weights)
        return value, features.T @ part + 2 * penalty * weights

    start = np.zeros(features.shape[1])
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 60}).x


def accuracy(scores: list[np.ndarray], found: list[Choice]) -> float:
    """Share of cases whose accepted answer scores highest; ties count their share."""
    return float(
        np.mean(
            [
                (score[case.gold] == score.max()) / np.sum(score == score.max())
                for score, case in zip(scores, found, strict=True)
            ]
        )
    )


def baselines(train: list[Choice], test: list[Choice]) -> dict[str, float]:
    """Accuracies on the test cases; cases of other seeds are trained on."""
    overlap = Overlap([text for case in train for text in (case.question, *case.answers)])
    # The same count over the texts of the test itself, which a trivial reader has before it.
    here = Overlap([text for case in test for text in (case.question, *case.answers)])
    local = here.matrix(test)
    names = (
        "idf overlap",
        "rare words shared",
        "words shared",
        "idf x count",
        "kinds shared",
        "bigrams",
        "trigrams",
    )
    results = {name: accuracy([rows[:, at] for rows in local], test) for at, name in enumerate(names)}
    known, asked = np.concatenate(overlap.matrix(train)), overlap.matrix(test)
    mean, spread = known.mean(0), known.std(0) + 1e-9
    weights = fit((known - mean) / spread, train, 1.0)
    results["trained on overlap"] = accuracy([((rows - mean) / spread) @ weights for rows in asked], test)
    crossed = fit(overlap.crossed(train), train, 1.0)
    scores = [overlap.crossed([case]) @ crossed for case in test]
    results["trained on word pairs"] = accuracy(scores, test)
    return results


def chance(found: list[Choice]) -> tuple[float, float]:
    """Accuracy of guessing and its standard error."""
    rates = np.array([1 / len(case.answers) for case in found])
    return float(rates.mean()), float(np.sqrt((rates * (1 - rates)).sum()) / len(rates))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> list[Choice]:
    """Cases of other seeds."""
    folder = tmp_path_factory.mktemp("train")
    return [case for seed in (101, 102) for case in cases(folder / str(seed), 1000, 150, seed)]


@pytest.mark.parametrize(("length", "number"), [(1000, 300), (4000, 150), (16_000, 60)])
def test_shared_words_give_nothing_away(
    length: int, number: int, trained: list[Choice], tmp_path: Path
) -> None:
    test = cases(tmp_path / "cases", length, number, 7)
    guess, error = chance(test)
    for name, hits in baselines(trained, test).items():
        print(f"{length}: {name} {hits:.3f} (chance {guess:.3f} +- {error:.3f})")
        assert hits < guess + 3 * error + 0.01, name
    names = [device.name for device in devices()]
    few = test[: 3000 * 20 // length or 1]
    read = sum(choose(case.question, case.answers, names) == [case.gold] for case in few)
    print(f"{length}: reader {read}/{len(few)}")
    assert read > 0.95 * len(few)


def test_the_baselines_can_see_words(trained: list[Choice], tmp_path: Path) -> None:
    """One more word of the question in the accepted answer is enough: the same baselines are no blunt instruments."""

    def marked(found: list[Choice]) -> list[Choice]:
        result = []
        for case, other in zip(found, [*found[1:], found[0]], strict=True):
            said = {word for answer in case.answers for word in words(answer)}
            mine, strange = (max(sorted(set(words(one.question)) - said), key=len) for one in (case, other))
            texts = [f"{text} {mine if at == case.gold else strange}" for at, text in enumerate(case.answers)]
            result.append(Choice(case.question, texts, case.gold, case.ids))
        return result

    test = marked(cases(tmp_path / "cases", 4000, 150, 7))
    guess, error = chance(test)
    found = baselines(marked(trained), test)
    print(found, guess)
    for name in ("idf overlap", "trained on overlap"):
        assert found[name] > guess + 4 * error, name
