"""Rules in the form in which errors are drawn for running text."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from long_context_tasks.noise.error_rules import Rules
from long_context_tasks.noise.sound_alike import SoundAlikes, numbers_alike
from long_context_tasks.noise.words import Token, parse_token
from long_context_tasks.schema import InputError

_DELETED_WITHOUT_RULE = 0.2  # words that no rule knows are more often replaced than lost
_LEAST_WEIGHT, _MOST_WEIGHT = 0.02, 1.0
_SHIFT = 32


class _Numbers(dict[str, int]):
    """Numbers the tokens as they come; the model learns what it needs of new ones."""

    def __init__(self, model: "ErrorModel") -> None:
        super().__init__()
        self._model = model

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self)
        self._model.add(text)
        return number


class Marks(dict[str, str]):
    """One character for each word, so that rapidfuzz measures strings, which it does fastest."""

    def __missing__(self, text: str) -> str:
        """A new character, or several for several words."""
        if " " in text or not text:
            mark = "".join(map(self.__getitem__, text.split()))
        else:
            number = len(self) + 0x100
            mark = chr(number if number < 0xD800 else number + 0x800)  # never a surrogate
        self[text] = mark
        return mark


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
    """What can become of each token; grows with the texts it sees, and can be used for any number of them."""

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
        """The numbers of some tokens."""
        known = len(self._tokens)
        numbers = np.fromiter(map(self._numbers.__getitem__, tokens), dtype=np.int64, count=len(tokens))
        if len(self._tokens) > known:
            self._arrays = _Arrays(self._word_of, self._weights, self._starts, self._steps)
        return numbers

    def weights(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """How readily each token is misheard; 0 for one that must not change."""
        return self._arrays.weights[numbers]

    def errors(
        self, numbers: npt.NDArray[np.int64], chances: npt.NDArray[np.float64], kept: npt.NDArray[np.bool_]
    ) -> list[str]:
        """A form for each token, written as the token is; "" is a deletion.

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
        """A word that nobody said for each random number from 0 to 1."""
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
        """Take up a new token; ``numbers`` calls this."""
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
