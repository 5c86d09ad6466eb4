"""Make Attributing cases from synthetic reviews, which ask for the studies that a review includes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from long_context_tasks.benchmarks.ethic.build.attribute import OWN, ReviewTarget, review_draft
from long_context_tasks.benchmarks.ethic.build.drafts import shuffled
from long_context_tasks.benchmarks.ethic.build.sources import study_text
from long_context_tasks.benchmarks.ethic.synthetic.maker import MadeCase, Maker, with_fillers
from long_context_tasks.corpora.reviews import Review, Study
from long_context_tasks.synthetic.document import Paragraph
from long_context_tasks.tokens.chunks import Piece

_SPARE_TOKENS = 5_000
# Share of the abstracts' tokens that belong to included studies; the upper limit is that of cases from real
# reviews.
_LEAST_RIGHT, _MOST_RIGHT = 0.25, 0.5
# Maximum number of chosen and of other abstracts per kind considered for a swap.
_SWAPPED = 60


def attribute(maker: Maker) -> Sequence[MadeCase] | None:
    # In cl100k tokens: a quarter more than the length, even if the length is measured in longer tokens.
    length = int(maker.length * max(1.0, maker.scale()))
    written = maker.writings.review(maker.seed)(length + length // 4 + _SPARE_TOKENS)
    studies = tuple(Study(*study) for study in written.studies)
    review = Review(
        f"synthetic-review-{maker.seed}", written.title, written.background, studies, pubmed=False
    )
    texts = {study.id: study_text(study) for study in review.studies}
    pieces = {name: Piece(text, maker.size(text)) for name, text in texts.items()}

    def make(room: int) -> list[MadeCase] | None:
        chosen = _choose(review, pieces, room, maker)
        return None if chosen is None else [_case(maker, review, chosen, room)]

    # An initial guess at the instruction's length, corrected by the search.
    return maker.tuned(maker.length - maker.count(review.background) - 250, make)


def _case(maker: Maker, review: Review, chosen: Mapping[str, Piece], room: int) -> MadeCase:
    """Return the case with these abstracts in random order; fillers use up the remaining room."""
    order = shuffled(len(chosen), maker.seed, "order", maker.length)
    names = [list(chosen)[place] for place in order]
    paragraphs = [Paragraph(chosen[name].text, (name,)) for name in names]
    left = room - sum(piece.tokens for piece in chosen.values())
    paragraphs = with_fillers(paragraphs, left, maker.slack // 2, maker.size, maker.fillers)
    shown = {name: Piece(paragraph.text, 0) for name, paragraph in zip(names, paragraphs, strict=True)}
    target = ReviewTarget(review, review.included, OWN)
    draft = review_draft(review, target, shown, review.background, maker.length)
    return MadeCase(replace(draft, id=maker.id), tuple(paragraphs))


def _choose(review: Review, pieces: Mapping[str, Piece], room: int, maker: Maker) -> dict[str, Piece] | None:
    """Choose abstracts that nearly fill the room, a quarter to a half of them from included studies."""
    sizes = {name: piece.tokens for name, piece in pieces.items()}
    ids = [list(pieces)[place] for place in shuffled(len(pieces), maker.seed, "studies")]
    right = [name for name in ids if name in review.included]
    wrong = [name for name in ids if name not in review.included]
    # The share of included studies varies from case to case; otherwise their number could be guessed.
    [tenths, *_] = shuffled(11, maker.seed, "share")
    share = _LEAST_RIGHT + (_MOST_RIGHT - _LEAST_RIGHT) * tenths / 10
    # At least one study of each kind, even in the shortest context.
    shortest = [[min(kind, key=lambda name: sizes[name])] for kind in (right, wrong)]
    chosen = first_that_fit(right, sizes, share * room) or shortest[0]
    chosen += first_that_fit(wrong, sizes, room - sum(sizes[name] for name in chosen)) or shortest[1]
    chosen = filled_by_swap(chosen, (right, wrong), sizes, room, maker.slack // 2)
    kinds = {name in review.included for name in chosen}
    if kinds != {True, False} or sum(sizes[name] for name in chosen) > room:
        return None
    return {name: pieces[name] for name in chosen}


def first_that_fit(names: Sequence[str], sizes: Mapping[str, int], room: float) -> list[str]:
    """Return the longest prefix whose total size does not exceed the room."""
    taken: list[str] = []
    for name in names:
        if sizes[name] > room:
            break
        taken.append(name)
        room -= sizes[name]
    return taken


def filled_by_swap(
    chosen: Sequence[str], kinds: Sequence[Sequence[str]], sizes: Mapping[str, int], room: int, slack: int
) -> list[str]:
    """Swap up to three chosen items for others of their kind to leave at most ``slack`` of the room free."""
    best = list(chosen)
    for _ in range(3):
        left = room - sum(sizes[name] for name in best)
        if 0 <= left <= slack:
            break
        there = set(best)
        swaps = [
            (left - sizes[new] + sizes[old], old, new)
            for kind in kinds
            for old in [name for name in kind if name in there][:_SWAPPED]
            for new in [name for name in kind if name not in there][:_SWAPPED]
        ]
        rest, old, new = min((swap for swap in swaps if swap[0] >= 0), default=(left, "", ""))
        if not old or 0 <= left <= rest:
            break
        best[best.index(old)] = new
    return best
