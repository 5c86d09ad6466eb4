"""Facts of synthetic opinions: stated by their own paragraph and in other words, hardly elsewhere."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

from long_context_tasks.benchmarks.ethic.scoring.fact_recall import states
from long_context_tasks.synthetic.document import Fact
from long_context_tasks.synthetic.opinions import begin_opinions
from long_context_tasks.synthetic.opinions.text import alternatives, said_facts
from long_context_tasks.synthetic.wording import clause, lines_of, plans, variants, words

pytestmark = pytest.mark.slow


ELSEWHERE = {1.0: 0.08, 0.5: 0.05, 0.3: 0.1}
"""Weight of a fact to how often another chunk may state it."""


def test_facts_are_stated_where_they_belong_and_hardly_elsewhere() -> None:
    elsewhere: dict[float, list[bool]] = defaultdict(list)
    for seed in range(200, 204):
        paragraphs = begin_opinions(seed)(16_000).paragraphs
        chunks = [paragraphs[at : at + 9] for at in range(0, len(paragraphs) - 9, 9)]  # some 1,024 tokens
        texts = ["\n".join(paragraph.text for paragraph in chunk) for chunk in chunks]
        for at, chunk in enumerate(chunks):
            for paragraph in chunk:
                for fact in paragraph.facts:
                    assert len(fact.words) > 1, fact
                    assert states(paragraph.text, fact), fact
                    assert states(fact.statement, fact), fact
                    others = (text for other, text in enumerate(texts) if other != at)
                    elsewhere[fact.weight] += [states(text, fact) for text in others]
    rates = {weight: sum(found) / len(found) for weight, found in elsewhere.items()}
    print("facts stated by another chunk", rates, sum(map(len, elsewhere.values())))
    assert all(rates[weight] < most for weight, most in ELSEWHERE.items())


def test_every_statute_of_the_reasons_has_a_fact() -> None:
    """A new sentence about a statute needs a line in the list of what is said of statutes."""
    acts = re.compile("|".join(words("opinions_cases.txt", "acts")))
    for name in ("own.reason", "own.cited"):
        for line in words("opinions.txt", name):
            for text in variants(clause(line)) if "{statute}" in line else ():
                if "{statute}" in text:
                    [fact] = said_facts([text.format_map(Fields())], ["Usury Act"])
                    assert acts.search(fact.statement) and "{" not in fact.statement


class Fields(dict[str, str]):
    """Words for the fields of a plan."""

    def __missing__(self, key: str) -> str:
        return "section 43 of the Usury Act" if key == "statute" else "Carrley"


def test_alternatives_tell_the_values_apart() -> None:
    """A wording has a word of its own value, and none of another value that would be an untrue summary."""
    for feature in ("event", "plea", "held"):
        values = [name for name in lines_of("opinions_cases.txt") if name.startswith(f"{feature}.")]
        wordings = {name: words("opinions_cases.txt", name) for name in values}
        groups = {name: alternatives(name) for name in wordings}
        for name, lines in wordings.items():
            for line in (text for plan in lines for text in variants(clause(plan))):
                assert [one for one, group in groups.items() if states(line, Fact("", (group,)))] == [name], (
                    line
                )


def test_lists_that_refer_to_each_other_in_a_circle_are_named(tmp_path: Path) -> None:
    path = tmp_path / "plans.txt"
    path.write_text("== own.a\nso <own.b>\n== own.b\nand <own.a>\n")
    with pytest.raises(ValueError, match="in a circle"):
        plans(str(path))
