"""Files of the site: names, escaping, replacement of an earlier site."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_site import (
    HOSTILE_NAME,
    HOSTILE_TEXT,
    collection_of,
    made_up_cell,
    published_score,
    rate,
    run_name,
    small_cells,
    small_options,
)
from site_files import Page, checked_pages, chunks

from long_context_tasks.results.case_pages import ShownCase, ShownTurn
from long_context_tasks.results.cells import Cell
from long_context_tasks.schema import InputError
from long_context_tasks.site import BuiltSite, SiteOptions, build_site
from long_context_tasks.site.build import MARKER
from long_context_tasks.site.cases import PageNames, script_json
from long_context_tasks.site.pages import index_payload
from long_context_tasks.site.tables import leading_cells, leaf_of, top_of
from long_context_tasks.site.words import settings_label, slug
from long_context_tasks.stats.means import Mean


def test_links_policy_and_hostile_texts(small_site: BuiltSite) -> None:
    pages = {kind: len(list((small_site.index.parent / kind).glob("*.html"))) for kind in ("model", "task")}
    assert pages == {"model": 5, "task": 22} and small_site.cases == 1195
    folder = small_site.index.parent
    pages = checked_pages(folder)
    assert HOSTILE_NAME in pages[f"model/{slug(HOSTILE_NAME)}.html"].text
    assert all("<b>x" not in page.source for page in pages.values())
    packs = [each for each in chunks(folder) if isinstance(each, list) and isinstance(each[0][-1], list)]
    assert HOSTILE_TEXT in [turn[2] for pack in packs for case in pack for turn in case[2]]


def test_a_prompt_that_many_models_saw_is_stored_once(small_site: BuiltSite) -> None:
    held = chunks(small_site.index.parent)
    prompts = [
        one for one in held if isinstance(one, list) and one[0] == ["system", "You put segments in order."]
    ]
    assert len(prompts) == 200  # five models, 200 cases


def test_what_is_withheld_is_nowhere(tmp_path: Path) -> None:
    cell = next(cell for cell in small_cells() if cell.task == "elitr_bench_qa_test")
    case = ShownCase(cell.runs[0], "m1", None, {}, (ShownTurn(None, None, None),), "Withheld by its card.")
    build_site(tmp_path / "site", collection_of([cell]), [cell], [case])
    assert [["Withheld by its card.", None, [[None, None, None, [], None, []]]]] in chunks(tmp_path / "site")


def test_keys_and_passwords_of_configurations_are_left_out(small_site: BuiltSite) -> None:
    for path in small_site.index.parent.rglob("*"):
        if path.is_file() and path.name != "plotly.min.js":
            assert "sk-secret" not in path.read_text(encoding="utf-8"), path


QUAIL, TSORT = f"model/{slug('Quail/Quail3-8B')}.html", "task/ada_leval_tsort_{}k.html"
FAILURES = ("Coverage and failures", "Unparsed", "Cut by the host", "Followed the form")


@pytest.mark.parametrize(
    ("page", "texts"),
    [
        (QUAIL, ("lm_eval 0.4.13", "0123abc", "2026-11-02", "gpt-4-0613", "All settings", "3 unparsed", "1 prompt truncated by the host",
                 "3 runs, SD between them 0.08", "47.8–62.0", "official_accuracy", "instruction_following", "context up to which the score stays above")),
        (QUAIL, (*FAILURES, "97.0 %", "Apache-2.0 <i>")),
        (TSORT.format(64), (*FAILURES, "not ranked: 20 of 50 without a score", "30 of 50", "Chance 4.2")),
        (TSORT.format(2), ("By position", "n 67", "in the middle", "Score by position")),
        # Three runs of 13 cases with three turns: 39 in all, 15, 12 and 12 of a type.
        ("task/elitr_bench_qa_test.html", ("By question type", "n 15", "n 12")),
        ("task/ethic_recall_books.html", ("Where summaries take their content from",)),
        ("index.html", ("at least 64k", "at least 8k, below 32k, open between", "stays above 85 %", "128k", "Benchmarks: Ada-LEval , ELITR-Bench , ETHIC",
                        "1 file or run left out", "results/x.json: cut <b>", "Notes on the runs owl: 2 names of hosts <i> are shown")),
        (f"model/{slug('magpie-small-24b')}.html", ("at least 64k", "holds at 32k, 64k", "stays above 85 %", "128k")),
        ("benchmark/ada_leval.html", ("4 figures of the paper", "GPT-4-Turbo-0125", "official_accuracy")),
        ("about.html", ("How scores are made", "For our tasks, the prompts are those of the papers", "Ada-LEval", "long_context_tasks 0.1")),
        ("submit.html", ("--tasks ada_leval_bestanswer_1k \\", "lct report pack results/ --out bundles/", "The 22 combinations of task and options on this leaderboard", "ada_leval_tsort_2k · 200 cases", "Send bundles/ORG__MODEL.lct.zip to those")),
        ("benchmark/ethic.html", ("every case weighed equally", "GPT-4o", "Published figures, not run here", "2 figures of the paper", "organize_ books", "41.1",
                                  "ETHIC paper (NAACL 2025), Table 3", "Scores by noise", "owl <b> 8k 0.5 crow",
                                  "As in the paper <i> a note <i> Scores by length <b>: 2 rows")),
    ],
)  # fmt: skip
def test_what_pages_say(small_site: BuiltSite, page: str, texts: tuple[str, ...]) -> None:
    shown = Page(small_site.index.parent / page).words
    assert [text for text in texts if text not in shown] == []


def test_a_run_as_the_page_on_submitting_says_has_the_cases_of_a_ranked_score(tmp_path: Path) -> None:
    trial, built = {"lct_n": 20}, {"lct_cases": "mine", "lct_seed": 7, "temperature": 1}
    cells = [
        made_up_cell(
            "owl", "needle_plain_1k", rate(0.5, n), (f"run {n}",), benchmark="needle", settings=json.dumps(settings),
            n_available=available, ranked=n == available,
        )
        for n, available, settings in ((20, 200, trial), (30, 30, built))
    ]  # fmt: skip
    known = pl.lit(json.dumps({"cases_sha256": "fd1e3a13383724aa"}))
    collection = collection_of(cells)
    hashed = collection.runs.with_columns(
        pl.when(pl.col("run") == "run 30").then(known).otherwise("provenance").alias("provenance")
    )
    folder = build_site(tmp_path / "site", replace(collection, runs=hashed), cells).index.parent
    shown = Page(folder / "submit.html").words
    options = '{"lct_cases": "mine", "lct_seed": 7}'
    assert f"--tasks needle_plain_1k \\ --metadata '{options}' \\" in shown
    whole = "built cases mine, seed 7, temperature 1 · cases_sha256 fd1e3a13383724aa · 30 cases"
    assert f"needle_plain_1k · {whole} {options}" in shown
    assert 'needle_plain_1k · first 20 of 200 cases {"lct_n": 20}' in shown


def test_a_published_figure_by_another_metric_is_marked_and_no_score(tmp_path: Path) -> None:
    cells = [cell for cell in small_cells() if cell.task == "ada_leval_tsort_2k"]
    place = ("Claude-2", "ada_leval_tsort_2k", "copy_instruction", "98.5")
    copied = published_score(*place, "Ada-LEval paper (NAACL 2024), Table 9", n=200)
    options = small_options()
    options = replace(options, published=(*options.published, copied))
    folder = build_site(tmp_path / "site", collection_of(cells), cells, options=options).index.parent
    page = (folder / "task" / "ada_leval_tsort_2k.html").read_text(encoding="utf-8")
    rows = [part for part in page.split("<tr") if 'class="paper"' in part]
    [official] = [row for row in rows if "official_accuracy" in row]
    other = rows[-1]
    assert "copy_instruction" in other and "† 98.5" in other and "† in a different metric than " in other
    assert 'data-value=""' in other and "data-bar" not in other
    assert "† 15.5" in official and 'data-value="0.155"' in official and "data-bar" in official


def test_a_site_is_replaced_whole_and_other_files_of_its_folder_stay(tmp_path: Path) -> None:
    cells = small_cells()
    folder = tmp_path / "site"
    first = [cell for cell in cells if cell.benchmark == "ethic"]
    build_site(folder, collection_of(first), first)
    (folder / "leaderboard.csv").write_text("mine")
    second = [cell for cell in first if cell.task == "ethic_recall_law"]
    build_site(folder, collection_of(second), second)
    assert (folder / "leaderboard.csv").read_text() == "mine"
    assert not (folder / "task" / "ethic_recall_books.html").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_what_is_no_site_of_ours_is_not_touched(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    cells = small_cells()[:1]
    with pytest.raises(InputError, match="not a site of lct report; choose another folder"):
        build_site(folder, collection_of(cells), cells)
    assert [path.name for path in tmp_path.iterdir()] == ["results"]
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="not a folder"):
        build_site(tmp_path / "file", collection_of(cells), cells)


def test_a_failure_leaves_the_old_site_and_nothing_half_done(tmp_path: Path) -> None:
    cells = small_cells()[:1]
    build_site(tmp_path / "site", collection_of(cells), cells)

    def broken() -> Any:
        yield ShownCase(cells[0].runs[0], "1", None, {}, ())
        raise InputError("a log was cut")

    before = (tmp_path / "site" / "index.html").read_bytes()
    with pytest.raises(InputError, match="cut"):
        build_site(tmp_path / "site", collection_of(cells), cells, broken())
    assert (tmp_path / "site" / "index.html").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_nothing_at_all_makes_a_site_too(tmp_path: Path) -> None:
    built = build_site(
        tmp_path / "site", collection_of([]), [], options=SiteOptions(downloads=["leaderboard.csv"])
    )
    page = built.index.read_text(encoding="utf-8")
    assert "0 models, 0 tasks, 0 runs" in Page(page).text and '<a href="leaderboard.csv" download>' in page


def test_the_highest_version_leads_and_older_ones_stand_on_the_model_s_page(tmp_path: Path) -> None:
    def cell(version: int, share: float, made: str) -> Cell:
        return made_up_cell(
            "m", "ethic_recall_law", rate(share, 10), (run_name(version),), version=version, made=made
        )

    cells = [cell(1, 0.9, "2026-12-01"), cell(2, 0.5, "2026-11-01")]
    leading, others = leading_cells(cells)
    assert [each.version for each in leading.values()] == [2] and [each.version for each in others] == [1]
    folder = build_site(tmp_path / "site", collection_of(cells), cells).index.parent
    text = Page(folder / "model" / "m.html").text
    assert text.index("50.0") < text.index("Other versions and settings") < text.index("90.0")


def test_other_settings_and_judges_are_columns_of_their_own(tmp_path: Path) -> None:
    first = made_up_cell("a", "ethic_recall_law", rate(0.5, 10), ("1",), judge="j")
    cells = [
        first,
        replace(first, runs=("2",), settings='{"lct_subset": 5}', mean=rate(0.7, 5)),
        replace(first, runs=("3",), judge="k"),
        replace(first, runs=("4",), model="b"),
    ]
    leading, others = leading_cells(cells)
    assert len(leading) == 4 and not others
    payload = index_payload(
        leading, PageNames({"a": "a", "b": "b"}, {"ethic_recall_law": "t"}), SiteOptions()
    )
    assert payload["groups"] == [
        ["ethic", "recall_law", "", *of] for of in (["j", ""], ["j", "subset 5"], ["k", ""])
    ]
    assert payload["cells"][:3] == [[0, 0, 0, 1], [0, 1, 2, 0], [5_000_000, 8_000_000, 5_000_000, 5_000_000]]
    folder = build_site(tmp_path / "site", collection_of(cells), cells).index.parent
    text = Page(folder / "task" / "ethic_recall_law.html").text
    assert "Models on ethic_recall_law · judge j" in text and "· subset 5 · judge j" in text


def test_long_settings_have_a_short_name_and_a_legend(tmp_path: Path) -> None:
    settings = '{"lct_cases": "/a/long/path/to/some/cases/of/one/s/own", "lct_length": 1000}'
    cell = made_up_cell("a", "ethic_recall_law", rate(0.5, 10), ("1",), settings=settings)
    folder = build_site(tmp_path / "site", collection_of([cell]), [cell]).index.parent
    told = "built cases /a/long/path/to/some/cases/of/one/s/own, length 1000"
    for page in ("index.html", "model/a.html", "task/ethic_recall_law.html"):
        text = Page(folder / page).text
        assert text.count(told) == 1 and text.count(settings_label(told)) >= 1, page


def test_bars_of_one_metric_can_be_compared() -> None:
    """A judge's 4.5 has a shorter bar than its 5.5, although a scale of 5 would hold it."""
    values = {"clear": (5.5, True), "noisy": (4.5, True), "share": (0.5, False)}
    cells = [
        made_up_cell(
            "m", task, Mean(value, value, value, 9, 9, {}), (task,), points=points, metric="ms"[points]
        )
        for task, (value, points) in values.items()
    ]
    tops = top_of(cells)
    assert [tops[leaf_of(cell)] for cell in cells] == [10.0, 10.0, 1.0]


