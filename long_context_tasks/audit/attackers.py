"""The attackers: cheap readings that learn from the cases of other seeds, and must not do well on a task that asks for understanding."""

import itertools
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from statistics import fmean
from typing import Any

import numpy as np

from long_context_tasks.audit.challenge import Challenge
from long_context_tasks.audit.learning import Features, best_threshold, fit, rarity_in, similarity, words_of

Attack = Callable[[Challenge], Sequence[Any]]
Learner = Callable[[Sequence[Challenge]], Attack]

WINDOW = 5
"""Tokens to each side."""
_TOKEN = re.compile(r"\d+(?:,\d{3})*|[^\W\d_]+(?:[’'-](?!s\b)[^\W\d_]+)*|[^\w\s]")
_HELD_OUT = 3
"""Of every so many cases of other seeds one sets the threshold and is not learned from."""
_ENOUGH = 50_000
"""Words of contexts from which an attacker of lists learns, about."""
_ALL_ORDERS = 6
"""Most options of which every order is tried."""
_KEPT, _WORDS = 512, 200_000
"""Texts and words of which what an attacker sees in them is kept in memory, as every attacker reads them again."""


# What an attacker looks at, in words of the context (list) and in options (choice, subset, order).


@lru_cache(maxsize=_KEPT)
def _tokens(text: str) -> Sequence[str]:
    return tuple(map(sys.intern, _TOKEN.findall(text)))


@lru_cache(maxsize=_KEPT)
def _places(text: str, shapes: frozenset[str]) -> Sequence[int]:
    """Return where tokens of some shapes are."""
    return tuple(at for at, token in enumerate(_tokens(text)) if _shape(token) in shapes)


@lru_cache(maxsize=_WORDS)
def _shape(token: str) -> str:
    if token[0].isdigit():
        return "number"
    return "capital" if token[0].isupper() else "word" if token[0].isalpha() else "mark"


@lru_cache(maxsize=_WORDS)
def _masked(token: str) -> str:
    return f"<{_shape(token)} {len(token)}>" if token[0].isdigit() else token.casefold()


@lru_cache(maxsize=_KEPT)
def _all_masked(text: str) -> Sequence[str]:
    return tuple(map(_masked, _tokens(text)))


def _around(tokens: Sequence[str], at: int) -> Iterator[tuple[int, str]]:
    for place in range(max(0, at - WINDOW), min(len(tokens), at + WINDOW + 1)):
        if place != at:
            yield place - at, _masked(tokens[place])


def _bare_features(word: str) -> Features:
    parts = {f"shape {_shape(word)}", f"is {word}", f"long {len(word)}"}
    parts |= {f"ends {word[-n:]}" for n in (1, 2, 3, 4)} | {f"begins {word[:n]}" for n in (1, 2, 3)}
    return dict.fromkeys(parts, 1.0)


def _window_features(sides: tuple[Sequence[str], Sequence[str]]) -> Features:
    left, right = sides
    found = {f"left {token}" for token in left} | {f"right {token}" for token in right}
    found |= {f"-{place} {token}" for place, token in enumerate(reversed(left), 1)}
    found |= {f"{place} {token}" for place, token in enumerate(right, 1)}
    pair = [*left[-2:], *right[:2]]
    return dict.fromkeys(found | {f"pair {' '.join(pair[:2])}", f"pair {' '.join(pair[-2:])}"}, 1.0)


@dataclass(frozen=True)
class _Words:
    """What there is to see in a context: its tokens, also masked, and how often each occurs."""

    tokens: Sequence[str]
    masked: Sequence[str]
    counts: Counter[str]


