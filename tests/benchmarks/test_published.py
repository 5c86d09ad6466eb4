"""The papers' figures: as the papers print them, on tasks and metrics that there are, and consistent as far as the papers are."""

import math
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from published_figures import DOMAINS, ONE, PAPERS, POSITIONS, THREE, TYPES, chosen, printed, table_of

import long_context_tasks
from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.published import PublishedScore, published

OPEN = "zero-shot, 1000 cases"
SETTINGS = (("qa", ""), ("qa", "_multiturn"), ("conv", ""))
TABLES = Path(long_context_tasks.__file__).parent / "benchmarks" / "elitr_bench"

# Typed from the papers, not copied from the data.
SPOTS = {
    "ada_leval": [
        ("Table 2", "GPT-4-Turbo-0125", "ada_leval_tsort_4k", "16.5"),
        ("Table 2", "GPT-4-Turbo-1106", "ada_leval_tsort_2k", "18.5"),
        ("Table 2", "Claude-2", "ada_leval_tsort_16k", "3.0"),
        ("Table 2", "ChatGLM2-6B-32k", "ada_leval_tsort_8k", "0.2"),
        ("Table 2", "InternLM2-7b", "ada_leval_tsort_16k", "4.3"),
        ("Table 2", "Random Guess", "ada_leval_tsort_2k", "4.2"),
        ("Table 3", "GPT-4-Turbo-1106", "ada_leval_bestanswer_1k", "74.0"),
        ("Table 3", "GPT-4-Turbo-0125", "ada_leval_bestanswer_16k", "44.5"),
        ("Table 3", "GPT-3.5-Turbo-1106", "ada_leval_bestanswer_6k", "29.5"),
        ("Table 3", "Claude-2", "ada_leval_bestanswer_12k", "12.0"),
        ("Table 3", "InternLM2-7b", "ada_leval_bestanswer_8k", "13.4"),
        ("Table 3", "Vicuna-13b-v1.5-16k", "ada_leval_bestanswer_4k", "13.1"),
        ("Table 3", "Random Guess", "ada_leval_bestanswer_1k", "26.7"),
        ("Table 4", "Claude-2", "ada_leval_tsort_8k", "97.4"),
        ("Table 5", "Vicuna-7b-v1.5-16k", "ada_leval_bestanswer_2k", "96.2"),
        ("Table 6", "GPT-4-Turbo-1106", "ada_leval_tsort_128k", "6.0"),
        ("Table 6", "GPT-4-Turbo-0125", "ada_leval_tsort_64k", "4.0"),
        ("Table 6", "GPT-4-Turbo-0125", "ada_leval_bestanswer_32k", "30.0"),
        ("Table 6", "InternLM2-7b", "ada_leval_bestanswer_64k", "0.5"),
        ("Table 6", "Random Guess", "ada_leval_bestanswer_128k", "0.1"),
        ("Table 7", "Vicuna-13b-v1.5-16k", "ada_leval_tsort_8k_ppl", "89.2"),
        ("Table 8", "Claude-2", "ada_leval_bestanswer_8k_front", "50.0"),
        ("Table 8", "GPT-4-Turbo-1106", "ada_leval_bestanswer_2k_rear", "46.6"),
        ("Table 8", "ChatGLM3-6B-32k", "ada_leval_bestanswer_1k_mid", "41.9"),
        ("Table 10", "GPT-4-Turbo-1106", "ada_leval_bestanswer_16k_cut4k", "20.0"),
        ("Table 12", "ChatGLM3-6B-32k", "ada_leval_tsort_2k", "3.5"),
        ("Table 13", "ChatGLM2-6B-32k", "ada_leval_bestanswer_1k", "36.0"),
    ],
    "elitr_bench": [
        ("Table 2", "GPT-3.5", "elitr_bench_qa_test", "7.44"),
        ("Table 2", "GPT-4", "elitr_bench_qa_dev", "8.21"),
        ("Table 2", "GPT-4", "elitr_bench_qa_test", "8.39"),
        ("Table 2", "GPT-4", "elitr_bench_conv_test", "8.36"),
        ("Table 2", "GPT-4o", "elitr_bench_qa_test_multiturn", "8.38"),
        ("Table 2", "LongAlpaca-13B", "elitr_bench_conv_dev", "4.74"),
        ("Table 2", "LongChat-7B-v1.5", "elitr_bench_qa_test_multiturn", "4.17"),
        ("Table 2", "Vicuna-13B-v1.5", "elitr_bench_qa_dev_multiturn", "5.52"),
        ("Table 2", "LongAlign-13B", "elitr_bench_conv_test", "4.95"),
        ("Table 2", "LLaMA-3.1-8B", "elitr_bench_qa_test", "7.83"),
        ("Table 2", "Phi-3-small", "elitr_bench_qa_dev_multiturn", "7.67"),
        ("Table 2", "Phi-3-small", "elitr_bench_qa_test", "7.34"),
    ],
    "ethic": [
        ("Table 3", "Gemini Pro 1.5", "ethic_recall", "69.1"),
        ("Table 3", "GPT-4o", "ethic_organize", "39.0"),
        ("Table 3", "GPT-4o mini", "ethic_summarize", "2.7"),
        ("Table 3", "Qwen2.5-72B-Instruct", "ethic_attribute", "45.1"),
        ("Table 3", "StreamingLLM", "ethic_organize", "1.7"),
        ("Table A", "Gemini Pro 1.5", "ethic_organize_debates", "62.3"),
        ("Table A", "GPT-4o", "ethic_attribute_law", "55.7"),
        ("Table A", "GPT-4o", "ethic_summarize_medicine", "3.6"),
        ("Table A", "Llama-3.1-8B-Instruct", "ethic_recall_debates", "11.2"),
        ("Table A", "Phi-3.5-mini-instruct", "ethic_organize_books", "7.8"),
        ("Table A", "GLM4-9B-Chat", "ethic_attribute_medicine", "35.6"),
        ("Table A", "Qwen2.5-7B-Instruct", "ethic_recall_law", "5.2"),
        ("Table A", "MemoRAG", "ethic_summarize_law", "1.9"),
    ],
}


