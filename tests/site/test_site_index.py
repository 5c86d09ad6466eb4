"""The first page in a real headless Chromium: its address, the summary rank, the coloured table, links to tasks, facts, CSV, phones."""

import csv
import io
import statistics
import time
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import pytest
from headless import needs_browser
from made_up_site import MODELS, small_cells
from site_reader import Reader
from win_rate_simulation import win_rates

from long_context_tasks.site.words import slug

pytest.importorskip("selenium", reason="selenium is not installed (pip install selenium)")

pytestmark = [needs_browser, pytest.mark.slow]

QUAIL = "Quail/Quail3-8B"


def state(reader: Reader) -> list[tuple[str, str]]:
    return parse_qsl(reader.driver.current_url.partition("#")[2])


def test_the_address_holds_all_that_was_chosen_and_a_link_shows_it_again(reader: Reader) -> None:
    reader.index()
    assert "#" not in reader.driver.current_url
    reader.choose("benchmark", "Ada-LEval")
    reader.choose("columns", "Every length")
    reader.choose("host", "lm_eval")
    reader.one("#search").send_keys("qua")
    reader.one(".board .pick input").click()
    reader.one("#details").click()
    reader.one("#published").click()
    reader.choose("overview-choice", "ETHIC: all tasks")
    for _ in range(2):
        reader.one(".board th.col button").click()
    held = state(reader)
    assert sorted(held) == sorted(
        [("search", "qua"), ("benchmark", "ada_leval"), ("host", "lm_eval"), ("columns", "leaves"), ("details", "1"), ("published", "0"),
         ("sort", "-ada_leval/bestanswer@ada_leval_bestanswer_1k"), ("pick", slug(QUAIL)), ("curves", "ethic/tasks")]
    )  # fmt: skip
    address = reader.driver.current_url
    reader.driver.get("about:blank")
    reader.driver.get(address)
    reader.wait(lambda: reader.js("return document.documentElement.dataset.ready"))
    assert state(reader) == held and reader.models() == [QUAIL] and len(reader.columns()) == 14
    assert reader.texts("#picked bdi") == [QUAIL] and reader.one(".board .pick input").is_selected()
    assert reader.texts(".board [aria-sort=ascending] .t") == ["bestanswer 1k"]
    # A link to another view of the page that is open, and one that names what is not there.
    reader.js("location.hash = 'benchmark=ethic'")
    reader.wait(lambda: reader.columns() == ["recall_books", "recall_law"])
    assert len(reader.models()) == 5 and reader.texts("#picked bdi") == []
    reader.js("location.hash = 'benchmark=x&group=y&host=z&sort=w&pick=v&curves=u&from=-5'")
    reader.wait(lambda: len(reader.columns()) == 10)
    assert "#" not in reader.driver.current_url


def test_the_win_rate_is_the_mean_share_of_models_beaten(reader: Reader) -> None:
    cells = [cell for cell in small_cells() if cell.ranked]
    shares: dict[str, list[float]] = {model: [] for model in MODELS}
    tasks = dict.fromkeys(cell.task for cell in cells)
    for task in tasks:
        means = {cell.model: round(cell.mean.value, 4) for cell in cells if cell.task == task}
        for model, own in means.items():
            others = [value for name, value in means.items() if name != model]
            shares[model].append(statistics.fmean((own > value) + 0.5 * (own == value) for value in others))
    reader.index()
    assert reader.texts(".board th.win .sub") == [f"over {len(tasks)} cells"]
    shown = dict(zip(reader.models(), reader.texts(".board tbody .win .v"), strict=False))
    expected = {model: f"{100 * statistics.fmean(own):.1f}" for model, own in shares.items()}
    assert {model: text for model, text in shown.items() if model in expected} == expected
    ranks = dict(zip(reader.models(), reader.texts(".board tbody .rank"), strict=True))
    assert [model for model, rank in ranks.items() if rank] == [
        model for model in reader.models() if len(shares.get(model, ())) == len(tasks)
    ]
    titles = reader.js("return [...document.querySelectorAll('.board tbody .win')].map(e => e.title)")
    assert not any("only" in title for title in titles[:3]) and all("only" in title for title in titles[3:])
    # The interval, against the same rule elsewhere, where every model has every cell.
    reader.choose("benchmark", "ETHIC")
    assert reader.texts(".board th.win .sub") == ["over 2 cells"]
    full = [cell for cell in cells if cell.benchmark == "ethic"]
    own = list(dict.fromkeys(cell.task for cell in full))
    held = {(cell.task, cell.model): (cell.mean.value, cell.mean.low, cell.mean.high) for cell in full}
    ends = np.array([[held[task, model] for model in MODELS] for task in own]).round(4)
    rates, least, most = win_rates(ends[..., 0], ends[..., 1], ends[..., 2])
    titles = reader.js(
        "return Object.fromEntries([...document.querySelectorAll('.board tbody tr')].map(e => [e.querySelector('th').textContent, e.querySelector('.win').title]))"
    )
    for model, *three in zip(MODELS, rates, least, most, strict=True):
        low, high = map(float, titles[model].split(",")[0].removeprefix("95 % ").split("–"))
        assert [low, high] == pytest.approx([100 * three[1], 100 * three[2]], abs=0.051), model


