"""Words of transcripts: what of a token is a word, which words sound alike, and word error rates, measured by rapidfuzz."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import jellyfish
from rapidfuzz.distance import Levenshtein

from long_context_tasks.schema import InputError

# (PERSON4), [ORGANIZATION2], [OTHER], <laugh/>, <parallel_talk>, {vocalsound}, also broken ones: whatever brackets something.
_TAG = re.compile(r"[\[\]<>{}]|\([A-Z]+\d*\)|^\d+:\d\d:")
_AROUND = re.compile(r"[\W_]*")
_APOSTROPHES = str.maketrans("’‘´`", "''''")
_FIRST_PERSON = re.compile(r"\bi\b")
_AS_IT_IS, _CAPITAL, _UPPER = range(3)


@dataclass(frozen=True)
class Token:
    """A word or tag between white space.

    Attributes:
        key: The form in which it is looked up in rules: lower case, no punctuation around it, plain apostrophes; "" where
            noise must not change it: a speaker tag, a de-identified name, a noise tag, or no word at all.
        before: Punctuation before the word.
        behind: Punctuation behind it.
        case: How the word is written.
    """

    key: str
    before: str
    behind: str
    case: int

    def dress(self, form: str) -> str:
        """Write another form as the token is written: its case and the punctuation around it."""
        if "i" in form:
            form = _FIRST_PERSON.sub("I", form)
        if self.case == _CAPITAL:
            form = form[:1].upper() + form[1:]
        elif self.case == _UPPER:
            form = form.upper()
        return self.before + form + self.behind


def _around(text: str) -> str:
    """What stands before the first letter or digit."""
    match = _AROUND.match(text)
    assert match is not None  # every text matches
    return match[0]


def parse_token(token: str) -> Token:
    """Take a token apart.

    >>> parse_token("Hello,").dress("yellow")
    'Yellow,'
    """
    before = _around(token)
    behind = _around(token[::-1])[::-1] if before != token else ""
    core = token[len(before) : len(token) - len(behind)]
    key = core.lower().translate(_APOSTROPHES)
    if _TAG.search(token):
        return Token("", before, behind, _AS_IT_IS)
    if core.isupper() and len(core) > 1:
        case = _UPPER
    elif core[:1].isupper() and key != "i" and not key.startswith("i'"):
        case = _CAPITAL
    else:
        case = _AS_IT_IS
    return Token(key, before, behind, case)


@lru_cache(maxsize=1 << 17)
def _token_key(token: str) -> str:
    return parse_token(token).key


def words_of(text: str) -> list[str]:
    """Return the words of a text as rules have them, without tags and tokens that are only punctuation.

    >>> words_of("(PERSON4) Well, it’s <laugh/> fine -")
    ['well', "it's", 'fine']
    """
    return [key for key in map(_token_key, text.split()) if key]


_MOST = 4


class SoundAlikes:
    """Finds the words of a vocabulary that sound like a given one, by their Metaphone keys."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        """Index a vocabulary; words with other than ASCII letters have no key and are left out."""
        self._buckets: dict[str, list[str]] = defaultdict(list)
        for word in sorted(set(vocabulary)):
            key = _sound_key(word)
            for size in range(len(key), 0, -1):
                self._buckets[key[:size]].append(word)
        self.of = cache(self._of)

    def _of(self, word: str) -> tuple[str, ...]:
        """Return up to four other words, the nearest in sound and then in writing first; empty when there is none.

        Words with the same key come first, else those whose keys agree in as many first sounds as possible.
        """
        key = _sound_key(word)
        for size in range(len(key), 0, -1):
            others = [other for other in self._buckets.get(key[:size], ()) if other != word]
            if others:
                others.sort(key=lambda other: (Levenshtein.distance(word, other), other))
                return tuple(others[:_MOST])
        return ()


def _sound_key(word: str) -> str:
    letters = word.replace("'", "")
    return jellyfish.metaphone(letters).replace(" ", "") if letters.isascii() and letters.isalpha() else ""


def numbers_alike(word: str) -> tuple[str, ...]:
    """Return numbers that sound like a number in digits: teens and tens, else its neighbours; empty for other words.

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


class Marks(dict[str, str]):
    """A character for each word: rapidfuzz measures strings fastest."""

    def __missing__(self, text: str) -> str:
        """Return a new character, or several for several words."""
        if " " in text or not text:
            mark = "".join(map(self.__getitem__, text.split()))
        else:
            number = len(self) + 0x100
            mark = chr(number if number < 0xD800 else number + 0x800)  # never a surrogate
        self[text] = mark
        return mark


def encode(*texts: Sequence[str]) -> list[str]:
    """Return sequences of words as strings with a character for each word.

    >>> first, second = encode(["to", "be"], ["be", "to"])
    >>> first == second[::-1]
    True
    """
    marks = Marks()
    return ["".join(map(marks.__getitem__, words)) for words in texts]


def word_error_rate(reference: str, hypothesis: str) -> float:
    """Return the edit distance of the words over the number of reference words, 0 to 1 and above.

    Words are separated by white space, with case and punctuation; line breaks count as spaces.

    >>> word_error_rate("to be or not", "to bee or")
    0.5

    Raises:
        InputError: the reference holds no words.
    """
    left, right = reference.split(), hypothesis.split()
    if not left:
        raise InputError("the reference holds no words; a word error rate needs some")
    return Levenshtein.distance(*encode(left, right)) / len(left)


def official_error_rate(
    references: Sequence[str], hypotheses: Sequence[str], *, characters: bool = False
) -> float:
    """Return the simulator's own measure in percent: NFKC, line by line.

    Args:
        references: Lines.
        hypotheses: As many lines.
        characters: Character instead of word error rate.

    Raises:
        InputError: unequal numbers of lines, or references without words.
    """
    if len(references) != len(hypotheses):
        raise InputError(
            f"{len(references)} reference lines but {len(hypotheses)} hypothesis lines; give one for each"
        )
    distance = total = 0
    for reference, hypothesis in zip(references, hypotheses, strict=True):
        left, right = (unicodedata.normalize("NFKC", text) for text in (reference, hypothesis))
        pair = (left, right) if characters else encode(left.split(), right.split())
        distance += Levenshtein.distance(*pair)
        total += len(left) if characters else len(left.split())
    if not total:
        raise InputError("the references hold no words; a word error rate needs some")
    return 100 * distance / total