@pytest.mark.parametrize(
    ("benchmark", "table", "model", "task", "figure"),
    [(name, *spot) for name, spots in SPOTS.items() for spot in spots],
)
def test_figures_typed_from_the_paper(benchmark: str, table: str, model: str, task: str, figure: str) -> None:
    assert printed(benchmark, table, model, task) == figure


def test_figures_with_a_setting_or_a_subset() -> None:
    test, ada = "elitr_bench_qa_test", "ada_leval_bestanswer_8k"
    assert printed("elitr_bench", "Table 3", "GPT-4o", test, subset="howmany") == "8.92"
    assert printed("elitr_bench", "Table 3", "Vicuna-7B-v1.5", test, subset="howmany") == "2.88"
    assert printed("elitr_bench", "Table 3", "LongChat-7B-v1.5", test, subset="M") == "4.91"
    assert printed("elitr_bench", "Table 3", "LongAlign-7B", test, subset="B") == "7.09"
    assert printed("elitr_bench", "Table 4", "GPT-4", test, ONE) == "8.33"
    assert (
        printed("elitr_bench", "Table 4", "LongAlpaca-7B", test, "judge Prometheus-13B-v1.0, one run")
        == "4.46"
    )
    both = [s for s in chosen("ada_leval", "Table 9") if (s.model, s.task) == ("Vicuna-7b-v1.5, ReRoPE", ada)]
    assert [(s.metric, s.printed) for s in both] == [
        ("official_accuracy", "2.3"),
        ("followed_accuracy", "3.2"),
    ]
    expected = [s for s in chosen("ada_leval", "Table 4") if s.model == "Expectation"]
    assert {(s.n, s.task[-3:]): s.printed for s in expected if s.task.endswith(("_2k", "16k"))} == {
        (200, "_2k"): "5.0",
        (200, "16k"): "5.5",
        (1000, "_2k"): "5.3",
        (1000, "16k"): "5.2",
    }
    open_models = {s.setting for s in chosen("ada_leval", "Table 3") if s.model.startswith("Vicuna")}
    assert open_models == {OPEN}
    # Beyond the window of Claude-2 the paper prints no figure.
    assert not [s for s in published("ada_leval") if (s.model, s.task[-4:]) == ("Claude-2", "128k")]


