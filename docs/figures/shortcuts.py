"""The shortcuts of ``docs/synthetic_writers.md`` on TSort and BestAnswer: python docs/figures/shortcuts.py [TRAIN] [TEST] [LENGTH].

Everything is read from the prompts of built cases: what simple rules choose that do not read, what a classifier of words chooses that was
trained on cases of other seeds, and what the reader chooses that does.
"""

import itertools
import os
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "synthetic"))

import numpy as np
from case_readers import accepted, question_and_answers, sorted_parts, sorting_parts

from long_context_tasks.benchmarks.ada_leval import build
from long_context_tasks.benchmarks.ada_leval.settings import BestAnswerSettings, TSortSettings
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.schema import Options
from long_context_tasks.synthetic.numbers import in_words
from long_context_tasks.synthetic.wording import words

TEST_SEED, TRAIN_SEED, PER_SEED, READ = 7, 1001, 1000, 200
ORDERS = list(itertools.permutations(range(4)))
WORD, NAME = re.compile(r"\w+"), re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+")
HOURS = (
    "dawn",
    "first light",
    "barely light",
    "hardly light",
    "only just light",
    "morning",
    "dinner hour",
    "noon",
    "afternoon",
)
HOURS += ("dusk", "evening", "lamps", "late", "night")
DATES = (*words("story_names.txt", "months"), *words("story_names.txt", "weekdays"))
COUNTS = [in_words(number) for number in range(1, 100)]
COUNT = re.compile(rf"\b(?:{'|'.join(reversed(COUNTS))})\b(?!-)", re.IGNORECASE)
Orders = dict[str, Sequence[int]]


@dataclass(frozen=True)
class Prompt:
    """A prompt of a case, and the gold answer."""

    text: str
    gold: Any


def prompts(task: str, number: int, length: int, first_seed: int, folder: Path) -> list[Prompt]:
    """Cases as ``lct build`` writes them, a thousand of a seed."""
    settings = TSortSettings if task == "tsort" else BestAnswerSettings
    found: list[Prompt] = []
    while len(found) < number:
        seed = first_seed + len(found) // PER_SEED
        n = min(PER_SEED, number - len(found))
        cases = folder / str(seed)
        build.build(f"ada_leval_{task}_synthetic", None, settings((length,), seed=seed, n=n), cases)
        loaded = load_task(f"ada_leval_{task}_any_synthetic", Options(cases=cases, length=length))
        for case in loaded.cases.cases:
            [message] = loaded.messages(case)
            found.append(Prompt(message.content, case.turns[0].gold))
    return found


def shared(one: str, two: str, pattern: re.Pattern[str], shortest: int = 4) -> float:
    """Words of two texts in common, over all."""
    bags = [{word.lower() for word in pattern.findall(text) if len(word) >= shortest} for text in (one, two)]
    return len(bags[0] & bags[1]) / (1 + len(bags[0] | bags[1]))


def parts_of(prompt: Prompt) -> list[str]:
    """The text before, of the four parts as they are shown, and after."""
    before, parts, after = sorting_parts(prompt.text)
    return ["\n\n".join(one) for one in (before, *parts, after)]


def chained(joints: np.ndarray) -> tuple[int, ...]:
    """The order whose neighbours fit best; ``joints`` says how well one of the six texts goes before another."""
    return max(
        ORDERS,
        key=lambda order: sum(joints[a, b] for a, b in itertools.pairwise((0, *(i + 1 for i in order), 5))),
    )


def joints_of(texts: Sequence[str], measure: Callable[[str, str], float]) -> np.ndarray:
    """How well each of the texts goes before another."""
    return np.array([[measure(one, two) for two in texts] for one in texts])


def seams(one: str, two: str, pattern: re.Pattern[str]) -> float:
    """What the last paragraph of a text shares with the first of another."""
    return shared(one.rpartition("\n\n")[2], two.partition("\n\n")[0], pattern)


def numbers(text: str) -> list[int]:
    """Numbers below a hundred, in words."""
    return [COUNTS.index(found.lower()) + 1 for found in COUNT.findall(text)]


