"""Reads abstracts as a careful reader would: regular expressions over the finished text, nothing from the writer."""

import re
from collections.abc import Mapping

_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
VALUES = {word: number for number, word in enumerate(_UNITS.split())}
VALUES |= {word: 10 * number for number, word in enumerate(_TENS.split(), start=2)}
_ONE = "|".join(sorted(VALUES, key=len, reverse=True))


def in_digits(text: str) -> str:
    """The text with numbers in words written in digits, and thousands without commas."""

    def value(match: re.Match[str]) -> str:
        total = 0
        for word in re.findall(r"[a-z]+", match[0].lower()):
            total = total * 100 if word == "hundred" else total + VALUES.get(word, 0)
        return str(total) + (" and" if match[0].lower().endswith(" and") else "")

    words = re.compile(
        rf"\b(?:{_ONE})(?:-(?:{_ONE}))?(?: hundred(?: and (?:{_ONE})(?:-(?:{_ONE}))?)?)?\b(?!-)", re.I
    )
    return re.sub(r"(?<=\d),(?=\d{3}\b)", "", words.sub(value, text))


N = r"(?<![\d.])(\d+)(?![\d%]|\.\d)"
WHO = (
    r"(?:people|persons|individuals|entrants|participants|patients|subjects|inclusions|volunteers|recruits|candidates|referrals|"
    r"outpatients|referred cases|inhabitants|assessors|observers|specialists|nurses|physicians|interviewers|pharmacists|members|"
    r"outside experts|judges)"
)
DID = (
    r"(?:went to the|were placed in the|made up the|moved away|withdrew|were lost|stopped early|never started|refused the|"
    r"were eligible|qualified|gave consent|entered|completed|finished|remained until|could be|having left|later\b|afterwards|left,|"
    r"gave up|were excluded|could not be found|stayed|reached the end|had |reported|took |wore |lived |slept |with the drug|"
    r"under the drug|of the controls|in the comparison group|on the other side|were free of|were up and|were able|were off|"
    r"treated and|actively treated and|required|asked for|asked to go on|never missed|needed|because of|owing to|were admitted|"
    r"spent|were left|were short|were born|were from|were new|were related|the alternative|who were approached|for the drug|"
    r"to be treated|for comparison|as controls|received|served as|formed the|the other|the comparison group|the reference group|"
    r"under comparison|among controls|otherwise|without it|but stopped|but closed|traced|still|who had left)"
)
ADJECTIVES = r"(?:heavier|lighter|never treated|most severely ill|consecutive|control|comparison) "
COUNTS = (
    rf"{N} (?:{ADJECTIVES})?{WHO}\b",
    rf"{N} {DID}",
    rf"\bn = {N}",
    rf"(?:closed the books|stopped) at {N}",
    rf"(?:numbered|made up of|comprised|together they entered|yield was|brought in) {N}",
    rf"{N}, (?:of whom|and among these)",
    rf"in {N} (?:of|out of) \d+ (?:with|under) the drug",
    rf"and in {N} of \d+ (?:without|in the comparison|otherwise)",
    rf"(?:covers|includes|rests on|records of|Diaries from|Data on) {N}",
    rf"\({N} in all\) (?:gave|returned) \d+ (?:diaries|forms|letters)",
    rf"{N} of the \d+ (?:short|left|newly|worst|light)",
    rf"of the {N} (?:short|left|newly|worst|light)",
    rf"reached {N} of the",
    rf"(?:mentioned|reported) by {N}, (?:among them|including)",
)


def counts(text: str) -> set[str]:
    """Counts of people in a text, as digits."""
    plain = in_digits(text)
    return {match[1] for pattern in COUNTS for match in re.finditer(pattern, plain)}


