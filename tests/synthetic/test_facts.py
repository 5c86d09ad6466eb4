"""Facts and summaries of synthetic texts: stated by their own paragraph and in other words, hardly elsewhere, no way round reading."""

import itertools
import random
import re
from collections import defaultdict
from functools import cache

import pytest
from kinds import GENRES, KINDS, SUMMARY
from story_debate_checks import blind_orders, chunked, common_subsequence, pairs_right, places_of, states
from synthetic_text_checks import CASES

from long_context_tasks.benchmarks.ethic.scoring.fact_recall import states as scored_states
from long_context_tasks.synthetic.debate import detail, fact_of_act
from long_context_tasks.synthetic.debate.house import Act, Member, sit
from long_context_tasks.synthetic.document import Fact, Paragraph
from long_context_tasks.synthetic.opinions import write_opinions
from long_context_tasks.synthetic.opinions.facts import alternatives, said_facts
from long_context_tasks.synthetic.wording import clause, lines_of, variants, words

pytestmark = pytest.mark.slow


@cache
def cut(genre: str, seed: int) -> list[list[Paragraph]]:
    """Whole chunks of a document of 16,000 tokens."""
    return chunked(KINDS[genre].write(seed, 16_000).paragraphs)[:-1]


@cache
def summaries(genre: str, seed: int) -> list[str]:
    return [SUMMARY[genre](chunk) for chunk in cut(genre, seed)]


# How often another chunk may state a fact, by the weight of the fact.
ELSEWHERE = {
    "story": {1.0: 0.035, 0.6: 0.09},
    "debate": {1.0: 0.035, 0.6: 0.09},
    "opinions": {1.0: 0.08, 0.5: 0.05, 0.3: 0.1},
}


@pytest.mark.parametrize("genre", ELSEWHERE)
def test_facts_are_stated_where_they_belong_and_hardly_elsewhere(genre: str) -> None:
    state = scored_states if genre == "opinions" else states
    elsewhere: dict[float, list[bool]] = defaultdict(list)
    for seed in range(200, 200 + min(CASES // 10, 10)):
        chunks = cut(genre, seed)
        texts = ["\n".join(paragraph.text for paragraph in chunk) for chunk in chunks]
        told = summaries(genre, seed)
        for at, chunk in enumerate(chunks):
            for paragraph in chunk:
                assert paragraph.facts or genre == "opinions"
                for fact in paragraph.facts:
                    assert len(fact.words) > 1 or genre != "opinions", fact
                    assert state(paragraph.text, fact), fact
                    assert state(fact.statement, fact), fact
                    assert fact.statement not in told[at] or state(told[at], fact)
                    others = (text for other, text in enumerate(texts) if other != at)
                    elsewhere[fact.weight] += [state(text, fact) for text in others]
    rates = {weight: sum(found) / len(found) for weight, found in elsewhere.items()}
    print("facts stated by another chunk", genre, rates, sum(map(len, elsewhere.values())))
    assert all(rates[weight] < most for weight, most in ELSEWHERE[genre].items())


@GENRES
def test_a_list_of_names_and_figures_states_hardly_a_fact(genre: str) -> None:
    stated, whole = 0.0, 0.0
    for seed in range(200, 204):
        for chunk in cut(genre, seed):
            text = " ".join(paragraph.text for paragraph in chunk)
            listed = " ".join(re.findall(r"\b[A-Z][\w’'-]*|\d[\d,]*\d|\d", text))
            facts = [fact for paragraph in chunk for fact in paragraph.facts]
            whole += sum(fact.weight for fact in facts)
            stated += sum(fact.weight for fact in facts if states(listed, fact))
    print(genre, stated / whole)
    assert stated < 0.15 * whole


ACTS: dict[str, Act] = {}
for one in itertools.islice(sit(5), 400):
    ACTS.setdefault(one.kind, one)
SPOKEN = [
    ("divide", "The amendment {act.issue.number} fell, {act.ayes} Members against {act.noes}."),
    ("divide", "By {act.ayes} votes to {act.noes} the House decided on amendment {act.issue.number}."),
    ("correct", "Somebody corrected {act.wrong:,} to {act.figure:,}."),
    ("correct", "The true number is {act.figure:,}, not {act.wrong:,}."),
    ("correct", "A mistake is admitted: {act.figure:,} instead of {act.wrong:,}."),
    ("call", "{act.issue.mover.full} moves amendment {act.issue.number}."),
    ("support", "{act.speaker.listed} backs amendment {act.issue.number}."),
    ("support", "In favour of amendment {act.issue.number}: {act.speaker.listed}."),
    ("oppose", "{act.speaker.listed} criticised amendment {act.issue.number}."),
    ("oppose", "Against amendment {act.issue.number} spoke {act.speaker.listed}."),
    ("ask", "{act.speaker.listed} interrupted."),
    ("ask", "{act.speaker.listed} asked about it."),
    ("answer", "{act.speaker.listed} answered that it was so."),
    ("answer", "{act.speaker.listed} denied it."),
    ("reply", "{act.speaker.listed}, a Minister, defended the Government."),
    ("order_raise", "{act.speaker.listed} objected."),
    ("order_rule", "The Deputy Speaker ruled that it was out of order."),
]


@pytest.mark.parametrize(("kind", "told"), SPOKEN)
def test_other_words_state_what_a_speech_was_for(kind: str, told: str) -> None:
    act = ACTS[kind]
    fact = fact_of_act(act, {}, PLACED, "")
    assert states(told.format(act=act), fact)
    assert states(fact.statement, fact)
    issue, names = act.issue, [*act.issue.mover.names, *(act.speaker.names if act.speaker else ())]
    listed = f"{' '.join(names)} Order Amendment {issue.number} {issue.new} {act.figure:,} {act.wrong:,} Ayes {act.ayes} Noes {act.noes}"
    assert not states(listed, fact)


PERSON = {role: Member("", "Olwen", "Talbright", True) for role in "QW"}
PLACED = {"place": "Great Otterwold", "big": "12,345"}


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("witness", "Olwen Talbright is quoted."),
        ("witness", "According to Olwen Talbright no inspector had been there."),
        ("witness", "A pamphlet by Olwen Talbright says so."),
        ("witness", "Olwen Talbright concluded that it was useless."),
        ("case", "Olwen Talbright of Great Otterwold waited from May to June."),
        ("case", "The case of Olwen Talbright, Great Otterwold, is described."),
        ("case", "Olwen Talbright from Great Otterwold was fined."),
        ("petition", "12,345 people of Great Otterwold, led by Olwen Talbright, signed a request."),
        ("petition", "A petition by Talbright of Great Otterwold with 12,345 names was laid."),
        ("tribute", "The late Olwen Talbright was praised."),
        ("tribute", "Members mourned Olwen Talbright."),
    ],
)
def test_other_words_state_what_was_said_of_somebody(kind: str, told: str) -> None:
    if kind in ("witness", "case"):
        fact = detail(kind, PERSON, PLACED, "She waited at Great Otterwold and was fined 3 crowns for it.")
    else:
        act = ACTS["support"]
        fact = fact_of_act(Act(kind, act.issue, act.speaker, act.other), PERSON, PLACED, "")
    assert states(told, fact)
    assert states(fact.statement, fact)
    assert not states("Olwen Talbright Great Otterwold 12,345 In The She Of", fact)