def test_published_scores_by_the_column_s_metric_come_first() -> None:
    cells = [cell for cell in small_cells() if cell.task == "ada_leval_tsort_2k"]
    leading, _ = leading_cells(cells)
    official = {"ada_leval_tsort_2k": "official_accuracy"}
    rows = [
        published_score("P", "ada_leval_tsort_2k", "strict_accuracy", "50", "Table 0", subset="who"),
        published_score("P", "ada_leval_tsort_2k", "official_accuracy", "10", "Table 1"),
        published_score("P", "ada_leval_tsort_2k", "strict_accuracy", "20", "Table 2"),
        published_score("P", "ada_leval_tsort_2k", "strict_accuracy", "30", "Table 3", subset="when"),
        published_score("P", "no_such_task", "strict_accuracy", "40", "Table 4"),
    ]
    names = PageNames({cell.model: slug(cell.model) for cell in cells}, {"ada_leval_tsort_2k": "t"})
    payload = index_payload(leading, names, SiteOptions(published=rows, official=official))
    assert payload["published"] == [[0, 0, 2_000_000, None, "strict_accuracy", "Table 2", 0]]
    rows = [
        published_score("P", "ada_leval_tsort_2k", "copy_instruction", "90", "Table 9"),
        published_score("Q", "ada_leval_tsort_2k", "copy_instruction", "80", "Table 9"),
        published_score("P", "ada_leval_tsort_2k", "official_accuracy", "10", "Table 1"),
    ]
    payload = index_payload(leading, names, SiteOptions(published=rows, official=official))
    # The official rule before others; what no rule makes a score of the column is named.
    assert payload["published"] == [
        [0, 0, 1_000_000, None, "official_accuracy", "Table 1", 0],
        [1, 0, 8_000_000, None, "copy_instruction", "Table 9", 1],
    ]


