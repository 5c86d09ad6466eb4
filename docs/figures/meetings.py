"""The figures of ``docs/synthetic_writers.md``: python docs/figures/meetings.py [CASES] [TOKENS].

Prints how often the independent reader confirms the gold answers, what guesses score on the multiple-choice form, how a
classifier does that was trained on meetings of other seeds, and how varied the texts are beside real meetings.
"""

import gzip
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "synthetic"))

import numpy as np
from meeting_reader import answer, guesses

from long_context_tasks.synthetic.meeting import Meeting, MeetingQuestion, write_meeting

Case = tuple[Meeting, MeetingQuestion]


def cases(number: int, tokens: int, first_seed: int) -> list[Case]:
    """So many cases, one question to a meeting for every thousand tokens, eight at most."""
    each = max(1, min(8, tokens // 1000))
    made: list[Case] = []
    while len(made) < number:
        place = len(made) // each
        meeting = write_meeting(first_seed + place, tokens, each, first=len(made))
        made += [(meeting, question) for question in meeting.questions]
    return made[:number]


def gold_is_right(made: Sequence[Case]) -> None:
    """Count what the reader finds."""
    counts: Counter[str] = Counter()
    for meeting, question in made:
        found = answer(meeting.transcript, question.text, question.options)
        right = question.options[question.right]
        counts["confirmed" if found == right else "not told" if found is None else "contradicted"] += 1
        if found != right:
            print("  ", meeting.id, question.text, "gold:", right, "reader:", found)
    print("independent reader:", dict(counts))
    print("types and positions:", sorted(Counter((one.type, one.position) for _, one in made).items()))


def simple_guesses(made: Sequence[Case]) -> None:
    """What one may score without reading."""
    counts: Counter[str] = Counter()
    for meeting, question in made:
        for name, place in guesses(meeting.transcript, question.text, question.options).items():
            counts[name] += place == question.right
    for name, right in counts.items():
        print(f"  {name}: {100 * right / len(made):.1f} %")


def _windows(meeting: Meeting, question: MeetingQuestion, option: str) -> str:
    """The lines around an option, where it and the others are no words but marks."""
    lines = meeting.lines
    around: list[str] = []
    for place, line in enumerate(lines):
        if re.search(rf"(?<!\w){re.escape(option)}(?!\w)", line, re.IGNORECASE):
            around += ["linebreak before", *lines[max(0, place - 2) : place], "linebreak at", line]
            around += ["linebreak after", *lines[place + 1 : place + 4]]
    text = re.sub(rf"(?<!\w){re.escape(option)}(?!\w)", " thisone ", "\n".join(around), flags=re.IGNORECASE)
    for other in question.options:
        text = re.sub(rf"(?<!\w){re.escape(other)}(?!\w)", " another ", text, flags=re.IGNORECASE)
    return f"{question.type} {text}"


def _numbers(meeting: Meeting, question: MeetingQuestion) -> np.ndarray:
    """For each option: places and ranks of its first and last mention, mentions, and length."""
    text = meeting.transcript
    rows = []
    for option in question.options:
        at = [
            found.start() for found in re.finditer(rf"(?<!\w){re.escape(option)}(?!\w)", text, re.IGNORECASE)
        ]
        at = at or [len(text)]
        rows.append([at[0] / len(text), at[-1] / len(text), len(at), len(option)])
    own = np.array(rows)
    return np.hstack([own, own.argsort(0).argsort(0)])


def classifier(made: Sequence[Case], seed: int = 0) -> float:
    """Accuracy of TF-IDF and boosting on the last fifth of the cases, trained on the rest, in which each option is a row."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [_windows(meeting, one, option) for meeting, one in made for option in one.options]
    numbers = np.vstack([_numbers(meeting, one) for meeting, one in made])
    right = np.array([place == one.right for _, one in made for place in range(len(one.options))])
    cut = 4 * (len(made) * 4 // 5)
    vectors = TfidfVectorizer(ngram_range=(1, 2), min_df=5, max_features=20_000, token_pattern=r"\w+")
    reduced = TruncatedSVD(80, random_state=seed)
    train = reduced.fit_transform(vectors.fit_transform(texts[:cut]))
    test = reduced.transform(vectors.transform(texts[cut:]))
    model = HistGradientBoostingClassifier(max_iter=150, random_state=seed)
    model.fit(np.hstack([train, numbers[:cut]]), right[:cut])
    chosen = model.predict_proba(np.hstack([test, numbers[cut:]]))[:, 1].reshape(-1, 4).argmax(1)
    return float((chosen == right[cut:].reshape(-1, 4).argmax(1)).mean())


def variety(texts: Sequence[str], words: int) -> tuple[int, float, float]:
    """Number of texts that are long enough, distinct 4-gram ratio and compression ratio of their first words."""
    grams, packed = [], []
    for text in texts:
        found = list(re.finditer(r"\w+|[^\w\s]", text.lower()))[:words]
        if len(found) < words:
            continue
        tokens = [one.group() for one in found]
        four = [tuple(tokens[place : place + 4]) for place in range(words - 3)]
        data = text[: found[-1].end()].encode()
        grams.append(len(set(four)) / len(four))
        packed.append(len(gzip.compress(data, 9, mtime=0)) / len(data))
    return len(grams), float(np.mean(grams)), float(np.mean(packed))


def _real() -> list[str]:
    from long_context_tasks.benchmarks.elitr_bench.archives import Archives
    from long_context_tasks.schema import Options

    folder = Path(os.environ.get("LCT_SHARED", "../shared")) / "data"
    if not (folder / "elitr_bench").is_dir():
        return []
    archives = Archives.of(Options(data_dir=folder))
    return [text for split in ("dev", "test") for text in archives.transcripts(split).values()]


def main(number: int, tokens: int) -> None:
    """Print all figures."""
    made = cases(number, tokens, 10_000)
    print(f"{len(made)} cases of {tokens} tokens")
    gold_is_right(made[:1000])
    simple_guesses(made)
    if number >= 1000:
        print(f"TF-IDF and boosting: {100 * classifier(made):.1f} % of {number // 5} (chance 25 %)")
    written = [write_meeting(seed, 16_000, 8).transcript for seed in range(8)]
    for words in (2000, 5000, 10_000):
        for name, texts in (("real", _real()), ("synthetic", written)):
            if texts:
                n, four, packed = variety(texts, words)
                print(
                    f"first {words} words, {n} {name} meetings: distinct 4-grams {four:.3f}, gzip {packed:.3f}"
                )
    start = time.perf_counter()
    long = write_meeting(7, 1_000_000, 8)
    print(f"a meeting of {long.num_tokens} tokens in {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, int(sys.argv[2]) if len(sys.argv) > 2 else 950)
