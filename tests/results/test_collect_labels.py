"""Labels of cases in the tidy tables, and the options that distinguish runs from repeats."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("polars")

from collected_runs import Run, Turn, simple, write_lm_eval
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.results.cells import cells_of
from long_context_tasks.results.collect import collect, label_texts
from long_context_tasks.results.settings import without_places
from long_context_tasks.schema import Options


def test_rows_of_a_later_judge_have_the_labels_of_the_run(tmp_path: Path) -> None:
    from collected_runs import CONVERSATION, UNJUDGED, judged_later

    folder = write_lm_eval(tmp_path, Run(UNJUDGED, task=CONVERSATION))
    [path] = folder.glob("samples_*")
    sample = json.loads(path.read_text())
    sample["doc"] |= {
        "labels": '{"measured_wer": 0.25}',
        "turn_labels": '[{"question_type": "who"}, {"question_type": "what"}]',
    }
    path.write_text(json.dumps(sample) + "\n")
    judged_later(folder, "first")
    rows = collect([tmp_path]).scores.select("turn", "labels").unique().sort("turn").rows()
    assert [(turn, json.loads(text)) for turn, text in rows] == [
        (0, {"measured_wer": 0.25, "question_type": "who"}),
        (1, {"measured_wer": 0.25, "question_type": "what"}),
    ]


def test_the_place_of_the_accepted_answer_comes_from_the_case_s_id() -> None:
    def place(case: str, **labels: Any) -> str | None:
        added = catalogue.benchmark("ada_leval").labels(case, labels)
        [text] = label_texts({**labels, **added}, [{}])
        return None if text is None else json.loads(text).get("accepted_answer_at")

    assert [place(f"17_A{n}", num_answers=10) for n in (1, 3, 5, 10)] == [
        "0–20 %",
        "20–40 %",
        "40–60 %",
        "80–100 %",
    ]
    assert place("17_A4", num_answers=3) is None and place("17", num_answers=3) is None
    assert place("17_A1", num_answers=3, position="front") is None and place("17_A1") is None


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=80) | st.lists(st.text())


@given(
    st.dictionaries(st.text(max_size=5), VALUES),
    st.lists(st.dictionaries(st.text(max_size=5), VALUES), min_size=1),
)
def test_labels_are_json_of_short_values(case: dict[str, Any], turns: list[dict[str, Any]]) -> None:
    texts = label_texts(case, turns)
    assert len(texts) == len(turns)
    for text, own in zip(texts, turns, strict=True):
        held = {} if text is None else json.loads(text)
        assert all(isinstance(value, str | int | float) for value in held.values()) and held.keys() <= {
            *case,
            *own,
        }
        assert all(len(value) <= 64 for value in held.values() if isinstance(value, str)) and text != "{}"


def settings_of_runs(
    tmp_path: Path, *options: dict[str, Any], cases: list[Any] | None = None, task: str = "ada_leval_tsort_8k"
) -> list[str]:
    for place, one in enumerate(options):
        held = cases[place] if cases else simple([1.0, 0.0])
        write_lm_eval(tmp_path / str(place), Run(held, task=task, options=one, seed=place))
    return collect([tmp_path]).runs["settings"].to_list()


SYNTHETIC = "ada_leval_bestanswer_2k_synthetic"


@pytest.mark.parametrize(
    ("task", "options", "told"),
    [
        # lm-eval writes the length in the task's name down, OpenCompass does not.
        (SYNTHETIC, ({"lct_length": 2000}, {}), ["{}", "{}"]),
        # The card has an answer budget of 64.
        (SYNTHETIC, ({"lct_answer_budget": 64}, {}), ["{}", "{}"]),
        (SYNTHETIC, ({"lct_seed": 0}, {"lct_seed": 1}), ["{}", '{"lct_seed": 1}']),
        # A model with a chat template got prompts without it.
        (SYNTHETIC, ({"plain_prompts": True, "lct_length": 2000}, {}), ['{"plain_prompts": true}', "{}"]),
        # Where cases lie neither shows nor separates.
        (
            "ada_leval_tsort_8k",
            (
                {"lct_cases": "/home/me/built/cases"},
                {"lct_cases": "~/elsewhere/cases/", "lct_window": 5, "lct_tokenizer": "/a/b"},
            ),
            ['{"lct_cases": "cases"}'] * 2,
        ),
        (
            "ada_leval_tsort_8k",
            (
                {"lct_cases": "/x/first"},
                {"lct_cases": "/x/second"},
                {"lct_cases": "/x/second", "lct_seed": 3},
            ),
            ['{"lct_cases": "first"}', '{"lct_cases": "second"}', '{"lct_cases": "second", "lct_seed": 3}'],
        ),
        (
            "ada_leval_tsort_8k",
            ({"lct_length": "4k"}, {"lct_length": 4000}, {"lct_seed": 3}, {"lct_n": 2}),
            ['{"lct_length": 4000}'] * 2 + ["{}", '{"lct_n": 2}'],
        ),
    ],
)
def test_what_tells_settings_apart(
    tmp_path: Path, task: str, options: tuple[dict[str, Any], ...], told: list[str]
) -> None:
    assert settings_of_runs(tmp_path, *options, task=task) == told
    counts = sorted(cell.n_runs for cell in cells_of(collect([tmp_path])))
    assert counts == sorted(told.count(text) for text in set(told))


@pytest.mark.parametrize(
    ("model_args", "told"),
    [
        ("pretrained=owl,enable_thinking=False", '{"enable_thinking": false}'),
        ({"pretrained": "owl", "enable_thinking": True, "device": "cpu", "dtype": "float32"}, "{}"),
        ("pretrained=owl,peft=/home/me/adapters/law,max_length=4096", '{"peft": "law"}'),
        ({"pretrained": "owl", "load_in_4bit": True, "revision": "main"}, '{"load_in_4bit": true}'),
    ],
)
def test_arguments_that_change_the_model_tell_settings_apart(
    tmp_path: Path, model_args: Any, told: str
) -> None:
    write_lm_eval(tmp_path / "plain", Run(simple([1.0, 0.0])))
    write_lm_eval(tmp_path / "other", Run(simple([0.0, 0.0]), model_args=model_args, seed=1))
    assert set(collect([tmp_path]).runs["settings"]) == {"{}", told}
    assert len(cells_of(collect([tmp_path]))) == 1 + (told != "{}")


def test_the_card_decides_whether_a_seed_makes_the_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs on cases of different seeds are not repeats, whatever the name of the task."""
    seeds: tuple[dict[str, Any], ...] = ({"lct_seed": 3}, {"lct_seed": 0}, {})
    assert settings_of_runs(tmp_path / "a", *seeds, task="ada_leval_tsort_2k") == ["{}"] * 3
    spec = catalogue.parse_task("ada_leval_tsort_2k")
    seeded = replace(spec, card=spec.card.model_copy(update={"source": "seed"}))
    monkeypatch.setattr(catalogue, "parse_task", lambda name: seeded)
    own = settings_of_runs(tmp_path / "b", *seeds, task="ada_leval_tsort_2k")
    assert own == ['{"lct_seed": 3}', "{}", "{}"]


