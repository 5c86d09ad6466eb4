"""OpenCompass runs in the form of our own writer, and damaged ones."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from collected_runs import Run, simple, write_opencompass
from stored_runs import only

from long_context_tasks.hosts.opencompass.rows import RowStore
from long_context_tasks.results import StoredCase, StoredRun, find_runs
from long_context_tasks.results.settings import seed_of, settings_of
from long_context_tasks.schema import InputError
from long_context_tasks.schema.response import Response

ADA = "ada_leval_bestanswer_1k"
CONVERSATION = "elitr_bench_conv_dev"
GIVEN = {"version": 1, "lct_n": 3, "lct_seed": 0}


def predictions(
    root: Path, name: str, rows: list[dict[str, Any]], model: str = "m", given: dict[str, Any] | None = None
) -> Path:
    """A finished file of predictions."""
    folder = root / "20260101_000000" / "predictions" / model
    store = RowStore(str(folder), f"{name}.json", given=given or GIVEN)
    store.add(rows)
    store.finish()
    return folder / f"{name}.json"


def row(case: str, text: str = "A1", status: Any = None) -> dict[str, Any]:
    return {
        "case": case,
        "origin_prompt": "?",
        "prediction": text,
        "lct_status": status,
        "lct_window": "unchecked",
    }


def write_config(root: Path, text: str, name: str = "x.py") -> None:
    folder = root / "20260101_000000" / "configs"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def ids(run: StoredRun) -> list[str]:
    return [case.id for case in run.cases()]


def test_parts_are_joined_in_order_of_their_numbers(tmp_path: Path) -> None:
    for number in range(11):
        predictions(tmp_path, f"{ADA}_{number}", [row(f"c{number}")])
    run = only(tmp_path, ADA)
    assert ids(run) == [f"c{number}" for number in range(11)]
    assert (run.host, run.model, run.made, run.version) == ("opencompass", "m", "20260101_000000", 1)
    assert run.options == {"lct_n": 3, "lct_seed": 0} and run.numbers == {}
    predictions(tmp_path, ADA, [row("whole")])
    assert ids(only(tmp_path, ADA)) == ["whole"]  # as the host has it


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    for number in (0, 2):
        predictions(tmp_path, f"{ADA}_{number}", [row(f"c{number}")])
    found = find_runs(tmp_path)
    assert not found.runs and f"{ADA}_1.json: missing" in found.problems[0]


def test_a_name_of_ones_own(tmp_path: Path) -> None:
    """The config that the host has written down tells the task."""
    write_config(tmp_path, f"datasets=[dict(abbr='mine_2', type='x', lct_task='{ADA}', n=1)]\n")
    predictions(tmp_path, "mine_2", [row("a")])
    predictions(tmp_path, "yours", [row("a")])
    found = find_runs(tmp_path)
    assert [(run.task, run.label) for run in found.runs] == [(ADA, "m/mine_2")]
    assert "the task of yours is unknown" in found.problems[0]


MODEL = """
models=[
    dict(abbr='m', batch_size=4, generation_kwargs=dict({generation}), max_out_len=64,
        key='sk-0123456789abcdef0123', org='o', headers=dict(Authorization='Bearer x'),
        openai_extra_kwargs=dict(extra_headers={{'api-key': 'S3CRET'}}),
        extra_body={{'key': 'S3CRET', 'extra_headers': {{'Ocp-Apim-Subscription-Key': 'S3CRET'}}, 'top': 1}},
        model_kwargs=dict(device_map='cpu', torch_dtype='torch.bfloat16'), meta_template=None,
        openai_api_base='http://me:pw@host/v1?sig=S3CRET', path='/home/me/models/owl',
        run_cfg=dict(num_gpus=0), type='opencompass.models.HuggingFaceBaseModel'),
    dict(abbr='other', path='elsewhere', type='x.Y', generation_kwargs=dict(temperature=0.9, do_sample=True))]
"""
GREEDY = "do_sample=False, temperature=0, top_p=1"
SAMPLED = "do_sample=True, temperature=0.6, top_p=1, seed=3"


def test_what_a_run_was_made_with_stands_in_its_config(tmp_path: Path) -> None:
    """Arguments have lm-eval's names and no keys; the table of runs has them, too."""
    pl = pytest.importorskip("polars")
    from long_context_tasks.results.collect import collect

    write_config(tmp_path, MODEL.format(generation=GREEDY))
    write_opencompass(tmp_path, Run(simple([1.0]), ADA, "m", made="20260101_000000"))
    told = only(tmp_path, ADA).provenance
    assert told["model"] == "HuggingFaceBaseModel" and told["batch_size"] == 4
    assert told["gen_kwargs"] == {"do_sample": False, "temperature": 0, "top_p": 1}
    assert told["model_dtype"] == "torch.bfloat16" and told["model_args"]["path"] == "/home/me/models/owl"
    [row] = collect([tmp_path]).runs.filter(pl.col("host") == "opencompass").iter_rows(named=True)
    shown = json.loads(row["provenance"])
    assert shown["model_args"] == {
        "path": "owl",
        "model_kwargs": {"device_map": "cpu", "torch_dtype": "torch.bfloat16"},
        "openai_api_base": "http://host/v1",
        "extra_body": {"key": "(not shown)", "extra_headers": "(not shown)", "top": 1},
    }
    assert (
        "S3CRET" not in row["provenance"]
        and "sk-01" not in row["provenance"]
        and "Bearer" not in row["provenance"]
        and row["settings"] == "{}"
    )


def test_the_type_that_a_row_tells_is_the_one_that_ran(tmp_path: Path) -> None:
    write_config(tmp_path, MODEL.format(generation=""))
    predictions(tmp_path, ADA, [{**row("a"), "lct_dtype": "torch.float32"}])
    assert only(tmp_path, ADA).provenance["model_dtype"] == "torch.float32"


