"""Inject noise into any text, meeting a measured word error rate or as in the paper's simulator."""

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, chain

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein

from long_context_tasks.noise.error_rules import ENGLISH, ErrorShares, Rules, default_rules
from long_context_tasks.noise.official import RuleTable, inject_official
from long_context_tasks.noise.words import (
    SoundAlikes,
    Token,
    numbers_alike,
    parse_token,
    word_error_rate,
    words_of,
)
from long_context_tasks.schema import InputError

_PRECISION = 0.0005  # acceptable deviation from the target, as a fraction of the words
_SECANT_STEPS, _MOST_STEPS = 8, 30
_STRETCH = 1000  # words
_DELETED_WITHOUT_RULE = 0.2  # recognisers replace out-of-vocabulary words more often than they drop them
_LEAST_WEIGHT, _MOST_WEIGHT = 0.02, 1.0
_FEWEST_WORDS, _LEAST_ENGLISH = 20, 0.5


@dataclass(frozen=True)
class WordErrors:
    weight: float  # how easily the word is misheard, 0 to 1
    forms: Sequence[str]  # forms it is misheard as, most likely first in learned rules; "" is a deletion
    shares: Sequence[float]  # cumulative probabilities of the forms, up to 1

    def draw(self, chance: float) -> str:
        """Return the form for a random number from 0 to 1."""
        # The last sum may fall short of 1 by rounding.
        return self.forms[min(bisect_right(self.shares, chance), len(self.forms) - 1)]


class ErrorModel:
    def __init__(self, rules: Rules) -> None:
        self.shares = rules.shares
        if not self.shares.rate:
            raise InputError("the rules hold no errors, only right words; learn them from pairs that differ")
        self._counts = rules.counts
        inserted = rules.counts.get("", {}) or dict.fromkeys(list(rules.counts)[:100], 1.0)
        names = ["I" if word == "i" else word for word in inserted]
        # numpy adds one by one like `accumulate`; published cases depend on the last digit.
        sums = list(accumulate(map(float, inserted.values())))
        self.inserted = WordErrors(1.0, names, [level / sums[-1] for level in sums])
        self._known: dict[str, WordErrors] = {}

    def errors_of(self, word: str) -> WordErrors:
        if word not in self._known:
            self._known[word] = self._make_errors(word)
        return self._known[word]

    def other_than_deletion(self, token: Token) -> str:
        """Return a token's most likely form other than deletion; if none, a frequently inserted word."""
        forms = filter(None, chain(self.errors_of(token.key).forms, self.inserted.forms, ("uh", "um")))
        return token.dress(next(form for form in forms if form.lower() != token.key))

    def _make_errors(self, word: str) -> WordErrors:
        rule = self._counts.get(word, {})
        errors = {form: count for form, count in rule.items() if form != word and count > 0}
        rate = sum(errors.values()) / sum(rule.values()) if errors else self.shares.rate
        if not any(errors):
            errors |= self._sound_alike(word, errors.get("", 0.0))
        total = sum(errors.values())
        shares = [level / total for level in accumulate(errors.values(), initial=0.0)][1:]
        return WordErrors(min(max(rate, _LEAST_WEIGHT), _MOST_WEIGHT), list(errors), shares)

    def _sound_alike(self, word: str, deletions: float) -> dict[str, float]:
        """Return counted forms for a word without a rule: similar-sounding words of the rules, or a deletion."""
        alike = numbers_alike(word) or self._sounds.find(word)
        if not alike:
            return {"": max(deletions, 1.0)}
        forms = {other: 1.0 / place for place, other in enumerate(alike, 1)}
        ratio = _DELETED_WITHOUT_RULE / (1 - _DELETED_WITHOUT_RULE)
        return forms | {"": max(deletions, ratio * sum(forms.values()))}

    @cached_property
    def _sounds(self) -> SoundAlikes:
        return SoundAlikes(word for word in self._counts if word)


