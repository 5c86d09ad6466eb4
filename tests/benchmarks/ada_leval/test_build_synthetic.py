"""Cases from the synthetic corpus: any length, no download, the same for everybody, made once."""

import itertools
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from other_tokenizers import count, other_tokenizer

from long_context_tasks.benchmarks.ada_leval import build, prompts
from long_context_tasks.benchmarks.ada_leval.build import tsort
from long_context_tasks.benchmarks.ada_leval.build.tsort import Caps, CountedBook, NovelPlan, caps_for
from long_context_tasks.benchmarks.ada_leval.settings import ConstraintSettings, TSortSettings
from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.corpora.books import Book
from long_context_tasks.schema import CaseSet, InputError, Options, format_length, parse_length
from long_context_tasks.schema.options import cache_dir
from long_context_tasks.synthetic import write_novel
from long_context_tasks.tokens import get_tokenizer

pytestmark = pytest.mark.slow

TSORT, BEST = "ada_leval_tsort_synthetic", "ada_leval_bestanswer_synthetic"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))


def made_cases(family: str, folder: Path, length: int, n: int, **options) -> CaseSet:
    kind = TSortSettings if family == TSORT else ConstraintSettings
    build.build(family, None, kind((length,), n=n, **options), folder)
    return CaseSet.read(folder, f"{family.removesuffix('_synthetic')}_{format_length(length)}_synthetic")


def test_tsort_of_a_million_tokens(tmp_path):
    made = made_cases(TSORT, tmp_path, 1_000_000, 2)
    assert len(made) == 2 and all(980_000 <= case.num_tokens["cl100k"] <= 1_000_000 for case in made.cases)


def test_novels_are_not_kept_while_others_are_written(tmp_path):
    peaks = []
    for n in (1, 3, 15):  # the first one reads word lists and the tokenizer
        tracemalloc.start()
        build.build(TSORT, None, TSortSettings((16_000,), n=n), tmp_path / str(n))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.3 * peaks[1], peaks


def test_long_cases_may_share_a_novel_and_then_stand_a_stride_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(tsort, "_MOST_TOKENS", 20_000)
    made = made_cases(TSORT, tmp_path, 4000, 25)
    assert len(made) == 25 and len({case.cluster for case in made.cases}) == 10
    for cluster in {case.cluster for case in made.cases}:
        starts = sorted(int(case.id.split("_")[-5]) for case in made.cases if case.cluster == cluster)
        assert all(b - a >= 64 for a, b in itertools.pairwise(starts))


@pytest.mark.parametrize("length", [2000, 128_000])
def test_few_cases_of_tsort_are_the_first_of_more(length, tmp_path, monkeypatch):
    if length > 50_000:  # the plan of 128k, with fewer cases for each novel and in all
        monkeypatch.setattr(tsort, "_CASES", 6)
        monkeypatch.setattr(tsort, "_MOST_TOKENS", 3 * length)
        monkeypatch.setattr(tsort, "_FEWEST_NOVELS", 2)
    made = {n: made_cases(TSORT, tmp_path / str(n), length, n, seed=2) for n in (2, 6)}
    assert made[2].cases == made[6].cases[:2]
    assert made[2].documents[made[2].cases[1].document] == made[6].documents[made[2].cases[1].document]
    assert len({case.cluster for case in made[6].cases}) == (6 if length < 50_000 else 3)


@pytest.mark.parametrize("length", ["1k", "8k", "16k", "64k", "128k", "1m"])
def test_the_plan_depends_on_the_length_alone(length):
    tokens = parse_length(length)
    plans = [
        NovelPlan.of(card("ada_leval").tasks["tsort"], TSortSettings((tokens,), n=n), tokens)
        for n in (50, 100, 200)
    ]
    assert len({(plan.per_novel, plan.num_tokens) for plan in plans}) == 1
    for few, many in itertools.pairwise(plans):
        assert many.seeds[: len(few.seeds)] == few.seeds
        # Turns are the same as long as fewer cases take one from each novel.
        assert len(few.seeds) == len(many.seeds) or len(few.seeds) >= 50


@pytest.mark.parametrize("length", [1000, 4000, 32_000])
def test_few_cases_of_bestanswer_are_the_first_of_more(length, tmp_path):
    few, many = (made_cases(BEST, tmp_path / str(n), length, n, seed=2).cases for n in (5, 400))
    assert few == many[:5]


def test_a_thousand_cases_of_bestanswer(tmp_path):
    assert len(made_cases(BEST, tmp_path, 1000, 1000)) == 1000