def test_sampling_is_a_setting_and_greedy_is_none(tmp_path: Path) -> None:
    write_config(tmp_path, MODEL.format(generation=SAMPLED))
    predictions(tmp_path, ADA, [row("a")])
    sampled = only(tmp_path, ADA)
    assert json.dumps(settings_of(sampled)) == '{"lct_n": 3, "temperature": 0.6}'
    assert seed_of(sampled) == "3"
    for told in (
        "do_sample=true,temperature=0.6,top_p=1",
        "temperature=0.6",
        {"temperature": 0.6, "top_p": 1.0},
    ):
        by_lm_eval = replace(sampled, provenance={"gen_kwargs": told})
        assert json.dumps(settings_of(by_lm_eval)) == json.dumps(settings_of(sampled))
    for told in ("do_sample=false", "temperature=0", {"do_sample": False, "temperature": 0.7, "top_k": 50}):
        assert settings_of(replace(sampled, provenance={"gen_kwargs": told})) == {"lct_n": 3}
    write_config(tmp_path, MODEL.format(generation=GREEDY))
    assert settings_of(only(tmp_path, ADA)) == {"lct_n": 3}


def test_configs_that_differ_do_not_tell_under_which_an_answer_was_made(tmp_path: Path) -> None:
    for name, generation in (("1.py", SAMPLED), ("2.py", GREEDY)):
        write_config(tmp_path, MODEL.format(generation=generation), name)
    predictions(tmp_path, ADA, [row("a")])
    assert settings_of(only(tmp_path, ADA)) == {"generation": "not the same in all configs", "lct_n": 3}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "models=[",
        "models=3",
        "models=[dict(abbr='m', type=3, model_kwargs=[1], generation_kwargs='x', batch_size=dict(a=f()))]",
        "models=[dict(abbr='m', type=open('/etc/passwd').read(), path=__import__('os').getcwd())]",
        "models=[" + "[" * 300,
        "\x00",
    ],
)
def test_no_config_and_odd_ones_take_nothing_from_a_run(tmp_path: Path, text: str) -> None:
    write_config(tmp_path, text)
    predictions(tmp_path, ADA, [row("a")])
    found = find_runs(tmp_path)
    assert len(found.runs) == 1 and not found.problems
    [run] = found.runs
    assert "path" not in (run.provenance.get("model_args") or {}) and settings_of(run) == {"lct_n": 3}


def test_repeats_are_counted(tmp_path: Path) -> None:
    predictions(tmp_path, ADA, [row(case, text) for text in ("A1", "A2") for case in ("a", "b")])
    cases = list(only(tmp_path, ADA).cases())
    assert [(case.id, case.repeat, case.responses[0].text) for case in cases] == [
        ("a", 0, "A1"),
        ("b", 0, "A1"),
        ("a", 1, "A2"),
        ("b", 1, "A2"),
    ]


def test_conversations_and_statuses(tmp_path: Path) -> None:
    predictions(
        tmp_path,
        CONVERSATION,
        [
            row("a", '["Yes.", null]', [None, "does_not_fit"]),
            row("b", "", ["does_not_fit"]) | {"prediction": "[null]"},
        ],
    )
    first, second = only(tmp_path, CONVERSATION).cases()
    assert first == StoredCase("a", (Response("Yes."), Response(None, "does_not_fit")))
    assert second.responses == (Response(None, "does_not_fit"),)


def test_a_stopped_run_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "20260101_000000" / "predictions" / "m"
    folder.mkdir(parents=True)
    (folder / f"tmp_{ADA}.jsonl").write_text("{}\n")
    (folder / "tmp_gsm8k.jsonl").write_text("{}\n")
    predictions(tmp_path, f"{CONVERSATION}_0", [row("a")])
    (folder / f"tmp_{CONVERSATION}_1.jsonl").write_text("{}\n")
    found = find_runs(tmp_path)
    assert not found.runs
    places = {Path(problem.partition(": ")[0]).name for problem in found.problems}
    assert places == {f"tmp_{ADA}.jsonl", f"tmp_{CONVERSATION}_1.jsonl"}


def test_rows_of_other_options_are_not_mixed(tmp_path: Path) -> None:
    predictions(tmp_path, f"{ADA}_0", [row("a")])
    predictions(tmp_path, f"{ADA}_1", [row("b")], given={**GIVEN, "lct_seed": 1})
    with pytest.raises(InputError, match=r"row 0.*options"):
        list(only(tmp_path, ADA).cases())


def test_tasks_of_others_are_passed_over(tmp_path: Path) -> None:
    folder = predictions(tmp_path, ADA, [row("a")]).parent
    (folder / "gsm8k.json").write_text('{"0": {"origin_prompt": "1 + 1", "prediction": "2", "gold": "2"}}')
    (folder / "mmlu.json").write_text("[1]")
    (folder / "cut.json").write_text('{"0": {')
    found = find_runs(tmp_path)
    assert [run.task for run in found.runs] == [ADA] and not found.problems


def test_numbers_that_json_has_no_word_for(tmp_path: Path) -> None:
    task = "ada_leval_tsort_2k_ppl"
    likely = {"log_likelihoods": [-1.5, float("nan")], "n_candidate_tokens": [3, 3]}
    predictions(tmp_path, task, [{**row("a"), **likely}])
    [case] = only(tmp_path, task).cases()
    assert case.log_likelihoods is not None and case.log_likelihoods[0] == -1.5
    assert case.num_candidate_tokens == (3, 3) and case.responses == (Response(None),)
