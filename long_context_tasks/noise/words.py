"""Words in transcripts: extracting them from tokens, similar-sounding words, and the word error rate."""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

import jellyfish
from rapidfuzz.distance import Levenshtein

from long_context_tasks.schema import InputError

# (PERSON4), [ORGANIZATION2], <laugh/>, {vocalsound} and timestamps. A single bracket is enough, because
# transcripts also contain broken tags.
_TAG = re.compile(r"[\[\]<>{}]|\([A-Z]+\d*\)|^\d+:\d\d:")
_PUNCTUATION = re.compile(r"[\W_]*")
_APOSTROPHES = str.maketrans("’‘´`", "''''")
_FIRST_PERSON = re.compile(r"\bi\b")
_AS_IT_IS, _CAPITAL, _UPPER = range(3)


@dataclass(frozen=True)
class Token:
    # The word as it appears in rules: lower case, without punctuation, plain apostrophes. Empty if noise
    # must not change the token: a speaker tag, a de-identified name, a noise tag, or punctuation.
    key: str
    before: str  # punctuation before the word
    after: str  # punctuation after the word
    case: int  # how the word is capitalised

    def dress(self, form: str) -> str:
        """Give another form the token's case and punctuation; the empty form, a deletion, stays empty."""
        if not form:
            return ""
        if "i" in form:
            form = _FIRST_PERSON.sub("I", form)
        if self.case == _CAPITAL:
            form = form[:1].upper() + form[1:]
        elif self.case == _UPPER:
            form = form.upper()
        return self.before + form + self.after


def _leading_punctuation(text: str) -> str:
    match = _PUNCTUATION.match(text)
    assert match is not None  # the pattern also matches the empty text
    return match[0]


# Transcripts repeat their words; 131,072 entries cover the vocabulary of any meeting.
@lru_cache(maxsize=1 << 17)
def parse_token(token: str) -> Token:
    """Split a token into its word and the surrounding punctuation.

    >>> parse_token("Hello,").dress("yellow")
    'Yellow,'
    """
    before = _leading_punctuation(token)
    after = _leading_punctuation(token[::-1])[::-1] if before != token else ""
    core = token[len(before) : len(token) - len(after)]
    key = core.lower().translate(_APOSTROPHES)
    if _TAG.search(token):
        return Token("", before, after, _AS_IT_IS)
    if core.isupper() and len(core) > 1:
        case = _UPPER
    elif core[:1].isupper() and key != "i" and not key.startswith("i'"):
        case = _CAPITAL
    else:
        case = _AS_IT_IS
    return Token(key, before, after, case)


def words_of(text: str) -> list[str]:
    """Return a text's words in the form used by rules, without tags and punctuation.

    >>> words_of("(PERSON4) Well, it’s <laugh/> fine -")
    ['well', "it's", 'fine']
    """
    return [key for token in text.split() if (key := parse_token(token).key)]


_MOST_ALIKE = 4


class SoundAlikes:
    """Find words in a vocabulary that sound like a given word, using Metaphone keys."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        # Words with non-ASCII letters have no key and are skipped.
        self._buckets: dict[str, list[str]] = defaultdict(list)
        for word in sorted(set(vocabulary)):
            key = _sound_key(word)
            for size in range(len(key), 0, -1):
                self._buckets[key[:size]].append(word)

    def find(self, word: str) -> tuple[str, ...]:
        """Return up to four other words, nearest first by sound, then by spelling."""
        key = _sound_key(word)
        for size in range(len(key), 0, -1):
            # Words with the same key come before words that share only its first sounds.
            others = [other for other in self._buckets.get(key[:size], ()) if other != word]
            if others:
                others.sort(key=lambda other: (Levenshtein.distance(word, other), other))
                return tuple(others[:_MOST_ALIKE])
        return ()


@cache
def _sound_key(word: str) -> str:
    letters = word.replace("'", "")
    return jellyfish.metaphone(letters).replace(" ", "") if letters.isascii() and letters.isalpha() else ""


def numbers_alike(word: str) -> tuple[str, ...]:
    """Return numbers that sound like a number in digits (teens and tens) or are adjacent; empty for words.

    >>> numbers_alike("13"), numbers_alike("7"), numbers_alike("cat")
    (('30', '14'), ('8', '6'), ())
    """
    if not (word.isascii() and word.isdigit()):
        return ()
    number = int(word)
    if 13 <= number <= 19:
        return (str(10 * (number - 10)), str(number + 1))
    if number % 10 == 0 and 30 <= number <= 90:
        return (str(number // 10 + 10), str(number + 1))
    return (str(number + 1), str(number - 1)) if number else ("1",)


def word_error_rate(reference: str, hypothesis: str) -> float:
    """Return the word-level edit distance over the number of reference words; it can exceed 1.

    Words are separated by white space, line breaks included, and compared with case and punctuation.

    >>> word_error_rate("to be or not", "to bee or")
    0.5

    Raises:
        InputError: the reference contains no words.
    """
    left, right = reference.split(), hypothesis.split()
    if not left:
        raise InputError("the reference holds no words; a word error rate needs some")
    return Levenshtein.distance(left, right) / len(left)
