"""Questions on single sections of one context: what recalling lists, and a summary, of each of them.

They show the context of recalling and summarizing to the byte, so that a document is computed once for sixteen questions.
"""

from collections.abc import Sequence
from dataclasses import replace

from long_context_tasks.benchmarks.ethic.build.annotator import gold_labels, merge_labels
from long_context_tasks.benchmarks.ethic.scoring.fact_recall import INPUT, SectionFacts
from long_context_tasks.benchmarks.ethic.synthetic.maker import Made, Maker
from long_context_tasks.synthetic.document import Paragraph

LIST, SUMMARY = "list", "summary"
KINDS = (LIST, SUMMARY)
MOST_SECTIONS = 8
LEAST_TOKENS = 1_000
"""Of a length for each section: an eighth of it from 8k on."""


def sections_at(length: int) -> int:
    """Return the number of sections of a document."""
    return max(1, min(MOST_SECTIONS, length // LEAST_TOKENS))


def questions_at(length: int) -> int:
    """Return the number of questions on a document: two on each section, sixteen from 8k on."""
    return len(KINDS) * sections_at(length)


def section_questions(maker: Maker) -> list[Made] | None:
    """Return the questions on a document, section by section.

    None where a section has no facts, a prompt is too long (at 1k), or the document makes no other case.
    """
    number, shown = sections_at(maker.length), maker.together()
    if shown is None or len(shown[0].paragraphs) < number:
        return None
    found = maker.in_sections(shown[0].paragraphs, number)
    if found is None or not all(one.facts for one in found.facts):
        return None
    ends = [
        *(f'ends before the words "{words}"' for words in found.begin[1:]),
        "goes on to the end of the context",
    ]
    made = [
        _question(
            shown[0], kind, place, maker.domain, _ABOUT.format(begin, end) if number > 1 else "", own, facts
        )
        for place, (begin, end, own, facts) in enumerate(
            zip(found.begin, ends, found.paragraphs, found.facts, strict=True)
        )
        for kind in KINDS
    ]
    return made if all(maker.tokens(one.draft) <= maker.length for one in made) else None


_WHOLE = "This is about the whole context."
_ABOUT = 'This is about one section of the context only, which begins with the words "{}" and {}.'


def _question(
    shown: Made,
    kind: str,
    place: int,
    domain: str,
    section: str,
    paragraphs: Sequence[Paragraph],
    facts: SectionFacts,
) -> Made:
    draft = replace(
        shown.draft,
        part=f"{kind}{place + 1}",
        slots={"section": section or _WHOLE},
        turn_labels={},
        labels={**shown.draft.labels, "asked": kind, "section": place + 1},
    )
    if kind == SUMMARY:
        stated = [fact.statement for fact in facts.facts]
        summary = replace(draft, prompt="build_section_summary", gold=stated)
        return Made(summary, tuple(paragraphs), (facts,), {INPUT: [facts.row()]})
    labels = gold_labels(merge_labels(one.labels for one in paragraphs))
    # The whole context is asked about as in recalling, or the prompt would be longer than the length.
    asked = {"### Instruction:\n": "### Instruction:\n<section> ", "in the passage": "in this section"}
    rewrite = asked if section else {}
    return Made(
        replace(draft, prompt=f"build_recall_{domain}", gold=labels, rewrite=rewrite), tuple(paragraphs)
    )
