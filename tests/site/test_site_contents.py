"""Contents of the site in addition to runs: agreement of judges, chance, groups, word error rates, heat maps."""

import json
from pathlib import Path

import pytest

pytest.importorskip("polars")
pytest.importorskip("plotly")

from bundle_files import with_human_baseline
from collected_runs import (
    CONVERSATION,
    MADE,
    TIME,
    Run,
    Turn,
    run_of,
    simple,
    write_lm_eval,
    write_opencompass,
)
from typer.testing import CliRunner

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.benchmarks.elitr_bench.report import judge_agreement
from long_context_tasks.benchmarks.published import published
from long_context_tasks.cli import app
from long_context_tasks.results.cells import cells_of
from long_context_tasks.results.collect import collect, collect_with_files
from long_context_tasks.schema import InputError
from long_context_tasks.site.contents import (
    chances,
    judge_sentences,
    measured_wer,
    pooled_groups,
    read_agreement,
    site_contents,
)


def judged(model: str = "gpt-4-0613", name: str = "first") -> Run:
    talk = {
        f"m{place}": [Turn({"judge_score": float(place % 10), "official_judge_score": 5.0, "answered": 1.0})]
        * 2
        for place in range(3)
    }
    return Run(talk, CONVERSATION, judge={"name": name, "model": model})


def ratings(path: Path) -> Path:
    rows = [
        {
            "id": str(n),
            "cluster": f"m{n % 4}",
            "first": n % 7 + 1,
            "human": (n + n % 3) % 7 + 1,
            "other": n % 2,
        }
        for n in range(20)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_what_judge_compare_wrote_becomes_a_sentence(tmp_path: Path) -> None:
    out = tmp_path / "agreement.json"
    done = CliRunner().invoke(
        app, ["judge", "compare", str(ratings(tmp_path / "r.jsonl")), "--out", str(out)]
    )
    assert done.exit_code == 0, done.output
    found = read_agreement(out)
    assert set(found) == {"first", "other"}  # people agree with nobody but judges
    assert (
        found["first"].startswith("Correlation with people: Pearson ")
        and "with human, n = 20" in found["first"]
    )
    assert "agreement.json" in found["first"] and " to " in found["first"]
    write_lm_eval(tmp_path / "runs", judged("mine"))
    assert judge_sentences(collect([tmp_path / "runs"]), out, {}) == {"first": found["first"]}


def test_agreement_over_splits_becomes_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "splits.json"
    figure = {"name": "first", "kind": "judge", "n": 70, "rho": {"mean": 0.714}, "mae": {"mean": 0.151}}
    path.write_text(
        json.dumps(
            {
                "splits": [],
                "comparison": {"figures": [figure, {**figure, "name": "x", "rho": {"mean": None}}]},
            }
        )
    )
    assert read_agreement(path) == {
        "first": "Spearman's rho with people 0.71, mean absolute error 0.151 on 0 to 1, n = 70 (splits.json)."
    }


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"study": {"correlations": [{"first": "a"}]}}'])
def test_other_files_are_no_agreement(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError, match="no agreement of judges in it"):
        read_agreement(path)
    path.write_text('{"study": {"correlations": []}}')
    with pytest.raises(InputError, match="no pair of a judge and people"):
        read_agreement(path)
    done = CliRunner().invoke(app, ["report", str(tmp_path), "--agreement", str(tmp_path / "none.json")])
    assert done.exit_code == 2 and "none.json: no agreement" in done.stderr


def test_what_the_paper_prints_is_said_of_the_same_model_only(tmp_path: Path) -> None:
    assert "0.82 (gold)" in judge_agreement("gpt-4-0613")
    assert "published, not measured here" in judge_agreement("gpt-4-0613")
    assert "0.2 to 0.3" in judge_agreement("prometheus-eval/prometheus-13b-v1.0")
    for other in ("gpt-4", "gpt-4o", "gpt-4-0613-turbo", "prometheus-7b-v2.0", ""):
        assert judge_agreement(other) == ""
    write_lm_eval(tmp_path / "a", judged())
    write_lm_eval(tmp_path / "b", judged("mine", "second"))
    assert list(judge_sentences(collect([tmp_path]), None, {})) == ["first"]


def test_chance_is_the_card_s_number_or_what_guessing_scores_on_these_cases(tmp_path: Path) -> None:
    guess = {f"c{n}": [Turn({"strict_accuracy": 0.0, "random_guess": 1 / n})] for n in (2, 4)}
    write_lm_eval(tmp_path / "a", Run(guess, "ada_leval_bestanswer_2k"))
    write_lm_eval(tmp_path / "b", Run(simple([1.0]), "ada_leval_tsort_2k"))
    write_lm_eval(tmp_path / "c", judged())
    found = chances(cells_of(collect([tmp_path])))
    assert found == {
        "ada_leval_bestanswer_2k": pytest.approx(0.375),
        "ada_leval_tsort_2k": pytest.approx(1 / 24),
    }


def test_word_error_rates_are_means_over_meetings(tmp_path: Path) -> None:
    folder = write_lm_eval(tmp_path, Run(simple([1.0, 0.0, 1.0]), "elitr_bench_qa_dev_wer20"))
    [path] = folder.glob("samples_*")
    samples = [json.loads(line) for line in path.read_text().splitlines()]
    for sample, cluster, rate in zip(samples, ("m1", "m1", "m2"), (0.1, 0.1, 0.4), strict=True):
        sample["doc"] |= {"cluster": cluster, "labels": json.dumps({"measured_wer": rate})}
    path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    assert measured_wer(collect([tmp_path])) == {"elitr_bench_qa_dev_wer20": pytest.approx(25.0)}


