r"""Parse the score in a judge's reply, by the official or by stricter rules.

The official rules (ELITR-Bench's GPT-4 and Prometheus scripts) take the first match anywhere and ignore the
scale. If a judge quotes the response first, they may read the response's own "Score: \boxed{10}". The
stricter rules read only the last score, and only if it ends the reply, as the judge prompts require. If an
earlier score differs, the last one must begin a sentence or a line or follow its label, because a score
within a sentence may be a quotation. An ambiguous reply has no score, so the judge is called again.
"""

import re
from collections.abc import Callable

from long_context_tasks.schema.thinking import without_thinking
from long_context_tasks.schema.wrappers import narrow

Parse = Callable[[str], "float | None"]

NO_BOX = "-1"
NO_RESULT = "-2"
_OFFICIAL_BOX = re.compile(r"\\boxed{(\d+)}")
_OFFICIAL_RESULT = re.compile(r"\[RESULT\] (\d+)")
_JOINED = re.compile(r"\}[\s$]{0,4}(?:[-–—/~]|or|to|and)[\s$]{0,4}\Z", re.IGNORECASE)

# \boxed, also with a doubled backslash, or with one that JSON turned into a backspace or dropped.
_BOX = re.compile(r"\\[bB]oxed|\\fbox|\x08oxed|(?<![A-Za-z\\])boxed(?=\s{0,9}\{)")
_IN_BOX = re.compile(
    r"\s*\{\s*(?!\s)(?:\\(?:text|textbf|mathrm|mathbf|bf)\s*\{([^{}]{0,40})\}|([^{}]{0,40}))\s*\}"
)
_RESULT = re.compile(r"\[\s{0,9}RESULT\s{0,9}\]", re.IGNORECASE)
_AFTER_RESULT = re.compile(
    r"[\s:*_]{0,20}(?:Score[\s:*_]{1,9})?[(\[{]?\s{0,9}([-+]?\d{1,9}(?:[.,]\d{1,9})?)",
    re.IGNORECASE | re.ASCII,
)
_NUMBER = re.compile(r"\s*(\d{1,9})(?:[.,](\d{1,9}))?(?:\s*/\s*(\d{1,9}))?\s*", re.ASCII)
# Punctuation, end-of-turn tokens, closing tags, "points".
_END = re.compile(r"(?:[\s.!$*_)\]}\\]|</?[a-z_|｜▁ ]{1,30}>|-{3,}(?!-)|\bpoints?\b)*\Z", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n`\\\[]*$", re.MULTILINE)
_HEADING = re.compile(
    r"^\s{0,3}(?:#{1,6}\s|(?:\*\*)?(?:Feedback|Response|Question)\b[^\n]{0,40}:)", re.M | re.I
)
# Text before a verdict: a line break, the end of a sentence, or a label.
_OPENS_VERDICT = re.compile(
    r"(?:\A|\n|[.!?][\"')*_]{0,3}\s|\b(?:score|rating|grade|verdict)(?:\s+is)?\s*[:=]?)[\s*_$>#(\\\[-]{0,9}\Z",
    re.IGNORECASE,
)
# "8-9", or "4/10" on another scale.
_GOES_ON = re.compile(r"\s{0,3}(?:[-–—/~]|out of|to|or|and)\s{0,3}\\{0,3}[\d({b]", re.IGNORECASE)


def official_boxed(reply: str) -> str:
    r"""Return the official GPT judge's score: the digits of the first ``\boxed{digits}``, otherwise "-1".

    >>> official_boxed(r"It says \boxed{10}. Wrong. \boxed{02}"), official_boxed(r"\boxed{ 7 }")
    ('10', '-1')
    """
    match = _OFFICIAL_BOX.search(reply)
    return match[1] if match else NO_BOX


def official_result(reply: str) -> str:
    """Return the official Prometheus judge's score: the first ``[RESULT] digits`` doubled, otherwise "-2".

    >>> official_result("Feedback: good. [RESULT] 4"), official_result("[RESULT]: 4")
    ('8', '-2')
    """
    match = _OFFICIAL_RESULT.search(reply)
    try:
        return str(2 * int(match[1])) if match else NO_RESULT
    except ValueError:
        # More digits than Python converts; the official script raises an error.
        return NO_RESULT


def last_boxed(low: float, high: float, *, decimals: bool = False, closing: bool = True) -> Parse:
    r"""Return a parser for the last ``\boxed{number}`` in a reply.

    If the last box is malformed, a range ("8-9") or outside the scale, the reply has no score: an earlier box
    does not replace it.

    >>> parse = last_boxed(1, 10)
    >>> parse(r"It says \boxed{10}. Wrong. Score: \boxed{2}"), parse(r"It says \boxed{10}, which is wrong.")
    (2.0, None)

    Args:
        decimals: whether 8.5 is a score; 8.0 always is.
        closing: whether only punctuation and "out of 10" may follow. Otherwise any text without a heading may
            follow, because some judges explain afterwards; a quoted box then counts if the judge writes none
            of its own.
    """
    return _last_score(_BOX, _IN_BOX, low, high, decimals, closing)


def last_result(low: float, high: float, *, decimals: bool = False, closing: bool = True) -> Parse:
    """Return a parser for the last ``[RESULT] number`` in a reply (Prometheus), without doubling it.

    >>> parse = last_result(1, 5)
    >>> parse("It says [RESULT] 5. Wrong. [RESULT] (1)"), parse("[RESULT] 4.5"), parse("[RESULT] 4/5")
    (1.0, None, 4.0)

    The arguments are those of :func:`last_boxed`.
    """
    return _last_score(_RESULT, _AFTER_RESULT, low, high, decimals, closing)


def _last_score(
    mark: re.Pattern[str], number: re.Pattern[str], low: float, high: float, decimals: bool, closing: bool
) -> Parse:
    out_of = rf"[)\]}}*$]{{0,3}}\s{{0,3}}(?:/|out of)\s{{0,3}}{high:g}(?!\w|[.,]\d)"

    def value_of(match: re.Match[str]) -> float | None:
        found = _NUMBER.fullmatch(match[match.lastindex or 0])
        if found is None or (found[3] is not None and float(found[3]) != high):
            return None
        value = float(f"{found[1]}.{found[2] or 0}")
        return value if low <= value <= high and (decimals or value == int(value)) else None

    def parse(reply: str) -> float | None:
        answer = without_thinking(reply)
        # An unclosed mark after other text is a quotation; a reply that is all unfinished thinking has no
        # verdict.
        quoted = answer.unclosed and answer.text.strip()
        text = _FENCE.sub("", narrow(reply if quoted else answer.text))
        marks = list(mark.finditer(text))
        found = number.match(text, marks[-1].end()) if marks else None
        if found is None:
            return None
        before, rest = text[: marks[-1].start()], text[found.end() :]
        if before.endswith("`") and rest.startswith("`") and _OPENS_VERDICT.search(before.rstrip("`")):
            before, rest = before.rstrip("`"), rest.lstrip("`")
        if mark is _BOX and _JOINED.search(before[-14:]):
            return None
        value = value_of(found)
        earlier = {value_of(match) for each in marks[:-1] if (match := number.match(text, each.end()))}
        # If an earlier score differs, a score within a sentence may be a quotation.
        if earlier - {None, value} and _OPENS_VERDICT.search(before) is None:
            return None
        if scale := re.match(out_of, rest, re.IGNORECASE | re.ASCII):
            rest = rest[scale.end() :]
        elif _GOES_ON.match(rest):
            return None
        if _END.match(rest):
            return value
        return None if closing or _HEADING.search(rest) else value

    return parse
