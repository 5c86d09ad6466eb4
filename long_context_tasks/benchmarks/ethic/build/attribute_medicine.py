"""Build attributing cases of medicine: which of a review's studies another review includes (sections 3.2 and 3.3).

The target is the other review that includes most of the studies, by PubMed id. Where no other review includes any, a screening list
that has excluded studies too is its own target: what was screened is the context, what the finished review uses are the labels.
Else the background is that of some other review, and "none" is right.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from long_context_tasks.benchmarks.building import Progress
from long_context_tasks.benchmarks.ethic.build.annotator import Annotator
from long_context_tasks.benchmarks.ethic.build.drafts import UNFILLED, Built, Draft, fill
from long_context_tasks.benchmarks.ethic.build.settings import EthicSettings
from long_context_tasks.benchmarks.ethic.build.sources import included_elsewhere, study_text
from long_context_tasks.benchmarks.ethic.build.windows import Offer, choice_key, plan_cases, shuffled
from long_context_tasks.benchmarks.ethic.prompts import template
from long_context_tasks.corpora.documents import Review
from long_context_tasks.tokens.chunks import JOINT, Piece, Text, pieces_of

NONE = "none"
OTHER, OWN = "another review", "the finished review"
_NO_BACKGROUND = "the target has no background"
_TITLES = 20
_LEAST_SHARE = 2
"""Right studies have at most one of so many tokens, so that a short context is no list of right answers only."""


@dataclass(frozen=True)
class Target:
    """What the studies of a review are to be attributed to.

    Attributes:
        review: whose background is shown.
        labels: ids of the right studies; empty for "none".
        kind: where the labels come from.
    """

    review: Review
    labels: frozenset[str]
    kind: str


def find_target(review: Review, reviews: Sequence[Review], seed: int) -> Target | None:
    """Return the target of a review's studies; None when there is no other review and nothing to tell apart in this."""
    if found := included_elsewhere(review, reviews):
        return Target(found[0], found[1], OTHER)
    if review.included and len(review.included) < len(review.studies):
        return Target(review, review.included, OWN)
    others = [other for other in reviews if other.id != review.id]
    if not others:
        return None
    [first, *_] = shuffled(len(others), seed, "background", review.id)
    return Target(others[first], frozenset(), NONE)


@dataclass(frozen=True)
class _Chosen:
    review: Review
    target: Target
    pieces: dict[str, Piece]
    length: int


def build_attribute_medicine(
    reviews: Sequence[Review], settings: EthicSettings, annotator: Annotator | None, progress: Progress
) -> Built:
    """Build cases with as many abstracts of a review as fit, right ones in half of the room at most, in random order.

    The annotator writes the background of reviews that have none; without it those stay out.
    """

    def offer(review: Review) -> Offer[_Chosen]:
        pieces = _pieces(review, settings)
        target = find_target(review, reviews, settings.seed)

        def at(length: int) -> _Chosen | str:
            if target is None:
                return "no other review to compare with"
            chosen = _choose(review, target, pieces, settings, length)
            filled = sum(piece.tokens for piece in chosen.values())
            if not chosen or filled < settings.min_fill * settings.budget(length):
                return UNFILLED
            if not target.review.background and annotator is None:
                return _NO_BACKGROUND
            return _Chosen(review, target, chosen, length)

        tokens = sum(piece.tokens for piece in pieces.values())
        return Offer(review.id, tokens, at, choice_key(settings, "medicine", review.id))

    reading = progress.over(reviews, "reading and encoding abstracts", "review")
    plan = plan_cases(map(offer, reading), settings)
    # Only now, so that nothing is paid for what is not chosen.
    backgrounds = write_backgrounds([one.target.review for one in plan.windows], annotator)

    def draft(one: _Chosen) -> Draft | str:
        background = backgrounds[one.target.review.id]
        if not background:
            return _NO_BACKGROUND
        return review_draft(one.review, one.target, one.pieces, background, one.length)

    return Built.of("attribute", "medicine", plan, ((one, draft(one)) for one in plan.windows))


def _pieces(review: Review, settings: EthicSettings) -> dict[str, Piece]:
    """Id to abstract; those longer than a chunk are left out, for half an abstract is none."""
    found = {}
    for study in review.studies:
        parts = list(pieces_of([Text(study_text(study))], settings.chunk_tokens, settings.measure))
        if len(parts) == 1:
            found[study.id] = parts[0]
    return found


def _choose(
    review: Review, target: Target, pieces: dict[str, Piece], settings: EthicSettings, length: int
) -> dict[str, Piece]:
    ids = [list(pieces)[place] for place in shuffled(len(pieces), settings.seed, "studies", review.id)]
    room = settings.budget(length)
    chosen: list[str] = []
    for right, most in ((True, room // _LEAST_SHARE), (False, room)):
        used = 0
        for study in ids:
            tokens = pieces[study].tokens
            if (study in target.labels) == right and tokens <= room and used + tokens <= most:
                chosen.append(study)
                used += tokens
                room -= tokens
    order = shuffled(len(chosen), settings.seed, "order", review.id, length)
    return {chosen[place]: pieces[chosen[place]] for place in order}


def review_draft(
    review: Review, target: Target, chosen: dict[str, Piece], background: str, length: int
) -> Draft:
    """Return the case of these abstracts of a review, in their order."""
    right = [one for one in chosen if one in target.labels]
    return Draft(
        id=review.id,
        length=length,
        context=tuple(f"{piece.text}{JOINT}" for piece in chosen.values()),
        prompt="build_attribute_medicine",
        gold=right or [NONE],
        slots={"background": background},
        labels={
            "title": review.title,
            "target": target.review.id,
            "target_kind": target.kind,
            "num_documents": len(chosen),
        },
    )


def write_backgrounds(reviews: Sequence[Review], annotator: Annotator | None) -> dict[str, str]:
    """Return each review's background paragraph by its id, written by the annotator where the review has none; empty without one."""
    found = {review.id: review.background for review in reviews}
    missing = list({review.id: review for review in reviews if not review.background}.values())
    if annotator is not None and missing:
        answers = annotator.texts([_background_prompt(review) for review in missing])
        found |= {
            review.id: " ".join((text or "").split()) for review, text in zip(missing, answers, strict=True)
        }
    return found


def _background_prompt(review: Review) -> str:
    used = [study.title for study in review.studies if study.included and study.title][:_TITLES]
    passages = "\n".join(f"- {title}" for title in used)
    return fill(template("build_background"), {"title": review.title, "passages": passages})
