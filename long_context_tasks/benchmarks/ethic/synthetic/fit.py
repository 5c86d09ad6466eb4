"""Cut the paragraphs of a written document to a number of tokens, and keep the labels that are still in the text."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from long_context_tasks.synthetic.document import Paragraph, filled
from long_context_tasks.synthetic.numbers import in_words
from long_context_tasks.tokens.chunks import JOINT

Count = Callable[[str], int]
_SENTENCE_END = re.compile(r"[.?!][\"”’)]*(?=\s+[\"“‘(]*[A-Z])")
# "Capt.", "the hon. Member": after such a word the text is not cut, because it may not be the end of a sentence.
_ABBREVIATION = re.compile(r"\b(?:[A-Z]\w{0,4}|hon|vol|no|pp?|ss?|cl|art|ch|v|cf|etc)\.$")
_PAIRS = (("“", "”"), ("(", ")"), ("[", "]"))


def has_number(label: str, text: str) -> bool:
    """Return whether a text contains a number as a separate word: in digits or, below 1,000, in words."""
    number = int(label)
    forms = (label, f"{number:,}", *((in_words(number),) if number < 1000 else ()))
    # Words may begin a sentence.
    return (
        re.search(rf"(?<!\w)(?<!\d[.,])(?:{'|'.join(forms)})(?!\w|[.,]\d)", text, re.IGNORECASE) is not None
    )


def shortened(paragraph: Paragraph, end: int) -> Paragraph | None:
    """Return a paragraph up to an offset in its text, with the labels that are left; None if it cannot be cut there."""
    # Not at an abbreviation, nor where a quotation or a parenthesis would stay open.
    kept, rest = paragraph.text[:end].rstrip(), paragraph.text[end:]
    if (
        _ABBREVIATION.search(kept)
        or any(kept.count(first) != kept.count(last) for first, last in _PAIRS)
        or kept.count('"') % 2
    ):
        return None
    labels = []
    for label in paragraph.labels:
        # A label in both parts may count people in only one of them.
        there = has_number(label, kept)
        if there == has_number(label, rest):
            return None
        if there:
            labels.append(label)
    return Paragraph(kept, tuple(labels), paragraph.reported if paragraph.reported <= len(kept) else 0)


def shorter_forms(paragraph: Paragraph) -> Iterator[Paragraph]:
    """Yield the paragraph without its last sentence, its last two, and so on."""
    for match in reversed(list(_SENTENCE_END.finditer(paragraph.text))):
        if (shorter := shortened(paragraph, match.end())) is not None:
            yield shorter


def fit(
    paragraphs: Iterable[Paragraph], room: int, slack: int, count: Count, fillers: Sequence[str]
) -> list[Paragraph]:
    """Return the first paragraphs that fit ``room`` tokens, the last one shortened to whole sentences."""
    taken: list[Paragraph] = []
    left = room
    for paragraph in paragraphs:
        # Tried lazily, because nearly every paragraph fits as it is.
        candidates = chain((paragraph,), () if left < slack else shorter_forms(paragraph))
        sized = ((each, count(each.text + JOINT)) for each in candidates)
        shorter, size = next((pair for pair in sized if pair[1] <= left), (None, 0))
        if shorter is not None:
            taken.append(shorter)
            left -= size
        if shorter is not paragraph:
            break
    return with_fillers(taken, left, slack, count, fillers) if taken else []


def with_fillers(
    paragraphs: Sequence[Paragraph], left: int, slack: int, count: Count, fillers: Sequence[str]
) -> list[Paragraph]:
    """Add short sentences to the last paragraph until at most ``slack`` of ``left`` tokens are free."""
    *before, last = paragraphs
    size = count(last.text + JOINT)
    text, _ = filled(
        sorted(fillers, key=len, reverse=True),
        lambda added: " ".join((last.text, *added)),
        lambda text: count(text + JOINT),
        size + left - slack,
        size + left,
    )
    return [*before, replace(last, text=text)]
