"""Documents of real prose with other names and numbers, and what a recall task asks of them.

A document takes passages of a carrier from a place that the seed chooses, then of the next one. For recalling it takes only passages
of which every name or number is clear: whether it is a person's, a count of people, part of a citation, or none of these. Where too few
stand there that do not count, sentences with some are put in; their names and numbers are drawn like the others.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import pairwise
from pathlib import Path
from random import Random

from long_context_tasks.benchmarks.ethic.synthetic.maker import GENRES, Genre
from long_context_tasks.corpora.books import read_books
from long_context_tasks.corpora.documents import read_debates, read_opinions, read_reviews
from long_context_tasks.corpora.plain_files import data_files
from long_context_tasks.recast.carriers import Passage, carriers_of, passages_of, recast_passages
from long_context_tasks.recast.entities import PERSON, is_marked, word_set
from long_context_tasks.recast.quantities import MEASURE, value_of
from long_context_tasks.recast.substitution import Recast, Span
from long_context_tasks.schema import InputError, Options
from long_context_tasks.schema.case_folder import stable_seed
from long_context_tasks.synthetic.document import Document, Paragraph
from long_context_tasks.synthetic.vocabulary import Vocabulary

CARRIER_KINDS = {"books": "novels", "debates": "debates", "medicine": "abstracts", "law": "opinions"}
_FILLERS = {
    "books": (
        "Nothing more was said.",
        "It was already late.",
        "The fire had burned low by then.",
        "Outside, the wind went on as it had before.",
        "For a while there was only the sound of the rain upon the roof and in the yard.",
    ),
    "debates": (
        "I shall be brief.",
        "I say no more.",
        "That is all I wish to say on it.",
        "I am grateful to the House for its patience.",
        "The House will forgive me if I do not go into every detail of it now.",
    ),
}
_CHARACTERS_PER_TOKEN = 4.6
_KNOWN = 256
"""Carriers whose mentions are kept in memory."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_POSSESSIVE = re.compile(r"['’]s$")
_LAST_WORD = re.compile(r"([^\W\d_]{1,30}) $")
_TO_PLACES = word_set("beside.txt", "prepositions of places") | {"from"}
_MONTH_OR_NAME = re.compile(r"\b(?:April|June|May(?! (?:I|we|he|she|it|they|God|the|this|his|her|all)\b))\b")
_INSIDE = re.compile(r"(?<=[a-z,] )[A-Z][^\W\d_]+")
"""Words with a capital letter inside a sentence."""
_BEFORE = re.compile(rf"({_INSIDE.pattern}) $")
SENTENCE_END = re.compile(
    r"(?<=[a-z0-9)\]’”\"]{2}[.?!])(?<![Hh]on\.)(?<!Mrs\.)(?<!Rev\.)(?<!Messrs\.)(?<!Prof\.)(?<!Capt\.)(?<!Col\.)(?<!Inc\.)(?<!Corp\.)(?<!Cir\.)(?<!App\.)(?<!Supp\.)(?<!Fed\.)"
    r"(?<!Stat\.)(?<!Civ\.)(?<!Crim\.)(?<!Mass\.)(?<!Const\.)(?<!Ann\.)(?<!Dept\.)(?<!Bankr\.)(?<!al\.)(?<!art\.)(?<!Gen\.)[\"”’)]*\s+"
    r"(?=[\"“‘(]*[A-Z])"
)
# What begins a sentence of an opinion, and no part of a citation ("Ins. Co.", "Fed. R. Bankr. P.").
_OPENER = (
    "A|After|All|Although|An|And|As|At|Because|But|By|Even|First|For|From|Given|Had|He|Her|Here|His|However|If|In|Indeed|It|Its|"
    "Moreover|Neither|Nevertheless|No|Nor|Nothing|On|Once|One|Only|Or|Our|Rather|Second|See|She|Similarly|Since|So|Some|Such|That|The|"
    "Their|Then|There|Therefore|These|They|This|Those|Though|Thus|To|Under|Unlike|We|What|When|Where|Whether|While|With|Yet|You"
)
LAW_SENTENCE_END = re.compile(rf"{SENTENCE_END.pattern}(?=[\"“‘(]*(?:{_OPENER})\b)")
_LEAST_RUN = 160
"""Characters of a passage of debates or opinions."""


@dataclass(frozen=True)
class _Unit:
    """A carrier: a novel, a debate, a review, an opinion."""

    id: str
    domain: str
    texts: tuple[str, ...]


@cache
def _units(file: Path, domain: str) -> tuple[_Unit, ...]:
    if domain == "books":
        return tuple(
            _Unit(book.id, domain, book.paragraphs) for book in read_books(file) if book.form == "novel"
        )
    if domain == "debates":
        return tuple(_Unit(debate.id, domain, debate.speeches) for debate in read_debates(file))
    if domain == "medicine":
        return tuple(
            _Unit(
                review.id,
                domain,
                tuple(f"{study.title.rstrip('.')}. {study.abstract}" for study in review.studies),
            )
            for review in read_reviews(file)
        )
    return tuple(
        _Unit(opinion.id, domain, (" ".join(map(_plain_citations, opinion.pages)),))
        for opinion in read_opinions(file)
    )


def _plain_citations(page: str) -> str:
    """Return a page whose citations have no series, pages of passages, courts, years, and subsections, which may or may not count."""
    page = re.sub(r"\b(F\.|Supp\.|Ed\.|[A-Z]\.|So\.|App[’'`]x\.?|Rptr\.) ?(?:[23]d|4th)\b", r"\1", page)
    page = re.sub(r"(?<=\d) ?\((?:[^()\d]*\d{0,2}[^()\d]*\d{4}|\d{1,2}(?:st|d|nd|rd|th) Cir\.)\)", "", page)
    page = re.sub(r" ?\((?=[^()]*Supp\.)[^()]*\d{4}\)", "", page)
    # Marks of notes: "rule7 as", "the facts;2 others".
    page = re.sub(r"(?<=[a-z]{3})\d{1,2}(?=[ .,;])|(?<=[a-z)”\"][,;])\d{1,2}(?= )", "", page)
    pins = r", \d{1,4}(?:[-–]\d+)?(?: ?n\.\d+)?"
    # A capital follows a volume: "465 U.S. 1100, 104 S. Ct. 1593".
    end = r"(?=[;:.,()]|[A-Z][a-z]| (?![A-Z])|$)"
    page = re.sub(rf"(?<!S\.C)(?<!S\. C)(\. \d{{1,4}})(?:[-–]\d+)?(?:{pins})+{end}", r"\1", page)
    # Other reporters, and ranges: "218 F. App'x 294, 297", "497-98".
    reporter = (
        r"\b\d{1,4} (?!U\. ?S\. ?C|C\. ?F)[A-Z][A-Za-z.'’]{0,12}(?: ?[A-Z][A-Za-z.'’]{0,12}){0,3},? \d{1,4}"
    )
    page = re.sub(rf"({reporter})(?:[-–]\d+(?:{pins})*|(?:{pins})+){end}", r"\1", page)
    page = re.sub(rf"\b([Ii]d\.?),? at \d+(?:[-–]\d+)?(?: ?n\.\d+)?(?:{pins})*(?:\.(?=\s|$))?", r"\1", page)
    page = re.sub(r"(?<=\d)(?: ?\([0-9a-zA-Z]{1,4}\))+", "", page)
    return page


@lru_cache(maxsize=_KNOWN)
def _passages(unit: _Unit) -> tuple[Passage, ...]:
    return tuple(passages_of(unit.texts, listed=unit.domain == "medicine"))


@lru_cache(maxsize=_KNOWN)
def _clear(unit: _Unit) -> tuple[Passage, ...]:
    """Return the passages of which every name or number is clear."""
    if unit.domain == "medicine":
        return tuple(passage for passage in _passages(unit) if _counts_are_clear(passage))
    if unit.domain == "law":
        return tuple(
            run for passage in _passages(unit) for run in _runs(passage, _citations_are_clear, {"citation"})
        )
    unsure = _unsure(_passages(unit)) if unit.domain == "books" else frozenset()
    whole = " ".join(unit.texts)
    words, inside = Counter(_WORD.findall(whole)), Counter(_INSIDE.findall(whole))
    for first in _first_names(_passages(unit)):
        words[first.casefold()] = 0  # "Will Ladislaw": alone it is a name, too

    def clear(passage: Passage) -> bool:
        unsure_here = any(mention.key in unsure for mention in passage.mentions)
        return not unsure_here and _names_are_clear(passage, words, inside)

    if unit.domain == "books":
        return tuple(passage for passage in _passages(unit) if clear(passage))
    return tuple(run for passage in _passages(unit) for run in _runs(passage, clear, PERSON))


def _runs(passage: Passage, clear: Callable[[Passage], bool], asked: Set[str]) -> Iterator[Passage]:
    """Yield whole sentences that follow one another and are clear, where something of the kinds asked for stands in them."""
    sentence_end = LAW_SENTENCE_END if "citation" in asked else SENTENCE_END
    ends = [match.end() for match in sentence_end.finditer(passage.text)]
    run: list[Passage] = []
    for start, end in zip([0, *ends], [*ends, len(passage.text)], strict=True):
        own = tuple(
            mention._replace(start=mention.start - start, end=mention.end - start)
            for mention in passage.mentions
            if start <= mention.start and mention.end <= end
        )
        sentence = Passage(passage.text[start:end].rstrip(), own)
        if clear(sentence):
            run.append(sentence)
            continue
        yield from _joined(run, asked)
        run = []
    yield from _joined(run, asked)


def _joined(run: Sequence[Passage], asked: Set[str]) -> Iterator[Passage]:
    start, mentions = 0, []
    for passage in run:
        mentions += [
            each._replace(start=start + each.start, end=start + each.end) for each in passage.mentions
        ]
        start += len(passage.text) + 1
    if start >= _LEAST_RUN and any(mention.kind in asked for mention in mentions):
        yield Passage(" ".join(passage.text for passage in run), tuple(mentions))


def _unsure(passages: Iterable[Passage]) -> frozenset[str]:
    """Return the names of which the text says too little: places without "in" or "at", persons with an article ("the Sergeant")."""
    every, shown, articles = Counter[tuple[str, str]](), Counter[str](), Counter[str]()
    for passage in passages:
        for mention in passage.mentions:
            if mention.kind == "place" or mention.kind in PERSON:
                before = _LAST_WORD.search(passage.text, max(0, mention.start - 30), mention.start)
                word = before[1].casefold() if before else ""
                every[mention.kind, mention.key] += 1
                shown[mention.key] += mention.kind == "place" and word in _TO_PLACES
                articles[mention.key] += mention.kind in PERSON and word == "the"
    known = word_set("gazetteer.txt", "places")
    return frozenset(
        key
        for (kind, key), count in every.items()
        if (key not in known and shown[key] * 5 < count if kind == "place" else articles[key] * 4 > count)
    )


def _first_names(passages: Iterable[Passage]) -> Iterator[str]:
    """Yield the words with a capital that stand before a person's name inside a sentence and are neither names nor titles."""
    for passage in passages:
        ends = {mention.end for mention in passage.mentions}
        for mention in passage.mentions:
            match = _BEFORE.search(passage.text[: mention.start]) if mention.kind in PERSON else None
            if match and match.end(1) not in ends and match[1].casefold() not in _never():
                yield match[1]


def _names_are_clear(passage: Passage, words: Mapping[str, int], inside: Mapping[str, int]) -> bool:
    """Return whether every word with a capital is a person's name, another's, or no name.

    Args:
        passage: of a carrier.
        words: how often the carrier has each word.
        inside: how often it has each word with a capital inside a sentence.
    """
    # Half of the name of a company or a town: "Tim Hortons".
    for one, other in pairwise(passage.mentions):
        kinds = {one.kind, other.kind}
        if kinds & PERSON and kinds & _PLACED and passage.text[one.end : other.start] == " ":
            return False
    named = {one.start: one for one in passage.mentions}
    unclear = (one.kind in ("name", "initial") or (one.kind in PERSON and one.tail) for one in named.values())
    # "Mrs. Archer and May", outside a date.
    months = (month.start() not in named for month in _MONTH_OR_NAME.finditer(passage.text))
    if any(unclear) or any(months):
        return False
    persons = {
        passage.text[mention.start : mention.end] for mention in passage.mentions if mention.kind in PERSON
    }
    before, end = "", 0
    for match in _WORD.finditer(passage.text):
        word, own = match[0], named.get(match.start())
        beside = passage.text[end : match.start()] == " "
        # A person's name in that of a street or a house; "St. John's".
        near = passage.text[end : match.start()] in (" ", ". ")
        placed = own is not None and near and before in ("St", "Mount", "Lake", "River", "Fort", "Port")
        # A part of a name that begins small: "King Cyprian kaSolomon".
        if placed or (beside and before in persons and word[0].islower() and word != word.lower()):
            return False
        key = _POSSESSIVE.sub("", word)
        # A name that is a common word too: "Hon. Bill Chiselers", "Ms. Beneth Young"; or a letter that is no initial.
        titled = near and before in _TITLES
        if word[0].isupper() and (own is None or own.kind not in PERSON):
            behind = beside and before in persons and (is_marked(word) or key.casefold() not in _never())
            if behind or (titled and key not in _OFFICES):
                return False
        # A word that begins a sentence may be a name that is a common word too: "Buck did not like her."
        within = beside or passage.text[end : match.start()] == ", " or inside[key] > words[key.casefold()]
        if own is None and word[0].isupper() and within:
            known = key.casefold() in _never() or words[key.casefold()] > words[key]
            if (
                not known
                and len(key) > 1
                and not any(mention.start <= match.start() < mention.end for mention in passage.mentions)
            ):
                return False
        before, end = key, match.end()
    return True


_TITLES = frozenset(("Mr", "Mrs", "Ms", "Miss", "Dr", "Hon", "Sir", "Lady", "Lord"))
_OFFICES = frozenset(map(str.capitalize, word_set("beside.txt", "offices")))
_PLACED = frozenset(("place", "organisation"))


@cache
def _never() -> frozenset[str]:
    titles = (word_set("beside.txt", f"titles of {who}") for who in ("men", "women", "both"))
    return word_set("common.txt", "never").union(*titles) - {"st"}


_ANIMALS = re.compile(
    r"\b(?:rats?|mice|mouse|rabbits?|dogs?|monkeys?|pigs?|hamsters?|animals?|trials|studies|articles)\b|https?:",
    re.IGNORECASE,
)
_INTEGER = re.compile(r"(?<![\w.,/:$£€-])\d[\d,]*(?![\w]|[.,:/]\d)")
_THINGS = (
    "weeks?|months?|days?|years?|hours?|minutes?|times|trials?|stud(?:y|ies)|treatments?|drugs?|doses?|agents?|visits?|"
    "sessions?|phases?|periods?|parts?|types?|points?|measures?|scales?|factors?|cent(?:er|re)s?|sites?|hospitals?|countries|per ?cent|percent|"
    "methods?|tests?|items?|domains?|categories|regimens?|therapies|medications?|antidepressants?|compounds?|outcomes?|conditions?"
)
# A number in words, unless it counts one of these things.
_NUMBER_WORD = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty(?:-\w+)?|hundred)\b"
    rf"(?!-)(?! (?:(?!(?:and|or|in|of|with|for|to|at|on|by|who|were|was|had|patients?|women|men|subjects?|participants?|volunteers?)\b)[\w-]+ ){{0,2}}?(?:{_THINGS})\b)|\b(?:both|one)\b(?= (?:\w+ ){{0,2}}?"
    r"(?:patients?|women|men|subjects?|others?|were|was|had|who|of|received|did|developed|completed|discontinued|with|without))",
    re.IGNORECASE,
)