def nearest_numbers(one: str, two: str) -> float:
    """How near the last number of a text and the first of another are."""
    ends = numbers(one)[-1:], numbers(two)[:1]
    return -float(abs(ends[0][0] - ends[1][0])) if all(ends) else -50.0


def sums(one: str, two: str) -> float:
    """How many numbers of a text's last paragraph are the sum or the difference of two of the next one's first."""
    known, pairs = (
        numbers(one.rpartition("\n\n")[2]),
        itertools.combinations(numbers(two.partition("\n\n")[0]), 2),
    )
    return sum((a + b in known) + (abs(a - b) in known) for a, b in pairs)


def by_first(text: str, row: Sequence[str]) -> int:
    """Place in a row of its member that a text names first."""
    found = {
        text.lower().find(one.lower()): place for place, one in enumerate(row) if one.lower() in text.lower()
    }
    return found[min(found)] if found else len(row)


def blind_orders(prompt: Prompt) -> Orders:
    """Orders by simple rules."""
    texts = parts_of(prompt)
    parts, every = texts[1:-1], range(4)
    return {
        "as shown": every,
        "random": random.Random(prompt.text).sample(every, 4),
        "shortest first": sorted(every, key=lambda at: len(parts[at])),
        "dates in order (months, weekdays)": sorted(every, key=lambda at: by_first(parts[at], DATES)),
        "times of day in order": sorted(every, key=lambda at: by_first(parts[at], HOURS)),
        "fewest new names first": sorted(
            every, key=lambda at: len(set(NAME.findall(parts[at])) - set(NAME.findall(texts[0])))
        ),
        "most words in common with the neighbours": chained(
            joints_of(texts, lambda a, b: shared(a, b, WORD))
        ),
        "most names in common with the neighbours": chained(
            joints_of(texts, lambda a, b: shared(a, b, NAME))
        ),
        "smallest number first": sorted(every, key=lambda at: min(numbers(parts[at]), default=0)),
        "nearest numbers at the seams": chained(joints_of(texts, nearest_numbers)),
        "most sums and differences at the seams": chained(joints_of(texts, sums)),
        "most words in common at the seams": chained(joints_of(texts, lambda a, b: seams(a, b, WORD))),
        "most names in common at the seams": chained(joints_of(texts, lambda a, b: seams(a, b, NAME))),
    }


def gold_order(prompt: Prompt) -> tuple[int, ...]:
    return tuple(number - 1 for number in prompt.gold)


def tsort_classifiers(train: Sequence[Prompt], test: Sequence[Prompt]) -> dict[str, float]:
    """Strict accuracies of boosted trees on the TF-IDF of the parts: the place of each, and which of two is earlier.

    Once they see the parts alone, once also how much each has in common with the text before and the text after.
    """
    texts = [parts_of(one) for one in (*train, *test)]
    parts = [part for one in texts for part in one[1:-1]]
    vectors, reduced = reduce(parts, 4 * len(train), 60)
    length = np.array([len(part) for part in parts])
    alone = np.hstack([reduced, length[:, None]])
    own = vectors.transform(parts)
    ends = [vectors.transform([one[at] for one in texts for _ in range(4)]) for at in (0, -1)]
    near = np.hstack([np.asarray(own.multiply(end).sum(axis=1)) for end in ends])
    gold = [gold_order(one) for one in (*train, *test)]
    result = {}
    for name, features in (
        ("", alone),
        (", and what it shares with the text before and after", np.hstack([alone, near])),
    ):
        both = trained_orders(features.reshape(len(texts), 4, -1), gold, len(train))
        for kind, chosen in zip(
            ("the place of each part", "which of two parts is earlier"), both, strict=True
        ):
            result[f"TF-IDF and boosting: {kind}{name}"] = strict(chosen, gold[len(train) :])
    return result