def test_cells_headings_and_the_coloured_table_lead_to_tasks(reader: Reader) -> None:
    reader.index()
    heat = "#overview-heat table"
    assert reader.texts(f"{heat} thead th") == ["Model", "1k", "2k", "4k", "8k", "16k", "32k", "64k"]
    assert reader.texts(f"{heat} tbody th")[0] == "magpie-small-24b"
    steps = reader.js(
        f"return [...document.querySelectorAll('{heat} tbody tr:first-child td')].map(e => [+e.className.at(-1), parseFloat(e.textContent)])"
    )
    assert all(step == int(8 * value / 100) for step, value in steps) and len({step for step, _ in steps}) > 2
    reader.choose("overview-choice", "tsort")
    assert str(reader.one(f"{heat} thead a").get_attribute("href")).endswith("task/ada_leval_tsort_1k.html")
    # The mean of the tasks at a length, by hand.
    reader.choose("overview-choice", "Ada-LEval: mean of 2 tasks")
    means = [
        cell.mean.value
        for cell in small_cells()
        if cell.model == QUAIL and cell.length == 2000 and cell.benchmark == "ada_leval"
    ]
    row = reader.texts(f"{heat} tbody th").index(QUAIL) + 1
    text = reader.texts(f"{heat} tbody tr:nth-child({row}) td:nth-child(3)")[0]
    assert len(means) == 2 and float(text.split()[0]) == pytest.approx(
        100 * statistics.fmean(means), abs=0.051
    )
    head = reader.one(".board th.col a")
    assert str(head.get_attribute("href")).endswith("task/ada_leval_bestanswer_1k.html")
    reader.choose("group", "tsort")
    reader.choose("length", "2k")
    assert reader.columns() == ["tsort 2k"]
    row = reader.models().index(QUAIL)
    reader.all(".board tbody td.n a")[row].click()
    reader.wait(lambda: reader.texts("h1") == ["ada_leval_tsort_2k"])
    [target] = reader.all("tr:target")
    assert QUAIL in target.text


def test_the_view_as_csv(reader: Reader, tmp_path: Path) -> None:
    reader.driver.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    reader.index()
    reader.choose("group", "tsort")
    reader.choose("length", "2k")
    reader.one("#csv").click()
    file = tmp_path / "leaderboard_view.csv"
    reader.wait(file.is_file)
    time.sleep(0.05)
    rows = list(csv.DictReader(io.StringIO(file.read_bytes().decode())))
    assert [row["model"] for row in rows] == reader.models()
    best, column = rows[0], "ada_leval/tsort@ada_leval_tsort_2k strict_accuracy"
    assert best["rank"] == "1" and best[column] == "0.575" and best[f"{column} n"] == "200"
    assert {row["model"]: row["window"] for row in rows}[QUAIL] == "32k"
    # Scores are not rounded before means over columns are made of them: of 2/3 and 1 that is 0.833333, and not 0.83335.
    file.unlink()
    reader.choose("length", "64k")
    reader.one("#csv").click()
    reader.wait(file.is_file)
    time.sleep(0.05)
    assert "0.133333" in file.read_text()
    # What a sheet takes for a formula is a text.
    lines = reader.js(
        "return LCT.board.csv([{model: {name: '=1+1'}, figures: []}], {shown: [], known: [], cells: 0})"
    )
    assert lines.splitlines()[1] == ',"\'=1+1",no'