def _draw_order(
    weights: npt.NDArray[np.float64], shares: ErrorShares, random: np.random.Generator
) -> list[int]:
    """Return the slots of a text's errors in the order they are applied; a token of weight 0 gets none."""
    words = np.flatnonzero(weights)
    # Sorting exponential numbers divided by weights samples without replacement in proportion to the weights.
    when = random.exponential(size=len(words)) / weights[words]
    said = shares.substitution + shares.deletion
    inserted = random.permutation(len(weights))
    regular = min(round(len(words) * shares.insertion / said) if said else len(weights), len(weights))
    insertion_when = random.exponential(size=regular) / weights[words].mean()
    # The remaining insertions come last: only a target near 1 needs them, if too many tokens are tags.
    order = np.argsort(np.concatenate([when, insertion_when]), kind="stable")
    first = np.concatenate([2 * words, 2 * inserted[:regular] + 1])[order]
    slots: list[int] = np.concatenate([first, 2 * inserted[regular:] + 1]).tolist()
    return slots


class _DrawnErrors:
    """A text and its drawn errors, in the order they are applied.

    Each error fills one slot: word i of the text has slot 2 i, an insertion after it slot 2 i + 1. An error
    rate is reached by applying the first errors, so a text at a higher rate contains the errors of a lower
    one.
    """

    def __init__(self, lines: Sequence[Sequence[str]], model: ErrorModel, seed: int) -> None:
        tokens = list(chain.from_iterable(lines))
        parsed = list(map(parse_token, tokens))
        weights = np.array([model.errors_of(token.key).weight if token.key else 0.0 for token in parsed])
        if not weights.any():
            raise InputError(
                "the text holds only tags and punctuation, no words that could be misheard; give a transcript"
            )
        random = np.random.default_rng(seed)
        self._order = _draw_order(weights, model.shares, random)
        chances: list[float] = random.random(2 * len(tokens)).tolist()
        self._starts = [0, *accumulate(map(len, lines))]
        # Lines must not vanish, so the first word of a line without tags is never deleted.
        kept = {
            start
            for start, line in zip(self._starts, lines, strict=False)
            if line and all(parsed[place].key for place in range(start, start + len(line)))
        }
        self._forms = []
        for slot in self._order:
            place, inserted = divmod(slot, 2)
            if inserted:
                self._forms.append(model.inserted.draw(chances[slot]))
                continue
            token = parsed[place]
            form = token.dress(model.errors_of(token.key).draw(chances[slot]))
            if not form and place in kept:
                form = model.other_than_deletion(token)
            self._forms.append(form)
        self._slots = [text for token in tokens for text in (token, "")]
        # The distances of blocks of whole lines add up to nearly the distance of the text, which takes far
        # longer to compute.
        edges = [0]
        for end in self._starts:
            if end - edges[-1] > _STRETCH:
                edges.append(end)
        self._stretches = [slice(2 * a, 2 * b) for a, b in zip(edges, [*edges[1:], len(tokens)], strict=True)]

    @property
    def n_errors(self) -> int:
        return len(self._order)

    def _with_errors(self, count: int) -> list[str]:
        slots = self._slots.copy()
        for slot, form in zip(self._order[:count], self._forms[:count], strict=True):
            slots[slot] = form
        return slots

    def distance(self, count: int) -> int:
        """Return the edit distance in words between the text and itself with the first ``count`` errors."""
        slots = self._with_errors(count)
        return sum(
            Levenshtein.distance(self._slots[part][::2], " ".join(slots[part]).split())
            for part in self._stretches
        )

    def changed_lines(self, count: int) -> dict[int, str]:
        """Return the lines changed by the first ``count`` errors, keyed by number."""
        slots = self._with_errors(count)
        changed = {bisect_right(self._starts, slot // 2) - 1 for slot in self._order[:count]}
        return {
            line: " ".join(filter(None, slots[2 * self._starts[line] : 2 * self._starts[line + 1]]))
            for line in changed
        }


def _search(distance: Callable[[int], int], most: int, target: float, tolerance: float) -> int:
    """Find the error count whose distance is closest to the target, by bracketed secant and bisection steps."""
    low, high = 0, most
    best, nearest = 0, target
    count, found = 0, 0
    guess = min(round(target), most)
    for step in range(_MOST_STEPS):
        before, at_before = count, found
        count = guess
        found = distance(count)
        if abs(found - target) < nearest:
            best, nearest = count, abs(found - target)
        if found < target:
            low = max(low, count)
        else:
            high = min(high, count)
        if nearest <= tolerance or high - low <= 1:
            break
        # Neighbouring errors partly cancel, so each adds less the more there are; a slope of 0 would stall
        # the search.
        slope = max((found - at_before) / (count - before), 0.1) if count != before else 1.0
        guess = count + round((target - found) / slope) if step < _SECANT_STEPS else (low + high) // 2
        guess = min(max(guess, low + 1), high - 1 if high < most else most)
    return best


def inject_exact(text: str, model: ErrorModel, wer: float, seed: int) -> str:
    """Add noise to a text until its measured word error rate meets the target.

    White space around a line is kept; white space inside a changed line becomes single spaces.

    Returns:
        The same number of lines; tags are unchanged; lines with words keep at least one word.
    """
    raw = text.split("\n")
    lines = [line.split() for line in raw]
    size = sum(map(len, lines))
    if not wer or not size:
        return text
    drawn = _DrawnErrors(lines, model, seed)
    count = _search(drawn.distance, drawn.n_errors, wer * size, _PRECISION * size)
    for number, words in drawn.changed_lines(count).items():
        old = raw[number]
        start, end = len(old) - len(old.lstrip()), len(old.rstrip())
        raw[number] = f"{old[:start]}{words}{old[end:]}"
    return "\n".join(raw)


MODES = ("exact", "official")


@dataclass(frozen=True)
class Noisy:
    text: str  # the noisy text, with as many lines as before
    reference: str  # the text without noise

    @cached_property
    def measured_wer(self) -> float:
        """Word error rate of the noisy text against the clean text; it can exceed 1."""
        return word_error_rate(self.reference, self.text)


def noise_seed(seed: int, document: str, wer: float) -> int:
    """Return a document's seed at a word error rate, reproducible across processes.

    >>> noise_seed(0, "meeting_1", 0.4)
    1779061134

    Seeds differ between documents and rates. They are from 0 to 2**32 - 1, the range of numpy's legacy
    generator.
    """
    key = f"{seed}\x00{document}\x00{wer:.6f}".encode()
    return int.from_bytes(hashlib.sha256(key).digest()[:4], "big")


# Cached across texts: the meetings of a task share their rules, and preparing them takes longer than one
# meeting's noise.
@lru_cache(maxsize=4)
def _model(rules: Rules) -> ErrorModel:
    return ErrorModel(rules)


@lru_cache(maxsize=4)
def _table(rules: Rules) -> RuleTable:
    return RuleTable(rules.counts)


def inject(text: str, rules: Rules, wer: float, seed: int = 0, mode: str = "exact") -> Noisy:
    """Make a text as noisy as a speech recogniser would.

    Args:
        text: a transcript; its lines are kept.
        rules: from :func:`~long_context_tasks.noise.learn`, ``Rules.read`` or ``default_rules()``.
        wer: target word error rate, 0 to 1.
        seed: equal seeds give equal bytes; see :func:`noise_seed`.
        mode: ``exact`` meets the measured target and leaves tags unchanged; ``official`` is the simulator of
            the ELITR-Bench paper, which does neither.

    Raises:
        InputError: the target is outside 0 to 1, the mode is unknown, the seed is out of range, the text has
            no words, the rules have no errors, or the text is not English and the rules do not name another
            language.
    """
    if not 0 <= wer <= 1:
        raise InputError(f"word error rate {wer}: give a share from 0 to 1, such as 0.4 for 40 %")
    if mode not in MODES:
        raise InputError(f"mode {mode!r}: choose {' or '.join(MODES)}")
    if not 0 <= seed < 2**32:
        raise InputError(f"seed {seed}: give a whole number from 0 to 4294967295")
    if not text.split():
        raise InputError("the text holds no words; noise needs some")
    if rules.language in ("", ENGLISH) and not _may_be_english(text):
        owner = "are for English" if rules.language else "do not name their language"
        raise InputError(
            f"the text is not English and the rules {owner}; learn rules from pairs in its language with `lct noise learn --language`"
        )
    if mode == "exact":
        noisy = inject_exact(text, _model(rules), wer, seed)
    else:
        noisy = inject_official(text, _table(rules), wer, seed)
    return Noisy(noisy, text)


def _may_be_english(text: str) -> bool:
    # The default rules contain 90 % of the words in English novels and meetings, and at most 40 % in other
    # languages.
    words = words_of(text)
    if len(words) < _FEWEST_WORDS and text.isascii():
        return True
    english = default_rules().counts
    return sum(word in english for word in words) >= _LEAST_ENGLISH * len(words)
