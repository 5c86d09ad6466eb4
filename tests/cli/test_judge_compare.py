"""`lct judge compare` and `lct report paper` as a user types them."""

import json
import re
import statistics
from pathlib import Path
from typing import Any

import pytest
from run_commands import Said, lct

from long_context_tasks.benchmarks.elitr_bench import paper as paper_tables
from long_context_tasks.benchmarks.elitr_bench.archives import Archives
from long_context_tasks.judges.ratings import read_ratings
from long_context_tasks.schema import InputError


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "220")


def compare(*words: object) -> Said:
    return lct("judge", "compare", *words)


def compared(*words: object) -> str:
    """Return the standard output of a command that succeeds."""
    done = compare(*words)
    assert done.code == 0, done.err
    return done.out


def paper(*words: object) -> Said:
    return lct("report", "paper", "elitr_bench", *words)


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


ROWS = [
    {
        "id": f"m{m}/{q}",
        "cluster": f"m{m}",
        "model": "AB"[q % 2],
        "judge": (m * 3 + q * 2) % 10 + 1,
        "gold": (m * 3 + q * 2 + q // 5) % 10 + 1,
        "people": (m * 3 + q * 2) % 10 + 0.5,
    }
    for m in range(4)
    for q in range(7)
]


@pytest.fixture
def data_dir(shared: Path) -> Path:
    if not (shared / "data" / "elitr_bench" / "generated-responses.zip").is_file():
        pytest.skip("no ELITR-Bench archives")
    return shared / "data"


@pytest.mark.vectors
@pytest.mark.slow
def test_the_paper_is_recomputed_and_no_text_of_the_archives_is_printed(data_dir: Path) -> None:
    code, out, _ = paper("--data-dir", data_dir)
    assert code == 0
    assert "83 of 83 figures that can be recomputed come out as printed" in out
    for row in (
        r"GPT-4\s+mt_qa_dev\s+8\.53\s+8\.52\s+141\s+[\d.]+ to [\d.]+\s+8\.53\s+yes",
        r"GPT-3\.5\s+st_qa_test\s+7\.48 \(one seed\).*7\.44\s+published only: three seeds",
        r"LLaMA-3\.1-8B\s+p\s+0\.308\s+published only: not in the archive",
    ):
        assert re.search(rf"^\s*{row}", out, re.M), row
    archives = Archives(data_dir / "elitr_bench")
    questions = [response.question for response in archives.responses("qa_test2_st_all-eval")]
    texts = [text for question in questions for text in (question.text, question.answer)]
    assert not [text for text in texts if len(text) > 25 and text in out]


@pytest.mark.vectors
def test_only_some_tables_and_a_figure_that_fails(data_dir: Path) -> None:
    done = paper("--data-dir", data_dir, "--only", "table4, fig2b")
    assert done.code == 0 and "Table 4" in done.out and "Figure 2b" in done.out and "Table 2" not in done.out
    assert (
        "--only table99: there are table1, table2" in paper("--data-dir", data_dir, "--only", "table99").err
    )
    figures = paper_tables.published()
    figures["table4"]["rows"]["GPT-4"][0], before = "8.34", figures["table4"]["rows"]["GPT-4"][0]
    try:
        done = paper("--data-dir", data_dir, "--only", "table4")
    finally:
        figures["table4"]["rows"]["GPT-4"][0] = before
    assert done.code == 1 and "11 of 12 figures" in done.out


def test_missing_archives_are_named(tmp_path: Path) -> None:
    done = paper("--data-dir", tmp_path)
    assert re.search(r"elitr_bench/data\.zip is missing.*lct data fetch elitr_bench", done.err)


def test_compare_prints_every_part(tmp_path: Path) -> None:
    file, out = write(tmp_path / "scores.jsonl", ROWS), tmp_path / "figures.json"
    text = compared(file, "--gold", "gold", "--by", "model", "--panel", "judge,people", "--out", out)
    for title in (
        "Mean of each rater: 28 items in 4 clusters",
        "Mean by model",
        "Correlation of raters",
        "Scores for each score of gold",
        "Intra-class correlation of judge, people: 28 items",
    ):
        assert title in text
    assert re.search(r"pearson\s+judge\s+people\s+1\.000\s+-\s+28\s+4", text)  # nothing varies
    assert re.search(r"m3\s+ICC\(2,k\)", text) and re.search(r"all\s+ICC\(1,k\)", text)
    figures = json.loads(out.read_text(encoding="utf-8"))
    assert figures["study"]["means"]["judge"]["n"] == 28
    spread = statistics.variance(row["judge"] for row in ROWS)  # people are half a point lower throughout
    assert figures["icc"]["overall"]["ICC(2,k)"]["value"] == pytest.approx(spread / (spread + 0.0625))
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("odd", ["1e308", "-Infinity", "NaN"])
def test_a_score_beyond_any_scale_is_named(tmp_path: Path, odd: str) -> None:
    rows = [{"id": f"m{n}", "cluster": "c", "a": n % 5, "gold": n % 3} for n in range(9)]
    path = write(tmp_path / "scores.jsonl", rows)
    path.write_text(f'{path.read_text()}{{"id": "x", "cluster": "c", "a": {odd}, "gold": 1}}\n')
    with pytest.raises(InputError, match=r"x: score of a is .*, not a number"):
        read_ratings([path])


def test_scales_are_not_mixed(tmp_path: Path) -> None:
    halved = [
        row | {"prometheus": (row["judge"] + 1) // 2, "coarse": (row["judge"] + 1) // 2} for row in ROWS
    ]
    file = write(tmp_path / "scores.jsonl", halved)
    text = compared(file)
    assert "Intra-class" not in text and "do not state the scale of judge, gold, people, prometheus" in text
    text = compared(file, "--panel", "prometheus,coarse")
    assert "Intra-class correlation of prometheus, coarse" in text
    ends = {"judge": [1, 10], "coarse": [1, 5]}
    named = write(tmp_path / "named.jsonl", [row | {"scales": ends} for row in halved])
    text = compared(named, "--raters", "judge,coarse")
    assert "mapped to 0 to 1 for the ICC: judge from 1 to 10, coarse from 1 to 5" in text
    assert re.search(r"all\s+ICC\(2,k\)\s+0\.9", text)
    answers = [
        {"id": key, "cluster": "m", "candidate": "c", "ratings": [1], "scale": scale, "a": 1}
        for key, scale in enumerate(([0, 1], [0, 1], [0, 5]))
    ]
    with pytest.raises(InputError, match=r"row 3: the scale of people is 0 to 5, but was 0 to 1 before"):
        read_ratings([write(tmp_path / "answers.jsonl", answers)])


def test_one_file_per_judge_is_joined_by_id(tmp_path: Path) -> None:
    one = write(
        tmp_path / "a.jsonl", [{"id": 1, "cluster": "m", "a": 3}, {"id": 2, "cluster": "m", "a": None}]
    )
    two = write(tmp_path / "b.jsonl", [{"id": 2, "cluster": "m", "b": 4}, {"id": 1, "cluster": "m", "b": 5}])
    table = read_ratings([one, two])
    assert table.ids == ("1", "2") and table.clusters == ("m", "m")
    assert table.ratings == {"a": (3, None), "b": (5, 4)}


def test_rated_answers_alone_are_clustered_by_question(tmp_path: Path) -> None:
    answers = [
        {"id": key, "question": f"q{key // 2}", "candidate": "c", "ratings": [4], "a": 4} for key in range(4)
    ]
    table = read_ratings([write(tmp_path / "answers.jsonl", answers)])
    assert table.clusters == ("q0", "q0", "q1", "q1") and table.scales == {"people": (1, 5)}


def test_only_the_scores_of_a_file_are_raters(tmp_path: Path) -> None:
    """Not the variances, intervals and counts of `lct orca score`, nor numbers beside the raters that `scales` names."""
    means = {"rating_orca": 0.8, "rating_orca_mismatched": 0.5, "rating_orca_clamped": 0.9}
    others = {"variance_orca": 0.1, "low_orca": 0.2, "high_orca": 1.0, "n_ratings": 2}
    others |= {"rating_ground_truth": 0.75, "variance_ground_truth": 0.1, "dropped_context_tokens": 0}
    answer = {"question": "q", "reference": "r", "candidate": "c", "ratings": [4, 4]}
    scored = write(tmp_path / "scored.jsonl", [{"id": "1", **answer, **means, **others}])
    table = read_ratings([scored])
    assert set(table.ratings) == {*means, "people"} and set(table.passed_over) == set(others)
    assert table.scales == {**dict.fromkeys(means, (0, 1)), "people": (1, 5)}
    assert set(read_ratings([scored], ["low_orca", "people"]).ratings) == {"low_orca", "people"}
    rows = [
        {"id": n, "cluster": n % 3, "j": 1 + n % 5, "k": 1 + n % 4, "tokens": 100 * n, "gold": 1 + n % 5}
        | {"scales": {"j": [1, 5], "k": [1, 5]}}
        for n in range(12)
    ]
    text = compared(write(tmp_path / "rated.jsonl", rows), "--gold", "gold")
    assert "tokens; --raters can add them" in text
    assert set(re.findall(r"pearson\s+(\S+)\s+(\S+)", text)) == {("j", "k"), ("j", "gold"), ("k", "gold")}


def test_judges_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    """As `lct judge run` leaves them: the name with eight digits, which stand for other seeds or settings."""
    files = []
    for label, score in (("j-0123abcd", 3), ("j-4567cdef", 4), ("other-89ab0123", 5)):
        folder = tmp_path / "judged" / label / "m"
        folder.mkdir(parents=True)
        row = {"id": 1, "cluster": "m", label.rpartition("-")[0]: score}
        files.append(write(folder / "task.jsonl", [row]))
    assert read_ratings(files).ratings == {"j-0123abcd": (3,), "j-4567cdef": (4,), "other": (5,)}
    assert list(read_ratings(files[1:]).ratings) == ["j", "other"]


def test_too_few_items_leave_only_the_icc_out(tmp_path: Path) -> None:
    text = compared(write(tmp_path / "few.jsonl", ROWS[:3]))
    assert "ICC left out" in text and "Correlation of raters" in text
    assert "--panel: ICC needs" in compare(tmp_path / "few.jsonl", "--panel", "judge,gold").err


ROW = '{"id": 1, "cluster": "m", "a": 2, "b": 2}'


@pytest.mark.parametrize(
    ("lines", "words", "message"),
    [
        ("{", "", "bad.jsonl, row 1: not JSON"),
        ("[1]", "", "row 1: found a list"),
        ('{"id": "1", "a": 2, "b": 3}', "", "row 1: no cluster"),
        ('{"cluster": "m", "a": 2, "b": 3}', "", "row 1: no id"),
        ('{"id": 1, "cluster": "m", "a": 2}', "", "needs two raters; found: a"),
        ('{"id": 1, "cluster": "m", "a": 2, "b": NaN}', "", "1: score of b is nan"),
        (ROW + '\n{"id": 2, "cluster": "m", "a": "9", "b": 2}', "", "2: score of a is '9'"),
        (ROW + '\n{"id": 1, "cluster": "m", "a": 3}', "", "row 2: a of 1 is 3, but was 2 before"),
        (ROW + '\n{"id": 1, "cluster": "n"}', "", "row 2: cluster of 1 is 'n', but was 'm' before"),
        (ROW, "--raters a,c", "no row has a score of c; raters found: a, b"),
        (ROW, "--gold c", "no rater c; there are: a, b"),
        (ROW, "--by model", "1: no field 'model'"),
        (ROW, "--panel a", "agreement needs two raters"),
        (ROW[:-1] + ', "scales": {"a": [5, 1]}}', "", "row 1: scales: give the lowest"),
    ],
)
def test_bad_input_is_named(tmp_path: Path, lines: str, words: str, message: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(lines + "\n", encoding="utf-8")
    done = compare(path, *words.split())
    assert done.code == 2 and message in done.err


@pytest.mark.slow
@pytest.mark.vectors
def test_the_paper_s_study_comes_out_of_a_plain_file_of_scores(data_dir: Path, tmp_path: Path) -> None:
    responses = Archives(data_dir / "elitr_bench").responses("qa_test2_st_all-eval")
    rows = [
        {"id": f"{r.meeting}/{r.question.id}/{r.model}", "cluster": r.meeting, "model": r.model}
        | {name: float(stored) for name, stored in r.scores.items()}
        for r in responses
    ]
    out = tmp_path / "figures.json"
    compared(write(tmp_path / "s.jsonl", rows), "--gold", "gold-human", "--by", "model", "--out", out)
    study = json.loads(out.read_text(encoding="utf-8"))["study"]
    found = {(c["first"], c["second"]): c["value"] for c in study["correlations"] if c["method"] == "pearson"}
    assert len(study["correlations"]) == 18
    assert f"{found['gpt-4', 'gold-human']:.2f} {found['gold-human', 'silver-human']:.2f}" == "0.82 0.89"
    assert study["by_label"]["LongAlpaca-7B"]["silver-human"]["mean"] == pytest.approx(4.7204, abs=1e-4)
    assert study["bins"]["gpt-4"]["9"]["n"] == 126
