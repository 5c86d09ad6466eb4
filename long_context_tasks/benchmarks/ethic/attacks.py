"""Cases as attackers see them (:mod:`long_context_tasks.audit`), and attacks by those who read the builders."""

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

from long_context_tasks.audit.challenge import Challenge, first_places
from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.ethic.prompts import split_case, split_sections
from long_context_tasks.benchmarks.ethic.scoring.repaired import NONE
from long_context_tasks.schema import Case, Documents

_OPTION = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_STUDY = re.compile(r"^ID: (\d+)\n", re.MULTILINE)
_SEGMENT = re.compile(r"^<Segment (\d+)>\n", re.MULTILINE)
_TARGET = re.compile(r"### (?:Background|Target Case):\n(.*?)\n\nNow, label each", re.DOTALL)
_CARRIERS = {"books": "novels", "debates": "debates", "medicine": "abstracts", "law": "opinions"}


def take_apart(case: Case, documents: Documents) -> list[Challenge]:
    """Return the only turn of a case as attackers see it."""
    spec = catalogue.parse_task(case.task)
    context, query = split_case(case, 0, documents)
    return [_FORMS[spec.task](context, query, case.turns[0].gold, spec.split)]


def _recall(context: str, query: str, gold: Sequence[str], domain: str) -> Challenge:
    separator = ", " if domain in ("books", "debates") else "; "
    return Challenge(
        form="list",
        context=context,
        query=query,
        options=(),
        gold=tuple(gold),
        rests=first_places(context, gold),
        write=lambda items: separator.join(items) or "None",
        carrier=_CARRIERS[domain],
    )


def _organize(context: str, query: str, gold: Sequence[str], domain: str) -> Challenge:
    options = _OPTION.findall(query)
    order = tuple([number for number, _ in options].index(one) for one in gold)
    return Challenge(
        form="order",
        context=context,
        query=query,
        options=tuple(text for _, text in options),
        gold=order,
        rests=tuple((at + 1) / len(order) for at in range(len(order))),
        write=lambda places: ", ".join(f"[{options[place][0]}]" for place in places),
        carrier=_CARRIERS[domain],
    )


def _attribute(context: str, query: str, gold: Sequence[str], domain: str) -> Challenge:
    form = _STUDY if domain == "medicine" else _SEGMENT
    _, *parts = form.split(context)
    numbers, texts = parts[::2], [text.strip() for text in parts[1::2]]
    right = tuple(numbers.index(re.sub(r"\D", "", one)) for one in gold if one != NONE)
    ends = list(itertools.accumulate(map(len, texts)))
    title, mark = ("Core IDs", "[%s]") if domain == "medicine" else ("Related Segments", "[Segment %s]")
    found = _TARGET.search(query)
    return Challenge(
        form="subset",
        context="",
        query=found[1] if found else query,
        options=tuple(texts),
        gold=right,
        rests=tuple(ends[place] / ends[-1] for place in right),
        write=lambda places: f"- {title}: " + (", ".join(mark % numbers[place] for place in places) or NONE),
        carrier=_CARRIERS[domain],
    )


def _summarize(context: str, query: str, gold: Sequence[str], domain: str) -> Challenge:
    sections = split_sections(context, domain)
    return Challenge(
        form="pages",
        context=context,
        query=query,
        options=tuple(sections.values()),
        gold=(),
        rests=(),
        write=lambda texts: "\n".join(f"{mark} {text}" for mark, text in zip(sections, texts, strict=True)),
        rules={
            "long words": _each(long_words),
            "first half copied": _each(copied),
            "lead sentences": _each(lead),
        },
        carrier=_CARRIERS[domain],
    )


def _each(write: Callable[[str], str]) -> Callable[[Challenge], Sequence[Any]]:
    return lambda challenge: [write(section) for section in challenge.options]


def long_words(section: str) -> str:
    """Every word that is long or no plain word, once."""
    words = dict.fromkeys(re.findall(r"[\w-]+", section))
    return " ".join(word for word in words if len(word) > 4 or not word.islower())


def copied(section: str) -> str:
    """The first half of the words."""
    words = section.split()
    return " ".join(words[: len(words) // 2])


def lead(section: str) -> str:
    """The first sentence of every paragraph."""
    return " ".join(re.split(r"(?<=[.!?]) ", paragraph)[0] for paragraph in section.split("\n\n"))


_FORMS = {"recall": _recall, "organize": _organize, "attribute": _attribute, "summarize": _summarize}
