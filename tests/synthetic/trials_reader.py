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
    r"referred cases|inhabitants|assessors|observers|specialists|nurses|physicians|interviewers|pharmacists|members|"
    r"outside experts|judges)"
)
DID = (
    r"(?:formed the|made up the|moved away|withdrew|were lost|stopped early|never started|refused the|"
    r"were eligible|qualified|gave consent|entered|completed|finished|could be|having left|later\b|afterwards|left,|"
    r"gave up|were excluded|could not be found|stayed|reached the end|had |reported|took |wore |lived |slept |with the drug|"
    r"under the drug|of the controls|in the comparison group|were free of|were up and|were off|"
    r"treated and|actively treated and|required|asked for|asked to go on|never missed|needed|because of|owing to|were admitted|"
    r"spent|were born|were from|were new|were related|the alternative|for the drug|"
    r"for comparison|as controls|received|served as|the comparison group|the reference group|"
    r"under comparison|among controls|otherwise|without it|but stopped|but closed|traced|still)"
)
ADJECTIVES = r"(?:consecutive|control|comparison) "
COUNTS = (
    rf"{N} (?:{ADJECTIVES})?{WHO}\b",
    rf"{N} {DID}",
    rf"\bn = {N}",
    rf"(?:closed the books|stopped) at {N}",
    rf"(?:together they entered|they brought in) {N}",
    rf"{N}, (?:of whom|and among these)",
    rf"in {N} (?:of|out of) \d+ (?:with|under) the drug",
    rf"and in {N} of \d+ (?:without|in the comparison|otherwise)",
    rf"(?:covers|includes|rests on|records of|Data on) {N}",
    rf"\({N} in all\) (?:gave|returned) \d+ (?:diaries|forms|letters)",
    rf"{N} of the \d+ (?:short|left|worst)",
    rf"of the {N} (?:short|left|worst)",
    rf"reached {N} of the",
    rf"(?:mentioned|reported) by {N}, (?:among them|including)",
)


def counts(text: str) -> set[str]:
    """Counts of people in a text, as digits."""
    plain = in_digits(text)
    return {match[1] for pattern in COUNTS for match in re.finditer(pattern, plain)}


