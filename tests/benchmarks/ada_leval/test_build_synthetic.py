"""Cases from the synthetic corpus: any length, no download, the same for everybody, made once."""

import re
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from other_tokenizers import count, other_tokenizer

from long_context_tasks.benchmarks.ada_leval import build, prompts
from long_context_tasks.benchmarks.ada_leval.build import bestanswer
from long_context_tasks.benchmarks.ada_leval.build.posts import ForumPosts
from long_context_tasks.benchmarks.ada_leval.settings import BestAnswerSettings
from long_context_tasks.benchmarks.building import stable_seed
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.schema import CaseSet, Options, format_length, parse_length
from long_context_tasks.synthetic import write_threads
from long_context_tasks.synthetic.forum import asides, with_asides
from long_context_tasks.synthetic.forum.parts import devices, meets, traits
from long_context_tasks.tokens import get_tokenizer

pytestmark = pytest.mark.slow

BEST = "ada_leval_bestanswer_synthetic"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))


def made_cases(folder: Path, length: int, n: int, **options) -> CaseSet:
    build.build(BEST, None, BestAnswerSettings((length,), n=n, **options), folder)
    return CaseSet.read(folder, f"ada_leval_bestanswer_{format_length(length)}_synthetic")


@pytest.mark.parametrize("length", [1000, 4000, 32_000])
def test_few_cases_of_bestanswer_are_the_first_of_more(length, tmp_path):
    few, many = (made_cases(tmp_path / str(n), length, n, seed=2).cases for n in (5, 400))
    assert few == many[:5]


def test_a_thousand_cases_of_bestanswer(tmp_path):
    assert len(made_cases(tmp_path, 1000, 1000)) == 1000


def test_bestanswer_has_the_same_questions_at_every_length(tmp_path):
    clusters = {}
    for length in (1000, 4000, 16000, 32000):
        made = made_cases(tmp_path / str(length), length, 30)
        clusters[length] = {case.cluster for case in made.cases}
        for case in made.cases[:5]:
            assert length >= count(prompts.prompt(case, made.documents)) == case.num_tokens["cl100k"]
            assert case.num_tokens["cl100k"] >= 0.98 * length
    assert len(clusters[1000]) == 30
    assert clusters[1000] == clusters[4000] == clusters[16000] == clusters[32000]
    # Built side by side they are the same as one by one.
    build.build(BEST, None, BestAnswerSettings((1000, 4000), n=30), tmp_path / "both")
    name = "ada_leval_bestanswer_4k_synthetic"
    assert CaseSet.read(tmp_path / "both", name).cases == CaseSet.read(tmp_path / "4000", name).cases


def test_seeds_differ(tmp_path):
    first, second = (made_cases(tmp_path / f"{seed}", 2000, 5, seed=seed) for seed in (0, 1))
    assert first.cases != second.cases


def test_a_task_builds_its_cases_once(tmp_path, monkeypatch):
    name = "ada_leval_bestanswer_2k_synthetic"
    task = load_task(name, Options(n=6, seed=3))
    assert len(task.cases) == 6
    messages = task.messages(task.cases.cases[0])
    assert [message.role for message in messages] == ["user"] and count(messages[0].content) <= 2000
    monkeypatch.setattr(build, "build", None)
    assert load_task(name, Options(n=6, seed=3)).cases.cases == task.cases.cases
    with pytest.raises(TypeError):
        load_task(name, Options(n=6, seed=4))


@pytest.mark.parametrize("length", ["1k", "8k", "128k", "1m"])
def test_the_forum_depends_on_the_length_alone(length):
    tokens = parse_length(length)
    assert ForumPosts.of(0, 2, tokens) == ForumPosts.of(0, 1000, tokens)


def test_any_length_and_default_number(tmp_path):
    cases = load_task("ada_leval_bestanswer_any_synthetic", Options(length=3000)).cases
    assert len(cases) == 200 and cases.cases[0].task == "ada_leval_bestanswer_3k_synthetic"


