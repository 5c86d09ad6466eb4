"""Words alone must not give the synthetic corpus away: classifiers on word n-grams stay near chance.

Each classifier is trained on 2,000 cases of other seeds. "Near chance" means below chance + 3 standard errors of the
test set + 1 percentage point.
"""

import itertools
import random
from collections.abc import Sequence

import numpy as np
import pytest

from long_context_tasks.synthetic import write_novel

pytestmark = pytest.mark.slow

TRAIN_SEEDS, TEST_SEEDS, CASES_PER_SEED = range(1000, 1100), range(5000, 5025), 20
SEGMENT = 350  # tokens of a segment of a 2k case


def near_chance(accuracy: float, chance: float, number: int) -> bool:
    return accuracy < chance + 3 * (chance * (1 - chance) / number) ** 0.5 + 0.01


def vectorizer(bits: int):
    text_features = pytest.importorskip("sklearn.feature_extraction.text")
    return text_features.HashingVectorizer(
        ngram_range=(1, 3), n_features=2**bits, alternate_sign=False, token_pattern=r"\b\w+\b"
    )


def classifier(passes: int = 6):
    linear_model = pytest.importorskip("sklearn.linear_model")
    return linear_model.SGDClassifier(loss="log_loss", alpha=1e-5, max_iter=passes, tol=None, random_state=0)


def beside(*matrices):
    """Join sparse matrices side by side."""
    from scipy import sparse

    return sparse.hstack(matrices).tocsr()


def segments(seeds: Sequence[int]) -> list[str]:
    """Four segments of each case, in the order of the book, case after case."""
    found = []
    for seed in seeds:
        paragraphs = write_novel(seed, CASES_PER_SEED * 4 * SEGMENT + 1000).paragraphs
        at = 0
        for _ in range(CASES_PER_SEED * 4):
            begin, length = at, 0
            while length + len(paragraphs[at]) // 4 <= SEGMENT:
                length += len(paragraphs[at]) // 4
                at += 1
            found.append("\n".join(paragraphs[begin:at]))
    return found


@pytest.fixture(scope="module")
def texts() -> tuple[list[str], list[str]]:
    """Segments to train on and segments to test with."""
    return segments(TRAIN_SEEDS), segments(TEST_SEEDS)


@pytest.fixture(scope="module")
def features(texts: tuple[list[str], list[str]]):
    """Features of all segments."""
    words = vectorizer(18)
    return words.transform(texts[0]), words.transform(texts[1])


def test_position_of_a_segment(features) -> None:
    train, test = features
    model = classifier().fit(train, np.tile(np.arange(4), train.shape[0] // 4))
    accuracy = float((model.predict(test) == np.tile(np.arange(4), test.shape[0] // 4)).mean())
    scores = model.predict_log_proba(test).reshape(-1, 4, 4)
    orders = list(itertools.permutations(range(4)))
    whole = [
        max(orders, key=lambda o, s=s: sum(s[i, o[i]] for i in range(4))) == (0, 1, 2, 3) for s in scores
    ]
    print(f"position {accuracy:.3f} (chance 0.250), whole order {np.mean(whole):.3f} (chance 0.042)")
    assert near_chance(accuracy, 1 / 4, test.shape[0])
    assert near_chance(float(np.mean(whole)), 1 / 24, len(whole))


def pairs(matrix, seed: int):
    """Features of every pair of segments of a case, the first marked apart from the second; is the first earlier?"""
    generator = random.Random(seed)
    first, second, earlier = [], [], []
    for case in range(matrix.shape[0] // 4):
        for one, two in itertools.combinations(range(4), 2):
            swap = generator.random() < 0.5
            first.append(4 * case + (two if swap else one))
            second.append(4 * case + (one if swap else two))
            earlier.append(not swap)
    return beside(matrix[first], matrix[second]), np.array(earlier)


def test_which_of_two_segments_is_earlier(features) -> None:
    train, test = features
    model = classifier().fit(*pairs(train, 1))
    marked, earlier = pairs(test, 2)
    accuracy = float((model.predict(marked) == earlier).mean())
    weights = model.coef_[0]
    half = len(weights) // 2
    as_first, as_second = test @ weights[:half], test @ weights[half:]
    right = 0
    for case in range(0, test.shape[0], 4):

        def score(order: tuple[int, ...], case: int = case) -> float:
            return sum(
                as_first[case + one] + as_second[case + two] for one, two in itertools.combinations(order, 2)
            )

        right += max(itertools.permutations(range(4)), key=score) == (0, 1, 2, 3)
    number = test.shape[0] // 4
    print(f"pairs {accuracy:.3f} (chance 0.500), whole order {right / number:.3f} (chance 0.042)")
    # The six pairs of a case are not independent: three of them are as good as one another's complement.
    assert near_chance(accuracy, 1 / 2, 3 * number)
    assert near_chance(right / number, 1 / 24, number)


def test_whole_cases(texts: tuple[list[str], list[str]]) -> None:
    orders = list(itertools.permutations(range(4)))
    words = vectorizer(14)

    def cases(found: list[str], seed: int):
        generator = random.Random(seed)
        matrix = words.transform(found)
        labels = [generator.randrange(24) for _ in range(len(found) // 4)]
        rows = [[4 * case + orders[label][slot] for case, label in enumerate(labels)] for slot in range(4)]
        return beside(*(matrix[row] for row in rows)), np.array(labels)

    model = classifier(4).fit(*cases(texts[0], 3))
    test, labels = cases(texts[1], 4)
    accuracy = float((model.predict(test) == labels).mean())
    print(f"24 orders {accuracy:.3f} (chance 0.042)")
    assert near_chance(accuracy, 1 / 24, len(labels))


def test_the_classifier_can_learn(texts: tuple[list[str], list[str]]) -> None:
    """The same classifier sees a single word that depends on the position: it is no blunt instrument."""
    words = vectorizer(18)
    marked = [
        [f"{text} {'afterwards' if i % 4 > 1 else 'formerly'}" for i, text in enumerate(found)]
        for found in texts
    ]
    train, test = (words.transform(found[:2000]) for found in marked)
    labels = np.arange(2000) % 4 > 1
    model = classifier().fit(train, labels)
    assert (model.predict(test) == labels).mean() > 0.9