def _counts_are_clear(passage: Passage) -> bool:
    """Return whether every whole number counts people or measures something."""
    text = passage.text
    taken = [mention for mention in passage.mentions if mention.kind in ("count", "date")]
    if not any(mention.kind == "count" for mention in taken) or _ANIMALS.search(text):
        return False

    def loose(start: int, end: int) -> bool:
        return not any(mention.start <= start and end <= mention.end for mention in taken)

    # A count with a per cent, or of a list, may be one of people.
    for match in _INTEGER.finditer(text):
        if loose(*match.span()) and not MEASURE.match(text, match.end()):
            return False
    return not any(loose(*match.span()) for match in _NUMBER_WORD.finditer(text))


_NO_CITATION = re.compile(r"\b(?:[Ii]d\.|[Ii]bid\.|at|page|paragraph|line|\w*day,?) $|[$]$")
_SHORT_FORM = re.compile(r"\d [A-Z][^\d]{0,14} at \d")
_DOCKET = re.compile(
    r"\bNos?\.|\b(?:Bill|H\.R\.|Pub\. L|Reg\.|Op\.|D\.P\.R)|(?<!\.)\bS\. \d|\bAct of \d{4}|\b\d{4} (?:Act|Amendments?)\b"
    r"|\b(?:Procedure|[Ss]ections?\]|Law|Act|Chapter|former|[Ii]d\.|pp\.) \d|\ban? \d{4}\b|\b(?:under|violat\w+(?: of)?) \d+\b(?! [A-Z])|\d[a-z]{1,2}, \d|\bsection \d+[a-z]\b"
    r"|\b(?:of|in|under|by) \d{2,5} (?:provides|requires|states|prohibits|applies|authorizes|permits|governs|allows)\b"
    r"|\b\d{3,4} (?:petition|motion|claim|action|proceeding)|\bat \d+ [A-Z]|[a-z.] \d{1,3},\d{3} \("
    r"|(?:[SF]\. ?[CR]\.(?: ?§+)?|\b(?:[Ss]ection|Rule)|(?<!§)§) ?\d+[a-z]{0,2}(?:-\d+)?(?:,? (?:and|or|to|through|&)|,) \d"
)
"""Numbers that may be part of a citation or not."""