@pytest.fixture(scope="module", params=["words", "bytes"])
def other(request, tmp_path_factory) -> str:
    """A tokenizer with fewer tokens than cl100k, and one with four times as many."""
    return other_tokenizer(request.param, tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize(
    ("length", "n"), [(1000, 60), (1130, 20), (2000, 20), (3000, 10), (4000, 10), (64_000, 3)]
)
def test_a_prompt_is_at_most_two_percent_below_its_length(length, n, tmp_path):
    made = made_cases(tmp_path, length, n, seed=length)
    assert len(made) == n
    for case in made.cases:
        size = count(prompts.prompt(case, made.documents))
        assert 0.98 * length <= size <= length and case.num_tokens == {"cl100k": size}, case.id


def test_another_tokenizer_measures_its_own_tokens(other, tmp_path):
    tokenizer = get_tokenizer(other)
    for length in (1000, 8000) if other.rstrip("0123456789").endswith("words") else (6000, 24_000):
        made = made_cases(tmp_path / str(length), length, 5, tokenizer=other, length_policy="same_tokens")
        assert len(made) == 5
        for case in made.cases:
            prompt = prompts.prompt(case, made.documents)
            assert case.num_tokens == {"cl100k": count(prompt), other: tokenizer.count(prompt)}
            assert 0.98 * length <= case.num_tokens[other] <= length, case.id


def test_a_tokenizer_that_only_counts_changes_no_case(other, tmp_path):
    made = [
        made_cases(tmp_path / f"{place}", 1000, 5, **options)
        for place, options in enumerate(({}, {"tokenizer": other}))
    ]
    assert [replace(case, num_tokens={}) for case in made[0].cases] == [
        replace(case, num_tokens={}) for case in made[1].cases
    ]
    assert all(set(case.num_tokens) == {"cl100k", other} for case in made[1].cases)


def test_the_most_tokens_of_the_paper_can_be_filled_too(tmp_path):
    made = made_cases(tmp_path / BEST, 1000, 20, bounds="paper")
    assert all(0.98 * 1128 <= case.num_tokens["cl100k"] <= 1128 for case in made.cases)


def test_longer_questions_ask_the_same_and_the_gold_answer_alone_is_right(tmp_path):
    """Each point of the question stands there as it was written, and among the answers shown one meets them all."""
    longer = 0
    threads = {thread.id: thread for thread in write_threads(5, 2200)}
    bodies = {answer.id: answer.body for thread in threads.values() for answer in thread.answers}
    for length in (1000, 2000):
        made = made_cases(tmp_path / str(length), length, 30, seed=5)
        specs = {a.id: (thread.device, a.spec) for thread in threads.values() for a in thread.answers}
        for case in made.cases:
            thread = threads[int(case.cluster)]
            shown = made.documents[case.inputs["question"]]
            if shown != thread.body:
                longer += 1
                assert case.inputs["question"] == f"{thread.id}_{format_length(length)}"
                lines = shown.split("\n")
                assert [*lines[:2], *lines[3:]] == thread.body.split("\n")
                seed = int(stable_seed(5, case.cluster, length)[:12], 16)
                assert set(re.split(r"(?<=[.?!]) (?=[A-Z])", lines[2])) <= set(asides(seed))
            right = [
                place
                for place, key in enumerate(case.inputs["answers"], start=1)
                if specs[int(key)][0] == thread.device and meets(thread.points, specs[int(key)][1])
            ]
            assert case.turns[0].gold == f"A{right[0]}" and len(right) == 1
            # Answers stand as they were written.
            assert all(made.documents[key] == bodies[int(key)] for key in case.inputs["answers"])
    assert longer > 40


def test_the_accepted_answer_is_not_known_by_its_length(tmp_path):
    made = made_cases(tmp_path / BEST, 1000, 600, seed=11)
    ranks, hits, chance = [], {max: 0, min: 0}, []
    for case in made.cases:
        sizes = [len(made.documents[key]) for key in case.inputs["answers"]]
        gold = int(case.turns[0].gold[1:]) - 1
        others = sizes[:gold] + sizes[gold + 1 :]
        ranks.append(statistics.fmean((sizes[gold] > size) + 0.5 * (sizes[gold] == size) for size in others))
        chance.append(1 / len(sizes))
        for extreme in hits:
            hits[extreme] += sizes.index(extreme(sizes)) == gold
    error = statistics.pstdev(ranks) / len(ranks) ** 0.5
    assert abs(statistics.fmean(ranks) - 0.5) < 4 * error
    for extreme, number in hits.items():
        expected = statistics.fmean(chance)
        error = (expected * (1 - expected) / len(chance)) ** 0.5
        assert abs(number / len(chance) - expected) < 4 * error, extreme


@given(st.integers(0, 2**48))
@settings(max_examples=50, deadline=None)
def test_asides_say_nothing_of_parts(seed):
    said = asides(seed)
    assert said == asides(seed) and len(said) == len(set(said)) >= 30
    kinds = {str(value) for trait in traits().values() if not trait.is_measure for value in trait.values}
    for sentence in said:
        words = set(re.findall(r"[\w-]+", sentence.lower()))
        assert not words & {kind.lower() for kind in kinds if " " not in kind}
        assert not re.search(r"\d|\n", sentence) and sentence[0].isupper() and sentence[-1] in ".?!"
        assert not any(device.name in sentence.lower() for device in devices())
    # The gap of a case is smaller than an answer, of which none has more tokens than all these.
    assert count(" ".join(said)) > 330
    assert with_asides("\nOpening.\nPoints.\nClose?\n", said[:2]) == (
        f"\nOpening.\n{said[0]} {said[1]}\nPoints.\nClose?\n"
    )


def test_too_few_sentences_give_no_case(tmp_path, monkeypatch):
    monkeypatch.setattr(bestanswer, "asides", lambda seed: [])
    (report,) = build.build(BEST, None, BestAnswerSettings((1000,), n=100), tmp_path / BEST)
    assert len(report.tokens) + report.dropped["the prompt does not fit the length"] == 100
    assert report.tokens and min(report.tokens) >= 980 and report.dropped
