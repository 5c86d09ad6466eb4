"""What of a token is a word: punctuation around it, its case, and tags that noise must not touch."""

import re
from dataclasses import dataclass
from functools import lru_cache

# (PERSON4), [ORGANIZATION2], [OTHER], <laugh/>, <parallel_talk>, also broken ones: whatever brackets something.
_TAG = re.compile(r"[\[\]<>]|\([A-Z]+\d*\)")
_CORE = re.compile(r"^([\W_]*)(.*?)([\W_]*)$", re.DOTALL)
_APOSTROPHES = str.maketrans("’‘´`", "''''")
_FIRST_PERSON = re.compile(r"\bi\b")
_AS_IT_IS, _CAPITAL, _UPPER = range(3)


@dataclass(frozen=True)
class Token:
    """What stands between white space.

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
        """Another form written as the token is: its case and the punctuation around it."""
        if "i" in form:
            form = _FIRST_PERSON.sub("I", form)
        if self.case == _CAPITAL:
            form = form[:1].upper() + form[1:]
        elif self.case == _UPPER:
            form = form.upper()
        return self.before + form + self.behind


def parse_token(token: str) -> Token:
    """Take a token apart."""
    before, core, behind = _parts(token)
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


def _parts(token: str) -> tuple[str, str, str]:
    match = _CORE.match(token)
    assert match is not None  # every string matches
    return match.group(1), match.group(2), match.group(3)


@lru_cache(maxsize=1 << 17)
def _key(token: str) -> str:
    return parse_token(token).key


def words_of(text: str) -> list[str]:
    """Words of a text as rules have them, without tags and tokens that are only punctuation."""
    return [key for key in map(_key, text.split()) if key]
