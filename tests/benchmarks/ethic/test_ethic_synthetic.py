"""Cases written from a seed: right answers by construction, lengths kept, the same bytes, memory that does not grow."""

import json
import re
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from other_tokenizers import other_tokenizer
from synthetic_text_checks import coverage

from long_context_tasks.benchmarks.building import Progress
from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.benchmarks.ethic import scoring
from long_context_tasks.benchmarks.ethic.prompts import context_of, template
from long_context_tasks.benchmarks.ethic.scoring.fact_recall import states
from long_context_tasks.benchmarks.ethic.scoring.official import DOMAINS
from long_context_tasks.benchmarks.ethic.synthetic import (
    MAKERS,
    WRITINGS,
    SyntheticSettings,
    build,
    make_case,
)
from long_context_tasks.benchmarks.ethic.synthetic.fit import fit, shortened, whole_word
from long_context_tasks.benchmarks.ethic.synthetic.maker import GENRES, Made, Maker
from long_context_tasks.benchmarks.ethic.synthetic.organize import organize
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.schema import CaseSet, InputError, Options
from long_context_tasks.synthetic.document import Fact, Paragraph
from long_context_tasks.tokens import get_tokenizer

PAIRS = [(task, domain) for task, domains in DOMAINS.items() for domain in domains]
count = get_tokenizer("cl100k").count


def made_case(task: str, domain: str, length: int, number: int, seed: int = 3) -> Made:
    return make_case(task, domain, length, SyntheticSettings((length,), seed=seed).fitted().fresh(), number)


@pytest.mark.parametrize(("task", "domain"), PAIRS)
@pytest.mark.parametrize("length", [1000, 3100])
def test_a_prompt_is_at_most_two_percent_below_its_length(task: str, domain: str, length: int) -> None:
    for number in range(4):
        made = made_case(task, domain, length, number)
        size = made.draft.tokens_in(get_tokenizer("cl100k"))
        assert 0.98 * length <= size <= length, (number, size)
        assert size == count(f"{template('build_system')}\n\n{made.draft.user}")


@pytest.mark.parametrize(("task", "domain"), [("attribute", "law"), ("organize", "debates")])
def test_documents_that_make_no_case_never_run_out(task: str, domain: str) -> None:
    chosen = SyntheticSettings((1000,), seed=1).fitted()
    make = MAKERS.get(task, Maker.made)
    failed = [make(Maker(task, domain, 1000, chosen.fresh(), number)) is None for number in range(40)]
    share = sum(failed) / len(failed)
    assert share**WRITINGS * 1000 < 1e-2, share  # a thousand cases


@pytest.mark.parametrize("domain", DOMAINS["organize"])
def test_options_say_what_is_told_once(domain: str) -> None:
    """What is told in two places would make two orders right."""
    length = 500_000  # shorter ones seldom tell a thing twice
    maker = Maker("organize", domain, length, SyntheticSettings((length,)).fitted().fresh(), 0)
    told = Counter(fact.statement for one in maker.document().paragraphs for fact in one.facts)
    assert max(told.values()) > 1
    made = organize(maker)
    assert made is not None and all(part.facts for part in made.facts)
    assert all(told[fact.statement] == 1 for part in made.facts for fact in part.facts)


@pytest.mark.parametrize("kind", ["words", "bytes"])
def test_another_tokenizer_measures_its_own_tokens(kind: str, tmp_path: Path) -> None:
    folder = other_tokenizer(kind, tmp_path)
    length = 2000 if kind == "words" else 6000
    chosen = SyntheticSettings((length,), tokenizer=folder, length_policy="same_tokens").fitted()
    tokenizer = get_tokenizer(folder)
    for task, domain in PAIRS[::3]:
        user = make_case(task, domain, length, chosen.fresh(), 0).draft.user
        size = tokenizer.count(f"{template('build_system')}\n\n{user}")
        assert 0.98 * length <= size <= length, (task, domain, size)


@pytest.mark.parametrize("domain", DOMAINS["attribute"])
def test_longer_tokens_than_those_of_cl100k_are_supplied(domain: str, tmp_path: Path) -> None:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    made = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex(r"(?:\S+\s+){1,4}"), "isolated")
    made.save(str(tmp_path / "tokenizer.json"))
    chosen = SyntheticSettings((4000,), tokenizer=str(tmp_path), length_policy="same_tokens").fitted()
    user = make_case("attribute", domain, 4000, chosen.fresh(), 0).draft.user
    assert 0.98 * 4000 <= get_tokenizer(str(tmp_path)).count(f"{template('build_system')}\n\n{user}") <= 4000


