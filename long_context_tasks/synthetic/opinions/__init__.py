"""Writes court opinions of an invented country: numbers in citations to recall, and masked citations of a target case to attribute.

A cited case is described by four features: who sued whom, what had happened, what was pleaded, how it ended. Each has many wordings
without a word in common. In a segment that cites the target one of the described cases has all four of the target; the others
there, and all in segments that do not cite it, have two or three of them. They are chosen so that the target's features occur as often
in both kinds of segment: only their combination in one case does.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from long_context_tasks.synthetic.document import Document, Growing, Paragraph, begun
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
class Page:
    """A page of an opinion, with :data:`TARGET_MARK` or :data:`MARK` in place of every citation of a case.

    Attributes:
        name: number of the opinion in the group, and of the page in the opinion.
        opinion: that number of the opinion.
        text: one line.
    """

    name: str
    opinion: int
    text: str


@dataclass(frozen=True)
class OpinionGroup:
    """A target case, with what happened, what was pleaded, and how it ended; and pages of opinions that may cite it, in order."""

    title: str
    summary: str
    pages: tuple[Page, ...]


def _cases(writer: OpinionWriter, target: Holding, *, citing: bool) -> list[Holding]:
    """Two to four cases in random order; the target is one of them when the page cites it.

    Without it each misses another one of the four features. Beside it each misses one or two, in such shares that the number of
    the target's features on the page is the same on average.
    """

    def missing(features: Sequence[str]) -> Holding:
        others = {name: writer.value(name, besides=getattr(target, name)) for name in features}
        return replace(target, **others)

    count = writer.whole(2, 4)
    features = writer.shuffled(_FEATURES)
    if not citing:
        return [missing((features[place],)) for place in range(count)]
    found = [target]
    share = (4 * (0.75 * count - 1) / (count - 1)) - 2  # share of companions that miss one feature only
    for place in range(count - 1):
        missed = {features[place]}
        if writer.random() >= share:
            missed.add(writer.pick([name for name in _FEATURES if name != features[place]]))
        found.append(missing([name for name in _FEATURES if name in missed]))
    return writer.shuffled(found)


def begin_opinion_group(seed: int) -> Callable[[int], OpinionGroup]:
    """Return what writes a target case and pages of opinions of at least so many tokens, and at most one page more; two at least.

    An opinion has four to nine pages, the last one of a group maybe fewer. A longer group begins with the pages of the shorter one.
    """
    writer = OpinionWriter(stream(seed, "opinion group"), masked=True)
    holding = writer.holding()
    parties = writer.parties(holding)
    writer.text = dict(parties.text)
    summary = writer.told("target", holding)
    written = Growing(_pages(writer, holding))

    def first(num_tokens: int) -> OpinionGroup:
        # "<Segment 12>\n" and an empty line
        pages = written.first(num_tokens * MASKED_CHARACTERS_PER_TOKEN, lambda page: len(page.text) + 16, 2)
        return OpinionGroup(parties.title, summary, pages)

    return first


def _pages(writer: OpinionWriter, holding: Holding) -> Iterator[Page]:
    """Yield page after page for ever, four to nine of each opinion."""
    first = writer.chance(0.5)
    number = 0
    for opinion in count():
        parties = writer.parties(writer.holding())
        for place in range(writer.whole(4, 9)):
            # The first two differ, so that the shortest group has something to tell apart.
            cites = writer.chance(CITING) if number > 1 else first is (number == 0)
            cases = _cases(writer, holding, citing=cites)
            text = writer.page(parties, [(case, TARGET_MARK if case is holding else MARK) for case in cases])
            yield Page(f"{opinion}-{place}", opinion, text)
            number += 1


def begin_opinions(seed: int) -> Callable[[int], Document]:
    """Return what writes opinions, paragraph by paragraph, of at least so many tokens and at most one paragraph more.

    Labels are the numbers in citations of cases, statutes and rules, digits only. A longer text begins with the shorter one.
    """
    writer = OpinionWriter(stream(seed, "opinions"), masked=False)
    return begun("Opinions of the courts", _paragraphs(writer), CHARACTERS_PER_TOKEN)


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


def begins_opinion(text: str) -> bool:
    """Return whether a paragraph of :func:`begin_opinions` is the first one of an opinion, also where its end is cut off.

    >>> begins_opinion("In the matter of Carrley v. Redcott, on appeal from the High Bench."), begins_opinion("1. On appeal, we defer.")
    (True, False)
    """
    return _CAPTION.match(text) is not None