@given(st.lists(st.text(), unique=True, max_size=8))
def test_slugs_are_safe_and_different(names: list[str]) -> None:
    slugs = [slug(name) for name in names]
    assert len({each.lower() for each in slugs}) == len(names)
    for each in slugs:
        assert re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", each) and not each.endswith(".")
        assert each.split(".")[0] not in ("con", "nul", "aux", "prn", "com1", "lpt1")


@pytest.mark.parametrize(
    "name", ["con", "nul.txt", "..", ".", "", "A/B", "a b", "ä", "a" * 200, "../../etc", "x."]
)
def test_odd_names_get_a_hash(name: str) -> None:
    assert re.search(r"-[0-9a-f]{8}$", slug(name)) and "/" not in slug(name)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_a_chunk_means_what_was_put_in_and_cannot_end_its_script(value: Any) -> None:
    text = script_json(value)
    assert json.loads(text) == value
    assert not re.search("[<>&\u2028\u2029\ud800-\udfff]", text)


@settings(max_examples=20)
@given(st.lists(st.characters(), max_size=9).map("".join))
def test_half_of_a_pair_survives(text: str) -> None:
    assert json.loads(script_json(["\ud83d" + text, "\udc00"])) == json.loads(
        json.dumps(["\ud83d" + text, "\udc00"])
    )