def test_windows_as_the_papers_tell_them() -> None:
    windows = {name: {s.model: s.window for s in published(name)} for name in PAPERS}
    assert windows["ada_leval"]["Claude-2.1"] == "200k"
    assert windows["ada_leval"]["InternLM2-7b"] == windows["ada_leval"]["GPT-3.5-Turbo-1106"] == ""
    assert windows["elitr_bench"]["LongAlign-13B"] == "64k"
    assert windows["ethic"]["Gemini Pro 1.5"] == "2M"
    assert windows["ethic"]["MemoRAG"] == ""


def test_number_of_figures_in_each_table() -> None:
    assert Counter(map(table_of, published("ada_leval"))) == {
        "Table 2": 11 * 4,
        "Table 3": 11 * 7,
        "Table 4": 10 * 4,
        "Table 5": 10 * 7,
        "Table 6": 11 * 3 - 2,
        "Table 7": 6 * 3,
        "Table 8": 24 * 5,
        "Table 9": 8 * 4 * 2,
        "Table 10": 3,
        "Table 12": 5 * 4,
        "Table 13": 5 * 7,
    }
    # GPT-3.5 has no multi-turn figures.
    assert Counter(map(table_of, published("elitr_bench"))) == {
        "Table 2": 12 * 6 - 4,
        "Table 3": 12 * 8,
        "Table 4": 6,
    }
    assert Counter(map(table_of, published("ethic"))) == {"Table 3": 12 * 4, "Table A": 12 * 12}


# Summed over the papers' text by other means than the reader: a figure changed by mistake shows without the papers too.
TOTALS = {
    "ada_leval": {
        "Table 2": "215.6",
        "Table 3": "1809.6",
        "Table 4": "1953.9",
        "Table 5": "1992.0",
        "Table 6": "94.6",
        "Table 7": "1018.4",
        "Table 8": "3098.6",
        "Table 9": "1092.0",
        "Table 10": "62.5",
        "Table 12": "52.5",
        "Table 13": "324.5",
    },
    "elitr_bench": {"Table 2": "429.78", "Table 3": "653.61", "Table 4": "35.53"},
    "ethic": {"Table 3": "1002.7", "Table A": "2630.4"},
}


@pytest.mark.parametrize("benchmark", PAPERS)
def test_sum_of_each_table(benchmark: str) -> None:
    sums: dict[str, Decimal] = {}
    for score in published(benchmark):
        sums[table_of(score)] = sums.get(table_of(score), Decimal(0)) + Decimal(score.printed)
    assert {table: str(total) for table, total in sums.items()} == TOTALS[benchmark]


@pytest.mark.parametrize("benchmark", PAPERS)
def test_tasks_metrics_units_and_ranges(benchmark: str) -> None:
    card = catalogue.card(benchmark)
    groups = {f"{benchmark}_{name}" for name, task in card.tasks.items() if task.pooled}
    for score in published(benchmark):
        assert score.benchmark == benchmark and score.source.startswith(f"{card.title} paper (")
        assert score.metric in card.metrics
        if score.task not in groups:
            assert catalogue.parse_task(score.task).benchmark == benchmark
        low, high = {"percent": (0, 100), "points": (1, 5 if benchmark == "ethic" else 10)}[score.unit]
        assert low <= score.value <= high
        assert score.score == (score.value / 100 if score.unit == "percent" else score.value)
        assert len(score.printed.partition(".")[2]) == (2 if benchmark == "elitr_bench" else 1)


def test_only_tasks_with_published_data_have_figures() -> None:
    for score in published("ethic"):
        assert score.task.split("_")[1] in ("recall", "summarize", "organize", "attribute")
    assert {score.task for score in published("elitr_bench")} == {
        "elitr_bench_qa_dev",
        "elitr_bench_qa_test",
        "elitr_bench_qa_dev_multiturn",
        "elitr_bench_qa_test_multiturn",
        "elitr_bench_conv_dev",
        "elitr_bench_conv_test",
    }


