"""Low-coverage counterparts (section 5.1): questions on one or two chunks of the very contexts that recalling is built from.

Single-document QA (books, debates) asks about one chunk, multi-document QA (medicine, law) about chunks of two documents,
query-focused summarization about two chunks of any domain. The annotator writes question and answer.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from long_context_tasks.benchmarks.building import Progress
from long_context_tasks.benchmarks.ethic.build.annotator import Annotator
from long_context_tasks.benchmarks.ethic.build.contexts import context_strings, window_labels
from long_context_tasks.benchmarks.ethic.build.settings import Draft, EthicSettings
from long_context_tasks.benchmarks.ethic.build.sources import Source
from long_context_tasks.benchmarks.ethic.build.windows import Built, Window, plan_windows, shuffled
from long_context_tasks.tokens.chunks import JOINT

SINGLE_QA, MULTI_QA, FOCUSED_SUMMARY = "single_qa", "multi_qa", "focused_summary"
COUNTERPARTS = {
    "books": (SINGLE_QA, FOCUSED_SUMMARY),
    "debates": (SINGLE_QA, FOCUSED_SUMMARY),
    "medicine": (MULTI_QA, FOCUSED_SUMMARY),
    "law": (MULTI_QA, FOCUSED_SUMMARY),
}
"""Domain to the kinds that suit it."""
_PROMPTS = {
    SINGLE_QA: ("build_single_qa", "build_answer_question"),
    MULTI_QA: ("build_multi_qa", "build_answer_question"),
    FOCUSED_SUMMARY: ("build_focused_summary", "build_answer_query"),
}
_GAP = f"{JOINT}[...]{JOINT}"


def evidence(window: Window, kind: str, seed: int) -> list[int]:
    """What a question is asked about: one chunk, two neighbours, or, for multi-document QA, a piece each of two documents.

    Returns:
        Numbers of chunks; of pieces for multi-document QA; empty where the context has too few.
    """
    order = (seed, kind, window.source.domain, window.source.id, window.length)
    if kind == SINGLE_QA:
        return shuffled(len(window.chunks), *order)[:1]
    if kind == FOCUSED_SUMMARY:
        first = shuffled(max(1, len(window.chunks) - 1), *order)[0]
        return list(range(first, min(first + 2, len(window.chunks))))
    pieces = [piece for chunk in window.chunks for piece in chunk.pieces]
    chosen: dict[int, int] = {}
    for place in shuffled(len(pieces), *order):
        chosen.setdefault(pieces[place].part, place)
    return sorted(list(chosen.values())[:2]) if len(chosen) > 1 else []


def _passage(window: Window, kind: str, places: Sequence[int]) -> str:
    if kind == MULTI_QA:
        pieces = [piece for chunk in window.chunks for piece in chunk.pieces]
        return _GAP.join(pieces[place].text for place in places)
    return JOINT.join(window.chunks[place].text for place in places)


def build_counterparts(
    sources: Iterable[Source],
    domain: str,
    settings: EthicSettings,
    annotator: Annotator,
    progress: Progress,
) -> list[Built]:
    """Cases of every kind that suits the domain, as tasks ``ethic_<kind>_<domain>``; the gold is a list with one answer.

    Settings that are equal to those of a recalling build give equal contexts.
    """
    built = []
    contexts = plan_windows(sources, settings, progress)
    for kind in COUNTERPARTS[domain]:
        plan = replace(
            contexts, dropped={length: Counter(own) for length, own in contexts.dropped.items()}, notes=[]
        )
        asked, answered = _PROMPTS[kind]
        places = [evidence(one, kind, settings.seed) for one in plan.windows]
        usable = [(one, found) for one, found in zip(plan.windows, places, strict=True) if found]
        pairs = annotator.pairs(asked, [_passage(one, kind, found) for one, found in usable])
        drafts = []
        for (one, found), pair in zip(usable, pairs, strict=True):
            if pair is None:
                plan.dropped[one.length]["no question was written"] += 1
                continue
            question, answer = pair
            drafts.append(
                Draft(
                    id=one.source.id,
                    length=one.length,
                    context=context_strings(one.chunks),
                    prompt=answered,
                    gold=[answer],
                    slots={"question": question},
                    labels={**window_labels(one), "coverage": "low"},
                    turn_labels={"evidence": found},
                )
            )
        for one, found in zip(plan.windows, places, strict=True):
            if not found:
                plan.dropped[one.length]["the context holds a single document"] += 1
        built.append(Built(kind, domain, drafts, plan))
    return built