def _citations_are_clear(passage: Passage) -> bool:
    """Return whether every number is of a citation, a date, or measures something."""
    text = passage.text
    if _DOCKET.search(text) or _SHORT_FORM.search(text) or not text[0].isupper() or text[-1] not in '.?!”"':
        return False
    fixed = {
        mention.start: mention
        for mention in passage.mentions
        if mention.kind in ("citation", "date", "count")
    }
    if any(mention.key.startswith("docket") for mention in fixed.values()):
        return False
    for match in re.finditer(r"\d[\d,]*", text):
        sure = (
            match.start() in fixed
            or MEASURE.match(text, match.end())
            or text[match.end() : match.end() + 1].islower()  # a capital is of a section: "§ 766A"
        )
        lower_noun = re.match(r" [a-z]{4,}", text[match.end() :])
        if not sure and not lower_noun and not _NO_CITATION.search(text[: match.start()]):
            return False
    return True


_STRANGERS = {
    "books": (
        "The lamps were already lit in {} Street.",
        "A cart from {} had stopped before the gate.",
        "The mail for {} had not yet gone.",
        "There was talk of the brig {}, which had not been heard of for a month.",
        "It was market day at {}.",
        "The {} Bank had put up its shutters.",
        "The road from {} was bad at that season.",
        "The {} coach was late.",
        "There was no doctor nearer than {}.",
        "The steamer {} lay off the point.",
        "In the direction of {} the sky was red.",
        "The bells of {} could be heard when the wind was right.",
        "There had been a fair at {} that week.",
        "The {} Arms was shut.",
    ),
    "debates": (
        "The {} bypass has been before us more than once.",
        "The same letter came from the {} chamber of commerce.",
        "The ferry {} is out of service again.",
        "Similar figures have been published for {}.",
        "The {} plant closed in the spring.",
        "The same is true of {} County.",
        "The {} Bridge is in no better state.",
        "People in {} say so every week.",
        "I have seen it at {}, and it is no secret.",
        "The {} Canal is an example.",
        "In {} the waiting list is longer still.",
        "The board of {} Mills has said as much.",
    ),
    "medicine": (
        "The protocol had the number {}.",
        "Samples were kept in freezer {}.",
        "Data were entered on form {}.",
        "The assay was run as batch {}.",
        "The last visit was on day {}.",
        "Plasma was drawn at minute {}.",
        "The manual has {} pages.",
        "Doses were given for {} days.",
        "The report is number {} of its series.",
        "Scores could range up to {} points.",
    ),
    "law": (
        "page {} of the transcript",
        "exhibit {}",
        "entry {} of the log",
        "line {} of the deposition",
        "item {} of the inventory",
        "paragraph {} of the complaint",
        "page {} of the appendix",
        "tab {} of the record",
        "sheet {} of the file",
        "page {} of the brief",
        "question {} to the jury",
    ),
}
"""Sentences with a name or number that does not count; in law what stands in brackets at the end of a sentence."""
_IN_A_ROW = 3
"""Of them in a passage of few sentences, at most, else behind half of these; the next passages make up for what is left."""
_AGAIN = 0.35
"""Chance that such a sentence has a name or number that one before it has."""


