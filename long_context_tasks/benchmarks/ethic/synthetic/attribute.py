"""Make Attributing cases from synthetic reviews, which ask for the studies that a review includes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypeVar

from long_context_tasks.benchmarks.ethic.build.attribute import OWN, ReviewTarget, review_draft
from long_context_tasks.benchmarks.ethic.build.drafts import CaseDraft, shuffled
from long_context_tasks.benchmarks.ethic.build.sources import study_text
from long_context_tasks.benchmarks.ethic.synthetic.maker import MadeCase, Maker, with_fillers
from long_context_tasks.corpora.reviews import Review, Study
from long_context_tasks.synthetic.document import Growing, Paragraph
from long_context_tasks.tokens.chunks import Piece

T = TypeVar("T")

# Maximum number of abstracts that are written although those before them exceed the room.
_SPARE = 4


def attribute(maker: Maker) -> Sequence[MadeCase] | None:
    written = maker.writings.review(maker.seed)
    studies = Growing(Study(*study) for study in written.studies)
    review = Review(f"synthetic-review-{maker.seed}", written.title, written.background, (), pubmed=False)

    def size(study: Study) -> int:
        return maker.size(study_text(study))

    def make(room: int) -> list[MadeCase] | None:
        chosen = filling(studies, size, room, maker.slack // 2)
        if not chosen:
            return None
        order = shuffled(len(chosen), maker.seed, "order", maker.length)
        shown = replace(review, studies=tuple(chosen[place] for place in order))
        return [_case(maker, shown, room - sum(map(size, chosen)))]

    instruction = maker.tokens(_draft(maker, review, {"": Piece("", 0)}))
    made = maker.tuned(maker.length - instruction, make)
    # Checked last: if abstracts were chosen by their labels, their lengths could reveal the labels.
    if made and {*made[0].draft.gold} < {name for each in made[0].paragraphs for name in each.labels}:
        return made
    return None


def _case(maker: Maker, review: Review, left: int) -> MadeCase:
    """Return the case with the studies of a review; fillers use up the remaining room."""
    paragraphs = [Paragraph(study_text(study), (study.id,)) for study in review.studies]
    paragraphs = with_fillers(paragraphs, left, maker.slack // 2, maker.size, maker.fillers)
    shown = {name: Piece(each.text, 0) for each in paragraphs for name in each.labels}
    return MadeCase(_draft(maker, review, shown), tuple(paragraphs))


def _draft(maker: Maker, review: Review, shown: Mapping[str, Piece]) -> CaseDraft:
    target = ReviewTarget(review, review.included, OWN)
    return replace(review_draft(review, target, shown, review.background, maker.length), id=maker.id)


def filling(items: Iterable[T], size: Callable[[T], int], room: int, slack: int) -> list[T]:
    """Return items that leave at most ``slack`` of the room free, or as little as a few more items allow.

    Nothing but sizes counts. Items that are not needed are not taken from ``items``, which may be endless.
    """
    taken: list[T] = []
    sizes: list[int] = []
    best: list[T] = []
    free, excess, spare = room, -room, 0
    for item in items:
        taken.append(item)
        sizes.append(size(item))
        excess += sizes[-1]
        if excess < -slack:
            continue
        spare += excess > 0
        for number in range(spare + 1):
            for left_out in combinations(range(len(sizes)), number):
                unused = sum(sizes[place] for place in left_out) - excess
                if 0 <= unused < free:
                    best = [each for place, each in enumerate(taken) if place not in left_out]
                    free = unused
                    if free <= slack:
                        return best
        if spare > _SPARE:
            break
    return best
