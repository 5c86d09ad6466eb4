"""Where texts may be cut: into chunks of limited size, every text encoded once, and behind sentences, in spite of abbreviations."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from long_context_tasks.tokens.tokenizers import Tokenizer

JOINT = "\n\n"
# Not after abbreviations of names of cases and reporters ("Inc.", "Cir.", "v."), which are short or followed by small letters.
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)]{3}[.?!])[\"”’)]*\s+(?=[\"“‘(\[]*[A-Z])")
_WORD_END = re.compile(r"(?<=\S)\s+")


@dataclass(frozen=True)
class Text:
    """A text that is never joined with the one before it: a paragraph, a speech, an abstract, a page.

    Attributes:
        text: without white space at its ends.
        part: number of the document that it belongs to, from 0.
    """

    text: str
    part: int = 0


@dataclass(frozen=True)
class Piece:
    """A text with its number of tokens, the blank line behind it included."""

    text: str
    tokens: int
    part: int = 0


@dataclass(frozen=True)
class Chunk:
    """Pieces that follow one another."""

    pieces: tuple[Piece, ...]

    @cached_property
    def text(self) -> str:
        """The pieces with blank lines between them."""
        return JOINT.join(piece.text for piece in self.pieces)

    @cached_property
    def tokens(self) -> int:
        """Tokens, the blank line at the end included."""
        return sum(piece.tokens for piece in self.pieces)


def pieces_of(texts: Iterable[Text], cap: int, tokenizer: Tokenizer) -> Iterator[Piece]:
    """Texts as pieces of at most ``cap`` tokens; the words and their order stay.

    A single word of more tokens than that is split between characters.
    """
    for text in texts:
        for part in _split(text.text.strip(), cap, tokenizer):
            yield Piece(part, _count(part, tokenizer), text.part)


def _count(text: str, tokenizer: Tokenizer) -> int:
    return tokenizer.count(text + JOINT)


def _split(text: str, cap: int, tokenizer: Tokenizer) -> list[str]:
    if not text:
        return []
    # A byte makes one token at most, so short texts need no counting here; what is counted is remembered.
    if len(text) * 4 + len(JOINT) <= cap or _count(text, tokenizer) <= cap:
        return [text]
    for pattern in (_SENTENCE_END, _WORD_END):
        parts = _cut_at(text, pattern)
        if len(parts) > 1:
            return _joined(
                [piece for part in parts for piece in _split(part, cap, tokenizer)], cap, tokenizer
            )
    half = len(text) // 2
    return (
        [text] if half == 0 else [*_split(text[:half], cap, tokenizer), *_split(text[half:], cap, tokenizer)]
    )


def _cut_at(text: str, pattern: re.Pattern[str]) -> list[str]:
    """Parts of a text; quotes that close a sentence stay with it."""
    parts, start = [], 0
    for match in pattern.finditer(text):
        end = match.start() + len(match[0].rstrip())
        parts.append(text[start:end])
        start = match.end()
    return [part for part in (*parts, text[start:]) if part]


def _joined(parts: Sequence[str], cap: int, tokenizer: Tokenizer) -> list[str]:
    """Neighbours put together again as long as they fit; counts of parts are an upper bound of that of the whole."""
    counts = tokenizer.count_many([f" {part}" for part in parts])
    joined: list[list[str]] = []
    size = 0
    for part, count in zip(parts, counts, strict=True):
        # The blank line behind a piece, and the first word's lost blank, count two at most.
        if joined and size + count + 2 <= cap:
            joined[-1].append(part)
            size += count
        else:
            joined.append([part])
            size = count
    return [" ".join(group) for group in joined]


def chunks_of(pieces: Iterable[Piece], cap: int) -> Iterator[Chunk]:
    """Join pieces, none of more than ``cap`` tokens, to chunks of at most ``cap`` tokens, each as full as whole pieces allow."""
    waiting: list[Piece] = []
    size = 0
    for piece in pieces:
        if waiting and size + piece.tokens > cap:
            yield Chunk(tuple(waiting))
            waiting, size = [], 0
        waiting.append(piece)
        size += piece.tokens
    if waiting:
        yield Chunk(tuple(waiting))


# The mark of a note may stand behind it: "We affirm.12 The".
_END = re.compile(r"(?:[.!?][\"”’)\]]*|(?<=[a-z\"”’)])[.!?][\"”’)\]]*\d{1,2})(?=\s+[\"“‘(\[]*[A-Z0-9])")
_ABBREVIATIONS = (
    "Mr Mrs Ms Dr St Hon Rev Messrs Mme Mlle Prof Sen Rep Gov Gen Col Capt Lt Sgt Maj Esq Jr Sr "
    "No Nos Inc Corp Co Ltd Bros v vs Cir Ct Supp Fed App Civ Crim Bankr Const Dist Dept Div Ann Stat Sess Cong amend art cl ch "
    "cf Cf e.g i.e al rel viz pp p n nn vol Fig fig"
)
# A single letter is an initial or part of "U.S.".
_ABBREVIATED = re.compile(
    rf"(?:^|(?<=[^\w]))(?:{'|'.join(map(re.escape, _ABBREVIATIONS.split()))}|[A-HJ-Z])$"
)
_LONGEST = 8


def sentence_ends(text: str) -> list[int]:
    """Return the offsets behind the sentences of a text, closing quotes included; the end of the text is none.

    Where a sentence ends in an abbreviation, it goes on with the next one.

    >>> text = 'Mr. Darcy left. "In U.S. v. Roe, No. 7?" He read.'
    >>> [text[:end] for end in sentence_ends(text)]
    ['Mr. Darcy left.', 'Mr. Darcy left. "In U.S. v. Roe, No. 7?"']
    """
    return [
        match.end()
        for match in _END.finditer(text)
        if text[match.start()] != "."
        or not _ABBREVIATED.search(text[max(0, match.start() - _LONGEST) : match.start()])
    ]
