"""Repeats, several hosts, and links to the cases of runs."""

import re
import statistics
from pathlib import Path

import pytest

pytest.importorskip("polars")

from collected_runs import Run, Turn, simple, write_lm_eval, write_opencompass
from hypothesis import example, given
from hypothesis import strategies as st
from made_up_site import collection_of, made_up_cell, rate

from long_context_tasks.results.cells import cells_of
from long_context_tasks.results.collect import collect
from long_context_tasks.site import build_site
from long_context_tasks.site.cases import RunFacts, labels_of
from long_context_tasks.site.tables import notes_of
from long_context_tasks.site.words import settings_label

MADE = "2026-01-0{}T10-00-00.000000"
TASK = "ada_leval_bestanswer_1k"


def test_repeats_within_hosts_have_a_spread_of_their_own(tmp_path: Path) -> None:
    for place, values in enumerate(([1.0, 1.0], [0.0, 0.0])):
        write_lm_eval(tmp_path, Run(simple(values), made=MADE.format(place + 1), seed=place))
    write_opencompass(tmp_path, Run(simple([1.0, 1.0]), made="20260105_100000"))
    [cell] = cells_of(collect([tmp_path]))
    assert cell.run_sd == pytest.approx(statistics.stdev([1.0, 0.0]))
    assert notes_of(cell)[-2:] == ["3 runs, SD within a host 70.7", "2 hosts"]


def test_parts_of_a_task_from_a_seed_are_one_cell_and_no_repeats(tmp_path: Path) -> None:
    for place, value in enumerate((1.0, 0.0)):
        case = {f"c{place}": [Turn({"strict_accuracy": value, "official_accuracy": value})]}
        write_lm_eval(tmp_path, Run(case, "ada_leval_bestanswer_2k_synthetic", made=MADE.format(place + 1)))
    [cell] = cells_of(collect([tmp_path]))
    assert cell.n_cases == 2 and cell.mean.value == 0.5 and cell.run_sd is None


FIRST = RunFacts("t", "lm_eval", "", "2026-01-31T10-00-00", "1")


@pytest.mark.parametrize(
    ("other", "labels"),
    [
        (RunFacts("t", "opencompass", "", "20260201_100000", "1"), ["lm_eval", "opencompass"]),
        (RunFacts("t", "lm_eval", "mine", "2026-01-31T10-00-00", "1"), ["", "judge mine"]),
        (RunFacts("t", "lm_eval", "", "2026-02-01T10-00-00", "1"), ["2026-01-31", "2026-02-01"]),
        (RunFacts("t", "lm_eval", "", "2026-01-31T11-00-00", "2"), ["seed 1", "seed 2"]),
        (RunFacts("t", "lm_eval", "", "2026-01-31T11-30-00", "1"), ["10:00:00", "11:30:00"]),
        (RunFacts("u", "lm_eval", "", "2026-01-31T10-00-00", "1"), ["t", "u"]),
        (FIRST, ["1", "2"]),
    ],
)
def test_links_say_what_tells_runs_apart(other: RunFacts, labels: list[str]) -> None:
    assert labels_of([FIRST, other]) == labels
    assert labels_of([FIRST]) == [""]


TEXTS = st.sampled_from(["", "a", "b"])


@given(st.lists(st.builds(RunFacts, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS), max_size=6))
def test_no_two_links_look_the_same(facts: list[RunFacts]) -> None:
    assert len(set(labels_of(facts))) == len(facts)


def test_pages_name_the_hosts_of_links_and_the_page_of_cases_says_whose_they_are(tmp_path: Path) -> None:
    from long_context_tasks.results.case_pages import ShownCase, ShownTurn

    cells = [
        made_up_cell("m", TASK, rate(0.5, 2), (run,), benchmark="ada_leval", hosts=(host,))
        for run, host in (("1", "lm_eval"), ("2", "opencompass"))
    ]
    cell = made_up_cell("m", TASK, rate(0.5, 2), ("1", "2"), hosts=("lm_eval", "opencompass"))
    cases = [ShownCase(run, "c", None, {}, (ShownTurn(None, None, "x", {"accuracy": 1.0}),)) for run in "12"]
    folder = build_site(tmp_path / "site", collection_of(cells), [cell], cases).index.parent
    for page in (f"task/{TASK}.html", "model/m.html"):
        links = re.findall(r'<a href="\.\./case\.html#[^>]*>(.*?)</a>', (folder / page).read_text())
        assert [re.sub("<[^>]*>", "", link).partition(": ")[2] for link in links] == [
            "lm_eval",
            "opencompass",
        ]
    lists = [path.read_text() for path in (folder / "data").iterdir() if '"facts"' in path.read_text()]
    assert sum('["Host","lm_eval"]' in text for text in lists) == 1
    assert sum('["Host","opencompass"]' in text for text in lists) == 1


LONG = "cases one-folder, " * 4


@given(st.text(max_size=90), st.text(max_size=90))
@example(LONG + "first 1 case", LONG + "first 2 cases")
def test_short_names_of_different_settings_differ_and_fit(first: str, second: str) -> None:
    assert (settings_label(first) == settings_label(second)) == (first == second)
    assert len(settings_label(first)) <= 55
