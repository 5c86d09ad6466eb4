"""Names of models: local paths, several names of one model, and the file of models."""

from pathlib import Path

import pytest

pytest.importorskip("polars")

from collected_runs import TIME, Run, simple, write_lm_eval, write_opencompass
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.results.collect import collect_with_files
from long_context_tasks.results.models import read_models, shown_name
from long_context_tasks.schema import InputError


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("gpt-4o", "gpt-4o"),
        ("/data/models/Qwen3-8B/", "Qwen3-8B"),
        ("./owl", "owl"),
        ("~/models/owl", "owl"),
        (r"C:\models\owl", "owl"),
        ("runs/a/owl", "owl"),
        ("/runs/owl/checkpoint-500", "owl/checkpoint-500"),
        ("/runs/owl/final", "owl/final"),
        ("/root/.cache/huggingface/hub/models--Qwen--Qwen3-8B/snapshots/9c925d6", "Qwen/Qwen3-8B"),
        ("http://host/v1/owl", "http://host/v1/owl"),
    ],
)
def test_a_local_path_is_shown_by_its_last_folder_and_a_hub_s_id_whole(told: str, shown: str) -> None:
    assert shown_name(told) == shown


@given(st.text(max_size=30))
def test_names_are_never_empty_and_stay_what_they_are(told: str) -> None:
    shown = shown_name(told)
    assert bool(shown) == bool(told) and shown_name(shown) == shown


def test_two_names_of_one_model_in_two_hosts_are_one_and_that_is_told(tmp_path: Path) -> None:
    write_lm_eval(tmp_path / "lm", Run(simple([1.0, 0.0]), model="/home/me/secret/owl"))
    write_lm_eval(tmp_path / "hub", Run(simple([1.0, 0.0]), model="org/owl"))
    write_opencompass(tmp_path / "oc", Run(simple([1.0, 0.0]), made=TIME, model="owl"))
    found = collect_with_files([tmp_path]).collection
    # Another organisation's owl is another model.
    assert sorted(found.runs["model"]) == ["org/owl", "owl", "owl"]
    [note] = found.notes
    assert (
        note.startswith("owl: 2 names of hosts (.../owl, owl)")
        and "--models" in note
        and "secret" not in note
    )
    assert "secret" not in found.runs.select("model", "provenance", "settings", "options").write_csv()


FILE = """
models:
  - name: org/owl
    window: 32k
    licence: Apache-2.0
    parameters: 1B
    aliases: [owl_hf, /home/me/secret/owl]
  - {name: crow, window: 4096}
"""


def test_the_file_of_models_names_and_joins_them(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(FILE)
    models = read_models(path)
    assert models.windows == {"org/owl": 32_000, "crow": 4096}
    assert models.facts["org/owl"].licence == "Apache-2.0" and models.facts["org/owl"].parameters == "1B"
    write_lm_eval(tmp_path / "lm", Run(simple([1.0]), model="/home/me/secret/owl"))
    write_lm_eval(tmp_path / "other", Run(simple([1.0]), model="/home/you/owl"))
    write_opencompass(tmp_path / "oc", Run(simple([1.0]), made=TIME, model="owl_hf"))
    found = collect_with_files([tmp_path], models).collection
    # The whole path is an alias, so a folder of the same name elsewhere stays what it is.
    assert sorted(found.runs["model"]) == ["org/owl", "org/owl", "owl"]
    assert any(
        note.startswith("org/owl: 2 names") and "as the file of models has it" in note for note in found.notes
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("models: {a: b}", "models must be a list"),
        ("- name: a", "must be keys and values"),
        ("models: [{window: 8k}]", "models, item 1, name"),
        ("models: [{name: a, size: 8}]", "size"),
        ("models: [{name: a, aliases: b}]", "aliases"),
        ("models: [{name: a, window: big}]", "models, item 1, window"),
        (
            "models: [{name: a, aliases: [x]}, {name: b, aliases: [x]}]",
            "models, item 2: x is a name of a already",
        ),
        ("models: [{name: a}, {name: a}]", "a is a name of a already"),
        ("models: [", "not YAML"),
        (None, "no such file"),
    ],
)
def test_mistakes_in_the_file_are_named(tmp_path: Path, text: str | None, told: str) -> None:
    path = tmp_path / "models.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=told) as error:
        read_models(path)
    assert str(path) in str(error.value)