def trained_orders(
    features: np.ndarray, gold: Sequence[tuple[int, ...]], cut: int
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Orders of the cases behind the first ``cut``, by the place of each part, and by which of two is earlier.

    Args:
        features: cases by parts by features.
        gold: the right orders.
        cut: cases to train on.
    """
    place = np.array([[order.index(part) for part in range(4)] for order in gold])
    width, number = features.shape[2], len(gold) - cut
    model = boosting().fit(features[:cut].reshape(-1, width), place[:cut].ravel())
    logs = np.log(model.predict_proba(features[cut:].reshape(-1, width)) + 1e-9).reshape(number, 4, 4)
    by_place = [
        max(ORDERS, key=lambda order, log=log: sum(log[part, at] for at, part in enumerate(order)))
        for log in logs
    ]
    pairs = list(itertools.permutations(range(4), 2))
    both = np.concatenate([np.hstack([features[:, one], features[:, two]]) for one, two in pairs])
    earlier = np.concatenate([place[:, one] < place[:, two] for one, two in pairs])
    known = np.tile(np.arange(len(gold)) < cut, len(pairs))
    model = boosting().fit(both[known], earlier[known])
    scores = model.predict_proba(both[~known])[:, 1].reshape(len(pairs), number)
    by_pairs = [
        max(
            ORDERS,
            key=lambda order, at=at: sum(
                scores[pairs.index(pair), at] for pair in itertools.combinations(order, 2)
            ),
        )
        for at in range(number)
    ]
    return by_place, by_pairs


def strict(chosen: Sequence[Sequence[int]], gold: Sequence[Sequence[int]]) -> float:
    """Share of whole orders that are right."""
    return float(np.mean([tuple(one) == tuple(two) for one, two in zip(chosen, gold, strict=True)]))


def reduce(texts: Sequence[str], known: int, size: int) -> tuple[Any, np.ndarray]:
    """TF-IDF of words and pairs of words, and its main components, both made from the first ``known`` texts."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors = TfidfVectorizer(ngram_range=(1, 2), min_df=5, max_features=20_000, sublinear_tf=True)
    components = TruncatedSVD(size, n_iter=3, random_state=0)
    components.fit(vectors.fit_transform(texts[:known]))
    return vectors, components.transform(vectors.transform(texts))


def boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=150, random_state=0)


def blind_choices(prompt: Prompt) -> dict[str, int]:
    """Answers by simple rules."""
    question, answers = question_and_answers(prompt.text)
    every = range(len(answers))
    asked = Counter(WORD.findall(question.lower()))
    said = [Counter(WORD.findall(text.lower())) for text in answers]
    seen = Counter(word for bag in said for word in bag)
    weight = {word: np.log((1 + len(answers)) / count) for word, count in seen.items()}

    def common(at: int) -> float:
        return sum(weight[word] for word in said[at] if word in asked)

    def alike(at: int) -> float:
        return sum(len(said[at].keys() & said[other].keys()) for other in every if other != at)

    numbers = [re.findall(r"\d+", text) for text in answers]
    recommended = [max([text.rfind("would"), text.rfind("kept"), 0]) for text in answers]
    return {
        "random": random.Random(prompt.text).choice(every),
        "first": 0,
        "last": len(answers) - 1,
        "longest": max(every, key=lambda at: len(answers[at])),
        "shortest": min(every, key=lambda at: len(answers[at])),
        "most words of the question": max(every, key=lambda at: len(said[at].keys() & asked.keys())),
        "the same, rare words counting more": max(every, key=common),
        "words of the question, every time": max(every, key=lambda at: sum(said[at][word] for word in asked)),
        "most numbers of the question": max(every, key=lambda at: len(set(numbers[at]) & asked.keys())),
        "largest last number": max(every, key=lambda at: int(numbers[at][-1]) if numbers[at] else -1),
        "most like the others": max(every, key=alike),
        "least like the others": min(every, key=alike),
        "recommendation latest in its text": max(every, key=lambda at: recommended[at]),
    }


def right_place(prompt: Prompt) -> int:
    return int(prompt.gold[1:]) - 1


