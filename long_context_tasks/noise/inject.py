"""Put noise into any text: exactly as much as was asked for, or as the paper's simulator does."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein

from long_context_tasks.noise.error_rules import ENGLISH, Rules, default_rules
from long_context_tasks.noise.official import RuleTable, inject_official
from long_context_tasks.noise.words import (
    Marks,
    SoundAlikes,
    Token,
    numbers_alike,
    parse_token,
    word_error_rate,
    words_of,
)
from long_context_tasks.schema import InputError

_PRECISION = 0.0005  # how near the target the search for the number of errors ends
_SECANT_STEPS, _MOST_STEPS = 8, 30
_STRETCH = 1000  # words
_MOST_CODES = 500_000  # Unicode has a million characters to spare
_DELETED_WITHOUT_RULE = 0.2  # words that no rule knows are more often replaced than lost
_LEAST_WEIGHT, _MOST_WEIGHT = 0.02, 1.0
_SHIFT = 32
_FEWEST_WORDS, _LEAST_ENGLISH = 20, 0.5


class _Numbers(dict[str, int]):
    """Numbers the tokens as they come; the model learns what it needs of new ones."""

    def __init__(self, model: "ErrorModel") -> None:
        super().__init__()
        self._model = model

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self)
        self._model.add(text)
        return number


class _Dressed(dict[int, str]):
    """Forms written as tokens are, by the numbers of both."""

    def __init__(self, tokens: Sequence[Token], forms: Sequence[str]) -> None:
        super().__init__()
        self._tokens, self._forms = tokens, forms

    def __missing__(self, key: int) -> str:
        form = self._forms[key & ((1 << _SHIFT) - 1)]
        text = self[key] = self._tokens[key >> _SHIFT].dress(form) if form else ""
        return text


class _Arrays:
    """The lists of a model for numpy."""

    def __init__(self, words: list[int], weights: list[float], starts: list[int], steps: list[float]) -> None:
        self.words = np.array(words, dtype=np.int64)
        self.weights = np.array(weights, dtype=np.float64)
        self.starts = np.array(starts, dtype=np.int64)
        self.steps = np.array(steps, dtype=np.float64)


class ErrorModel:
    """The errors of each token; grows with the texts that it sees, and can be used for any number of them."""

    def __init__(self, rules: Rules) -> None:
        """Index the rules.

        Raises:
            InputError: the rules hold no errors at all.
        """
        self.shares = rules.shares
        if not self.shares.rate:
            raise InputError("the rules hold no errors, only right words; learn them from pairs that differ")
        self._counts = rules.counts
        inserted = rules.counts.get("", {}) or dict.fromkeys(list(rules.counts)[:100], 1.0)
        self.inserted = ["I" if word == "i" else word for word in inserted]
        sums = np.cumsum(np.array(list(inserted.values()), dtype=np.float64))
        self._inserted_sums = sums / sums[-1]
        self._sounds: SoundAlikes | None = None
        self._numbers = _Numbers(self)
        self._tokens: list[Token] = []
        self._words: dict[str, int] = {}
        self._word_of: list[int] = []  # word of each token; -1 where nothing may change
        self._weights: list[float] = []
        self._forms: list[str] = []
        self._starts = [0]
        self._steps: list[float] = []  # cumulative shares of the forms of word i, between i and i + 1
        self._arrays = _Arrays([], [], [0], [])
        self._dressed = _Dressed(self._tokens, self._forms)
        self._others: dict[int, str] = {}
        self.marks = Marks()

    def numbers(self, tokens: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the numbers of tokens."""
        known = len(self._tokens)
        numbers = np.fromiter(map(self._numbers.__getitem__, tokens), dtype=np.int64, count=len(tokens))
        if len(self._tokens) > known:
            self._arrays = _Arrays(self._word_of, self._weights, self._starts, self._steps)
        return numbers

    def weights(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return how readily each token is misheard; 0 for tokens that must not change."""
        return self._arrays.weights[numbers]

    def errors(
        self, numbers: npt.NDArray[np.int64], chances: npt.NDArray[np.float64], kept: npt.NDArray[np.bool_]
    ) -> list[str]:
        """Return a form for each token, written as the token is; "" is a deletion.

        Args:
            numbers: Of tokens that may change.
            chances: A random number from 0 to 1 for each.
            kept: Which of them must not be deleted.
        """
        arrays = self._arrays
        words = arrays.words[numbers]
        forms = np.searchsorted(arrays.steps, words + chances, side="right")
        forms = np.clip(forms, arrays.starts[words], arrays.starts[words + 1] - 1)
        texts = list(map(self._dressed.__getitem__, ((numbers << _SHIFT) + forms).tolist()))
        for place in np.flatnonzero(kept).tolist():
            if not texts[place]:
                texts[place] = self._other(int(numbers[place]))
        return texts

    def insertions(self, chances: npt.NDArray[np.float64]) -> list[str]:
        """Return a word that was not said for each random number from 0 to 1."""
        places = np.searchsorted(self._inserted_sums, chances, side="right")
        return [self.inserted[place] for place in np.minimum(places, len(self.inserted) - 1).tolist()]

    def _other(self, number: int) -> str:
        """The likeliest form of a token that is no deletion, else a word that is often inserted."""
        if number not in self._others:
            token = self._tokens[number]
            start, end = self._starts[self._word_of[number] : self._word_of[number] + 2]
            forms = filter(None, chain(self._forms[start:end], self.inserted, ("uh", "um")))
            self._others[number] = token.dress(next(form for form in forms if form.lower() != token.key))
        return self._others[number]

    def add(self, text: str) -> None:
        """Add a new token; ``numbers`` calls this."""
        token = parse_token(text)
        self._tokens.append(token)
        if not token.key:
            self._word_of.append(-1)
            self._weights.append(0.0)
            return
        rule = self._counts.get(token.key, {})
        errors = {form: count for form, count in rule.items() if form != token.key and count > 0}
        rate = sum(errors.values()) / sum(rule.values()) if errors else self.shares.rate
        self._weights.append(min(max(rate, _LEAST_WEIGHT), _MOST_WEIGHT))
        number = self._words.get(token.key)
        if number is None:
            number = self._words[token.key] = len(self._words)
            if not any(errors):
                errors |= self._sound_alike(token.key, errors.get("", 0.0))
            total = sum(errors.values())
            level = 0.0
            for form, count in errors.items():
                level += count
                self._forms.append(form)
                self._steps.append(number + level / total)
            self._starts.append(len(self._forms))
        self._word_of.append(number)

    def _sound_alike(self, word: str, deletions: float) -> dict[str, float]:
        """Forms for a word that has none: words of the rules that sound alike, sometimes nothing."""
        if self._sounds is None:
            self._sounds = SoundAlikes(word for word in self._counts if word)
        alike = numbers_alike(word) or self._sounds.of(word)
        if not alike:
            return {"": max(deletions, 1.0)}
        forms = {other: 1.0 / place for place, other in enumerate(alike, 1)}
        ratio = _DELETED_WITHOUT_RULE / (1 - _DELETED_WITHOUT_RULE)
        return forms | {"": max(deletions, ratio * sum(forms.values()))}


class _Errors:
    """Errors of a text in the order in which they are applied; each fills one slot.

    Word i of the text has slot 2 i, an insertion behind it slot 2 i + 1.
    """

    def __init__(self, tokens: Sequence[str], sizes: Sequence[int], model: ErrorModel, seed: int) -> None:
        """Draw an error for every word, insertions, and their order.

        Raises:
            InputError: nothing in the text may change.
        """
        random = np.random.default_rng(seed)
        numbers = model.numbers(tokens)
        weights = model.weights(numbers)
        words = np.flatnonzero(weights)
        if not len(words):
            raise InputError(
                "the text holds only tags and punctuation, no words that could be misheard; give a transcript"
            )
        # The least of exponential numbers over weights comes first: a draw without replacement in proportion to them.
        when = random.exponential(size=len(words)) / weights[words]
        said = model.shares.substitution + model.shares.deletion
        inserted = random.permutation(len(tokens))
        regular = min(round(len(words) * model.shares.insertion / said) if said else len(tokens), len(tokens))
        insertion_when = random.exponential(size=regular) / weights[words].mean()
        # The insertions left over come last: only a target near 1 needs them, when too many words are tags.
        order = np.argsort(np.concatenate([when, insertion_when]), kind="stable")
        self.slots = np.concatenate(
            [np.concatenate([2 * words, 2 * inserted[:regular] + 1])[order], 2 * inserted[regular:] + 1]
        )
        self._numbers = numbers
        self._chances = random.random(2 * len(tokens))
        self._model = model
        self._texts: list[str] = []
        # The first word of a line that holds nothing else than words stays a word, so that no line vanishes.
        starts = np.cumsum([0, *sizes])[:-1][np.array(sizes) > 0]
        self._kept = np.zeros(len(tokens), dtype=np.bool_)
        self._kept[starts] = np.minimum.reduceat(weights, starts) > 0

    def texts(self, count: int) -> list[str]:
        """Return the content of the slots of at least the first ``count`` errors: words, or "" for a deletion."""
        if count > len(self._texts):
            new = self.slots[len(self._texts) : count]
            inside, behind = new[new % 2 == 0], new[new % 2 == 1]
            forms = self._model.errors(
                self._numbers[inside >> 1], self._chances[inside], self._kept[inside >> 1]
            )
            texts = np.empty(len(new), dtype=object)
            texts[new % 2 == 0] = forms
            texts[new % 2 == 1] = self._model.insertions(self._chances[behind])
            self._texts += texts.tolist()
        return self._texts


class _Draft:
    """A text while errors are applied to it."""

    def __init__(self, tokens: Sequence[str], sizes: Sequence[int], errors: _Errors, codes: Marks) -> None:
        if len(codes) > _MOST_CODES:
            codes.clear()
        self._codes = codes
        self._base = [""] * (2 * len(tokens))
        self._base[::2] = map(self._codes.__getitem__, tokens)
        # Distances of stretches of whole lines add up to nearly that of the whole, which takes far longer.
        self._edges = [0]
        end = 0
        for size in sizes:
            end += 2 * size
            if end - self._edges[-1] > 2 * _STRETCH:
                self._edges.append(end)
        if self._edges[-1] < end:
            self._edges.append(end)
        self._slots = self._base.copy()
        self._reference = self._stretches()
        self._errors = errors
        self._marks: list[str] = []
        self._applied = 0

    def _stretches(self) -> list[str]:
        return ["".join(self._slots[a:b]) for a, b in zip(self._edges[:-1], self._edges[1:], strict=True)]

    def apply(self, count: int) -> int:
        """Apply the first ``count`` errors and no others; return the edit distance to the reference, stretch by stretch."""
        slots = self._slots
        if count > len(self._marks):
            self._marks += map(self._codes.__getitem__, self._errors.texts(count)[len(self._marks) : count])
        if count > self._applied:
            new = self._errors.slots[self._applied : count].tolist()
            for slot, mark in zip(new, self._marks[self._applied : count], strict=True):
                slots[slot] = mark
        else:
            for slot in self._errors.slots[count : self._applied].tolist():
                slots[slot] = self._base[slot]
        self._applied = count
        return sum(map(Levenshtein.distance, self._reference, self._stretches()))


def _search(draft: _Draft, most: int, target: float, tolerance: float) -> int:
    """The number of errors whose distance comes nearest the target: secant steps, then halves, inside a bracket."""
    low, high = 0, most
    best, nearest = 0, target
    count, distance = 0, 0
    guess = min(round(target), most)
    for step in range(_MOST_STEPS):
        before, at_before = count, distance
        count = guess
        distance = draft.apply(count)
        if abs(distance - target) < nearest:
            best, nearest = count, abs(distance - target)
        if distance < target:
            low = max(low, count)
        else:
            high = min(high, count)
        if nearest <= tolerance or high - low <= 1:
            break
        # Errors meet each other, so one carries less the more there are; a slope of 0 would lead nowhere.
        slope = max((distance - at_before) / (count - before), 0.1) if count != before else 1.0
        guess = count + round((target - distance) / slope) if step < _SECANT_STEPS else (low + high) // 2
        guess = min(max(guess, low + 1), high - 1 if high < most else most)
    return best


def inject_exact(text: str, model: ErrorModel, wer: float, seed: int) -> str:
    """Make a text noisy until its measured word error rate meets the target.

    White space around a line stays, white space inside a changed line becomes single spaces.

    Returns:
        As many lines; tags unchanged; lines with words keep at least one.

    Raises:
        InputError: no word in the text that could be misheard.
    """
    raw = text.split("\n")
    lines = [line.split() for line in raw]
    tokens = list(chain.from_iterable(lines))
    if not wer or not tokens:
        return text
    sizes = list(map(len, lines))
    errors = _Errors(tokens, sizes, model, seed)
    draft = _Draft(tokens, sizes, errors, model.marks)
    count = _search(draft, len(errors.slots), wer * len(tokens), _PRECISION * len(tokens))
    return "\n".join(_written(raw, tokens, sizes, errors, count))


def _written(
    raw: Sequence[str], tokens: Sequence[str], sizes: Sequence[int], errors: _Errors, count: int
) -> list[str]:
    """The lines with the first ``count`` errors."""
    slots = [""] * (2 * len(tokens))
    slots[::2] = tokens
    changed = errors.slots[:count]
    for slot, text in zip(changed.tolist(), errors.texts(count), strict=False):
        slots[slot] = text
    ends = np.cumsum(sizes)
    limits: list[int] = (2 * ends).tolist()
    written = list(raw)
    for line in np.flatnonzero(np.bincount(np.searchsorted(ends, changed >> 1, side="right"))).tolist():
        old = raw[line]
        end = limits[line]
        words = " ".join(filter(None, slots[end - 2 * sizes[line] : end]))
        if old[0].isspace() or old[-1].isspace():
            bare = old.strip()
            start = old.index(bare)
            words = f"{old[:start]}{words}{old[start + len(bare) :]}"
        written[line] = words
    return written


MODES = ("exact", "official")


@dataclass(frozen=True)
class Noisy:
    """A text with noise.

    Attributes:
        text: As many lines as before.
        reference: The text without noise.
    """

    text: str
    reference: str

    @cached_property
    def measured_wer(self) -> float:
        """Word error rate of the text against the text without noise, 0 to 1 and above."""
        return word_error_rate(self.reference, self.text)


def noise_seed(seed: int, document: str, wer: float) -> int:
    """Return the seed of a document at a word error rate: the same in every process, and different for every document and rate.

    >>> noise_seed(0, "meeting_1", 0.4)
    1779061134

    Args:
        seed: Of the whole run.
        document: Its key, such as a meeting id.
        wer: Target, 0 to 1.

    Returns:
        0 to 2**32 - 1, as numpy's legacy generator takes it.
    """
    key = f"{seed}\x00{document}\x00{wer:.6f}".encode()
    return int.from_bytes(hashlib.sha256(key).digest()[:4], "big")


_model = lru_cache(maxsize=4)(ErrorModel)


@lru_cache(maxsize=4)
def _table(rules: Rules) -> RuleTable:
    return RuleTable(rules.counts)


def inject(text: str, rules: Rules, wer: float, seed: int = 0, mode: str = "exact") -> Noisy:
    """Make a text as noisy as a recogniser would.

    Args:
        text: A transcript; lines stay lines.
        rules: From :func:`~long_context_tasks.noise.learn`, ``Rules.read`` or ``default_rules()``.
        wer: Target word error rate, 0 to 1.
        seed: Equal seeds give equal bytes; see :func:`noise_seed`.
        mode: ``exact`` meets the target as measured and leaves tags alone; ``official`` is the simulator of the paper,
            which does neither.

    Raises:
        InputError: a target outside 0 to 1, an unknown mode, a seed that is none, a text without words, rules without errors, or
            a text that is not English with rules that name no other language.
    """
    if not 0 <= wer <= 1:
        raise InputError(f"word error rate {wer}: give a share from 0 to 1, such as 0.4 for 40 %")
    if mode not in MODES:
        raise InputError(f"mode {mode!r}: there are {' and '.join(MODES)}")
    if not 0 <= seed < 2**32:
        raise InputError(f"seed {seed}: give a whole number from 0 to 4294967295")
    if not text.split():
        raise InputError("the text holds no words; noise needs some")
    if rules.language in ("", ENGLISH) and not _may_be_english(text):
        owner = "are for English" if rules.language else "do not say for which language they are"
        raise InputError(
            f"the text is not English and the rules {owner}; learn rules from pairs in its language with `lct noise learn --language`"
        )
    if mode == "exact":
        noisy = inject_exact(text, _model(rules), wer, seed)
    else:
        noisy = inject_official(text, _table(rules), wer, seed)
    return Noisy(noisy, text)


def _may_be_english(text: str) -> bool:
    """Return whether most words are among those of the default rules: 90 % are in English novels and meetings, at most 40 % in other languages."""
    words = words_of(text)
    if len(words) < _FEWEST_WORDS and text.isascii():
        return True
    english = default_rules().counts
    return sum(word in english for word in words) >= _LEAST_ENGLISH * len(words)


def measured_rates(
    documents: Mapping[str, str],
    rules: Rules,
    targets: Sequence[float],
    *,
    seed: int = 0,
    mode: str = "exact",
) -> dict[float, dict[str, float]]:
    """Measure the word error rate of each document at each target, as in the paper's Table 5.

    Args:
        documents: Key -> text.
        rules: As in :func:`inject`.
        targets: Word error rates, 0 to 1.
        seed: Of the run; each document and target gets its own from it.
        mode: As in :func:`inject`.

    Returns:
        Target -> key of the document -> measured rate.

    Raises:
        InputError: as :func:`inject`.
    """
    return {
        target: {
            key: inject(text, rules, target, noise_seed(seed, key, target), mode).measured_wer
            for key, text in documents.items()
        }
        for target in targets
    }