AGE = {
    "child": r"primary school|not reached their teens|young children|small children|infants|schoolchildren|boys and girls$|^children",
    "teen": r"(?<!reached their )teens|adolescent|teenager|secondary|young people who",
    "adult": r"working age|middle life|middle-aged|between youth|working men|employed|not yet near",
    "old": r"elderly|pensioner|aged$|nursing|retired|older|past retirement",
}
ASK_AGE = {
    "child": r"before puberty|before the teens|schooling|first years of life",
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
    "move": r"bodily activity|muscular|muscles|movement",
    "usual": r"customary|usual before|long standing|traditional",
}
PARTS = (
    r"(?:We studied|The study enrolled|Enrolled were|We recruited) (?P<who>.+?) with (?P<ill>[\w-]+ [\w ]+?), who "
    r"(?:were given|were to receive|received) (?P<drug>\w+) or (?P<versus>.+?); (?P<way>.+?)\.",
    r"In the present study \(.+?\), (?P<way>.+?)\. (?:Eligible were|Entry was open to) (?P<who>.+?) with (?P<ill>[\w -]+?), "
    r"and (?P<drug>\w+) was (?:compared with|weighed against|set against) (?P<versus>.+?)\.",
    r"(?P<drug>\w+) was (?:tested|tried) (?:here|in our own study) against (?P<versus>.+?) in (?P<who>.+?) "
    r"(?:suffering from|treated for|with) (?P<ill>[\w -]+?)\. (?:Under the \w+ protocol|At the [\w ]+|In the wards of \w+), (?P<way>.+?)\.",
    r"(?:We compared|Our study compared|Here we compare) (?P<drug>\w+) with (?P<versus>.+?) (?:for|as treatment for) (?P<ill>[\w -]+?) "
    r"in (?P<who>.+?); (?P<way>.+?)\.",
    r"At the [\w ]+?, (?P<who>.+?) with (?P<ill>[\w -]+?) were (?:enrolled|included); (?P<way>.+?)\. They were given (?:either )?"
    r"(?P<drug>\w+) or (?P<versus>.+?)\.",
)
BACKGROUND = (
    r"what (?P<drug>\w+) (?:does|achieves|can do) for (?P<ill>[\w -]+?) in (?P<who>.+?), (?:judged against|when set against|as measured "
    r"against) (?P<versus>.+?)\. (?:As to design|For inclusion|To be counted) \(.+?\), (?P<way>.+?)\.",
    r"was to (?:weigh|assess|judge) (?P<drug>\w+) (?:for|in) (?P<ill>[\w -]+?) in (?P<who>.+?), with (?P<versus>.+?) as the "
    r"(?:yardstick|alternative|comparison); (?:moreover|besides|in addition), (?P<way>.+?)\.",
    r"had to concern (?P<ill>[\w -]+?) in (?P<who>.+?), to test (?P<drug>\w+) and to use "
    r"(?P<versus>.+?) (?:as its yardstick|for comparison); (?:moreover|besides|in addition), (?P<way>.+?)\.",
    r"(?:With regard to design|In all that we used) \(.+?\), (?P<way>.+?)\. (?:The illness was|We confined ourselves to) (?P<ill>[\w -]+?) in "
    r"(?P<who>.+?), (?:the treatment|the remedy) was (?P<drug>\w+), and the comparison was (?P<versus>.+?)\.",
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


_P = r"p (?P<sign>[<=]) (?P<p>0\.\d+)"
_INTERVAL = r"(?:\d+% )?confidence interval (?P<low>-?[\d.]+) to (?P<high>-?[\d.]+)"
# How two groups differ: a pattern, and whether more is better with the drug.
COMPARISONS = (
    (
        rf"(?:Improvement|response|Recovery) was \w+ in (?P<a>\d+) (?:out )?of (?P<na>\d+) .*?and in (?P<b>\d+) of (?P<nb>\d+) [^.(]*\({_P}",
        True,
    ),
    (
        rf"improvement on [^.]*? was (?P<a>[\d.]+) points with the drug \w+ (?P<b>[\d.]+) without it \(.*?{_P}",
        True,
    ),
    (rf"(?P<a>\d+) days with the drug (?:and|against) (?P<b>\d+) days without it \({_P}", False),
    (rf"there were (?P<a>\d+) [\w-]+ on the drug and (?P<b>\d+) off it \({_P}", False),
)
GOOD = r"effective|helpful|superior|support|(?:speak|argue) for|(?:benefit|advantage) seen|drug improved|can be offered|consider|try"
POOR = r"inferior|against|disadvantage|harm seen|were worse|should not be offered|prefer the alternative"
SAME = r"no better|do not support|would appear|no difference|kept in reserve|left to further|no gain|choose freely"


def comparisons(abstract: str) -> list[str]:
    """What each comparison of the groups comes to: "better" with the drug, "same" or "worse"."""
    text, found = in_digits(abstract), []
    for pattern, more in COMPARISONS:
        for match in re.finditer(pattern, text):
            one, other = float(match["a"]), float(match["b"])
            if "na" in match.re.groupindex:
                one, other = one / float(match["na"]), other / float(match["nb"])
            clear = match["sign"] == "<" or float(match["p"]) < 0.05
            found.append("same" if not clear else "better" if (one > other) == more else "worse")
    for pattern, none, more in (
        (rf"estimated effect[^.]* to -?[\d.]+ points \({_INTERVAL}", 0, True),
        (rf"hazard ratio [\d.]+, {_INTERVAL}", 1, False),
    ):
        for match in re.finditer(pattern, text):
            low, high = float(match["low"]), float(match["high"])
            found.append("same" if low <= none <= high else "better" if (low > none) == more else "worse")
    return found


def conclusion(abstract: str) -> str:
    """What the last sentence says of the drug."""
    last = re.split(r"(?<=[.:]) (?=[A-Z])", abstract)[-1]
    if re.search(SAME, last):
        return "same"
    return "worse" if re.search(POOR, last) else "better" if re.search(GOOD, last) else last
