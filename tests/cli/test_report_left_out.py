"""`lct report`, `compare`, `pack` and `check` in a script: exit codes, what --json says was written, names of models."""

import json
from pathlib import Path

import pytest
from collected_runs import Run, simple, write_lm_eval, write_opencompass
from needs import needs
from run_commands import Said, lct

from long_context_tasks.results.tables import FILES

pytestmark = needs("polars")

LEFT_OUT = "1 problem, named above; exit code 1"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Runs of two models in lm-eval, one of a third in OpenCompass."""
    folder = tmp_path / "results"
    for model, values in (("owl", [1.0, 0.0]), ("org/crow-7b", [0.0, 0.0])):
        write_lm_eval(folder, Run(simple(values), model=model))
    write_opencompass(folder / "oc", Run(simple([1.0, 1.0]), model="wren", made="20260101_100000"))
    return folder


@pytest.fixture
def damaged(results: Path) -> Path:
    """The same with one run that cannot be read."""
    [path] = [path for path in results.rglob("samples_*") if "owl" in path.parts]
    path.write_bytes(path.read_bytes()[:-30])
    return results


def report(*words: object) -> Said:
    return lct("report", *words)


@pytest.mark.parametrize("json_too", [(), ("--json",)])
@pytest.mark.parametrize(
    "words",
    [
        ("{results}",),
        ("{results}", "--out", "{tmp}/site"),
        ("compare", "{results}", "-m", "wren", "-m", "org/crow-7b"),
        ("pack", "{results}", "--out", "{tmp}/bundles"),
    ],
)
def test_a_run_that_was_left_out_is_exit_code_1_with_one_line(
    damaged: Path, tmp_path: Path, words: tuple[str, ...], json_too: tuple[str, ...]
) -> None:
    if "--out" in words:
        pytest.importorskip("plotly")
    given = [word.format(results=damaged, tmp=tmp_path) for word in words]
    done = report(*given, *json_too)
    assert done.code == 1, done
    assert "problem: " in done.err and done.err.splitlines()[-1] == LEFT_OUT
    # What there is was made all the same.
    assert not json_too or json.loads(done.out)
    for place in ("site/index.html", "bundles/wren.lct.zip"):
        assert (tmp_path / place).is_file() is (place.partition("/")[0] in " ".join(words))


def test_options_without_effect_are_named(results: Path) -> None:
    done = report(results, "--title", "Mine", "--bins", "4", "--threshold", "80")
    for words in (
        "--title has no effect without --out",
        "--bins has no effect without --section",
        "--threshold has",
    ):
        assert words in done.err, words
    assert "no effect" not in report(results, "--threshold", "80", "--json").err


def test_all_is_well_without_a_problem(results: Path, tmp_path: Path) -> None:
    for words in (
        (results,),
        ("compare", results, "-m", "owl", "-m", "wren"),
        ("pack", results, "-o", tmp_path / "b"),
    ):
        done = report(*words)
        assert done.code == 0 and "left out:" not in done.err, done
    assert report("check", tmp_path / "b").code == 0


def test_json_says_what_was_written(results: Path, damaged: Path, tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    site = tmp_path / "site"
    told = json.loads(report(damaged, "--out", site, "--json").out)["result"]
    assert told["index"] == str(site / "index.html") and told["tables"] == [
        str(site / name) for name in FILES
    ]
    assert told["files"] == sum(path.is_file() for path in site.rglob("*"))
    assert told["cases"] == 4 and told["bytes"] > 1000 and told["runs"] == 2 and len(told["problems"]) == 1
    alone = json.loads(report(damaged, "--json").out)["result"]
    assert "index" not in alone and alone["models"] == 2 and alone["problems"] == told["problems"]
    packed = json.loads(report("pack", damaged, "--out", tmp_path / "b", "--json").out)["result"]
    assert sorted(packed["written"]) == sorted(map(str, (tmp_path / "b").iterdir()))
    assert packed["runs"] == 2 and len(packed["problems"]) == 1


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("nosuch", ". There are: "),
        ("Owl", "; did you mean 'owl'?"),
        ("crow", "; did you mean 'org/crow-7b'?"),
        ("hen-7b", ". There"),
    ],
)
def test_an_unknown_model_gets_a_suggestion(results: Path, name: str, meant: str) -> None:
    assert f"no runs of a model {name!r}{meant}" in report("compare", results, "-m", name, "-m", "wren").err


def test_submissions_go_to_an_address(results: Path, tmp_path: Path) -> None:
    done = report(results, "--out", tmp_path / "site", "--submit-to", "javascript:alert(1)")
    assert done.code == 2 and "--submit-to javascript:alert(1): expected an address" in done.err
    assert report(results, "--out", tmp_path / "site", "--submit-to", "https://example.org/results").code == 0
    page = (tmp_path / "site" / "submit.html").read_text()
    assert '<a href="https://example.org/results" rel="noopener noreferrer">' in page