def _labels(recast: Recast, domain: str) -> tuple[str, ...]:
    """Return what recalling asks for in a passage, in order, each once."""
    if domain == "medicine":
        found = [str(value_of(span.replacement)) for span in recast.spans if span.kind == "count"]
    elif domain == "law":
        found = [span.replacement for span in recast.spans if span.kind == "citation"]
    else:
        found = [_named(span) for span in recast.spans if span.kind in PERSON]
    return tuple(dict.fromkeys(found))


def _others(recast: Recast, domain: str, labels: Sequence[str]) -> set[str]:
    """Return what looks like a label and is none."""
    if domain in ("medicine", "law"):
        return {match[0].replace(",", "") for match in _INTEGER.finditer(recast.text)} - set(labels)
    return {_named(span) for span in recast.spans if span.kind in _PLACED} - set(labels)


def _named(span: Span) -> str:
    return _POSSESSIVE.sub("", span.replacement)


def _balanced(passages: Sequence[Recast], domain: str, seed: int) -> Iterator[Paragraph]:
    """Yield paragraphs with their labels; sentences with others stand in them until there are as many of these."""
    dice, vocabulary = Random(f"{seed} others"), Vocabulary(seed)
    asked: dict[str, None] = {}
    others: set[str] = set()
    put: list[str] = []
    deck: list[str] = []
    every = {label for recast in passages for label in _labels(recast, domain)}
    for recast in passages:
        labels = _labels(recast, domain)
        asked |= dict.fromkeys(labels)
        others |= _others(recast, domain, labels)
        text = recast.text
        for _ in range(max(_IN_A_ROW, len(SENTENCE_END.findall(text)) // 2)):
            if len(others | set(put)) >= len(asked):
                break
            if not deck:
                deck = dice.sample(_STRANGERS[domain], len(_STRANGERS[domain]))
            if put and dice.random() < _AGAIN:
                new = dice.choice(put)
            else:
                new = _other(domain, list(asked), every, dice, vocabulary)
                put.append(new)
            text = _inserted(text, deck.pop().format(new), dice)
        yield Paragraph(text, labels)


def _other(domain: str, asked: Sequence[str], every: Set[str], dice: Random, vocabulary: Vocabulary) -> str:
    """Draw a name, or a number near one that is asked for, that is no label."""
    tries = 0
    while True:
        if domain in ("books", "debates"):
            draws = vocabulary.place, vocabulary.surname, lambda: vocabulary.first(dice.random() < 0.5)
            new = draws[dice.randrange(3)]()
        else:
            near = int(re.sub(r"\D", "", dice.choice(asked)) or 50)
            # All numbers near a small one may be labels.
            new = str(max(2, round(near * dice.uniform(0.6, 1.6 * 2 ** (tries // 100)))))
        if new not in every:
            return new
        tries += 1


def _inserted(text: str, sentence: str, dice: Random) -> str:
    """Put a sentence between two others, outside quotations, or words in brackets before the end of one; else behind the text."""
    in_brackets = not sentence.endswith(".")
    ends = [*(LAW_SENTENCE_END if in_brackets else SENTENCE_END).finditer(text)]
    outside = [
        match
        for match in ends
        if text[: match.start()].count("“") == text[: match.start()].count("”")
        and text[: match.start()].count('"') % 2 == 0
    ]
    if in_brackets:
        plain = [
            match for match in outside if text[match.start() - 2].isalpha() and text[match.start() - 1] == "."
        ]
        if not plain:
            return text
        place = dice.choice(plain).start() - 1
        return f"{text[:place]} ({sentence}){text[place:]}"
    place = dice.choice([*(match.end() for match in outside), len(text)])
    if place == len(text):
        return f"{text} {sentence}"
    return f"{text[:place]}{sentence} {text[place:]}"


def recast_parts(
    folder: Path, domain: str, recall: bool, seed: int, tokens: int
) -> tuple[Sequence[str], Sequence[Recast]]:
    """Return the carriers of a document, and its passages with their new names and numbers.

    Args:
        folder: of the kind of carriers.
        domain: books, debates, medicine or law.
        recall: whether only passages are taken of which every name or number is clear.
        seed: of the places and of the names.
        tokens: of the document, about.

    Raises:
        InputError: all carriers together are too short.
    """
    dice = Random(f"{seed} carriers")
    recast: list[Recast] = []
    size = 0.0
    names: list[str] = []
    for unit in _drawn(folder, domain, dice):
        passages = list(_clear(unit) if recall else _passages(unit))
        if domain == "medicine":
            dice.shuffle(passages)
        elif not names and domain != "law":
            # The first one from any place on, so that seeds show others.
            passages = passages[dice.randrange(max(1, len(passages) * 4 // 5)) :]
        taken = []
        for passage in passages:
            if size >= tokens:
                break
            taken.append(passage)
            size += len(passage.text) / _CHARACTERS_PER_TOKEN
        if taken:
            names.append(unit.id)
            recast += recast_passages(taken, seed, unit.id)
        if size >= tokens:
            break
    else:
        raise InputError(
            f"{folder}: all files together have {round(size):,} tokens of use for a document of {tokens:,}; add files, or use a "
            "shorter length"
        )
    return names, recast


def _write(folder: Path, domain: str, recall: bool, seed: int, tokens: int) -> Document:
    """Return a document of about so many tokens."""
    names, recast = recast_parts(folder, domain, recall, seed, tokens)
    paragraphs = (
        _balanced(recast, domain, seed) if recall else (Paragraph(passage.text) for passage in recast)
    )
    return Document(" + ".join(names), tuple(paragraphs))


def _drawn(folder: Path, domain: str, dice: Random) -> Iterator[_Unit]:
    """Yield all carriers of a folder in random order, each file in turns."""
    files = data_files(folder, "txt", "jsonl", "json", "csv", "xml")
    dice.shuffle(files)
    for file in files:
        units = list(_units(file, domain))
        dice.shuffle(units)
        yield from units


def recast_genres(options: Options, domains: Sequence[str], task: str) -> Mapping[str, Genre]:
    """Return how documents of the domains are made from carriers.

    Raises:
        InputError: a kind of carriers is missing.
    """
    genres = {}
    for domain in domains:
        folder = carriers_of(options, CARRIER_KINDS[domain], f"ethic_{task}_{domain}_recast")

        def begin(seed: int, folder: Path = folder, domain: str = domain) -> Callable[[int], Document]:
            return partial(_write, folder, domain, task == "recall", int(stable_seed(seed, task)[:12], 16))

        if domain in GENRES:
            genres[domain] = replace(GENRES[domain], begin=begin, parts=_PARTS[domain], together=(task,))
        else:
            genres[domain] = Genre(begin, _FILLERS[domain], together=(task,))
    return genres


_PARTS: Mapping[str, Callable[[Sequence[Paragraph]], list[int]]] = {
    "medicine": lambda paragraphs: list(range(len(paragraphs))),
    "law": lambda paragraphs: [0] * len(paragraphs),
}
