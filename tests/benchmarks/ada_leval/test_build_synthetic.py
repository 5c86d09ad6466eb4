"""Cases from the synthetic corpus: any length, no download, the same for everybody, made once."""

import itertools
from pathlib import Path

import pytest

from long_context_tasks.benchmarks.ada_leval import build, prompts
from long_context_tasks.benchmarks.ada_leval.bestanswer_choice import BestAnswerSettings
from long_context_tasks.benchmarks.ada_leval.data import load_task
from long_context_tasks.benchmarks.ada_leval.tsort_windows import TSortSettings
from long_context_tasks.benchmarks.catalogue import parse_task
from long_context_tasks.schema import CaseSet, InputError, Options, parse_length
from long_context_tasks.tokens import get_tokenizer

TSORT, BEST = "ada_leval_tsort_synthetic", "ada_leval_bestanswer_synthetic"
count = get_tokenizer("cl100k").count


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))


@pytest.mark.parametrize("length", ["1k", "2k", "8k", "3000", "64k"])
def test_tsort(length, tmp_path):
    tokens = parse_length(length)
    build.build(TSORT, None, TSortSettings((tokens,), seed=4, n=12), tmp_path / TSORT)
    made = CaseSet.read(tmp_path / TSORT, f"ada_leval_tsort_{length.replace('3000', '3k')}_synthetic")
    assert len(made) == 12
    # Every case has a novel of its own.
    assert len({case.cluster for case in made.cases}) == 12
    for case in made.cases:
        assert (
            0.75 * tokens < count(prompts.prompt(case, made.documents)) == case.num_tokens["cl100k"] <= tokens
        )
        document = made.documents[case.document]
        parts = [document[a:b] for a, b in case.inputs["segments"]]
        assert "\n\n".join(parts[place - 1] for place in case.turns[0].gold) in document


def test_tsort_of_a_million_tokens(tmp_path):
    build.build(TSORT, None, TSortSettings((1_000_000,), n=2), tmp_path / TSORT)
    made = CaseSet.read(tmp_path / TSORT, "ada_leval_tsort_1m_synthetic")
    assert len(made) == 2 and all(990_000 < case.num_tokens["cl100k"] <= 1_000_000 for case in made.cases)


def test_long_cases_may_share_a_novel_and_then_stand_a_stride_apart(tmp_path, monkeypatch):
    from long_context_tasks.benchmarks.ada_leval import synthetic_corpus

    monkeypatch.setattr(synthetic_corpus, "_MOST_TOKENS", 20_000)
    build.build(TSORT, None, TSortSettings((4000,), n=25), tmp_path / TSORT)
    made = CaseSet.read(tmp_path / TSORT, "ada_leval_tsort_4k_synthetic")
    assert len(made) == 25 and len({case.cluster for case in made.cases}) == 10
    for cluster in {case.cluster for case in made.cases}:
        starts = sorted(int(case.id.split("_")[-5]) for case in made.cases if case.cluster == cluster)
        assert all(b - a >= 64 for a, b in itertools.pairwise(starts))


@pytest.mark.parametrize("length", [2000, 128_000])
def test_few_cases_of_tsort_are_the_first_of_more(length, tmp_path, monkeypatch):
    from long_context_tasks.benchmarks.ada_leval import synthetic_corpus

    if length > 50_000:  # the plan of 128k, with fewer cases for each novel and in all
        monkeypatch.setattr(synthetic_corpus, "_CASES", 6)
        monkeypatch.setattr(synthetic_corpus, "_MOST_TOKENS", 3 * length)
        monkeypatch.setattr(synthetic_corpus, "_FEWEST_NOVELS", 2)
    made = {}
    for n in (2, 6):
        build.build(TSORT, None, TSortSettings((length,), seed=2, n=n), tmp_path / str(n))
        (task,) = (path.stem for path in (tmp_path / str(n)).glob("*.jsonl"))
        made[n] = CaseSet.read(tmp_path / str(n), task)
    assert made[2].cases == made[6].cases[:2]
    assert made[2].documents[made[2].cases[1].document] == made[6].documents[made[2].cases[1].document]
    assert len({case.cluster for case in made[6].cases}) == (6 if length < 50_000 else 3)