def bestanswer_classifier(train: Sequence[Prompt], test: Sequence[Prompt]) -> float:
    """Accuracy of boosted trees on the TF-IDF of question and answers and on what they share; each answer is a row."""
    read = [question_and_answers(one.text) for one in (*train, *test)]
    sizes = [len(answers) for _, answers in read]
    cut = sum(sizes[: len(train)])
    vectors, reduced = reduce([text for _, answers in read for text in answers], cut, 60)
    own = vectors.transform([text for _, answers in read for text in answers])
    asked = vectors.transform([question for question, answers in read for _ in answers])
    product = own.multiply(asked)
    rows = np.array(
        [
            (
                len(text),
                at,
                len(answers),
                len(set(WORD.findall(text.lower())) & set(WORD.findall(question.lower()))),
            )
            for question, answers in read
            for at, text in enumerate(answers)
        ]
    )
    totals = [np.asarray(one.sum(axis=1)) for one in (product, product > 0)]
    features = np.hstack([reduced, *totals, rows])
    right = np.array(
        [
            at == right_place(one)
            for one, size in zip((*train, *test), sizes, strict=True)
            for at in range(size)
        ]
    )
    model = boosting().fit(features[:cut], right[:cut])
    scores = model.predict_proba(features[cut:])[:, 1]
    hits, at = 0, 0
    for one, size in zip(test, sizes[len(train) :], strict=True):
        hits += int(scores[at : at + size].argmax()) == right_place(one)
        at += size
    return hits / len(test)


def real(number: int, length: int, folder: Path) -> None:
    """What the simple rules choose on real novels, where there are any, for comparison."""
    books = Path(os.environ.get("LCT_SHARED", "../shared")) / "data" / "books"
    if not books.is_dir():
        return
    build.build("ada_leval_tsort", books, TSortSettings((length,), n=number), folder / "real")
    loaded = load_task("ada_leval_tsort_any", Options(cases=folder / "real", length=length))
    cases = [Prompt(loaded.messages(case)[0].content, case.turns[0].gold) for case in loaded.cases.cases]
    hits = Counter(
        name for one in cases for name, order in blind_orders(one).items() if tuple(order) == gold_order(one)
    )
    print(f"tsort, {length} tokens, {len(cases)} cases of real novels")
    for name in blind_orders(cases[0]):
        print(f"  {name}: {100 * hits[name] / len(cases):.1f} %", flush=True)


def main(trained: int, tested: int, length: int) -> None:
    """Print all figures."""
    with tempfile.TemporaryDirectory() as folder:
        real(tested, length, Path(folder))
        for task in ("tsort", "bestanswer"):
            test = prompts(task, tested, length, TEST_SEED, Path(folder) / task / "test")
            train = prompts(task, trained, length, TRAIN_SEED, Path(folder) / task / "train")
            assert not {one.text for one in train} & {one.text for one in test}
            guess = (
                1 / 24
                if task == "tsort"
                else np.mean([1 / len(question_and_answers(one.text)[1]) for one in test])
            )
            error = (guess * (1 - guess) / tested) ** 0.5
            print(
                f"{task}, {length} tokens, {tested} cases: guessing {100 * guess:.1f} % (standard error {100 * error:.1f})"
            )
            hits: Counter[str] = Counter()
            for one in test:
                if task == "tsort":
                    hits.update(
                        name for name, order in blind_orders(one).items() if tuple(order) == gold_order(one)
                    )
                else:
                    hits.update(name for name, at in blind_choices(one).items() if at == right_place(one))
            names = blind_orders(test[0]) if task == "tsort" else blind_choices(test[0])
            figures = {name: hits[name] / tested for name in names}
            if task == "tsort":
                figures |= tsort_classifiers(train, test)
            else:
                figures["TF-IDF and boosting"] = bestanswer_classifier(train, test)
            reader = sorted_parts if task == "tsort" else accepted
            figures[f"the reader that reads, {READ} cases"] = float(
                np.mean([reader(one.text) == one.gold for one in test[:READ]])
            )
            for name, value in figures.items():
                print(f"  {name}: {100 * value:.1f} %", flush=True)


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:]]
    main(*(given + [5000, 1000, 2000][len(given) :]))