@dataclass(frozen=True)
class HintOptions(Options):
    hint: str = "short"


def test_naming_a_default_of_a_plug_in_is_not_another_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue.benchmark("ada_leval"), "options", HintOptions, raising=False)
    options: tuple[dict[str, Any], ...] = ({"lct_hint": "short"}, {}, {"lct_hint": "long"})
    assert settings_of_runs(tmp_path, *options) == ["{}", "{}", '{"lct_hint": "long"}']


def test_other_cases_in_a_folder_of_the_same_name_are_told_apart_and_a_part_belongs_to_the_whole(
    tmp_path: Path,
) -> None:
    first = {f"a{place}": [Turn({"strict_accuracy": 1.0})] for place in range(3)}
    second = {f"b{place}": [Turn({"strict_accuracy": 1.0})] for place in range(3)}
    part = {"a0": first["a0"]}
    option = {"lct_cases": "/x/cases"}
    one, two, three = map(
        json.loads, settings_of_runs(tmp_path, option, option, option, cases=[first, second, part])
    )
    assert one == three != two and {one["lct_cases"][:7], two["lct_cases"][:7]} == {"cases ("}


def test_runs_of_one_model_with_other_cases_are_no_repeats_and_that_is_told(tmp_path: Path) -> None:
    """Cases were built a second time between two runs; a run of a part of the newer cases stays its repeat."""
    older = {f"a{place}": [Turn({"strict_accuracy": 1.0})] for place in range(3)} | simple([1.0])
    newer = simple([1.0, 0.0, 0.0])
    for place, cases in enumerate((older, simple([1.0]), newer)):
        write_lm_eval(tmp_path / str(place), Run(cases, made=f"2026-01-0{place + 1}T10-00-00.000000"))
    collection = collect([tmp_path])
    cells = {cell.n_cases: cell for cell in cells_of(collection)}
    assert {n: cell.n_runs for n, cell in cells.items()} == {4: 1, 3: 2}
    assert cells[3].settings == "{}" and list(json.loads(cells[4].settings)) == ["cases"]
    assert not collection.problems
    [note] = collection.notes
    assert note.startswith(
        "ada_leval_bestanswer_1k, owl: runs with different cases are not counted as repeats: "
    )
    assert all(f"2026-01-0{place + 1}T" in note and f"in {place}/owl (" in note for place in (0, 2))


PARTS = st.lists(
    st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=6),
    min_size=2,
    max_size=5,
)


@given(PARTS, st.sampled_from(["", "~", ".", ".."]))
def test_of_a_path_the_last_name_stays(parts: list[str], start: str) -> None:
    path = f"{start}/{'/'.join(parts)}"
    assert without_places(path) == parts[-1]
    assert without_places({"a": [f"pretrained={path},dtype=auto"]}) == {
        "a": [f"pretrained={parts[-1]},dtype=auto"]
    }
    assert without_places(f"http://host{path}" if start != "~" else "x") in (f"http://host{path}", "x")
