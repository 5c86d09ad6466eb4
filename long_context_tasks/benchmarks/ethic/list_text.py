"""How models write lists: what stands around an item, and is no part of it, in responses to the tasks and in annotators' answers."""

import re

NONE = "none"
"""The answer that there is nothing to list, in lower case."""
AROUND = " \t\r\n.,:;!?\"'`*_“”‘’«»[](){}<>#"
"""Characters to be stripped from both ends of an item."""
LIST_MARK = re.compile(r"^\s*(?:[-*•–—+]\s+|\(?\d{1,3}[.)]\s+(?=\S))")
"""A bullet or a number before the item that follows in the same line; only at the beginning of a string."""
LEADING_NONE = re.compile(
    r"[\W_]*(?:none\b(?!-)|n/a\b|no (?:characters?|names?|people|persons?|speakers?|numbers?|citations?)\b)",
    re.IGNORECASE,
)
"""For ``match``: an answer that begins with "None" or the like, whatever it explains behind it."""
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
"""The comma inside a number such as 1,234; it is in "123,456" too, so a list must be known to have other separators."""
