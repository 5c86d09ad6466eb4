"""Facts and summaries of synthetic stories and debates: told by the text and by other words, no way round reading it."""

import itertools
import random
import re
from collections import defaultdict
from functools import cache

import pytest
from kinds import GENRES, SUMMARY, WRITE
from story_debate_checks import (
    blind_orders,
    chunked,
    common_subsequence,
    pairs_right,
    restore,
    states,
)

from long_context_tasks.synthetic.debate import detail, fact_of_act
from long_context_tasks.synthetic.debate.house import Act, Member, sit
from long_context_tasks.synthetic.document import Paragraph


@cache
def cut(genre: str, seed: int) -> list[list[Paragraph]]:
    """Whole chunks of a document of 16,000 tokens."""
    return chunked(WRITE[genre](seed, 16_000).paragraphs)[:-1]


@cache
def summaries(genre: str, seed: int) -> list[str]:
    return [SUMMARY[genre](chunk) for chunk in cut(genre, seed)]


@GENRES
def test_facts_are_stated_where_they_belong_and_hardly_elsewhere(genre: str) -> None:
    elsewhere, asked = defaultdict(int), defaultdict(int)
    for seed in range(200, 204):
        chunks = cut(genre, seed)
        texts = ["\n".join(paragraph.text for paragraph in chunk) for chunk in chunks]
        told = summaries(genre, seed)
        for at, chunk in enumerate(chunks):
            for paragraph in chunk:
                assert paragraph.facts
                for fact in paragraph.facts:
                    assert states(paragraph.text, fact), fact
                    assert states(fact.statement, fact), fact
                    assert fact.statement not in told[at] or states(told[at], fact)
                    for other, text in enumerate(texts):
                        if other != at:
                            asked[fact.weight] += 1
                            elsewhere[fact.weight] += states(text, fact)
    rates = {weight: elsewhere[weight] / asked[weight] for weight in asked}
    print(genre, rates)
    assert rates[1.0] < 0.035
    assert rates[0.6] < 0.09


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
        texts = ["\n".join(paragraph.text for paragraph in chunk) for chunk in cut(genre, seed)]
        shuffled = list(range(len(told)))
        generator.shuffle(shuffled)
        shown = [told[at] for at in shuffled]
        found = [shuffled[at] for at in restore(texts, shown)]
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