AGE = {
    "child": r"primary school|not reached their teens|young children|small children|infants|schoolchildren|boys and girls$|^children",
    "teen": r"(?<!reached their )teens|adolescent|teenager|secondary|young people still",
    "adult": r"working age|middle life|middle-aged|between youth|working men|employed|not yet near",
    "old": r"elderly|pensioner|aged$|nursing|retired|older|past retirement",
}
ASK_AGE = {
    "child": r"hardly begun|before the teens|schooling|childhood proper",
    "teen": r"childhood and majority|^the teens|no longer children|adolescence|growing youths",
    "adult": r"middle of life|earn their living|working years|well short of old|midlife",
    "old": r"^old age|advanced age|last third|left work for good|late life",
}
HOW = {
    "random": r"computer-drawn|shuffled envelope|coin|lots were|randomised|random",
    "calendar": r"weekday|odd months|month of birth|date of birth|first of each month|season|turn and turn",
    "choice": r"chose|preferred|as he saw fit|wishes|discretion|asked for the drug",
    "records": r"old case notes|archive|past prescriptions|ledgers|retrospect|billing",
}
ASK_HOW = {
    "random": r"chance|luck of the draw",
    "calendar": r"calendar|date-bound|almanac|rule of time",
    "choice": r"freely elected|consulting room|preference|free decision|opted",
    "records": r"backward|documents|files kept",
}
AGAINST = {
    "inert": r"placebo|dummy|sugar pills|lactose|inert|lookalike",
    "wait": r"no treatment|waiting|expectant|without any remedy|nothing at all",
    "diet": r"diet|oats|prescribed meals|fasting",
    "move": r"exercise|gymnastics|physiotherapy|walking|stretching|treadmill",
    "usual": r"established|long-used|conventional|standard|most hospitals|older agent|reference",
}
ASK_AGAINST = {
    "inert": r"no active substance|imitations|make-believe|mock|sham",
    "wait": r"leaving well|doing nothing|course|passage of time",
    "diet": r"what people eat|nutrition|kitchen|table|food",
    "move": r"bodily activity|muscles|movement|work of the body",
    "usual": r"customary|usual before|long standing|traditional",
}
PARTS = (
    r"(?:We studied|Our subjects were|The study enrolled|Enrolled were|We recruited) (?P<who>.+?) with (?P<ill>[\w-]+ [\w ]+?), who "
    r"(?:took|were to take|received) (?P<drug>\w+) or (?P<versus>.+?); (?P<way>.+?)\.",
    r"In the present study \(.+?\), (?P<way>.+?)\. (?:Eligible were|Entry was open to|It was made up of) (?P<who>.+?) with (?P<ill>[\w -]+?), "
    r"and (?P<drug>\w+) was (?:compared with|weighed against|set against) (?P<versus>.+?)\.",
    r"(?P<drug>\w+) was (?:tested|tried) (?:here|in our own study) against (?P<versus>.+?) in (?P<who>.+?) "
    r"(?:suffering from|treated for|with) (?P<ill>[\w -]+?)\. (?:For the \w+ protocol|At the [\w ]+|In the wards of \w+), (?P<way>.+?)\.",
    r"(?:We compared|Our study compared|Here we compare) (?P<drug>\w+) with (?P<versus>.+?) (?:for|as treatment for) (?P<ill>[\w -]+?) "
    r"in (?P<who>.+?); (?P<way>.+?)\.",
    r"(?:At|From) the [\w ]+?, (?P<who>.+?) with (?P<ill>[\w -]+?) were (?:entered|included); (?P<way>.+?)\. They were given (?:either )?"
    r"(?P<drug>\w+) or (?P<versus>.+?)\.",
)
BACKGROUND = (
    r"what (?P<drug>\w+) (?:does|achieves|can do) for (?P<ill>[\w -]+?) in (?P<who>.+?),? (?:judged against|when set against|as measured "
    r"against) (?P<versus>.+?)\. (?:As to design|For inclusion|To be counted) \(.+?\), (?P<way>.+?)\.",
    r"was to (?:weigh|sum up|judge) (?P<drug>\w+) (?:for|in) (?P<ill>[\w -]+?): the (?:setting|age of interest) was (?P<who>.+?), the "
    r"(?:yardstick|alternative|foil) (?P<versus>.+?), and (?P<way>.+?)\.",
    r"(?:concerned|had to concern) (?P<ill>[\w -]+?) in (?P<who>.+?), (?:tested|had to test) (?P<drug>\w+) and (?:used|had to use) "
    r"(?P<versus>.+?) (?:as its yardstick|for comparison); (?:moreover|besides|in addition), (?P<way>.+?)\.",
    r"(?:With regard to design|In all that we used) \(.+?\), (?P<way>.+?)\. (?:The illness was|We confined ourselves to) (?P<ill>[\w -]+?) in "
    r"(?P<who>.+?), (?:the treatment|the remedy) (?P<drug>\w+), (?:and the comparison|and its rival) (?P<versus>.+?)\.",
)


def _kind(text: str, kinds: dict[str, str]) -> str:
    found = [name for name, pattern in kinds.items() if re.search(pattern, text, re.IGNORECASE)]
    return found[0] if len(found) == 1 else f"{found} in {text!r}"


def _age(text: str) -> str:
    if years := re.search(r"(\d+) (?:to|and) (\d+) years", text):
        high = int(years[2])
        return "child" if high < 13 else "teen" if high < 18 else "adult" if high < 60 else "old"
    return _kind(text, AGE)


def _found(text: str, patterns: tuple[str, ...]) -> dict[str, str]:
    matches = [match for pattern in patterns if (match := re.search(pattern, text))]
    return matches[0].groupdict() if len(matches) == 1 else {}


def study_features(abstract: str) -> tuple[str, ...] | None:
    """Illness, drug, age, way and comparison of a study; None where the abstract cannot be read."""
    kept = [
        sentence
        for sentence in re.split(r"(?<=[.:]) (?=[A-Z])", abstract)
        if not re.search(r"[Ee]arlier|[Pp]revious|^So far|^Until now|^The report of|best known", sentence)
    ]
    part = _found(" ".join(kept), PARTS)
    if not part:
        return None
    return (
        part["ill"].lower(),
        part["drug"].lower(),
        _age(part["who"]),
        _kind(part["way"], HOW),
        _kind(part["versus"], AGAINST),
    )


def asked_features(background: str) -> tuple[str, ...] | None:
    """What a review asks for, in the same order."""
    part = _found(background, BACKGROUND)
    if not part:
        return None
    return (
        part["ill"].lower(),
        part["drug"].lower(),
        _kind(part["who"], ASK_AGE),
        _kind(part["way"], ASK_HOW),
        _kind(part["versus"], ASK_AGAINST),
    )


def included(background: str, abstracts: Mapping[str, str]) -> set[str]:
    """Ids of the studies that meet what the background asks for."""
    asked = asked_features(background)
    return {study for study, abstract in abstracts.items() if study_features(abstract) == asked}
