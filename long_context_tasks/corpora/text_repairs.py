"""Repair running text that was copied from printed pages."""

import re
from collections.abc import Sequence

LETTERS = re.compile(r"[^\W\d_]+")
# A word that a line end cut in two, unlike "two- and threefold".
_BROKEN = re.compile(r"(?<![^\W\d_]-)\b([^\W\d_]+)- (?!(?:and|or|to|nor|but)\b)([^\W\d_]+)")


def one_line(text: str) -> str:
    return " ".join(text.split())


def unbroken(texts: Sequence[str]) -> list[str]:
    """Join words that line ends cut; a word keeps its hyphen unless the texts have it without one elsewhere."""
    words = {word.casefold() for text in texts for word in LETTERS.findall(text)}

    def whole(cut: re.Match[str]) -> str:
        joined = cut[1] + cut[2]
        return joined if cut[2].islower() and joined.casefold() in words else f"{cut[1]}-{cut[2]}"

    return [_BROKEN.sub(whole, text) for text in texts]


def without_spans(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text without the characters in some spans, which are in ascending order."""
    for start, end in reversed(spans):
        text = text[:start] + text[end:]
    return text
