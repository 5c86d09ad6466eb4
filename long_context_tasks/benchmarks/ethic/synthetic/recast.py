"""Documents of real prose with other names and numbers, and what a recall task asks of them.

A document takes passages of a carrier from a place that the seed chooses, then of the next one. For recalling it takes only passages
of which every name or number is clear: whether it is a person's, a count of people, part of a citation, or none of these. Where too few
stand there that do not count, sentences with some are put in; their names and numbers are drawn like the others.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from random import Random

from long_context_tasks.benchmarks.ethic.synthetic.fit import as_written
from long_context_tasks.benchmarks.ethic.synthetic.maker import GENRES, Genre
from long_context_tasks.corpora.books import read_books
from long_context_tasks.corpora.documents import read_debates, read_opinions, read_reviews
from long_context_tasks.corpora.plain_files import data_files
from long_context_tasks.recast.carriers import Passage, carriers_of, passages_of, recast_passages
from long_context_tasks.recast.clear.citations import citations_are_clear
from long_context_tasks.recast.clear.counts import WHOLE_NUMBER, counts_are_clear
from long_context_tasks.recast.clear.names import PLACED, names_are_clear
from long_context_tasks.recast.entities import PERSON, without_possessive
from long_context_tasks.recast.quantities import value_of
from long_context_tasks.recast.sentences import LAW_SENTENCE_END, SENTENCE_END, clear_runs
from long_context_tasks.recast.substitution import Recast, Span
from long_context_tasks.schema import InputError, Options
from long_context_tasks.schema.case_folder import stable_seed
from long_context_tasks.synthetic.document import Document, Paragraph
from long_context_tasks.synthetic.vocabulary import Vocabulary

CARRIER_KINDS = {"books": "novels", "debates": "debates", "medicine": "abstracts", "law": "opinions"}
_FILLERS = {
    "law": (
        "We agree.",
        "That settles the point.",
        "Nothing more need be said of it.",
        "The argument was not pressed any further on appeal.",
        "The record does not call for a different view of the matter.",
    ),
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
_CHARACTERS_PER_TOKEN = {"books": 4.6, "debates": 4.6, "medicine": 4.9, "law": 4.6}
_KNOWN = 256
"""Carriers whose mentions are kept in memory."""


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
    pins = r"(?:[-–]\d+)?(?:, \d{1,4}(?:[-–]\d+)?(?: ?n\.\d+)?)*"
    cited = (
        r"\b\d{1,4} (?!U\. ?S\. ?C|C\. ?F)[A-Z][A-Za-z.'’]{0,12}(?: ?[A-Z][A-Za-z.'’]{0,12}){0,3},? \d{1,4}"
    )
    # A capital follows a volume: "465 U.S. 1100, 104 S. Ct. 1593".
    page = re.sub(rf"({cited}){pins}(?=[;:.,()]|[A-Z][a-z]| (?![A-Z])|$)", r"\1", page)
    page = re.sub(rf"\b([Ii]d\.?),? at \d+{pins}(?:\.(?=\s|$))?", r"\1", page)
    return re.sub(r"(?<=\d)(?: ?\([0-9a-zA-Z]{1,4}\))+", "", page)


@lru_cache(maxsize=_KNOWN)
def _passages(unit: _Unit) -> tuple[Passage, ...]:
    return tuple(passages_of(unit.texts, listed=unit.domain == "medicine"))


@lru_cache(maxsize=_KNOWN)
def _clear(unit: _Unit) -> tuple[Passage, ...]:
    """Return the passages of which every name or number is clear."""
    passages = _passages(unit)
    if unit.domain == "medicine":
        return tuple(filter(counts_are_clear, passages))
    if unit.domain == "law":
        return tuple(
            run for passage in passages for run in clear_runs(passage, citations_are_clear, {"citation"})
        )
    clear = names_are_clear(passages, " ".join(unit.texts), story=unit.domain == "books")
    if unit.domain == "books":
        return tuple(filter(clear, passages))
    return tuple(run for passage in passages for run in clear_runs(passage, clear, PERSON))


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
        return {match[0].replace(",", "") for match in WHOLE_NUMBER.finditer(recast.text)} - set(labels)
    return {_named(span) for span in recast.spans if span.kind in PLACED} - set(labels)


def _named(span: Span) -> str:
    return without_possessive(span.replacement)


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
    for unit, passages in _turns(folder, domain, recall, dice):
        taken = []
        for passage in passages:
            if size >= tokens:
                break
            taken.append(passage)
            size += len(passage.text) / _CHARACTERS_PER_TOKEN[domain]
        if taken:
            names += [unit.id] if unit.id not in names else []
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


def _turns(folder: Path, domain: str, recall: bool, dice: Random) -> Iterator[tuple[_Unit, list[Passage]]]:
    """Yield all carriers and their passages; the first one from any place on, so that seeds show others, with what is before it at last."""
    first: tuple[_Unit, list[Passage]] | None = None
    for unit in _drawn(folder, domain, dice):
        passages = list(_clear(unit) if recall else _passages(unit))
        if domain == "medicine":
            dice.shuffle(passages)
        elif first is None and domain != "law":
            place = dice.randrange(max(1, len(passages) * 4 // 5))
            first, passages = (unit, passages[:place]), passages[place:]
        yield unit, passages
    if first:
        yield first


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
            forms = as_written if domain == "law" else None
            genres[domain] = Genre(begin, _FILLERS[domain], forms, together=(task,))
    return genres


_PARTS: Mapping[str, Callable[[Sequence[Paragraph]], list[int]]] = {
    "medicine": lambda paragraphs: list(range(len(paragraphs))),
}