# Of each attacker what it sees of a word at a place, and the features of that; what it sees again has the same odds.
_LIST: Mapping[str, tuple[Callable[[_Words, int], Any], Callable[[Any], Features]]] = {
    "bare word": (lambda seen, at: seen.tokens[at], _bare_features),
    "window": (
        lambda seen, at: (seen.masked[max(0, at - WINDOW) : at], seen.masked[at + 1 : at + WINDOW + 1]),
        _window_features,
    ),
    "tf-idf": (
        lambda seen, at: (seen.counts[seen.tokens[at]], len(seen.tokens)),
        lambda key: {f"tf {min(9, key[0])}": 1.0, "per cent": 100 * key[0] / key[1]},
    ),
    "position": (
        lambda seen, at: (10 * at // len(seen.tokens), min(at, 9)),
        lambda key: {f"tenth {key[0]}": 1.0, f"first {key[1]}": 1.0},
    ),
    "length": (lambda seen, at: len(seen.tokens[at]), lambda key: {f"long {key}": 1.0}),
}


def _bare_options(challenge: Challenge) -> list[Features]:
    return [dict.fromkeys(words_of(option), 1.0) for option in challenge.options]


def _window_options(challenge: Challenge) -> list[Features]:
    """The tokens around mentions of an option, at the ends of stretches of one text, else around words that the query has too."""
    rows: list[Features] = []
    for place, option in enumerate(challenge.options):
        row: dict[str, float] = {}
        if challenge.mentions:
            for at in challenge.mentions[place]:
                left = _tokens(challenge.context[max(0, at - 100) : at])[-WINDOW:]
                right = _tokens(challenge.context[at : at + 100])[1 : WINDOW + 1]
                row |= {f"left {_masked(token)}": 1.0 for token in left}
                row |= {f"right {_masked(token)}": 1.0 for token in right}
        elif challenge.around:
            tokens = _tokens(option)
            before, after = (_tokens(text) for text in challenge.around)
            row |= {f"first {_masked(token)}": 1.0 for token in tokens[:WINDOW]}
            row |= {f"last {_masked(token)}": 1.0 for token in tokens[-WINDOW:]}
            row["as before"] = float(len({*before[-WINDOW:]} & {*tokens[:WINDOW]}))
            row["as after"] = float(len({*after[:WINDOW]} & {*tokens[-WINDOW:]}))
        else:
            tokens, asked = _tokens(option), {*_tokens(challenge.query)}
            for at, token in enumerate(tokens):
                if token in asked and _shape(token) != "mark":
                    row |= {f"near {other}": 1.0 for _, other in _around(tokens, at)}
        rows.append(row)
    return rows


def _similar_options(challenge: Challenge) -> list[Features]:
    """How similar an option, or what is said around its mentions, is to the query."""
    texts = list(challenge.options)
    if challenge.mentions:
        texts = [
            " ".join(challenge.context[max(0, at - 200) : at + 200] for at in mentions)
            for mentions in challenge.mentions
        ]
    values = similarity([challenge.query], texts)[0]
    return _with_ranks(values, "similar")


def _position_options(challenge: Challenge) -> list[Features]:
    if challenge.mentions:
        last = _with_ranks(
            [max(each, default=0) / len(challenge.context) for each in challenge.mentions], "last"
        )
        first = _with_ranks(
            [min(each, default=0) / len(challenge.context) for each in challenge.mentions], "first"
        )
        often = _with_ranks([float(len(each)) for each in challenge.mentions], "often")
        return [{**one, **two, **three} for one, two, three in zip(last, first, often, strict=True)]
    n = len(challenge.options)
    return [{f"place {at}": 1.0, f"from the end {n - at}": 1.0, "share": at / n} for at in range(n)]  # fmt: skip


def _length_options(challenge: Challenge) -> list[Features]:
    return _with_ranks([float(len(option)) for option in challenge.options], "long")


def _with_ranks(values: Sequence[float], name: str) -> list[Features]:
    """Each value beside its mean, and its rank."""
    mean = fmean(values)
    places = {value: rank for rank, value in enumerate(sorted(values))}
    return [
        {
            name: value / (mean or 1),
            f"{name} {places[value]}": 1.0,
            f"{name} most": float(value == max(values)),
        }
        for value in values
    ]


_OPTIONS: Mapping[str, Callable[[Challenge], list[Features]]] = {
    "bare word": _bare_options,
    "window": _window_options,
    "tf-idf": _similar_options,
    "position": _position_options,
    "length": _length_options,
}


# How it learns, and answers.


def _split(known: Sequence[Challenge]) -> tuple[list[Challenge], list[Challenge]]:
    held = [each for at, each in enumerate(known) if at % _HELD_OUT == 0]
    return [each for at, each in enumerate(known) if at % _HELD_OUT] or held, held


def _learn_list(see: Callable[[_Words, int], Any], features: Callable[[Any], Features]) -> Learner:
    """Score every word of the context that is of the shape of right ones; name those from the best threshold on."""

    def learn(known: Sequence[Challenge]) -> Attack:
        learned, held = _split(known)
        shapes = frozenset(_shape(item) for each in known for item in each.gold if item)

        def candidates(challenge: Challenge) -> list[tuple[str, Any]]:
            tokens = _tokens(challenge.context)
            seen = _Words(tokens, _all_masked(challenge.context), Counter(tokens))
            places = _places(challenge.context, shapes)
            return [(tokens[at].replace(",", ""), see(seen, at)) for at in places]

        def scored(challenge: Challenge) -> dict[str, float]:
            found = dict.fromkeys(candidates(challenge))
            new = list(dict.fromkeys(key for _, key in found if key not in odds))
            odds.update(zip(new, map(float, odds_of([features(key) for key in new])), strict=True))
            best: dict[str, float] = {}
            for word, key in found:
                best[word] = max(odds[key], best.get(word, odds[key]))
            if len(odds) > _WORDS:
                odds.clear()
            return best

        pairs: list[tuple[list[tuple[str, Any]], set[str]]] = []
        for each in learned:
            pairs.append((candidates(each), {*each.gold}))
            if sum(len(words) for words, _ in pairs) > _ENOUGH:
                break
        labels = [float(word in gold) for words, gold in pairs for word, _ in words]
        odds_of = fit([features(key) for words, _ in pairs for _, key in words], labels)
        odds: dict[Any, float] = {}
        rated = [(scored(each), {*each.gold}) for each in held[: len(pairs)]]
        least = best_threshold([(best.values(), [word in gold for word in best]) for best, gold in rated])
        return lambda challenge: [word for word, odd in scored(challenge).items() if odd >= least]

    return learn


def _learn_options(features: Callable[[Challenge], list[Features]]) -> Learner:
    """Score every option: the best is chosen, those from the best threshold on are, or all stand in the order of their scores."""

    def learn(known: Sequence[Challenge]) -> Attack:
        learned, held = _split(known)
        rows = [row for each in learned for row in features(each)]
        odds_of = fit(rows, [label for each in learned for label in _labels(each)])
        found = [(odds_of(features(each)), [place in each.gold for place in range(len(each.options))]) for each in held]  # fmt: skip
        least = best_threshold(found) if known[0].form == "subset" else 0.0

        def attack(challenge: Challenge) -> Sequence[int]:
            odds = odds_of(features(challenge))
            order = [int(place) for place in np.argsort(-odds, kind="stable")]
            if challenge.form == "choice":
                return order[:1]
            return order if challenge.form == "order" else [at for at in sorted(order) if odds[at] >= least]

        return attack

    return learn


def _labels(challenge: Challenge) -> list[float]:
    """What is learned of each option: whether it is right, or how early it stands."""
    n = len(challenge.options)
    if challenge.form == "order":
        return [1 - challenge.gold.index(place) / (n - 1) for place in range(n)]
    return [float(place in challenge.gold) for place in range(n)]


def _learn_order(known: Sequence[Challenge]) -> Attack:
    """Order options by their most similar paragraph, or so that neighbours are most similar; words are as rare as in other cases."""
    texts = (text for each in known for text in each.text.split("\n\n"))
    rarity = rarity_in(itertools.islice(texts, _ENOUGH))
    return lambda challenge: _by_similarity(challenge, rarity)


def _by_similarity(challenge: Challenge, rarity: Callable[[str], float]) -> Sequence[int]:
    if challenge.around is None:
        paragraphs = [text for text in challenge.context.split("\n\n") if text.strip()]
        places = similarity(challenge.options, paragraphs, rarity).argmax(axis=1)
        return [int(place) for place in np.argsort(places, kind="stable")]
    n = len(challenge.options)
    texts = [*challenge.options, *challenge.around]
    alike = similarity(texts, texts, rarity)
    if n > _ALL_ORDERS:
        return [int(place) for place in np.argsort(alike[:n, n + 1] - alike[:n, n], kind="stable")]

    def together(order: Sequence[int]) -> float:
        return float(sum(alike[one, two] for one, two in itertools.pairwise((n, *order, n + 1))))

    return max(itertools.permutations(range(n)), key=together)


def learned(name: str) -> Learner:
    """Return the attacker of one kind of evidence, whatever the form of the answer."""

    def learn(known: Sequence[Challenge]) -> Attack:
        form = known[0].form
        if name == "tf-idf" and form == "order":
            return _learn_order(known)
        return _learn_list(*_LIST[name])(known) if form == "list" else _learn_options(_OPTIONS[name])(known)

    return learn


def constant(known: Sequence[Challenge]) -> Attack:
    """The answer that fits the cases of other seeds best, whatever the text."""
    form = known[0].form
    if form == "order":
        usual = Counter(each.gold for each in known).most_common(1)[0][0]
        return lambda challenge: [at for at in usual if at < len(challenge.options)] or [0]
    share = Counter(item for each in known for item in each.gold)
    names = [item for item, _ in share.most_common(5_000)]
    if form == "choice":
        return lambda challenge: [next((at for at in names if at < len(challenge.options)), 0)]
    scored = [([share[name] for name in names], [name in {*each.gold} for name in names]) for each in known]
    least = best_threshold(scored)
    named = [name for name in names if share[name] >= least]
    if form == "list":
        return lambda challenge: named
    return lambda challenge: [at for at in named if at < len(challenge.options)]


# Readers that know what is right of a part of the text, and guess.


def reader(challenge: Challenge, known: Sequence[Any], random: Random) -> Sequence[Any]:
    """Return the answer of a reader who knows only some of what is right: lists that, and guesses among the rest where it must."""
    if challenge.form in ("list", "subset"):
        return list(known)
    if challenge.form == "pages":
        return challenge.options
    others = [place for place in range(len(challenge.options)) if place not in known]
    if challenge.form == "choice":
        return list(known) or [random.choice(_unread(challenge) or others)]
    random.shuffle(others)
    rest = iter(others)
    return [place if place in known else next(rest) for place in challenge.gold]


def _unread(challenge: Challenge) -> list[int]:
    """The options that stand in the second half of the text."""
    if challenge.context:
        return []
    ends = list(itertools.accumulate(map(len, challenge.options)))
    return [place for place, end in enumerate(ends) if end > ends[-1] / 2]


def first_half(challenge: Challenge, random: Random) -> Sequence[Any]:
    """A perfect reader of the first half of the text."""
    known = [item for item, rests in zip(challenge.gold, challenge.rests, strict=True) if rests <= 0.5]
    return reader(challenge, known, random)


def share_of_gold(challenge: Challenge, random: Random, share: float) -> Sequence[Any]:
    """A perfect reader of the text up to where a share of what is right is known."""
    order = sorted(range(len(challenge.gold)), key=challenge.rests.__getitem__)
    number = int(share * len(order) + random.random())
    return reader(challenge, [challenge.gold[at] for at in order[:number]], random)


def guess(challenge: Challenge, random: Random, share: float) -> Sequence[Any]:
    """An answer of the right form that knows nothing of the text; ``share`` is of the options, or of words of the shape of right ones, to name."""
    if challenge.form == "pages":
        words = challenge.text.split()
        return [
            " ".join(random.sample(words, min(len(words), len(option.split()) // 2)))
            for option in challenge.options
        ]
    if challenge.form == "list":
        shapes = frozenset(_shape(item) for item in challenge.gold if item)
        tokens = _tokens(challenge.context)
        named = dict.fromkeys(tokens[at].replace(",", "") for at in _places(challenge.context, shapes))
        return random.sample(list(named), round(share * len(named)))
    places = list(range(len(challenge.options)))
    if challenge.form == "subset":
        return random.sample(places, max(1, round(share * len(places))))
    random.shuffle(places)
    return places[:1] if challenge.form == "choice" else places


NAMES = tuple(_OPTIONS)
"""The attackers that learn, see :func:`learned`."""
