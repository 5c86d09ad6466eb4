"""Numbers in the names of legal citations: volume and page of a reporter, title and section of a statute, rules, dockets."""

import re
from collections.abc import Iterator

from long_context_tasks.recast.mention import Mention

_REPORTER = (
    r"(?:U\. ?S\.|S\. ?Ct\.|L\. ?Ed\.(?: ?2d)?|F\. ?(?:2d|3d|4th)|F\. ?Supp\.(?: ?[23]d)?|F\. ?App[’'`]?x\.?|Fed\. ?Appx\.?|F\. ?R\. ?D\.|"
    r"B\. ?R\.|[NS]\. ?[EW]\.(?: ?[23]d)?|So\.(?: ?[23]d)?|A\.(?: ?[23]d)|P\.(?: ?[23]d)|Cal\. ?(?:Rptr|App)\.(?: ?[2-4](?:d|th))?|WL|"
    r"I\. ?& ?N\. ?Dec\.|P\. ?R\. ?R\.|D\. ?P\. ?R\.|Mass\.(?: App\. Ct\.)?|N\. ?H\.|R\. ?I\.|Me\.|Fed\. ?Cl\.|T\. ?C\.|F\.|Fed\. ?Reg\.|Stat\.)"
)
_CASE = re.compile(
    rf"\b(?P<volume>\d{{1,4}}) (?P<reporter>{_REPORTER}),? ?(?:at )?(?P<page>\d{{1,7}})(?P<pins>(?:[-–]\d+)?(?:, \d+(?:[-–]\d+)?(?! [A-Z]))*)"
)
_STATUTE = re.compile(
    r"\b(?P<title>\d{1,2}) (?P<code>U\. ?S\. ?C\.(?: ?A\.)?|C\. ?F\. ?R\.|[A-Z]\w*\. ?(?:Gen\. ?)?(?:Laws|Stat)\.?(?: Ann\.)?)"
    r"(?: ?(?:§+|[Ss]ections?|[Pp]ts?\.|[Pp]arts?|ch\.))? ?(?P<section>\d+[a-z]{0,2}(?:-\d+)?)"
)
# Of several sections the later ones too: "sections 327, 328 and 330".
_LISTED = r"\d+[a-z]{0,2}(?:-\d+)?(?:\([0-9a-zA-Z]{1,4}\))*(?:,? (?:and|or|to|through|&) |, |[-–])"
_SECTION = re.compile(
    rf"(?:(?:§§ ?|\b(?:[Ss]ections|[Rr]ules) )(?P<sections>(?:{_LISTED}){{1,8}}\d+[a-z]{{0,2}}(?:-\d+)?)"
    r"|(?:§+ ?|\b(?:[Ss]ections?|[Rr]ules?|Fed\. ?R\. ?[A-Z]\w*\. ?(?:P\. ?)?) ?)(?P<section>\d+[a-z]{0,2}(?:-\d+)?))\b"
)
_DOCKET = re.compile(r"\bNos?\. (?:\d\d-\d{3,5}(?:, |,? and | & )?)+")
_NUMBER = re.compile(r"\d+")


def citation_mentions(text: str) -> Iterator[Mention]:
    """Yield the numbers of citations; what they belong to stands in the key: ``page|F.3d|678|10``."""
    taken = 0
    found = (match for pattern in (_CASE, _STATUTE, _SECTION, _DOCKET) for match in pattern.finditer(text))
    for match in sorted(found, key=lambda match: (match.start(), -match.end())):
        if match.start() < taken:
            continue
        taken = match.end()
        named = match.groupdict()
        if "volume" in named:
            series = re.sub(r"\s", "", named["reporter"])
            yield Mention(*match.span("volume"), "citation", f"volume|{series}|{named['volume']}")
            start = match.start("page")
            for number in _NUMBER.finditer(text, start, match.end()):
                yield Mention(*number.span(), "citation", f"page|{series}|{named['volume']}|{number[0]}")
        elif "title" in named:
            code = re.sub(r"\s", "", named["code"])
            yield Mention(*match.span("title"), "citation", f"title|{code}|{named['title']}")
            yield from _digits(text, *match.span("section"), "section")
        elif "section" in named:
            which = "sections" if named["sections"] else "section"
            yield from _digits(text, *match.span(which), "section")
        else:
            yield from _digits(text, *match.span(), "docket")


def _digits(text: str, start: int, end: int, key: str) -> Iterator[Mention]:
    for number in _NUMBER.finditer(text, start, end):
        yield Mention(*number.span(), "citation", f"{key}|{number[0]}")
