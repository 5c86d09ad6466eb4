"""Attackers that learn from the cases of another seed: logistic regressions on words."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import cheap_rules as rules
import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

Attack = Callable[[str], str]
Known = Sequence[Any]
"""Questions of another seed (``run_audit.Question``)."""


def _fit(vectors: Any, rows: Sequence[Any], right: Sequence[bool]) -> Callable[[Sequence[Any]], Any]:
    """Return a function from rows to log-odds."""
    return make_pipeline(vectors, LogisticRegression(max_iter=1000)).fit(rows, right).decision_function


# Meetings: which line of the talk to quote.
_SPEAKER = re.compile(r"^\((PERSON\d+)\) ")
_WORD = re.compile(r"\[[A-Z]+\d+\]|\w+|\?")
_SUBJECT = re.compile(r"the (?:(?!the )[^?\[\]])*?\[PROJECT\d+\]")
_ORDINALS = ("first", "second", "third", "last")
# What a question, or the line that brings up a point, asks for.
_ASKED = [
    re.compile(words, re.IGNORECASE)
    for words in (
        r"\bhow (\w+ )?(many|much)|money", r"\bwhom?\b|which person", r"when\b|deadline|\bdue\b|time\b|day\b|date\b",
        r"where|place|room|held", r"tool|program|edit|\bin\b|keep", r"name|called", r"cause|why|wrong|down\b|fail|trouble",
        r"mainly|theme",
    )
]  # fmt: skip


def _asks(text: str) -> int:
    text = _SUBJECT.sub("", text)
    return next((at for at, words in enumerate(_ASKED) if words.search(text)), -1)


def _masked(word: str) -> str:
    return word[:4] if word[0] == "[" else "0" if word[0].isdigit() else word.lower()


def _lines(prompt: str) -> list[tuple[dict[str, float], str]]:
    """The lines after the one that brings up the point in question; features are words of a line and around its speaker's name."""
    talk, _, end = prompt.rpartition("As a professional")
    lines: list[tuple[str, list[str], str]] = []
    for line in talk.split("\n"):
        if (speaker := _SPEAKER.match(line)) or (lines and line.strip()):
            text = _SPEAKER.sub("", line)
            lines.append((speaker[1] if speaker else lines[-1][0], _WORD.findall(text), text))
    # Later questions of a conversation say "it".
    subject, asked = (_SUBJECT.findall(end) or [""])[-1], _asks(end.split("\n")[-1])
    about = {word.lower() for word in _WORD.findall(subject) if len(word) > 3}
    marks = [at for at, (_, words, _) in enumerate(lines) if about <= {word.lower() for word in words}]
    kinds = [_asks(lines[at][2]) for at in marks]
    wanted = asked if asked in kinds else -1
    marks = [at for at, kind in zip(marks, kinds, strict=True) if kind == wanted] or marks
    if not about or not marks:
        return []
    start, speakers, found = marks[0], [lines[marks[0]][0]], []
    again = [at for mark in marks[1:] for at in range(mark, min(mark + 6, len(lines)))]
    for place in range(start + 1, min(start + 15, len(lines))):
        speaker, words, text = lines[place]
        speakers += [speaker] * (speaker not in speakers)
        reason = next((word for word in reversed(words) if word != "?"), "")
        seen = {f"own {_masked(word)}" for word in words} | {
            f"at {place - start}",
            f"long {min(9, len(words))}",
        }
        # What is said when a point comes up again undoes what was said before.
        first = ("before" if again else "near", range(place + 1, min(start + 10, len(lines))))
        for name, places in (first, ("again", again)):
            for other in (lines[at][1] for at in places):
                people = {word for word in other if word.startswith("[PERSON")}
                if len(reason) > 3 and reason in other:
                    seen.add(f"{name} reason")
                seen |= {f"{name} {word} {speakers.index(speaker)}" for word in other if word in _ORDINALS}
                if len(people) > 1 and f"[{speaker}]" not in people:
                    seen.add(f"{name} left out of {len(people)}")
                for at in (at for at, word in enumerate(other) if word == f"[{speaker}]"):
                    seen |= {f"{name} {_masked(word)}" for word in other[max(0, at - 6) : at + 6]}
                    seen.add(f"{name} among {len(people)}")
        found.append((dict.fromkeys(seen, 1.0), text))
    return found


