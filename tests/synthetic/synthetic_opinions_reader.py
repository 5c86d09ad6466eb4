"""Reads court opinions as a careful reader would: regular expressions over the finished text, nothing from the writer."""

import re
from collections.abc import Sequence

_N = r"(\d+)"
REPORTER = (
    r"(?:Marr\.(?: App\.)?|Tarn\.|Ost\. App\.|Quay Rep\.|Hest\. L\. J\.|Wend\. Ch\.|Brack\.|Fenn\. Assz\.|Sel\. Jud\.|"
    r"Gildm\. Dec\.|Thorn\.|Harb\. Rolls|Norl\. Q\.)"
)
SERIES = r"[A-Z]\w+(?: (?:of|the|[A-Z]\w+))*"
COURT = (
    r"the (?:Court of (?:Appeal|Claims)|Assize|Chancery|High Bench|Bench of|(?:county|commercial|harbour) court|Osterlin Court|"
    r"magistrates)"
)
ACT = r"(?:(?:[A-Z]\w+|and|of) )*(?:Act(?: on [A-Z]\w+(?: (?:and )?[A-Z]\w+)?)?|Ordinance|Code of [A-Z]\w+)"
CITATIONS = (
    rf"\b{_N} {REPORTER} {_N}(?:, {_N})?",
    rf"(?:volume|vol\.) {_N} of the {SERIES}, (?:page|p\.) {_N}(?: \(and {_N}\))?",
    rf"{REPORTER}, book {_N}, folio {_N}(?:, at {_N})?",
    rf"{REPORTER} {_N}:{_N}(?:, {_N})?",
    rf"reported on page {_N} of volume {_N} of the {SERIES}(?:, note to {_N})?",
    rf"\({SERIES} {_N}, {_N}(?:; {_N})?\)",
    rf"\bNo\. {_N}(?:, joined with No\. {_N},)? of {COURT}",
    rf"(?:docket|cause|roll) {_N} of {COURT}",
    rf"\({COURT}[^()]*, (?:case|suit|docket) {_N}\)",
    rf"(?:section|article) {_N}(?:, with section {_N},)? of the {ACT}\b",
    rf"part {_N}, section {_N}, of the {ACT}\b",
    rf"(?:chapter|Rule) {_N} of the (?:Revised Ordinances|Rules of Process)",
    rf"{ACT}, s\. {_N}",
    rf"{ACT}, ss\. {_N}, {_N}",
    rf"{ACT} \((?:§|art\.|sec\.) {_N}\)",
    rf"{ACT} in its section {_N}",
    rf"{ACT} {_N}\b",
)


def citation_numbers(text: str) -> set[str]:
    """Numbers in citations of cases, statutes and rules."""
    return {
        number
        for pattern in CITATIONS
        for match in re.finditer(pattern, text)
        for number in match.groups()
        if number
    }


WHO = {
    "storage": r"stored goods|storehouse|depositor|warehouse|under lock|the depot|safe keeping",
    "carriage": r"passenger|carrier|traveller|charge of the journey|ticket|coach firm|taken along|coachman",
    "lease": r"a tenant|the landlord|rented rooms|owner of the building|lessee|lessor|rented the premises|had let them",
    "work": r"workman|employer|hired hand|master of the works|weekly wages|paid them|employee|the management",
    "sale": r"a buyer|the seller|a customer|a dealer|purchaser|vendor|that had bought|that had sold",
    "healing": r"a patient|physician|under treatment|the doctor|a sick person|(?-i:healer)|being cured|medical practitioner",
    "inn": r"a guest|innkeeper|overnight lodger|\bthe host\b|room for the night|\bthe inn\b|had slept there|hostelry",
    "loan": r"borrower|\blender|a debtor|a creditor|owed money|it was due|somebody with debts|\bthe bank\b",
    "ward": r"\ban orphan|a guardian|a ward\b|the trustee|under age|administrator of the|without parents|manage its estate",
    "border": r"landowner|owner next door|holder of a plot|adjoining|villager|a neighbour|side of a hedge|household beyond",
}
EVENT = {
    "fire": r"flames|blaze|burnt|ashes",
    "theft": r"thieves|stolen|burglars|made away",
    "delay": r"months late|day agreed|deadline|dragged on",
    "lie": r"false assurance|untrue|deception|misrepresented",
    "flood": r"high water|under water|flooded|the river",
    "fall": r"bad fall|tumbled|misstep|a slip",
    "flaw": r"hidden defect|unsound|beyond inspection|worthless from",
    "forgery": r"forged|not genuine|imitated|signed for another",
    "paper": r"only record|sole document|written proof|produce the papers",
    "noise": r"hammering|the din\b|racket|uproar",
}
PLEA = {
    "release": r"a release|a waiver|rights to sue|promise never",
    "notice": r"no warning|kept silent|required notice|alerted",
    "custom": r"always done it so|\busage\b|same habit|common practice",
    "fault": r"careless too|brought it on itself|ordinary attention|helped to cause",
    "agent": r"without authority|exceeded his|without a mandate|unauthorised",
    "ignorance": r"could not have known|for suspicion|honest belief|good faith",
    "time": r"too many years|lapse of time|period for suing|older than the law",
    "paid": r"settled for a sum|compensation had|payment in full|end the dispute",
    "need": r"necessity|an emergency|urgent danger|lives at risk",
}
HELD = {
    "yes": r"recovery was allowed|claim succeeded|went against the defence|made to pay|the plea failed",
    "no": r"claim was dismissed|recovery was refused|the plea was good|entered for the defence|with nothing",
    "back": r"fresh trial|returned for further|another hearing|was vacated",
}
FEATURES = (WHO, EVENT, PLEA, HELD)
MARK = "[CITATION]"


def _kinds(text: str) -> tuple[str, ...] | None:
    """The four features of the case that a text describes, or None unless each is stated."""
    found = []
    for kinds in FEATURES:
        places = [
            (match.start(), name)
            for name, pattern in kinds.items()
            if (match := re.search(pattern, text, re.IGNORECASE))
        ]
        if not places:
            return None
        found.append(min(places)[1])
    return tuple(found)


def described(text: str) -> list[tuple[str, ...] | None]:
    """The features of the case behind every mark: of the sentence with the mark, and the next three at most, until all four are stated."""
    sentences = re.split(r"(?<=[.?]) (?=[A-Z\"\[])", text)
    found = []
    for place, sentence in enumerate(sentences):
        for _ in range(sentence.count(MARK)):
            case = None
            for more in range(1, 5):
                case = case or _kinds(" ".join(sentences[place : place + more]))
            found.append(case)
    return found


def citing(summary: str, pages: Sequence[str]) -> list[bool]:
    """Which pages describe a case with the features that the target's summary tells."""
    asked = _kinds(summary)
    assert asked is not None
    return [asked in described(page) for page in pages]