def test_bestanswer_has_the_same_questions_at_every_length(tmp_path):
    clusters = {}
    for length in (1000, 4000, 16000, 32000):
        made = made_cases(BEST, tmp_path / str(length), length, 30)
        clusters[length] = {case.cluster for case in made.cases}
        for case in made.cases[:5]:
            assert length >= count(prompts.prompt(case, made.documents)) == case.num_tokens["cl100k"]
            assert case.num_tokens["cl100k"] >= 0.98 * length
    assert len(clusters[1000]) == 30
    assert clusters[1000] == clusters[4000] == clusters[16000] == clusters[32000]
    # Built side by side they are the same as one by one.
    build.build(BEST, None, ConstraintSettings((1000, 4000), n=30), tmp_path / "both")
    name = "ada_leval_bestanswer_4k_synthetic"
    assert CaseSet.read(tmp_path / "both", name).cases == CaseSet.read(tmp_path / "4000", name).cases


def test_seeds_differ(tmp_path):
    for family in (TSORT, BEST):
        first, second = (
            made_cases(family, tmp_path / f"{family}{seed}", 2000, 5, seed=seed) for seed in (0, 1)
        )
        assert first.cases != second.cases


@pytest.mark.parametrize("name", ["ada_leval_tsort_2k_synthetic", "ada_leval_bestanswer_2k_synthetic"])
def test_a_task_builds_its_cases_once(name, tmp_path, monkeypatch):
    task = load_task(name, Options(n=6, seed=3))
    assert len(task.cases) == 6
    messages = task.messages(task.cases.cases[0])
    assert [message.role for message in messages] == ["user"] and count(messages[0].content) <= 2000
    monkeypatch.setattr(build, "build", None)
    assert load_task(name, Options(n=6, seed=3)).cases.cases == task.cases.cases
    with pytest.raises(TypeError):
        load_task(name, Options(n=6, seed=4))


def test_any_length_and_default_number(tmp_path):
    cases = load_task("ada_leval_bestanswer_any_synthetic", Options(length=3000)).cases
    assert len(cases) == 200 and cases.cases[0].task == "ada_leval_bestanswer_3k_synthetic"


def test_too_short_a_length():
    with pytest.raises(InputError, match=r"too short|leave no room"):
        load_task("ada_leval_tsort_any_synthetic", Options(length=400, n=2))
    assert not list(cache_dir().glob("cases/ada*"))


