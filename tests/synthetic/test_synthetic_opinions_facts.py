"""What synthetic court opinions say, as facts: stated by their own paragraph and their statement, and hardly by another text."""

import re

from story_debate_checks import chunked
from synthetic_text_checks import CASES

from long_context_tasks.benchmarks.ethic.scoring.fact_recall import states
from long_context_tasks.synthetic.document import Fact
from long_context_tasks.synthetic.opinions import summary_of, write_opinions
from long_context_tasks.synthetic.opinions.facts import alternatives, said_facts
from long_context_tasks.synthetic.wording import clause, lines_of, variants, words


def test_facts_are_stated_where_they_belong_and_hardly_elsewhere() -> None:
    elsewhere: dict[float, list[bool]] = {}
    for seed in range(200, 200 + min(CASES // 10, 10)):
        chunks = chunked(write_opinions(seed, 16_000).paragraphs)[:-1]
        texts = ["\n".join(paragraph.text for paragraph in chunk) for chunk in chunks]
        for at, chunk in enumerate(chunks):
            for paragraph in chunk:
                for fact in paragraph.facts:
                    assert len(fact.words) > 1, fact
                    assert states(paragraph.text, fact), fact
                    assert states(fact.statement, fact), fact
                    found = elsewhere.setdefault(fact.weight, [])
                    found += [states(text, fact) for place, text in enumerate(texts) if place != at]
    rates = {weight: round(sum(found) / len(found), 4) for weight, found in elsewhere.items()}
    every = [one for found in elsewhere.values() for one in found]
    print("facts stated by another chunk", rates, round(sum(every) / len(every), 4), len(every))
    assert rates[1.0] < 0.08 and rates[0.5] < 0.05 and rates[0.3] < 0.1
    assert 1 <= summary_of(write_opinions(0, 3000).paragraphs).count(". ") + 1 <= 8


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
        groups = {name: alternatives(lines[0]) for name, lines in wordings.items()}
        for name, lines in wordings.items():
            for line in lines:
                assert [one for one, group in groups.items() if states(line, Fact("", (group,)))] == [name], (
                    line
                )