def small(place: Path) -> BuiltSite:
    [cell] = [cell for cell in small_cells() if cell.task == "ada_leval_tsort_2k"][:1]
    return build_site(place, collection_of([cell]), [cell])


def own_files(place: Path) -> dict[str, int]:
    """Files of a user in the folder of a site, with their inodes: a file that was copied or moved back has another."""
    return {
        name: (place / name).stat().st_ino for name in ("CNAME", ".git", ".git/HEAD", "notes", "notes/a.md")
    }


def test_files_of_others_stay_where_they_are_whenever_a_report_is_killed(tmp_path: Path) -> None:
    place = tmp_path / "site"
    small(place)
    (place / "CNAME").write_text("example.org")
    for folder, name in ((".git", "HEAD"), ("notes", "a.md")):
        (place / folder).mkdir()
        (place / folder / name).write_text("x")
    (place / ".#notes").symlink_to("me@host.1:2")  # an editor's lock, which leads nowhere
    mine, whole = own_files(place), sorted(path.name for path in place.iterdir())
    site = json.loads((place / MARKER).read_text())["files"]
    for killed_after in range(len(site) + 1):
        # As a report leaves the folder that was killed after moving so many files aside.
        (place / ".lct-site.new").mkdir()
        (place / ".lct-site.new" / "half.html").write_text("<p>half")
        (place / ".lct-site.old").mkdir()
        for name in sorted(site)[:killed_after]:
            (place / name).rename(place / ".lct-site.old" / name)
        small(place)
        assert own_files(place) == mine
        assert sorted(path.name for path in place.iterdir()) == whole


@pytest.mark.parametrize("name", [".lct-site.old", ".lct-site.new"])
def test_a_link_in_place_of_a_folder_of_a_report_is_not_followed(tmp_path: Path, name: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    small(tmp_path / "site")
    (tmp_path / "site" / name).symlink_to(tmp_path / "mine")
    with pytest.raises(InputError, match=rf"{name}: is no folder of an earlier report"):
        small(tmp_path / "site")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_a_page_never_replaces_a_file_that_is_not_of_a_site(tmp_path: Path) -> None:
    small(tmp_path / "site")
    marker = json.loads((tmp_path / "site" / MARKER).read_text())
    marker["files"].remove("about.html")
    marker["files"].append(".git")  # a forged marker
    (tmp_path / "site" / MARKER).write_text(json.dumps(marker))
    (tmp_path / "site" / ".git").mkdir()
    with pytest.raises(InputError, match=r"about\.html: is not of an earlier site"):
        small(tmp_path / "site")
    (tmp_path / "site" / "about.html").unlink()
    small(tmp_path / "site")
    assert (tmp_path / "site" / ".git").is_dir()