def test_figures_of_papers_for_groups_of_tasks_are_there() -> None:
    groups = pooled_groups(["ethic", "ada_leval", "elitr_bench"])
    assert groups["ethic_recall"] == [
        f"ethic_recall_{domain}" for domain in ("books", "debates", "medicine", "law")
    ]
    assert "elitr_bench_qa" not in groups
    assert {row.task for row in published("ethic")} >= {"ethic_recall", "ethic_recall_books"}


def test_the_command_shows_names_claims_groups_and_lengths(tmp_path: Path) -> None:
    for length in (1, 2):
        run = Run(simple([1.0] * 12 + [0.0]), f"ada_leval_tsort_{length}k", "/home/me/secret/owl")
        write_lm_eval(tmp_path / "runs" / str(length), run)
    write_opencompass(
        tmp_path / "runs" / "oc", Run(simple([1.0] * 13), "ada_leval_tsort_4k", "owl_oc", made=TIME)
    )
    write_lm_eval(tmp_path / "runs" / "talk", judged())
    (tmp_path / "models.yaml").write_text(
        "models: [{name: org/owl, aliases: [/home/me/secret/owl, owl_oc, owl], licence: MIT, window: 32k}]"
    )
    out = tmp_path / "site"
    given = [
        "report",
        str(tmp_path / "runs"),
        "--out",
        str(out),
        "--models",
        str(tmp_path / "models.yaml"),
        "--threshold",
        "60",
    ]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    assert (
        "note: org/owl: 3 names of hosts" in done.stderr
        and "4 runs of 1 model on 4 tasks, 0 problems, 1 note" in done.stderr
    )
    index = (out / "index.html").read_text()
    assert (
        "at least 1k, open beyond" in index
        and "32k" in index
        and "leaderboard.csv" in index
        and "published, not measured here" in index
    )
    [model] = (out / "model").glob("*.html")
    assert "MIT" in model.read_text() and "Claimed window" in model.read_text()
    for path in out.rglob("*"):
        if path.is_file() and path.suffix in (".html", ".js", ".csv") and path.name != "plotly.min.js":
            assert "secret" not in path.read_text(), path
    assert (
        "GPT-4-Turbo-0125" in (out / "benchmark" / "ada_leval.html").read_text()
    )  # 8k: published, without a run


def test_people_are_a_row_of_the_table_and_a_line_of_the_curves(tmp_path: Path) -> None:
    for length in (1, 2):
        run = Run(simple([1.0] * 3 + [0.0]), f"ada_leval_tsort_{length}k", "owl")
        write_lm_eval(tmp_path / "runs" / str(length), run)
    with with_human_baseline("ada_leval_tsort_1k", 0.97):
        done = CliRunner().invoke(app, ["report", str(tmp_path / "runs"), "--out", str(tmp_path / "site")])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "site" / "task" / "ada_leval_tsort_1k.html").read_text()
    assert "<bdi>people</bdi>" in page and "97.0" in page and "Doe et al. 2025, Table 2" in page
    data = [path.read_text() for path in (tmp_path / "site" / "data").glob("*.js")]
    assert any('"human":[[1000,0.97],[2000,0.97]]' in text.replace(" ", "") for text in data)
    assert "dashed grey line is the score of people" in page


def test_runs_without_their_data_have_no_maps_and_the_rest(tmp_path: Path) -> None:
    talk = {f"b{n}": [Turn({"strict_f1": 0.5})] for n in range(2)}
    write_lm_eval(tmp_path, Run(talk, "ethic_recall_books", options={"lct_cases": str(tmp_path / "gone")}))
    collected = collect_with_files([tmp_path])
    cells = cells_of(collected.collection)
    options, notes, _ = site_contents(collected, cells)
    assert options.heat_maps == [] and len(notes) == 1 and "gone" in notes[0]


@pytest.mark.slow
def test_long_synthetic_cases_are_not_written_for_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run whose cases take too long to generate has scores but no heat map; with the cache it has both."""
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "written"))
    for length in (1000, 2000):
        task = load_task("ethic_recall_medicine_synthetic", {"lct_length": length, "lct_n": 2})
        found = Turn(dict.fromkeys(task.metrics, 1.0), None, str(task.cases.cases[0].turns[0].gold))
        run = run_of(
            task, {case.id: [found] for case in task.cases.cases}, made=f"{MADE[:-1]}{length // 1000}"
        )
        write_lm_eval(tmp_path / "runs", run)
    monkeypatch.setattr("long_context_tasks.results.case_pages.MOST_FOR_PAGES", 3000)
    monkeypatch.setattr("long_context_tasks.site.contents.MOST_FOR_PAGES", 3000)
    given = ["report", str(tmp_path / "runs"), "--out", str(tmp_path / "site")]
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "empty"))
    short = CliRunner().invoke(app, given)
    assert short.exit_code == 0, short.output
    refused = "its 4,000 tokens of synthetic cases are not in the cache, and at most 3,000 are written here"
    command = "`lct runs export ethic_recall_medicine_synthetic --length 2000 --n 2` writes them"
    assert (
        short.stderr.count(f"{refused}; {command}") == 2 and "1 cells have no scores by place" in short.stderr
    )
    [folder] = [path.name for path in (tmp_path / "empty" / "cases").iterdir() if path.is_dir()]
    page = (tmp_path / "site" / "benchmark" / "ethic.html").read_text()
    assert refused in page and "by context length" in page
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "written"))
    whole = CliRunner().invoke(app, given)
    assert whole.exit_code == 0 and "not in the cache" not in whole.stderr
    assert "not in the cache" not in (tmp_path / "site" / "benchmark" / "ethic.html").read_text()
    assert folder in {path.name for path in (tmp_path / "written" / "cases").iterdir()}
