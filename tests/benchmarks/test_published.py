"""The papers' figures: as the papers print them, on tasks and metrics that there are, and consistent as far as the papers are."""

from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from long_context_tasks.benchmarks.published import PublishedScore, published

PAPERS = ("ada_leval", "elitr_bench", "ethic")
THREE = "judge gpt-4-0613, mean of three runs"
DOMAINS = {"books": 100, "debates": 229, "medicine": 230, "law": 103}
TYPES = {"who": 45, "what": 57, "when": 20, "howmany": 8}
POSITIONS = {"B": 43, "M": 34, "E": 22, "S": 31}


def table_of(score: PublishedScore) -> str:
    """The table of a figure: ``Table 6``."""
    return score.source.split("), ")[1].split(",")[0]


def chosen(benchmark: str, table: str) -> list[PublishedScore]:
    return [score for score in published(benchmark) if table_of(score) == table]


def printed(
    benchmark: str, table: str, model: str, task: str, subset: str = "", setting: str | None = None
) -> str:
    """The one figure that fits."""
    found = [
        score.printed
        for score in chosen(benchmark, table)
        if (score.model, score.task, score.subset) == (model, task, subset)
        and setting in (None, score.setting)
    ]
    assert len(found) == 1, found
    return found[0]


GOLDEN = yaml.safe_load((Path(__file__).parent / "golden" / "published.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("benchmark", PAPERS)
def test_number_sum_and_some_figures_of_each_table(benchmark: str) -> None:
    """Sums and single figures, taken from the papers, show a figure that is changed by mistake."""
    tables = GOLDEN[benchmark]
    assert Counter(map(table_of, published(benchmark))) == {name: t["number"] for name, t in tables.items()}
    for name, table in tables.items():
        figures = [Decimal(score.printed) for score in chosen(benchmark, name)]
        assert str(sum(figures, Decimal(0))) == table["sum"], name
        for model, task, figure, *more in table.get("spots", ()):
            assert printed(benchmark, name, model, task, *more) == figure, (name, model, task)


def test_scores_are_on_the_scale_of_the_metric() -> None:
    share = chosen("ada_leval", "Table 10")[0]
    assert not share.points and share.score == share.value / 100
    points = chosen("elitr_bench", "Table 2")[0]
    assert points.points and points.score == points.value


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
    assert differing == {(model, task): mean for model, task, mean in GOLDEN["differing"]}
