"""`lct plan` as a user types it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from judge_server import Answer
from run_commands import Said, lct, published_data
from stored_runs import run_lm_eval
from stub_server import like_vllm, stub_server

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.benchmarks.downloads import without_downloads

TASK, CONVERSATION = "ada_leval_bestanswer_1k", "elitr_bench_conv_dev"


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "220")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("published")
    yield from published_data(folder, offline=False, ada_leval=3, elitr_bench=3)


def plan(*words: object) -> Said:
    return lct("plan", *words)


def test_a_table_with_totals(data: Path) -> None:
    costs = ["--rate-prompt", "1000", "--rate-answer", "10", "--prompt-price", "2", "--completion-price", "8"]
    both = ("--tasks", f"{TASK},{CONVERSATION}", "--data-dir", data)
    said = plan(*both, "--window", "100k", "--model", "some-model", *costs)
    assert said.code == 0 and not said.err
    lines = {line.split()[0]: line.split()[1:] for line in said.out.splitlines() if line.split()}
    assert lines[TASK][:3] == ["3", "0", "3"] and lines[CONVERSATION][:3] == ["2", "0", "3"]
    assert lines["total"][:3] == ["5", "0", "6"]
    assert "some-model: tokens, window 100,000" in said.out
    assert f"A judge reads the answers of {CONVERSATION}" in said.out


def test_a_judge_is_counted_where_one_reads_the_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The synthetic tasks have a headline without a judge."""
    words = ("--tasks", "elitr_bench_qa_synthetic", "--length", "1k", "--n", "1")
    reads = "A judge reads the answers of elitr_bench_qa_synthetic"
    assert reads not in plan(*words).out
    monkeypatch.setenv("LCT_JUDGE_MODEL", "stub")
    monkeypatch.setenv("LCT_JUDGE_BASE_URL", "http://127.0.0.1:9/v1")
    assert reads in plan(*words).out


def test_json_has_the_numbers_of_the_table(data: Path) -> None:
    words = ("--tasks", f"{TASK},{CONVERSATION}", "--data-dir", data, "--json")
    rows = plan(*words, "--rate-prompt", "1000", "--rate-answer", "10").rows
    total, tasks = rows["total"], rows["tasks"]
    assert [row["task"] for row in tasks] == [TASK, CONVERSATION]
    for key in ("cases", "requests", "history_tokens", "answer_tokens", "hours"):
        assert total[key] == pytest.approx(sum(row[key] for row in tasks)), key
    assert total["prompt_tokens"] == {"cl100k": sum(row["prompt_tokens"]["cl100k"] for row in tasks)}
    read = total["prompt_tokens"]["cl100k"] + total["history_tokens"]
    assert total["hours"] == pytest.approx((read / 1000 + total["answer_tokens"] / 10) / 3600)
    assert total["price"] is None and rows["window"] is None
    twice = plan(*words, "--repeats", "2", "--answer-tokens", "10").rows["total"]
    assert twice["answer_tokens"] == 2 * 10 * 6


def test_what_does_not_fit_is_named(data: Path) -> None:
    said = plan("--tasks", TASK, "--data-dir", data, "--window", "500")
    assert said.code == 0 and f"{TASK}: 3 of 3 cases do not fit the window" in said.out
    assert "take a shorter length" in said.out
    rows = plan("--tasks", TASK, "--data-dir", data, "--window", "500", "--json").rows
    assert rows["total"]["requests"] == 0


def test_missing_data_are_named_with_the_remedy(data: Path, tmp_path: Path) -> None:
    said = plan("--tasks", "ada_leval_tsort_any,ada_leval_bestanswer_[12]k", "--data-dir", data)
    assert said.code == 1 and "total" in said.out
    assert "not planned: ada_leval_tsort_any: give a length" in said.err
    said = plan("--tasks", f"{TASK},elitr_bench_qa_dev", "--data-dir", tmp_path)
    assert said.code == 1 and said.err.count("not planned:") == 2 and said.err.count("lct data fetch") >= 2