def test_shares_of_few_cases_are_possible_but_for_one() -> None:
    """Of 50 or 200 cases only some percentages can be; one figure of the paper cannot."""
    impossible = {
        (table_of(score), score.model, score.task, score.printed)
        for score in published("ada_leval")
        if score.n is not None
        if not math.isclose(correct := score.value * score.n / 100, round(correct), abs_tol=1e-9)
    }
    assert impossible == {("Table 8", "GPT-4-Turbo-1106", "ada_leval_bestanswer_2k_rear", "46.6")}


def test_following_the_instruction_never_costs_accuracy() -> None:
    table = chosen("ada_leval", "Table 9")
    pairs = {(s.model, s.task): s.value for s in table if s.metric == "official_accuracy"}
    followed = {(s.model, s.task): s.value for s in table if s.metric == "followed_accuracy"}
    assert pairs.keys() == followed.keys()
    assert all(pairs[key] <= followed[key] for key in pairs)


@pytest.mark.parametrize("parts", [TYPES, POSITIONS], ids=["types", "positions"])
def test_elitr_parts_make_the_whole(parts: dict[str, int]) -> None:
    """Table 3 weighted by its N is the test column of Table 2, so its figures are of the same three runs."""
    whole = {s.model: s.value for s in chosen("elitr_bench", "Table 2") if s.task == "elitr_bench_qa_test"}
    rows = [s for s in chosen("elitr_bench", "Table 3") if s.subset in parts]
    assert len(whole) == 12 and sum(parts.values()) == 130
    assert {s.subset: s.n for s in rows} == parts
    assert {s.setting for s in rows} == {THREE}
    for model, value in whole.items():
        mean = sum(s.value * parts[s.subset] for s in rows if s.model == model) / 130
        # Each side is rounded to 0.01.
        assert mean == pytest.approx(value, abs=0.01), model


def test_elitr_means_are_those_of_dev_and_test() -> None:
    """The mean columns of Table 2, which are left out, agree with the figures that are kept."""
    held = yaml.safe_load((TABLES / "paper.yaml").read_text(encoding="utf-8"))["table2"]["rows"]
    for model, row in held.items():
        for start, (task, variant) in zip((0, 3, 6), SETTINGS, strict=True):
            if row[start] is None:
                continue
            dev, test = (
                float(printed("elitr_bench", "Table 2", model, f"elitr_bench_{task}_{split}{variant}"))
                for split in ("dev", "test")
            )
            assert (dev + test) / 2 == pytest.approx(float(row[start + 2]), abs=0.005 + 1e-9), model


def test_ethic_domains_make_the_whole_but_for_what_the_file_lists() -> None:
    whole = {(s.model, s.task): s for s in chosen("ethic", "Table 3")}
    parts: dict[tuple[str, str], list[PublishedScore]] = {}
    for score in chosen("ethic", "Table A"):
        task, _, domain = score.task.rpartition("_")
        assert score.n == DOMAINS[domain]
        parts.setdefault((score.model, task), []).append(score)
    assert parts.keys() == whole.keys()
    differing = {}
    for key, domains in parts.items():
        n = sum(DOMAINS[s.task.rpartition("_")[2]] for s in domains)
        assert whole[key].n == n
        mean = sum(s.value * DOMAINS[s.task.rpartition("_")[2]] for s in domains) / n
        # Each side is rounded to 0.1.
        if abs(mean - whole[key].value) > 0.1:
            differing[key] = round(mean, 1)
    attribute, recall = "ethic_attribute", "ethic_recall"
    assert differing == {
        ("Gemini Pro 1.5", attribute): 33.1,
        ("GPT-4o", attribute): 38.2,
        ("GPT-4o mini", attribute): 28.5,
        ("Qwen2.5-72B-Instruct", attribute): 42.8,
        ("Llama-3.1-70B-Instruct", attribute): 38.1,
        ("Qwen2.5-7B-Instruct", attribute): 21.9,
        ("Llama-3.1-8B-Instruct", attribute): 28.5,
        ("GLM4-9B-Chat", attribute): 27.6,
        ("Phi-3.5-mini-instruct", attribute): 22.5,
        ("Gemini Pro 1.5", "ethic_organize"): 55.1,
        ("Phi-3.5-mini-instruct", recall): 11.9,
        ("MemoRAG", recall): 18.3,
    }