@pytest.mark.parametrize("domain", DOMAINS["recall"])
def test_labels_stand_in_the_context_and_a_right_answer_scores_one(domain: str) -> None:
    task = load_task(f"ethic_recall_{domain}_synthetic", Options(length=2000, n=2, seed=5))
    forms = GENRES[domain].forms or (lambda label: (label,))
    for case in task.cases.cases:
        context = context_of(task.messages(case)[-1].content) or ""
        gold = list(case.turns[0].gold)
        assert len(gold) > 3 and all(whole_word(forms(label), context) for label in gold)
        separator = ", " if domain in ("books", "debates") else "; "
        assert scoring.score_recall(case, separator.join(gold))["strict_f1"].value == 1
        assert max(case.turns[0].labels["first_chunk"]) < case.labels["num_chunks"]


@pytest.mark.parametrize("domain", DOMAINS["organize"])
def test_options_in_the_gold_order_follow_the_context(domain: str) -> None:
    seen = set()
    for number in range(4):
        made = made_case("organize", domain, 2000, number)
        options = dict(re.findall(r"^\[(\d+)\] (.*)$", made.draft.user, re.MULTILINE))
        gold = made.draft.gold
        assert sorted(options, key=int) == sorted(gold, key=int) and len(gold) > 2
        seen.add(tuple(gold))
        for option, part in zip(gold, made.facts, strict=True):
            assert part.facts and all(states(options[option], fact) for fact in part.facts)
        # The summary of each part is made of facts of paragraphs that stand in order.
        places = [
            next(at for at, one in enumerate(made.paragraphs) if set(part.facts) & set(one.facts))
            for part in made.facts
        ]
        assert places == sorted(places)
    assert len(seen) > 1


def test_the_studies_of_a_review_are_told_by_its_inclusion() -> None:
    from long_context_tasks.benchmarks.ethic.synthetic.maker import document_seed
    from long_context_tasks.synthetic.trials import write_review

    made = made_case("attribute", "medicine", 4000, 1)
    included = write_review(document_seed(3, "medicine", 1), 20_000).included
    shown = re.findall(r"^ID: (\d+)", made.draft.user, re.MULTILINE)
    assert set(made.draft.gold) == included & set(shown)
    assert 0 < len(made.draft.gold) < len(shown)


def test_segments_of_law_are_numbered_and_some_cite_the_target() -> None:
    made = made_case("attribute", "law", 4000, 1)
    segments = re.findall(r"^<Segment \d+>$", made.draft.user, re.MULTILINE)
    assert segments == [f"<Segment {n}>" for n in range(1, len(segments) + 1)]
    assert 0 < len(made.draft.gold) < len(segments) and set(made.draft.gold) <= set(segments)
    assert "TARGET CITATION" not in made.draft.user and "[CITATION]" in made.draft.user


@pytest.mark.parametrize(("task", "domain"), PAIRS)
def test_the_answer_needs_most_of_the_context(task: str, domain: str) -> None:
    tokenizer = get_tokenizer("cl100k")
    shares = [
        coverage(made_case(task, domain, 4000, number), task, GENRES[domain].forms, tokenizer)
        for number in range(3)
    ]
    assert sum(shares) / len(shares) >= 0.75, shares  # 50 cases of each: docs/synthetic.md


def test_fewer_cases_are_the_first_of_more_and_seeds_differ(tmp_path: Path) -> None:
    texts = {}
    for seed, n in ((1, 2), (1, 4), (2, 2)):
        folder = tmp_path / f"{seed}_{n}" / "ethic_recall_synthetic"
        chosen = SyntheticSettings((1000,), seed=seed, n=n, domain="books")
        build("ethic_recall_synthetic", None, chosen, folder)
        cases = CaseSet.read(folder, "ethic_recall_books_synthetic")
        texts[seed, n] = [(case.to_json(), cases.documents[case.inputs["user"]]) for case in cases.cases]
    assert texts[1, 2] == texts[1, 4][:2]
    assert not {user for _, user in texts[1, 4]} & {user for _, user in texts[2, 2]}


def test_tasks_of_a_domain_ask_about_the_same_documents() -> None:
    starts = {
        task: (context_of(made_case(task, "books", 4000, 0).draft.user) or "").removeprefix("<Section 1>\n")[
            :300
        ]
        for task in ("recall", "summarize", "organize")
    }
    assert len(set(starts.values())) == 1


def test_built_cases_run_under_their_task_at_their_length(tmp_path: Path) -> None:
    folder = tmp_path / "cases" / "ethic_attribute_synthetic"
    reports = build(
        "ethic_attribute_synthetic", None, SyntheticSettings((1000, 2000), n=2), folder, Progress()
    )
    assert [report.task for report in reports] == [
        f"ethic_attribute_{domain}_synthetic {length}"
        for domain in ("medicine", "law")
        for length in ("1k", "2k")
    ]
    assert all(len(report.tokens) == report.clusters == 2 for report in reports)
    options = {"lct_cases": tmp_path / "cases", "lct_length": "2k"}
    task = load_task("ethic_attribute_law_synthetic", resolve_options(options))
    assert {case.labels["length"] for case in task.cases.cases} == {2000} and len(task.cases) == 2
    direct = load_task("ethic_attribute_law_synthetic", Options(length=2000, n=2))
    assert [case.turns for case in direct.cases.cases] == [case.turns for case in task.cases.cases]
    assert json.loads((folder / "manifest.json").read_text())["options"]["n"] == 2
    with pytest.raises(InputError, match="lengths 1k, 2k; choose one with lct_length"):
        load_task("ethic_attribute_law_synthetic", resolve_options({"lct_cases": tmp_path / "cases"}))


