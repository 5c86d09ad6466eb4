"""Attributing cases of medicine: which of a review's studies does another review include (sections 3.2 and 3.3).

The target is the other review that includes most of the studies, by PubMed id. Where no other review includes any, a screening list
that has excluded studies too is its own target: what was screened is the context, what the finished review uses are the labels.
Else the background is that of some other review, and "none" is right.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from long_context_tasks.benchmarks.building import Progress
from long_context_tasks.benchmarks.ethic.build.annotator import Annotator
from long_context_tasks.benchmarks.ethic.build.settings import Draft, EthicSettings, fill
from long_context_tasks.benchmarks.ethic.build.sources import included_elsewhere, study_text
from long_context_tasks.benchmarks.ethic.build.windows import (
    TOO_SHORT,
    UNFILLED,
    Built,
    Plan,
    choice_key,
    first_n,
    shuffled,
)
from long_context_tasks.benchmarks.ethic.prompts import template
from long_context_tasks.corpora.medical_abstracts import Review
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
    """The target of a review's studies; None when there is no other review and nothing to tell apart in this one."""
    if found := included_elsewhere(review, reviews):
        return Target(found[0], found[1], OTHER)
    if review.included and len(review.included) < len(review.studies):
        return Target(review, review.included, OWN)
    others = [other for other in reviews if other.id != review.id]
    if not others:
        return None
    [first, *_] = shuffled(len(others), seed, "background", review.id)
    return Target(others[first], frozenset(), NONE)


def build_attribute_medicine(
    reviews: Sequence[Review],
    settings: EthicSettings,
    annotator: Annotator | None,
    progress: Progress,
) -> Built:
    """Cases with as many abstracts of a review as fit, right ones in half of the room at most, in random order.

    Args:
        reviews: all that there are.
        settings: of the build.
        annotator: writes the background of reviews that have none; without it those stay out.
        progress: reports long work.
    """
    plan = Plan((), {length: Counter() for length in settings.lengths}, tuple(one.id for one in reviews))
    targets: list[tuple[Review, Target, dict[str, Piece]]] = []
    longest = 0
    for review in progress.over(reviews, "reading and encoding abstracts", "review"):
        pieces = _pieces(review, settings)
        size = sum(piece.tokens for piece in pieces.values())
        longest = max(longest, size)
        target = find_target(review, reviews, settings.seed)
        reason = (
            TOO_SHORT
            if size < settings.min_document
            else "no other review to compare with"
            if target is None
            else None
        )
        if target is not None and reason is None:
            targets.append((review, target, pieces))
        for length in settings.lengths if reason else ():
            plan.dropped[length][reason or ""] += 1
    found: list[tuple[Review, Target, dict[str, Piece], int]] = []
    for length in settings.lengths:
        own = []
        for review, target, pieces in targets:
            chosen = _choose(review, target, pieces, settings, length)
            filled = sum(piece.tokens for piece in chosen.values())
            if not chosen or filled < settings.min_fill * settings.budget(length):
                plan.dropped[length][UNFILLED] += 1
            elif not target.review.background and annotator is None:
                plan.dropped[length][_NO_BACKGROUND] += 1
            else:
                own.append((review, target, chosen, length))
        found += first_n(
            own, settings.n, plan.dropped[length], lambda one: choice_key(settings, "medicine", one[0].id)
        )
    # Only now, so that nothing is paid for what is not chosen.
    backgrounds = write_backgrounds([target.review for _, target, *_ in found], annotator)
    drafts = []
    for review, target, chosen, length in found:
        if background := backgrounds[target.review.id]:
            drafts.append(review_draft(review, target, chosen, background, length))
        else:
            plan.dropped[length][_NO_BACKGROUND] += 1
    done = Plan((), plan.dropped, plan.order, longest, plan.notes)
    return Built("attribute", "medicine", drafts, done)


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
    """The abstracts of a context in random order."""
    ids = [list(pieces)[place] for place in shuffled(len(pieces), settings.seed, "studies", review.id)]
    budget = settings.budget(length)
    chosen: dict[str, Piece] = {}
    groups = ([one for one in ids if one in target.labels], [one for one in ids if one not in target.labels])
    room = budget
    for group, most in zip(groups, (budget // _LEAST_SHARE, budget), strict=True):
        used = 0
        for one in group:
            tokens = pieces[one].tokens
            if tokens <= room and used + tokens <= most:
                chosen[one] = pieces[one]
                used += tokens
                room -= tokens
    listed = list(chosen)
    order = shuffled(len(listed), settings.seed, "order", review.id, length)
    return {listed[place]: chosen[listed[place]] for place in order}


def review_draft(
    review: Review, target: Target, chosen: dict[str, Piece], background: str, length: int
) -> Draft:
    """The case of these abstracts of a review, in their order."""
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
    """Id of a review to its background paragraph, written by the annotator where the review has none; empty without one."""
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
