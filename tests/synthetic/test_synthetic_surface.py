"""Words alone must not give the synthetic corpus away: classifiers on word n-grams stay near chance.

Each classifier is trained on 2,000 cases of other seeds. "Near chance" means below chance + 3 standard errors of the
test set + 1 percentage point.
"""

import numpy as np
import pytest
from forum_reader import candidates

from long_context_tasks.synthetic import write_threads

pytestmark = pytest.mark.slow


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


def test_accepted_answers() -> None:
    words = vectorizer(18)
    threads = [thread for seed in range(1000, 1040) for thread in write_threads(seed, 50)]
    bodies = [answer.body for thread in threads for answer in thread.answers]
    accepted = [answer.id == thread.accepted_id for thread in threads for answer in thread.answers]
    model = classifier().fit(words.transform(bodies), accepted)
    hits = {"many candidates": 0.0, "own answers only": 0.0}
    chances = dict.fromkeys(hits, 0.0)
    number = 0
    for seed in range(5000, 5020):
        threads = write_threads(seed, 200)
        for at in range(0, len(threads), 4):
            number += 1
            own = [answer.body for answer in threads[at].answers]
            place = [answer.id for answer in threads[at].answers].index(threads[at].accepted_id)
            for name, (answers, right) in {
                "many candidates": candidates(threads, at, 12),
                "own answers only": (own, place),
            }.items():
                scores = model.decision_function(words.transform(answers))
                hits[name] += int(np.argmax(scores)) == right
                chances[name] += 1 / len(answers)
    for name, hit in hits.items():
        print(f"{name}: {hit / number:.3f} (chance {chances[name] / number:.3f}), n = {number}")
        assert near_chance(hit / number, chances[name] / number, number)