def test_a_task_writes_its_cases_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from long_context_tasks.benchmarks.ethic import synthetic as synthetic_build

    name = "ethic_recall_debates_synthetic"
    first = load_task(name, Options(length=1000, n=2))
    monkeypatch.setattr(synthetic_build, "build", None)
    assert load_task(name, Options(length=1000, n=2)).cases.cases == first.cases.cases
    with pytest.raises(TypeError):
        load_task(name, Options(length=1000, n=2, seed=1))


def test_what_cannot_be_built_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lct_length"):
        load_task("ethic_recall_books_synthetic", Options())
    with pytest.raises(InputError, match="too short"):
        load_task("ethic_recall_books_synthetic", Options(length=900))
    with pytest.raises(InputError, match="no cases of law, only of books, debates"):
        chosen = SyntheticSettings((1000,), domain="law")
        build("ethic_organize_synthetic", None, chosen, tmp_path / "x")
    with pytest.raises(InputError, match=r"--domain must be one of .* not poems"):
        SyntheticSettings((1000,), domain="poems")


def test_an_unknown_tokenizer_is_told_before_anything_is_written(tmp_path: Path) -> None:
    chosen = SyntheticSettings((1000,), n=1, tokenizer=str(tmp_path / "none"))
    with pytest.raises(InputError, match="tokenizer"):
        build("ethic_recall_synthetic", None, chosen, tmp_path / "cases" / "x")
    assert not (tmp_path / "cases").exists()


def test_memory_does_not_grow_with_the_number_of_cases(tmp_path: Path) -> None:
    peaks = []
    remembered = len(get_tokenizer("cl100k")._counts)
    for n in (4, 24):
        tracemalloc.start()
        chosen = SyntheticSettings((2000,), n=n, domain="law")
        build("ethic_recall_synthetic", None, chosen, tmp_path / str(n))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0], peaks
    # A tokenizer remembers counts for as long as it lives: the shared one must not be told of every paragraph.
    assert len(get_tokenizer("cl100k")._counts) == remembered


WORDS = st.sampled_from(
    ["Anne", "went", "over", "Kitty's", "long", "bridge", "while", "somebody", "laughed", "aloud"]
)
SENTENCES = st.lists(st.lists(WORDS, min_size=3, max_size=9), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.lists(SENTENCES, min_size=1, max_size=6), st.integers(5, 150))
def test_fitted_paragraphs_are_the_first_ones_and_fit(written: list[list[list[str]]], room: int) -> None:
    texts = [" ".join(f"Then {' '.join(words)} again." for words in one) for one in written]
    names = ("Anne", "Kitty")
    paragraphs = [
        Paragraph(text, tuple(name for name in names if whole_word((name,), text))) for text in texts
    ]
    fitted = fit(paragraphs, room, 3, count, fillers=("So it was.", "It was late by then."))
    assert sum(count(f"{one.text}\n\n") for one in fitted) <= room
    for one, whole in zip(fitted[:-1], paragraphs, strict=False):
        assert one is whole
    if fitted:
        last, whole = fitted[-1], paragraphs[len(fitted) - 1]
        stem = re.sub(r"(?: (?:So it was|It was late by then)\.)+$", "", last.text)
        assert whole.text.startswith(stem) and stem.endswith(".")
        assert last.labels == tuple(name for name in names if whole_word((name,), stem))


def test_a_shortened_paragraph_keeps_what_still_stands_in_it() -> None:
    fact, other = Fact("a", (("bridge",), ("fell", "fallen"))), Fact("b", (("mill",),))
    text = "The bridge had fallen by noon. Capt. Smith said it was the mill (all of it. Really) there. So he went."
    one = Paragraph(text, ("Smith",), (fact, other))
    assert shortened(one, text.index(" Capt.")) == Paragraph("The bridge had fallen by noon.", (), (fact,))
    assert shortened(one, text.index(" Smith")) is None  # an abbreviation
    assert shortened(one, text.index(" Really)")) is None  # an open parenthesis
    counts = Paragraph("There were 24 women here. Later 24 per cent of 1,204 went.", ("24", "1204"))
    forms = lambda label: (label, f"{int(label):,}")  # noqa: E731
    # Which of the two 24 is a count of people cannot be told.
    assert shortened(counts, counts.text.index(" Later"), forms) is None