@pytest.fixture(scope="module", params=["words", "bytes"])
def other(request, tmp_path_factory) -> str:
    """A tokenizer with fewer tokens than cl100k, and one with four times as many."""
    return other_tokenizer(request.param, tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize("family", [TSORT, BEST])
@pytest.mark.parametrize(
    ("length", "n"), [(1000, 60), (1130, 20), (2000, 20), (3000, 10), (4000, 10), (64_000, 3)]
)
def test_a_prompt_is_at_most_two_percent_below_its_length(family, length, n, tmp_path):
    made = made_cases(family, tmp_path / family, length, n, seed=length)
    assert len(made) == n
    for case in made.cases:
        size = count(prompts.prompt(case, made.documents))
        assert 0.98 * length <= size <= length and case.num_tokens == {"cl100k": size}, case.id
        if family == TSORT:
            document = made.documents[case.document]
            parts = [document[a:b] for a, b in case.inputs["segments"]]
            assert "\n\n".join(parts[place - 1] for place in case.turns[0].gold) in document
    # Every case of TSort has a novel of its own.
    assert family == BEST or len({case.cluster for case in made.cases}) == n


@pytest.mark.parametrize("family", [TSORT, BEST])
def test_another_tokenizer_measures_its_own_tokens(family, other, tmp_path):
    tokenizer = get_tokenizer(other)
    for length in (1000, 8000) if other.rstrip("0123456789").endswith("words") else (6000, 24_000):
        made = made_cases(
            family, tmp_path / str(length), length, 5, tokenizer=other, length_policy="same_tokens"
        )
        assert len(made) == 5
        for case in made.cases:
            prompt = prompts.prompt(case, made.documents)
            assert case.num_tokens == {"cl100k": count(prompt), other: tokenizer.count(prompt)}
            assert 0.98 * length <= case.num_tokens[other] <= length, case.id


def test_a_tokenizer_that_only_counts_changes_no_case(other, tmp_path):
    for family in (TSORT, BEST):
        made = [
            made_cases(family, tmp_path / f"{family}{place}", 1000, 5, **options)
            for place, options in enumerate(({}, {"tokenizer": other}))
        ]
        assert [replace(case, num_tokens={}) for case in made[0].cases] == [
            replace(case, num_tokens={}) for case in made[1].cases
        ]
        assert all(set(case.num_tokens) == {"cl100k", other} for case in made[1].cases)


def test_paragraphs_count_as_in_the_whole_text(tmp_path):
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    made = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    # A blank line belongs to the word behind it, but is a token of its own at the end of a paragraph that stands alone.
    made.pre_tokenizer = pre_tokenizers.Split(Regex(r"\n*\S+ ?|\n+"), "isolated")
    made.save(str(tmp_path / "tokenizer.json"))
    tokenizer = get_tokenizer(str(tmp_path))
    novel = write_novel(0, 5000)
    alone = CountedBook.of(Book(novel.id, novel.title, novel.paragraphs, novel.chapters), tokenizer)
    together = alone.as_in_whole(tokenizer)
    assert together.cumulated[-1] == tokenizer.count(alone.document) < alone.cumulated[-1] - 40
    assert alone.as_in_whole(get_tokenizer("cl100k")) is alone
    middle = len(alone.tokens) // 2
    half = tokenizer.count("\n\n".join(alone.book.paragraphs[:middle]))
    assert abs(together.cumulated[middle] - half) < 10 < alone.cumulated[middle] - half


def test_segments_have_equal_lengths_and_so_have_the_hints(tmp_path):
    for length in (1000, 4000):
        caps = caps_for(card("ada_leval").tasks["tsort"], length, TSortSettings((length,)))
        made = made_cases(TSORT, tmp_path / str(length), length, 20)
        for case in made.cases:
            document = made.documents[case.document]
            spans = [case.inputs["before"], *case.inputs["segments"], case.inputs["after"]]
            before, *parts, after = (count(document[a:b] + "\n\n") for a, b in spans)
            assert max(parts) <= max(caps.segment, 150) and max(parts) - min(parts) <= 150
            assert 0.5 <= before / after <= 2


def test_the_text_around_the_segments_cannot_be_limited(tmp_path):
    for name in ("before_cap", "after_cap"):
        with pytest.raises(InputError, match=f"leave out .*--{name.replace('_', '-')}"):
            build.build(TSORT, None, TSortSettings((2000,), n=1, **{name: 100}), tmp_path / TSORT)


def naive_windows(sizes, caps, segments, fixed):
    """Every place and its most equal hints, tried one by one."""
    found = {}
    for first in range(1, len(sizes)):
        edges, at = [first], first
        for _ in range(segments):
            total = 0
            while at < len(sizes) and total + sizes[at] <= caps.segment:
                total, at = total + sizes[at], at + 1
            edges.append(at)
        if at == len(sizes) or len(set(edges)) < len(edges):
            continue
        middle = fixed + sum(sizes[first:at])
        for start in range(first):
            before = sum(sizes[start:first])
            ends = [
                end
                for end in range(at + 1, len(sizes) + 1)
                if middle + before + sum(sizes[at:end]) <= caps.bound
            ]
            if not ends:
                continue
            after = sum(sizes[at : ends[-1]])
            uneven = max(before, after) / min(before, after)
            if 0.98 * caps.bound <= middle + before + after and uneven <= 2:
                found[first] = min(found.get(first, (9, 0)), (uneven, tuple(edges)))
    return found


@settings(max_examples=100, deadline=None)
@given(
    sizes=st.lists(st.integers(5, 40), min_size=5, max_size=24),
    segments=st.integers(2, 4),
    segment=st.integers(30, 80),
    bound=st.integers(300, 500),
)
def test_windows_are_those_that_fill_the_length(sizes, segments, segment, bound):
    caps = Caps(before=0, segment=segment, after=0, stride=1, bound=bound)
    counted = CountedBook(Book("b", "B", tuple("x" * len(sizes)), (0,)), np.array(sizes))
    expected = naive_windows(sizes, caps, segments, 60)
    made = list(tsort.filled_windows(counted, caps, segments, 60))
    assert [window.edges for window in made] == [edges for _, edges in expected.values()]
    for window, (uneven, _) in zip(made, expected.values(), strict=True):
        before, after = (
            sum(sizes[window.before : window.edges[0]]),
            sum(sizes[window.edges[-1] : window.after]),
        )
        assert max(before, after) / min(before, after) == pytest.approx(uneven)
