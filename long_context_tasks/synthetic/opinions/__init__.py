"""Writes court opinions of an invented country: numbers in citations to recall, and masked citations of a target case to attribute.

A cited case is described by four features: who sued whom, what had happened, what was pleaded, how it ended. Each has many wordings
without a word in common. In a segment that cites the target one of the described cases has all four of the target; the others
there, and all in segments that do not cite it, have two or three of them. They are chosen so that the target's features occur as often
in both kinds of segment: only their combination in one case does.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import NamedTuple

from long_context_tasks.synthetic.document import Document, Growing, Paragraph, check_length, paragraphs_of
from long_context_tasks.synthetic.opinions.text import Holding, OpinionWriter
from long_context_tasks.synthetic.wording import stream

# Mean of many texts, in cl100k tokens.
CHARACTERS_PER_TOKEN = 3.72
MASKED_CHARACTERS_PER_TOKEN = 4.36
CITING = 0.4
"""Share of segments that cite the target."""
TARGET_MARK = "[TARGET CITATION]"
MARK = "[CITATION]"
"""The marks of the attributing task, as the task that asks for them writes them."""
_FEATURES = ("who", "event", "plea", "held")
_TITLE = r"[A-Z][\w ]* v\. [\w ]+"
# The lines of "caption" in opinions.txt. In the body every title of a case has its citation behind it, never a full stop.
_CAPTION = re.compile(
    rf"{_TITLE}\.(?: |$)|In the matter of {_TITLE}, on appeal from |On appeal from [\w ]+: {_TITLE}\."
)


@dataclass(frozen=True)
class Opinion:
    """An opinion, with the fields that the readers of real ones give it.

    Attributes:
        id, title: of its case.
        pages: one line each.
        cites: ids of the opinions that it cites.
        citation_strings: id of a cited opinion to how it is cited here.
    """

    id: str
    title: str
    pages: tuple[str, ...]
    cites: tuple[str, ...] = ()
    citation_strings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """The case that segments may cite.

    Attributes:
        id, title: of the case.
        summary: what happened, what was pleaded, how it ended.
        holding: its four features.
    """

    id: str
    title: str
    summary: str
    holding: Holding

    @property
    def text(self) -> str:
        """The target as prompts of the attributing task show it."""
        return f"Title: {self.title}\nSummary: {self.summary}"


@dataclass(frozen=True)
class Segment:
    """A page of an opinion, with every citation of a case masked.

    Attributes:
        text: with :data:`MARK` for every citation.
        cites: whether one of them is of the target.
        opinion: place of its opinion in the group.
    """

    text: str
    cites: bool
    opinion: int


@dataclass(frozen=True)
class OpinionGroup:
    """A target case and opinions that cite it.

    Attributes:
        target: the cited case.
        opinions: their pages have :data:`TARGET_MARK` where they cite the target, and
            ``citation_strings`` says so.
        segments: the pages of all opinions in order, with all marks alike.
    """

    target: Target
    opinions: tuple[Opinion, ...]
    segments: tuple[Segment, ...]

    @property
    def all_opinions(self) -> tuple[Opinion, ...]:
        """The target as an opinion, then those that cite it."""
        return (Opinion(self.target.id, self.target.title, (self.target.summary,)), *self.opinions)


class _Companions:
    def __init__(self, writer: OpinionWriter, target: Holding) -> None:
        self.writer, self.target = writer, target

    def _missing(self, features: Sequence[str]) -> Holding:
        writer = self.writer
        return replace(
            self.target, **{name: writer.value(name, besides=getattr(self.target, name)) for name in features}
        )

    def cases(self, *, citing: bool) -> list[Holding]:
        """Two to four cases in random order; the target is one of them when the page cites it.

        Without it each misses another one of the four features. Beside it each misses one or two, in such shares that the number of
        the target's features on the page is the same on average.
        """
        random = self.writer.random
        count = self.writer.whole(2, 4)
        features = self.writer.shuffled(_FEATURES)
        if not citing:
            return [self._missing((features[place],)) for place in range(count)]
        found = [self.target]
        share = (4 * (0.75 * count - 1) / (count - 1)) - 2  # share of companions that miss one feature only
        for place in range(count - 1):
            missed = {features[place]}
            if random() >= share:
                missed.add(self.writer.pick([name for name in _FEATURES if name != features[place]]))
            found.append(self._missing([name for name in _FEATURES if name in missed]))
        return self.writer.shuffled(found)


def begin_opinion_group(
    seed: int, *, characters_per_token: float = MASKED_CHARACTERS_PER_TOKEN
) -> Callable[[int], OpinionGroup]:
    """Return what writes :func:`write_opinion_group` of a seed at any length, each page once."""
    writer = OpinionWriter(stream(seed, "opinion group"), masked=True)
    holding = writer.holding()
    parties = writer.parties(holding)
    writer.text = dict(parties.text)
    target = Target(f"{seed}-target", parties.title, writer.told("target", holding), holding)
    written = Growing(_pages(writer, holding))

    def first(num_tokens: int) -> OpinionGroup:
        check_length(num_tokens, "a group of opinions")
        pages: list[_Page] = []
        length = 0
        for page in written:
            pages.append(page)
            length += len(page.text) + 16  # "<Segment 12>\n" and an empty line
            if length >= num_tokens * characters_per_token and len(pages) > 1:
                break
        own: dict[int, list[_Page]] = {}
        for page in pages:
            own.setdefault(page.opinion, []).append(page)
        opinions = []
        for place, of_opinion in own.items():
            texts = tuple(page.text for page in of_opinion)
            cites = any(TARGET_MARK in text for text in texts)
            opinions.append(
                Opinion(
                    f"{seed}-{place}",
                    of_opinion[0].title,
                    texts,
                    (target.id,) if cites else (),
                    {target.id: (TARGET_MARK,)} if cites else {},
                )
            )
        segments = (Segment(page.text.replace(TARGET_MARK, MARK), page.cites, page.opinion) for page in pages)
        return OpinionGroup(target, tuple(opinions), tuple(segments))

    return first


class _Page(NamedTuple):
    """A page of a group; ``opinion`` counts from 0."""

    opinion: int
    title: str
    text: str
    cites: bool


def _pages(writer: OpinionWriter, holding: Holding) -> Iterator[_Page]:
    """Yield page after page for ever, four to nine of each opinion."""
    companions = _Companions(writer, holding)
    first = writer.chance(0.5)
    number = 0
    for opinion in count():
        parties = writer.parties(writer.holding())
        for _ in range(writer.whole(4, 9)):
            # The first two differ, so that the shortest group has something to tell apart.
            cites = writer.chance(CITING) if number > 1 else first is (number == 0)
            cases = companions.cases(citing=cites)
            text = writer.page(parties, [(case, TARGET_MARK if case is holding else MARK) for case in cases])
            yield _Page(opinion, parties.title, text, cites)
            number += 1


def write_opinion_group(
    seed: int, num_tokens: int, *, characters_per_token: float = MASKED_CHARACTERS_PER_TOKEN
) -> OpinionGroup:
    """Write a target case and pages of opinions of at least ``num_tokens`` tokens, and at most one page more; two pages at least.

    An opinion has four to nine pages, the last one of a group maybe fewer. A longer group of the same seed begins with the pages of
    the shorter one.

    Raises:
        InputError: ``num_tokens`` is below 1.
    """
    return begin_opinion_group(seed, characters_per_token=characters_per_token)(num_tokens)


def _paragraphs(writer: OpinionWriter) -> Iterator[Paragraph]:
    while True:
        parties = writer.parties(writer.holding())
        yield writer.caption(parties)
        plan = ["facts"] * writer.whole(2, 4)
        plan += [writer.pick(("cited", "cited", "told", "reason")) for _ in range(writer.whole(4, 12))]
        for number, kind in enumerate((*plan, "close"), start=1):
            yield writer.paragraph(kind, parties, number)
            if writer.chance(0.12):
                yield writer.footnote(parties)


def begin_opinions(
    seed: int, *, characters_per_token: float = CHARACTERS_PER_TOKEN
) -> Callable[[int], Document]:
    """Return what writes :func:`write_opinions` of a seed at any length, each paragraph once."""
    written = Growing(_paragraphs(OpinionWriter(stream(seed, "opinions"), masked=False)))

    def first(num_tokens: int) -> Document:
        paragraphs = paragraphs_of(written, num_tokens, characters_per_token, "opinions")
        return Document(f"synthetic-opinions-{seed}", "Opinions of the courts", paragraphs)

    return first


def write_opinions(
    seed: int, num_tokens: int, *, characters_per_token: float = CHARACTERS_PER_TOKEN
) -> Document:
    """Write opinions, paragraph by paragraph, of at least ``num_tokens`` tokens and at most one paragraph more.

    Labels are the numbers in citations of cases, statutes and rules, digits only. A longer text of the same seed begins with the
    shorter one.

    Raises:
        InputError: ``num_tokens`` is below 1.
    """
    return begin_opinions(seed, characters_per_token=characters_per_token)(num_tokens)


def begins_opinion(text: str) -> bool:
    """Return whether a paragraph of :func:`write_opinions` is the first one of an opinion, also where its end is cut off.

    >>> begins_opinion("In the matter of Carrley v. Redcott, on appeal from the High Bench."), begins_opinion("1. On appeal, we defer.")
    (True, False)
    """
    return _CAPTION.match(text) is not None
