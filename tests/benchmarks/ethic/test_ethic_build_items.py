"""Answers of several lengths from one context, and texts with markers of their own in them."""

import csv
import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from ethic_oracle import context_of, oracle, paragraph, write_documents, write_rows
from stored_ethic_runs import write_lm_eval
from typer.testing import CliRunner

from long_context_tasks.benchmarks.ethic import build as ethic_build
from long_context_tasks.benchmarks.ethic import prompts
from long_context_tasks.benchmarks.ethic.build.settings import EthicSettings
from long_context_tasks.benchmarks.ethic.report import context_key
from long_context_tasks.benchmarks.ethic.sections import split_sections
from long_context_tasks.cli import app
from long_context_tasks.schema import Case, CaseSet, LoadedTask, resolve_options


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LCT_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_documents(tmp_path_factory.mktemp("documents"))


def users(cases: CaseSet) -> dict[str, str]:
    return {case.id: prompts.messages(case, cases.documents)[-1].content for case in cases.cases}


def sizes(values: Iterable[str]) -> list[int]:
    return [len(value) for value in values]


@pytest.mark.parametrize("domain", ["books", "law"])
def test_sections_in_any_number_of_one_context(documents: Path, tmp_path: Path, domain: str) -> None:
    settings = EthicSettings(lengths=(4000,), items=(2, 5, 9, 500), domain=domain, chunk_tokens=400)
    [report] = ethic_build.build("ethic_summarize", documents, settings, tmp_path / "x")
    cases = CaseSet.read(tmp_path / "x", f"ethic_summarize_{domain}")
    shown = users(cases)
    assert len(shown) == len(cases.cases) == 3 * report.clusters
    assert report.dropped["the context has fewer chunks or paragraphs than --items"] == report.clusters
    for case in cases.cases:
        sections = split_sections(context_of(shown[case.id]), domain)
        assert list(sections) == case.turns[0].gold
        assert case.labels["num_sections"] == case.labels["answer_items"] == len(sections)
        assert case.id.endswith(f"_4k_{len(sections)}items") and min(sizes(sections.values())) > 0
    for cluster in {case.cluster for case in cases.cases}:
        own = [case for case in cases.cases if case.cluster == cluster]
        assert [len(case.turns[0].gold) for case in own] == [2, 5, 9]
        assert len({context_key(shown[case.id]) for case in own}) == 1


def test_options_in_any_number_of_one_context(documents: Path, tmp_path: Path) -> None:
    with oracle(tmp_path) as (_, annotator):
        settings = EthicSettings(
            lengths=(4000,), annotator=annotator, items=(2, 4, 50), domain="books", chunk_tokens=400, n=1
        )
        [report] = ethic_build.build("ethic_organize", documents, settings, tmp_path / "x")
    assert report.dropped["the context has fewer chunks or paragraphs than --items"] == 1
    cases = CaseSet.read(tmp_path / "x", "ethic_organize_books")
    shown = users(cases)
    few, more = cases.cases
    assert [len(case.turns[0].gold) for case in (few, more)] == [2, 4] and few.id != more.id
    assert context_key(shown[few.id]) == context_key(shown[more.id])
    options = {
        case.id: dict(line[1:].split("] ", 1) for line in shown[case.id].split("\n") if line.startswith("["))
        for case in (few, more)
    }
    assert set(options[few.id].values()) < set(options[more.id].values())
    for case in (few, more):
        # In the gold order the options follow the context.
        text = " ".join(context_of(shown[case.id]).replace(".", "").split())
        heads = [
            options[case.id][number].split(": ")[1].split(". Sentence")[0] for number in case.turns[0].gold
        ]
        places = [text.find(head) for head in heads]
        assert places == sorted(places) and -1 not in places


def test_the_report_sets_answers_against_contexts(documents: Path, tmp_path: Path) -> None:
    with oracle(tmp_path) as (_, annotator):
        command = ["build", "ethic_organize", "--documents", str(documents), "--length", "4k,8k", "--items"]
        command += ["4,2", "--domain", "books", "--chunk-tokens", "400", "--annotator", str(annotator)]
        result = CliRunner().invoke(app, [*command, "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    options = resolve_options({"lct_cases": tmp_path / "ethic_organize"})

    def right(task: LoadedTask, case: Case) -> str:
        return ", ".join(f"[{one}]" for one in case.turns[0].gold)

    write_lm_eval(tmp_path / "runs", "ethic_organize_books", options, right)
    result = CliRunner().invoke(
        app, ["report", "ethic", str(tmp_path / "runs"), "--csv", str(tmp_path / "csv")]
    )
    assert result.exit_code == 0, result.output
    with (tmp_path / "csv" / "items.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["length"], row["items"], row["n"]) for row in csv.DictReader(file)]
    assert rows == [(length, items, "2") for length in ("4k", "8k") for items in ("2 to 3", "4 to 7")]


def test_items_that_cannot_be_had_are_refused(documents: Path, tmp_path: Path) -> None:
    def typed(family: str, items: str) -> str:
        command = ["build", family, "--documents", str(documents), "--length", "4k", "--items", items]
        result = CliRunner().invoke(app, [*command, "--out", str(tmp_path)])
        assert result.exit_code == 2
        return " ".join(result.output.split())

    assert "--items 2;4: give whole numbers with commas" in typed("ethic_summarize", "2;4")
    assert "--items must be at least 2 each, not 1,4" in typed("ethic_summarize", "1,4")
    assert "ethic_recall takes no --items" in typed("ethic_recall", "4")
    result = CliRunner().invoke(
        app, ["build", "ada_leval_tsort_synthetic", "--length", "2k", "--items", "4", "--out", str(tmp_path)]
    )
    assert result.exit_code == 2 and "takes no --items" in result.output


@pytest.mark.parametrize(
    ("domain", "mark"), [("books", "<Section 9>"), ("books", "<Section 2>"), ("law", "<Segment 1>")]
)
def test_a_text_with_markers_of_its_own_gives_no_case(tmp_path: Path, domain: str, mark: str) -> None:
    def text(strange: str) -> str:
        rng = random.Random(5)
        return "\n\n".join([f"See the note under {strange} above.", *(paragraph(rng) for _ in range(40))])

    name = "id" if domain == "books" else "opinion_id"
    write_rows(
        tmp_path / "d.jsonl",
        [{name: "plain", "text": text("<Part 1>")}, {name: "marked", "text": text(mark)}],
    )
    settings = EthicSettings(lengths=(4000,), domain=domain, min_document=4000)
    [report] = ethic_build.build("ethic_summarize", tmp_path, settings, tmp_path / "x")
    assert report.dropped == {"the text has markers of sections in it": 1}
    [case] = CaseSet.read(tmp_path / "x", f"ethic_summarize_{domain}").cases
    assert case.id == "plain_4k"


def test_an_annotator_that_is_not_needed_is_told(documents: Path, tmp_path: Path) -> None:
    settings = EthicSettings(lengths=(4000,), domain="books", annotator=tmp_path / "missing.yaml")
    [report] = ethic_build.build("ethic_summarize", documents, settings, tmp_path / "x")
    assert report.notes == (
        f"ethic_summarize needs no annotator; --annotator {tmp_path / 'missing.yaml'} was not used",
    )
