"""Build medicine Attributing cases (3.2, 3.3), which ask for the studies that another review includes.

The target is the other review that shares the most included studies, by PubMed id. If there is none, a
screening list that also has excluded studies is its own target: the context is everything screened, and the
labels are the studies in the finished review. Otherwise the background of some other review is shown, and
"none" is correct.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from long_context_tasks.benchmarks.building import Work
from long_context_tasks.benchmarks.ethic.build.annotator import Annotator
from long_context_tasks.benchmarks.ethic.build.drafts import (
    UNFILLED,
    CaseDraft,
    ContextCandidate,
    DomainCases,
    NoCase,
    choice_key,
    fill_slots,
    plan_contexts,
    shuffled,
)
from long_context_tasks.benchmarks.ethic.build.sources import included_elsewhere, study_text
from long_context_tasks.benchmarks.ethic.prompts import template
from long_context_tasks.benchmarks.ethic.settings import EthicSettings
from long_context_tasks.corpora.reviews import Review
from long_context_tasks.tokens.chunks import JOINT, Piece, Text, pieces_of

NONE = "none"
OTHER, OWN = "another review", "the finished review"
_NO_BACKGROUND = "the target has no background"
# Study titles shown to the annotator who writes a background: enough to convey the topic.
_TITLES = 20
# Correct studies fill at most 1/2 of the context, so that a short context is not just a list of answers.
_LEAST_SHARE = 2


@dataclass(frozen=True)
class ReviewTarget:
    """The review to which another review's studies are to be attributed."""

    review: Review  # its background is shown
    labels: frozenset[str]  # ids of the correct studies; empty for "none"
    kind: str  # OTHER, OWN or NONE


def find_target(review: Review, reviews: Sequence[Review], seed: int) -> ReviewTarget | None:
    """Return the target for a review's studies, or None if it is the only review and excludes nothing."""
    if found := included_elsewhere(review, reviews):
        return ReviewTarget(found[0], found[1], OTHER)
    if review.included and len(review.included) < len(review.studies):
        return ReviewTarget(review, review.included, OWN)
    others = [other for other in reviews if other.id != review.id]
    if not others:
        return None
    # A random review, so that an unusual background does not give away "none".
    [first, *_] = shuffled(len(others), seed, "background", review.id)
    return ReviewTarget(others[first], frozenset(), NONE)


class _Abstracts(NamedTuple):
    """A case's context: some of a review's abstracts, by study."""

    review: Review
    target: ReviewTarget
    pieces: Mapping[str, Piece]
    length: int


def build_attribute_medicine(
    reviews: Sequence[Review], settings: EthicSettings, annotator: Annotator | None, progress: Work
) -> DomainCases:
    """Build cases with as many of a review's abstracts as fit, in random order.

    Correct ones fill at most half of the context.
    """

    def candidates() -> Iterator[ContextCandidate[_Abstracts]]:
        for review in progress.over(reviews, "reading and encoding abstracts", "review"):
            pieces: dict[str, Piece] = {}
            for study in review.studies:
                parts = list(pieces_of([Text(study_text(study))], settings.chunk_tokens, settings.measure))
                # Abstracts that would have to be cut are skipped.
                if len(parts) == 1:
                    pieces[study.id] = parts[0]
            tokens = sum(piece.tokens for piece in pieces.values())
            key = choice_key(settings, "medicine", review.id)
            target = find_target(review, reviews, settings.seed)
            context = partial(_abstracts, review, target, pieces, settings, annotator)
            yield ContextCandidate(review.id, tokens, key, context)

    plan = plan_contexts(candidates(), settings)
    # Written after planning, so that only backgrounds of chosen reviews are paid for.
    targets = {chosen.target.review.id: chosen.target.review for chosen in plan.contexts}
    backgrounds = _backgrounds(targets, annotator)
    built = DomainCases("attribute", "medicine", plan)
    for review, target, pieces, length in plan.contexts:
        with built.counting(length):
            background = backgrounds[target.review.id]
            if not background:
                raise NoCase(_NO_BACKGROUND)
            built.drafts.append(review_draft(review, target, pieces, background, length))
    return built


def _abstracts(
    review: Review,
    target: ReviewTarget | None,
    pieces: Mapping[str, Piece],
    settings: EthicSettings,
    annotator: Annotator | None,
    length: int,
) -> _Abstracts:
    if target is None:
        raise NoCase("no other review to compare with")
    chosen = _choose(review, target, pieces, settings, length)
    filled = sum(piece.tokens for piece in chosen.values())
    if not chosen or filled < settings.min_fill * settings.budget(length):
        raise NoCase(UNFILLED)
    if annotator is None and not target.review.background:
        raise NoCase(_NO_BACKGROUND)
    return _Abstracts(review, target, chosen, length)


def _backgrounds(targets: Mapping[str, Review], annotator: Annotator | None) -> dict[str, str]:
    """Return each review's background by id; the annotator writes missing ones."""
    backgrounds = {name: review.background for name, review in targets.items()}
    missing = [name for name, background in backgrounds.items() if not background]
    if annotator is None or not missing:
        return backgrounds
    prompts = []
    for name in missing:
        used = [study.title for study in targets[name].studies if study.included and study.title]
        values = {
            "title": targets[name].title,
            "passages": "\n".join(f"- {title}" for title in used[:_TITLES]),
        }
        prompts.append(fill_slots(template("build_background"), values))
    answers = annotator.texts(prompts)
    written = {name: " ".join((text or "").split()) for name, text in zip(missing, answers, strict=True)}
    return backgrounds | written


def _choose(
    review: Review, target: ReviewTarget, pieces: Mapping[str, Piece], settings: EthicSettings, length: int
) -> dict[str, Piece]:
    ids = [list(pieces)[place] for place in shuffled(len(pieces), settings.seed, "studies", review.id)]
    room = settings.budget(length)
    chosen: list[str] = []
    # Correct ones first; the others fill the remaining room.
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
    review: Review, target: ReviewTarget, chosen: Mapping[str, Piece], background: str, length: int
) -> CaseDraft:
    return CaseDraft(
        id=review.id,
        length=length,
        context=tuple(f"{piece.text}{JOINT}" for piece in chosen.values()),
        prompt="build_attribute_medicine",
        gold=[study for study in chosen if study in target.labels] or [NONE],
        slots={"background": background},
        labels={
            "title": review.title,
            "target": target.review.id,
            "target_kind": target.kind,
            "num_documents": len(chosen),
        },
    )
