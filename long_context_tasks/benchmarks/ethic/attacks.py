"""Cases as attackers see them (:mod:`long_context_tasks.audit`), and attacks by those who read the builders."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from long_context_tasks.audit.challenge import Challenge, first_places
from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.ethic.prompts import sections_of, split_case
from long_context_tasks.benchmarks.ethic.scoring.repaired import NONE
from long_context_tasks.coverage.items import Parts
from long_context_tasks.schema import Case, Documents, InputError

_OPTION = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_STUDY = re.compile(r"^ID: (\d+)\n", re.MULTILINE)
_SEGMENT = re.compile(r"^<Segment (\d+)>\n", re.MULTILINE)
_TARGET = re.compile(r"### (?:Background|Target Case):\n")
_CARRIERS = {"books": "novels", "debates": "debates", "medicine": "abstracts", "law": "opinions"}


def take_apart(case: Case, documents: Documents) -> list[Challenge]:
    """Return the only turn of a case as attackers see it."""
    spec = catalogue.parse_task(case.task)
    if spec.task == "summarize":
        return [_summarize(sections_of(case, documents), split_case(case, 0, documents), str(spec.split))]
    if spec.task not in _FORMS:
        raise InputError(
            f"{case.task}: attackers take whole documents only; audit the tasks of recall and summarize, which show the same ones"
        )
    context, query = split_case(case, 0, documents)
    return [_FORMS[spec.task](context, query, case.turns[0].gold, spec.split)]


def _recall(context: str, query: str, gold: Sequence[str], domain: str) -> Challenge:
    separator = ", " if domain in ("books", "debates") else "; "
    return Challenge(
        form="list",
        context=context,
        query=query,
        options=(),
        gold=tuple(gold),
        rests=first_places(context, gold),
        write=lambda items: separator.join(items) or "None",
        carrier=_CARRIERS[domain],
    )


def _organize(context: str, query: str, gold: Sequence[str], domain: str) -> Challenge:
    options = _OPTION.findall(query)
    order = tuple([number for number, _ in options].index(one) for one in gold)
    return Challenge(
        form="order",
        context=context,
        query=query,
        options=tuple(text for _, text in options),
        gold=order,
        rests=tuple((at + 1) / len(order) for at in range(len(order))),
        write=lambda places: ", ".join(f"[{options[place][0]}]" for place in places),
        carrier=_CARRIERS[domain],
    )


def _attribute(context: str, query: str, gold: Sequence[str], domain: str) -> Challenge:
    form = _STUDY if domain == "medicine" else _SEGMENT
    _, *parts = form.split(context)
    numbers, texts = parts[::2], [text.strip() for text in parts[1::2]]
    right = tuple(numbers.index(re.sub(r"\D", "", one)) for one in gold if one != NONE)
    ends = list(itertools.accumulate(map(len, texts)))
    title, mark = ("Core IDs", "[%s]") if domain == "medicine" else ("Related Segments", "[Segment %s]")
    target, end, _ = "".join(_TARGET.split(query, 1)[1:]).partition("\n\nNow, label each")
    return Challenge(
        form="subset",
        context="",
        query=target if end else query,
        options=tuple(texts),
        gold=right,
        rests=tuple(ends[place] / ends[-1] for place in right),
        rules={"builder's words": included if domain == "medicine" else citing},
        write=lambda places: f"- {title}: " + (", ".join(mark % numbers[place] for place in places) or NONE),
        carrier=_CARRIERS[domain],
    )


def _summarize(sections: Mapping[str, str], parts: Parts, domain: str) -> Challenge:
    return Challenge(
        form="pages",
        context=parts.context,
        query=parts.query,
        options=tuple(sections.values()),
        gold=(),
        rests=(),
        write=lambda texts: "\n".join(f"{mark} {text}" for mark, text in zip(sections, texts, strict=True)),
        rules={
            "long words": _each(long_words),
            "first half copied": _each(copied),
            "lead sentences": _each(lead),
        },
        carrier=_CARRIERS[domain],
    )


def _each(write: Callable[[str], str]) -> Callable[[Challenge], Sequence[Any]]:
    return lambda challenge: [write(section) for section in challenge.options]


def long_words(section: str) -> str:
    """Every word that is long or no plain word, once."""
    words = dict.fromkeys(re.findall(r"[\w-]+", section))
    return " ".join(word for word in words if len(word) > 4 or not word.islower())


def copied(section: str) -> str:
    """The first half of the words."""
    words = section.split()
    return " ".join(words[: len(words) // 2])


def lead(section: str) -> str:
    """The first sentence of every paragraph."""
    return " ".join(re.split(r"(?<=[.!?]) ", paragraph)[0] for paragraph in section.split("\n\n"))


# Words of the builder, one value a line: as a background asks for it, and as a study says it.
_ASKED = {
    "age": (
        (r"hardly begun|before the teens|years of schooling|childhood proper", r"primary school|reached their teens|young children|infants|schoolchildren|boys and girls"),
        (r"and majority|[^e] the teens|no longer children|adolescence|growing youths", r"(?<!their )teens|adolescent|teenager|secondary|people still"),
        (r"middle of life|earn their|working years|short of old|midlife", r"working|middle|between youth|employed|not yet near"),
        (r"old age|advanced age|last third|left work|late life", r"elderly|pensioner|nursing|retired|older|past retirement"),
    ),
    "way": (
        (r"chance|luck of the draw", r"computer-drawn|shuffled|coin|lots were|random"),
        (r"calendar|date-bound|almanac|rule of time", r"weekday|odd months|of birth|first of each|season|turn and turn|order of arrival"),
        (r"freely elected|consulting|preference|free decision|opted", r"chose|preferred|saw fit|wishes|discretion|asked for the drug"),
        (r"backward|documents|files kept", r"case notes|archive|prescriptions|ledgers|retrospect|billing"),
    ),
    "versus": (
        (r"active substance|imitations|make-believe|mock|sham", r"placebo|dummy|sugar pills|lactose|inert|lookalike"),
        (r"well alone|leaving well|doing nothing|course|passage of time", r"no treatment|waiting|expectant|any remedy|untreated"),
        (r"people eat|nutrition|kitchen|table|food", r"diet|oats|meals|fasting"),
        (r"bodily|muscles|movement|of the body", r"exercise|gymnastics|physiotherapy|walking|stretching|treadmill"),
        (r"customary|usual before|long standing|traditional", r"established|long-used|conventional|standard|most hospitals|older agent"),
    ),
}  # fmt: skip
_EARLIER = re.compile(r"[Ee]arlier|[Pp]revious|^So far|^Until now|^The report of|best known|both |Both ")
_MAIN = re.compile(
    r"who (?:took|were to take|received)|In the present study|tested here|tried in our own|ompared? \w+ with|were (?:entered|included);"
)
_PLAIN = re.compile(
    "treat|illn|cours|year|outcom|stud|follow|benefit|chang|remed|trial|medic|active|scale|after|during|findin|betwe"
)
_YEARS = re.compile(r"\d (?:to|and) (\d+) years")


def included(challenge: Challenge) -> Sequence[int]:
    """Take the studies whose own sentences have the drug, the illness, and words of the age, way and comparison that are asked for."""
    pairs = [pair for values in _ASKED.values() for pair in values if re.search(pair[0], challenge.query)]
    titles = " ".join(option.split("\n")[0].lower() for option in challenge.options)
    asking = [
        sentence
        for sentence in challenge.query.split(". ")
        if any(re.search(words, sentence) for words, _ in pairs)
    ]
    names = {
        word
        for word in re.findall(r"[a-z]{6,}", " ".join(asking).lower())
        if re.search(rf"\b{word}\b", titles) and not _PLAIN.search(word)
    }
    found = []
    for place, study in enumerate(challenge.options):
        own = [
            sentence
            for sentence in re.split(r"(?<=[.:]) (?=[A-Z])", study.split("\n", 1)[1])
            if not _EARLIER.search(sentence)
        ]
        at = [n for n, sentence in enumerate(own) if _MAIN.search(sentence)]
        main = " ".join(own[n] for n in sorted({m for n in at for m in (n, n + 1)}) if n < len(own))
        if years := _YEARS.search(main):
            high = int(years[1])
            main += (
                " boys and girls"
                if high < 13
                else " teenager"
                if high < 18
                else " working"
                if high < 60
                else " elderly"
            )
        met = all(re.search(told, main) for _, told in pairs) and all(name in main.lower() for name in names)
        found += [place] if met else []
    return found


# What cases are about, as summaries and segments alike say it: who sued, what had happened, what was pleaded, how it ended.
_CASES = (
    (
        r"stored|deposit|under lock|safe keeping", r"passenger|travel|ticket|be taken along", r"tenant|rented|lessee",
        r"workman|hired hand|weekly wages|employee", r"buyer|customer|purchaser|had bought", r"patient|treatment|sick|cured",
        r"lent|creditor|bank|debt|borrow", r"ward|guardian|trustee|estate", r"neighbour|adjoining|plot|hedge|next door",
    ),
    (
        r"flames|blaze|burnt|ashes", r"thieves|stolen|burglars|made away", r"months late|day agreed|deadline|dragged on",
        r"assurance|untrue|deception|misrepresented", r"high water|under water|flooded|the river", r"bad fall|tumbled|misstep|a slip",
        r"hidden defect|unsound|inspection|worthless from", r"forged|genuine|imitated|signed for another",
        r"only record|sole document|written proof|the papers", r"hammering|the din|racket|uproar",
    ),
    (
        r"a release|a waiver|rights to sue|excluded all", r"no warning|kept silent|required notice|alerted",
        r"always done it|usage|same habit|common practice", r"careless too|on itself|ordinary attention|helped to cause",
        r"authority|exceeded|mandate|unauthorised", r"have known|suspicion|honest belief|good faith",
        r"too many years|lapse of time|period for|older than the law", r"settled for a sum|compensation had|payment in full|end the dispute",
        r"necessity|emergency|urgent danger|lives at risk",
    ),
    (r"recovery was allowed|succeeded|against the defence|made to pay|plea failed", r"dismissed|refused|plea was good|for the defence|with nothing",
     r"fresh trial|returned for|another hearing|vacated"),
)  # fmt: skip


def citing(challenge: Challenge) -> Sequence[int]:
    """Take the segments that describe beside a mark a case of the same people, event, plea and end as the target's summary."""
    asked = _case(challenge.query.split("Summary:")[-1])
    found = []
    for place, text in enumerate(challenge.options):
        sentences = re.split(r"(?<=[.?]) (?=[A-Z\"\[])", text)
        for at, sentence in enumerate(sentences):
            if "[CITATION]" in sentence and any(
                _case(" ".join(sentences[at:end])) == asked for end in range(at + 1, at + 5)
            ):
                found.append(place)
                break
    return found


def _case(text: str) -> list[str]:
    """Of each feature the words that a text has first."""
    first = (
        [(match.start(), words) for words in values if (match := re.search(words, text))] for values in _CASES
    )
    return [min(one)[1] if one else "" for one in first]


_FORMS = {"recall": _recall, "organize": _organize, "attribute": _attribute}