def lines_of_speakers(known: Known) -> Attack:
    """Quote the line that looks most like those that state the right value."""
    rows = [(row, question.score(text) > 0) for question in known for row, text in _lines(question.prompt)]
    odds = _fit(DictVectorizer(), [row for row, _ in rows], [right for _, right in rows])

    def attack(prompt: str) -> str:
        found = _lines(prompt)
        return found[int(odds([row for row, _ in found]).argmax())][1] if found else ""

    return attack


# Lists of numbers.
def constant_list(known: Known) -> Attack:
    """Always the same list: the frequent labels that fit the other seed best."""
    common = [
        label
        for label, _ in Counter(label for one in known for label in dict.fromkeys(one.gold)).most_common()
    ]
    lists = ["; ".join(common[:size]) for size in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)]
    best = max(lists, key=lambda labels: fmean(one.score(labels) for one in known))
    return lambda prompt: best


def _numbers(prompt: str) -> list[tuple[dict[str, float], str]]:
    """Each number of the text; features are five tokens to each side."""
    text, found = rules.listed_text(prompt), []
    for number, start, end in rules.numbers_in(text):
        left, right = (
            [_masked(word) for word in re.findall(r"\w+|[^\w\s]", side)]
            for side in (text[max(0, start - 80) : start], text[end : end + 80])
        )
        near = [*enumerate(reversed(left[-5:])), *((-1 - at, word) for at, word in enumerate(right[:5]))]
        seen = {f"{at} {word}" for at, word in near} | {f"{at < 0} {word}" for at, word in near}
        found.append((dict.fromkeys(seen, 1.0), number))
    return found


def words_around_numbers(known: Known) -> Attack:
    """The numbers whose neighbours look like those of labels."""
    rows = [(row, number in one.gold) for one in known for row, number in _numbers(one.prompt)][:30_000]
    odds = _fit(DictVectorizer(), [row for row, _ in rows], [right for _, right in rows])

    def attack(prompt: str) -> str:
        found = _numbers(prompt)
        likely = odds([row for row, _ in found]) if found else []
        named = [number for (_, number), one in zip(found, likely, strict=True) if one > 0]
        return "; ".join(dict.fromkeys(named)) or "None"

    return attack


# Attribute and organize.
def words_of_studies(known: Known) -> Attack:
    """The studies whose words, and those that they share with the question, look like those of right ones."""

    def texts(prompt: str) -> list[str]:
        asked = {*re.findall(r"[a-z]{4,}", prompt.rpartition("### Background:")[2].lower())}
        found = []
        for text in rules.studies(prompt).values():
            shared = [f"shared{word}" for word in re.findall(r"[a-z]{4,}", text.lower()) if word in asked]
            found.append(" ".join([text, *shared]))
        return found

    rows = [text for question in known for text in texts(question.prompt)]
    right = [one in question.gold for question in known for one in rules.studies(question.prompt)]
    odds = _fit(TfidfVectorizer(min_df=2, sublinear_tf=True), rows, right)
    # As many as are right; all of a case in which none is likely.
    least = np.quantile(odds(rows), 1 - fmean(right))

    def attack(prompt: str) -> str:
        ids = [*rules.studies(prompt)]
        likely = [one for one, odd in zip(ids, odds(texts(prompt)), strict=True) if odd >= least]
        return rules.core(likely or ids)

    return attack


def words_of_options(known: Known) -> Attack:
    """The options in the order of how much their words look like those of early ones."""
    rows = [rules.options(one.prompt)[number] for one in known for number in one.gold]
    early = [at < len(one.gold) / 2 for one in known for at in range(len(one.gold))]
    odds = _fit(TfidfVectorizer(sublinear_tf=True), rows, early)

    def attack(prompt: str) -> str:
        found = rules.options(prompt)
        order = np.argsort(-odds([*found.values()]), kind="stable")
        return rules.ordered([[*found][at] for at in order])

    return attack