def test_a_benchmark_is_planned_without_its_tasks_of_any_length() -> None:
    # Data of two files are missing; with data or without published tasks the code is 0.
    said = plan("--tasks", "graph_walks", "--n", "1", "--data-dir", "/nowhere")
    assert said.err.startswith(
        "note: left out without --length or --cases: graph_walks_bfs_any, graph_walks_parents_any\n"
    )
    assert "graph_walks_bfs_1k_synthetic" in said.out and "graph_walks_bfs_any_synthetic" in said.out
    assert said.err.count("not planned: 4 tasks of graph_walks (graph_walks_bfs_") == 1
    assert said.err.count("\n") == 2 and "`lct data fetch graph_walks` downloads them" in said.err
    assert "graph_walks_bfs_any:" not in said.err
    some = plan("--tasks", "graph_walks_bfs_any*", "--n", "1", "--data-dir", "/nowhere")
    assert some.code == 0 and some.err == "note: left out without --length or --cases: graph_walks_bfs_any\n"


def test_missing_cells_without_data_have_one_line_for_each_benchmark(tmp_path: Path) -> None:
    said = plan(
        "--missing", tmp_path, "--model", "m", "--tasks", "openai_mrcr_?needle_64k", "--data-dir", tmp_path
    )
    assert said.code == 1 and said.err.startswith(
        "cases not counted: 3 tasks of openai_mrcr (openai_mrcr_2needle_64k, "
    )
    assert said.err.endswith(
        f"missing in {tmp_path}/openai_mrcr; `lct data fetch openai_mrcr` downloads them\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no tasks"),
        (("--tasks", "ada_leval_tsort_3k"), "did you mean"),
        (("--tasks", "qa_dev"), "did you mean: elitr_bench_qa_dev, "),
        # Nothing is near a name that only ends like one of ours.
        (("--tasks", "longbench"), "'longbench'; `lct tasks` lists them."),
        (("--tasks", TASK, "--rate-prompt", "5"), "both rates"),
        (("--tasks", TASK, "--prompt-price", "5"), "--completion-price"),
        (("--tasks", TASK, "results"), "add --missing"),
        (("--tasks", TASK, "--missing"), "name them"),
        (("--tasks", TASK, "--missing", "nowhere"), "nowhere: does not exist"),
        (("--tasks", TASK, "--model", "a", "--model", "b"), "one --model"),
        (("--tasks", TASK, "--cache-order", "slurm"), "--cache-order must be 'cases' or 'longest'"),
        (("--tasks", TASK, "--n", "many"), "Invalid value for '--n'"),
        # Options are named as they are typed, not as hosts spell them.
        (("--tasks", TASK, "--n", "0"), "error: --n must be above 0"),
        (("--tasks", TASK, "--answer-budget=0"), "error: --answer-budget must be above 0"),
        (("--tasks", TASK, "--length", "8q"), "error: --length '8q' is not a length: write it like"),
        (
            ("--tasks", "needle_plain_1k", "--length", "8k"),
            "error: needle_plain_1k has a fixed length; leave out --length, or name needle_plain_any",
        ),
        (
            ("--tasks", TASK, "--prefix-cache", "vllm", "--cache-size", "x"),
            "error: --cache-size 'x' is not a length: write it like",
        ),
    ],
)
def test_bad_words_end_with_one_line(
    words: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = plan(*words)
    assert said.code == 2 and message in said.err
    assert len(said.err.strip().splitlines()) == 1 and "Traceback" not in said.err


def test_a_folder_tells_its_tokenizer_and_window(data: Path, tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text(json.dumps({"text_config": {"max_position_embeddings": 4321}}))
    rows = plan("--model", tmp_path, "--tasks", TASK, "--data-dir", data, "--json").rows
    assert (rows["window"], rows["tokenizer"]) == (4321, str(tmp_path))
    assert set(rows["total"]["prompt_tokens"]) == {"cl100k", str(tmp_path)}
    rows = plan("--model", tmp_path, "--window", "9k", "--tasks", TASK, "--data-dir", data, "--json").rows
    assert rows["window"] == 9000


def test_a_server_gives_its_window_and_counts(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    words = ("--model", "stub", "--tasks", TASK, "--data-dir", data, "--json", "--api-base")
    with stub_server(others=like_vllm(4321)) as stub:
        rows = plan(*words, stub.url, "--prefix-cache", "vllm").rows
        name = "stub (counted by its server)"
        assert (rows["window"], rows["tokenizer"]) == (4321, name)
        counted = load_task(TASK, {"lct_data_dir": str(data)})
        sizes = [1 + len(counted.messages(case)[0].content.split()) for case in counted.cases.cases]
        assert rows["total"]["prompt_tokens"][name] == rows["total"]["shared"]["tokens"] == sum(sizes)
        rows = plan(*words, stub.url, "--window", "500", "--tokenizer", "cl100k").rows
        assert (rows["window"], rows["tokenizer"]) == (500, "cl100k")
    assert {key for _, key in stub.asked} == {"Bearer sk-0123456789abcdef"}
    with stub_server() as stub:
        said = plan(*words, stub.url)
    assert said.code == 0 and (said.rows["window"], said.rows["tokenizer"]) == (None, "cl100k")
    assert said.err.strip() == f"--api-base: {stub.url} states no window; add --window and --tokenizer"


def test_a_server_that_refuses_or_is_down_is_named_in_one_line(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    words = ("--model", "stub", "--tasks", TASK, "--data-dir", data, "--api-base")
    with stub_server(others={"/v1/models": lambda _: Answer(status=401)}) as stub:
        said = plan(*words, stub.url)
    reason = f"{stub.url}/models requires a key in OPENAI_API_KEY (status 401)"
    remedy = "add --window and --tokenizer\n"
    assert said.err == f"--api-base: {reason}; {remedy}"
    down = plan(*words, stub.url)
    assert down.err.startswith(f"--api-base: {stub.url}/models: no answer (")
    assert down.err.endswith(remedy) and down.err.count("\n") == 1


def test_nothing_is_downloaded_and_the_environment_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with without_downloads():
        assert os.environ["HF_HUB_OFFLINE"] == "1"
        from huggingface_hub import constants

        assert constants.HF_HUB_OFFLINE
    assert "HF_HUB_OFFLINE" not in os.environ and not constants.HF_HUB_OFFLINE


def test_missing_cells_of_a_run(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of lm-eval as it is, with two of three cases."""
    pytest.importorskip("lm_eval")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LCT_DATA_DIR", str(data))
    results = tmp_path / "results"
    with stub_server() as stub:
        arguments = f"model=stub,base_url={stub.url}/chat/completions"
        run_lm_eval(results, [TASK], arguments, {"lct_n": 2})
        run_lm_eval(results / "talks", [CONVERSATION], arguments)
    both = f"{TASK},{CONVERSATION}"
    said = plan("--missing", results, "--tasks", f"{both},ada_leval_tsort_2k")
    assert said.code == 1
    assert "2 partial, 1 absent." in said.out and "2 of 3 responses requested" in said.out
    assert "0 of 3 responses scored (3 not_judged)" in said.out and "recorded" not in said.out
    [path] = (results / "stub").rglob("results_*.json")
    row = json.loads(path.read_text())
    words = ["lm_eval", "--limit", "2", "--model_args", "api_key=sk-0123456789abcdef", "\x1b[2J"]
    row["configs"][TASK]["metadata"]["command"] = words
    path.write_text(json.dumps(row))
    said = plan("--missing", results, "--tasks", both)
    recorded = (
        f"lm-eval recorded this command for {TASK} (stub); without lct_n and --limit, it runs all cases:"
    )
    assert recorded in " ".join(said.out.split())
    assert "lm_eval --limit 2 --model_args 'api_key=(not shown)' '\\x1b[2J'\n" in said.out
    rows = plan("--missing", results, "--tasks", f"{TASK}", "--n", "2", "--json").rows
    assert [cell["state"] for cell in rows["cells"]] == ["done"]
    assert plan("--missing", results, "--tasks", TASK, "--n", "2").code == 0
    more = plan("--missing", results, "--tasks", TASK, "--model", "stub", "--model", "new", "--json").rows
    assert [(cell["model"], cell["state"]) for cell in more["cells"]] == [
        ("stub", "partial"),
        ("new", "absent"),
    ]
