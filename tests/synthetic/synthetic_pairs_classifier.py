"""A classifier that sees the words of two texts and says whether they belong together."""

from collections.abc import Iterable


def pair_auc(
    train: Iterable[tuple[str, str, bool]], test: Iterable[tuple[str, str, bool]]
) -> tuple[float, int, int]:
    """Area under the curve of boosted trees on TF-IDF of both texts, of what they share, and their similarity.

    Returns:
        The area, and the numbers of pairs to train on and to test with.
    """
    import numpy as np
    import pytest

    text_features = pytest.importorskip("sklearn.feature_extraction.text")
    decomposition = pytest.importorskip("sklearn.decomposition")
    ensemble = pytest.importorskip("sklearn.ensemble")
    metrics = pytest.importorskip("sklearn.metrics")
    one, two, right = (list(column) for column in zip(*train, strict=True))
    one_test, two_test, right_test = (list(column) for column in zip(*test, strict=True))
    words = text_features.TfidfVectorizer(sublinear_tf=True, min_df=3, max_features=8_000)
    words.fit(one + two)
    parts = decomposition.TruncatedSVD(24, n_iter=2, random_state=0).fit(words.transform(two))

    def features(first: list[str], second: list[str]):
        left, other = words.transform(first), words.transform(second)
        shared = left.multiply(other)
        sizes = [shared.sum(axis=1), (shared > 0).sum(axis=1)]
        return np.hstack(
            [np.asarray(size).reshape(-1, 1) for size in sizes]
            + [parts.transform(left), parts.transform(other), parts.transform(left) * parts.transform(other)]
        )

    model = ensemble.HistGradientBoostingClassifier(max_iter=60, random_state=0)
    # Threads that wait for one another cost more than they bring on so few rows.
    with pytest.importorskip("threadpoolctl").threadpool_limits(1):
        model.fit(features(one, two), right)
        found = model.predict_proba(features(one_test, two_test))[:, 1]
    return float(metrics.roc_auc_score(right_test, found)), len(right), len(right_test)