@pytest.mark.parametrize("length", ["1k", "8k", "16k", "64k", "128k", "1m"])
def test_the_plan_depends_on_the_length_alone(length):
    from long_context_tasks.benchmarks.ada_leval.synthetic_corpus import ForumPosts, NovelPlan

    tokens = parse_length(length)
    plans = [
        NovelPlan.of(build.task_card(TSORT), TSortSettings((tokens,), n=n), tokens) for n in (50, 100, 200)
    ]
    assert len({(plan.per_novel, plan.num_tokens) for plan in plans}) == 1
    for few, many in itertools.pairwise(plans):
        assert many.seeds[: len(few.seeds)] == few.seeds
        # Turns are the same as long as fewer cases take one from each novel.
        assert len(few.seeds) == len(many.seeds) or len(few.seeds) >= 50
    assert ForumPosts.of(0, 2, tokens) == ForumPosts.of(0, 1000, tokens)


@pytest.mark.parametrize("length", [1000, 4000, 32_000])
def test_few_cases_of_bestanswer_are_the_first_of_more(length, tmp_path):
    made = {}
    for n in (5, 400):
        build.build(BEST, None, BestAnswerSettings((length,), seed=2, n=n), tmp_path / str(n))
        (task,) = (path.stem for path in (tmp_path / str(n)).glob("*.jsonl"))
        made[n] = CaseSet.read(tmp_path / str(n), task).cases
    assert made[5] == made[400][:5]


def test_a_thousand_cases_of_bestanswer(tmp_path):
    (report,) = build.build(BEST, None, BestAnswerSettings((1000,), n=1000), tmp_path / BEST)
    assert len(report.tokens) == 1000


def test_bestanswer_has_the_same_questions_at_every_length(tmp_path):
    clusters = {}
    for length in (1000, 4000, 16000, 32000):
        build.build(BEST, None, BestAnswerSettings((length,), n=30), tmp_path / str(length))
        (task,) = (path.stem for path in (tmp_path / str(length)).glob("*.jsonl"))
        made = CaseSet.read(tmp_path / str(length), task)
        clusters[length] = {case.cluster for case in made.cases}
        for case in made.cases[:5]:
            assert count(prompts.prompt(case, made.documents)) == case.num_tokens["cl100k"] > 0.8 * length
    assert len(clusters[1000]) == 30
    assert clusters[1000] == clusters[4000] == clusters[16000] == clusters[32000]
    # Built side by side they are the same as one by one.
    build.build(BEST, None, BestAnswerSettings((1000, 4000), n=30), tmp_path / "both")
    name = "ada_leval_bestanswer_4k_synthetic"
    assert CaseSet.read(tmp_path / "both", name).cases == CaseSet.read(tmp_path / "4000", name).cases


def test_seeds_differ(tmp_path):
    made = {}
    for seed in (0, 1):
        for family, kind in ((TSORT, TSortSettings), (BEST, BestAnswerSettings)):
            build.build(family, None, kind((2000,), seed=seed, n=5), tmp_path / f"{family}{seed}")
            (path,) = (tmp_path / f"{family}{seed}").glob("*.jsonl")
            made[family, seed] = path.read_bytes()
    assert made[TSORT, 0] != made[TSORT, 1] and made[BEST, 0] != made[BEST, 1]


@pytest.mark.parametrize("name", ["ada_leval_tsort_2k_synthetic", "ada_leval_bestanswer_2k_synthetic"])
def test_a_task_builds_its_cases_once(name, tmp_path, monkeypatch):
    task = load_task(name, Options(n=6, seed=3))
    assert len(task.cases) == 6
    messages = task.messages(task.cases.cases[0])
    assert [message.role for message in messages] == ["user"] and count(messages[0].content) <= 2154
    monkeypatch.setattr(build, "build", None)
    assert load_task(name, Options(n=6, seed=3)).cases.cases == task.cases.cases
    with pytest.raises(TypeError):
        load_task(name, Options(n=6, seed=4))


def test_any_length_and_default_number(tmp_path):
    cases = build.cached_synthetic(parse_task("ada_leval_bestanswer_any_synthetic"), 3000, Options())
    assert len(cases) == 200 and cases.cases[0].task == "ada_leval_bestanswer_3k_synthetic"


def test_too_short_a_length():
    with pytest.raises(InputError, match=r"too short|leave no room"):
        load_task("ada_leval_tsort_any_synthetic", Options(length=400, n=2))
    assert not list(Path(build.cache_dir()).glob("cases/*/ada*"))