@GENRES
def test_summaries_are_short_and_distinct(genre: str) -> None:
    for seed in range(200, 215):
        told = summaries(genre, seed)
        assert len(set(told)) == len(told)
        assert all(30 < len(text) < 700 for text in told)
        sequence = r"\b(?:first|then|next|later|finally|afterwards|meanwhile|begin\w*|end(?:s|ed)?)\b"
        assert sum(len(re.findall(sequence, text)) for text in told) <= 1, told


@GENRES
def test_reading_restores_the_order_and_nothing_else_does(genre: str) -> None:
    generator = random.Random(1)
    exact, right = [], []
    blind: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for seed in range(200, 215):
        told = summaries(genre, seed)
        texts = [[paragraph.text for paragraph in chunk] for chunk in cut(genre, seed)]
        shuffled = list(range(len(told)))
        generator.shuffle(shuffled)
        shown = [told[at] for at in shuffled]
        place = places_of(texts, shown)
        found = [shuffled[at] for at in sorted(range(len(shown)), key=place.__getitem__)]
        exact.append(found == sorted(found))
        right.append(pairs_right(found))
        for name, order in blind_orders(shown, seed).items():
            ranks = [shuffled[at] for at in order]
            blind[name].append((pairs_right(ranks), common_subsequence(ranks)))
    means = {name: [sum(one) / len(rows) for one in zip(*rows, strict=True)] for name, rows in blind.items()}
    print(genre, sum(exact), len(exact), sum(right) / len(right), means)
    assert sum(right) / len(right) > 0.98
    # Whole orders: of 15 documents only; over 100 they are above 95 % (docs).
    assert sum(exact) >= 0.8 * len(exact)
    for name, (pairs, common) in means.items():
        # A random order of about 16 has half of its pairs right (deviation 0.09) and 0.36 in common (0.07).
        assert abs(pairs - 0.5) < 0.08, name
        assert common < 0.42, name


@GENRES
def test_words_of_two_summaries_do_not_tell_which_comes_first(genre: str) -> None:
    np = pytest.importorskip("numpy")
    text_features = pytest.importorskip("sklearn.feature_extraction.text")
    ensemble = pytest.importorskip("sklearn.ensemble")

    def pairs(seeds: range, number: int) -> tuple[list[str], list[str], "np.ndarray"]:
        generator = random.Random(seeds[0])
        one, two, earlier = [], [], []
        for seed in seeds:
            told = summaries(genre, seed)
            for _ in range(number):
                first, second = generator.sample(range(len(told)), 2)
                one.append(told[first])
                two.append(told[second])
                earlier.append(first < second)
        return one, two, np.array(earlier)

    train, test = pairs(range(1000, 1050), 40), pairs(range(5000, 5030), 40)
    weights = text_features.TfidfVectorizer(max_features=150, min_df=5).fit(train[0])

    def features(found: tuple[list[str], list[str], "np.ndarray"]) -> "np.ndarray":
        return np.hstack([weights.transform(texts).toarray() for texts in found[:2]])

    model = ensemble.HistGradientBoostingClassifier(max_iter=60, random_state=0)
    accuracy = float((model.fit(features(train), train[2]).predict(features(test)) == test[2]).mean())
    print(genre, accuracy)
    # Chance, 3 standard errors of 1,200 pairs, 1 point.
    assert accuracy < 0.5 + 3 * 0.0145 + 0.01


def test_a_summary_of_opinions_is_short() -> None:
    assert 1 <= SUMMARY["opinions"](write_opinions(0, 3000).paragraphs).count(". ") + 1 <= 8


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
                assert [one for one, group in groups.items() if scored_states(line, Fact("", (group,)))] == [
                    name
                ], line
