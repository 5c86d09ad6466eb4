"""Judge files and environment variables: what is read, what is refused, and that no key is ever shown."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.kinds import KINDS, check_judge, kind_of, load_judge
from long_context_tasks.orca.judge import OrcaConfig
from long_context_tasks.schema import InputError

REPOSITORY = Path(__file__).resolve().parents[2]
SECRET = "sk-verysecret0123456789"
REVISION = {"LCT_JUDGE_REVISION": "r"}


def write(folder: Path, text: str) -> Path:
    path = folder / "judge.yaml"
    path.write_text(text, encoding="utf-8")
    return path


BASE = "model: m\nbase_url: http://localhost:8000/v1/\n"


@pytest.mark.parametrize(
    ("text", "environ", "fields"),
    [
        (
            BASE + "temperature: 0.6\nseeds: [1, 2]\napi_key_env: MY_KEY\n",
            {},
            {"name": "m", "base_url": "http://localhost:8000/v1", "temperature": 0.6, "seeds": (1, 2)},
        ),
        (
            None,
            {"MODEL": "org/m-7b", "BASE_URL": "http://h/v1", "SEEDS": "1, 2"},
            {"name": "m-7b", "seeds": (1, 2)},
        ),
        (
            "model: m\ntemperature: 0.5\n",
            {"BASE_URL": "http://node7:8000/v1", "TEMPERATURE": "1"},
            {"base_url": "http://node7:8000/v1", "temperature": 0.5},
        ),
    ],
)
def test_a_judge_is_that_of_the_file_then_of_the_environment(
    tmp_path: Path, text: str | None, environ: dict[str, str], fields: dict[str, Any]
) -> None:
    path = None if text is None else write(tmp_path, text)
    variables = {f"LCT_JUDGE_{name}": value for name, value in environ.items()}
    config = load_judge(path, variables)
    assert config is not None and {name: getattr(config, name) for name in fields} == fields
    assert path is None or load_judge(None, {"LCT_JUDGE": str(path), **variables}) == config
    assert load_judge(None, {"LCT_SEED": "1", "LCT_JUDGE": "", "LCT_JUDGE_MODEL": ""}) is None


def test_a_judge_can_be_written_as_a_file_again(tmp_path: Path) -> None:
    config = JudgeConfig(model="m", base_url="http://h/v1", seeds=(1, None), extra_body={"top_k": 5})
    assert load_judge(write(tmp_path, yaml.safe_dump(config.model_dump(mode="json"))), {}) == config


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("temprature: 1", "did you mean temperature"),
        ("temperature: 3", "at most 2"),
        ("temperature: .nan", "finite"),
        ("top_p: 0", "above 0"),
        ("temperature: true", "temperature must be a number"),
        ("max_tokens: 0", "at least 1"),
        ("max_tokens: 1.5", "whole number"),
        ("seeds: []", "one or more"),
        ("seeds: [1, 1]", "different"),
        ("seeds: x", "whole number"),
        ("kind: magic", "openai, local"),
        ("api: responses", "'chat' or 'completions'"),
        ("concurrency: 0", "at least 1"),
        ("timeout: 0", "above 0"),
        ("retries: -1", "at least 0"),
        ("name: a/b", "name must be letters"),
        ("prompt_template: no field", "{prompt}"),
        ("prompt_template: '[INST] {prompt} [/INST]'", "completions"),
        ("extra_body: [1]", "mapping"),
        ("extra_body: {seed: 1}", "must not set seed"),
        ("kind: local", "base_url"),
        ("base_url: localhost:8000", "base_url"),
        ("- x", "YAML"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, line: str, said: str) -> None:
    base = "model: m\n" if line.startswith("base_url") else BASE
    path = write(tmp_path, base + line + "\n")
    with pytest.raises(InputError, match=said.replace("{", r"\{")):
        load_judge(path, {})


@pytest.mark.parametrize(
    "text",
    [
        BASE + f"api_key: {SECRET}\n",
        BASE + f"key: {SECRET}\n",
        BASE + f"api-key: {SECRET}\n",
        BASE + f"OPENAI_API_KEY: {SECRET}\n",
        BASE + f"token: {SECRET}\n",
        BASE + f"api_key_env: {SECRET}\n",
        BASE + f"temperature: {SECRET}\n",
        BASE + f"seeds: {SECRET}\n",
        BASE + f"max_tokens: {SECRET}\n",
        BASE + f"name: '{SECRET} x'\n",
        BASE + f"revision: {SECRET}\n",
        BASE + f"api: completions\nprompt_template: '{{prompt}} {SECRET}'\n",
        BASE + f"extra_body: {{headers: {{Authorization: {SECRET}}}}}\n",
        BASE + f"extra_body: {{headers: Bearer {SECRET}}}\n",
        BASE + f"extra_body: {{user: [{SECRET}]}}\n",
        BASE + f"{SECRET}: 1\n",
        BASE + f"api_key: '{SECRET}\n",
        BASE + f"\tapi_key: {SECRET}\n",
        f"model: m\nbase_url: http://user:{SECRET}@h/v1\n",
        f"model: m\nbase_url: http://h/v1?api-key={SECRET}\n",
        SECRET,
    ],
)
def test_a_key_in_the_file_is_refused_and_not_repeated(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError) as caught:
        load_judge(write(tmp_path, text), {})
    chain: BaseException | None = caught.value
    while chain is not None:
        assert SECRET not in str(chain)
        chain = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)


EXAMPLES = {
    **{"model": "m", "name": "n", "kind": "openai", "base_url": "http://h/v1", "api_key_env": "MY_KEY"},
    **{"api": "completions", "engine": "hf", "prompt_template": "[INST] {prompt} [/INST]", "revision": "r"},
    **{"rubric": "prometheus", "seeds": [None], "temperature": None, "thinking": "<a> </a>"},
    "split_messages": None,  # only for `api: chat`
}


def test_every_field_that_the_page_names_is_accepted(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "judge_files.md").read_text(encoding="utf-8")
    rows = [row.split("|") for row in re.findall(r"^\| `.*", page.partition("## Reading the score")[0], re.M)]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row[1])]
    assert sorted(named) == sorted({*JudgeConfig.model_fields, *OrcaConfig.model_fields})
    [body] = [re.findall(r"`(\w+)`", row[3]) for row in rows if "`extra_body`" in row[1]]
    assert len(body) >= 2
    values = {name: EXAMPLES.get(name, 1) for name in named if name in JudgeConfig.model_fields}
    values |= {"extra_body": dict.fromkeys(body, 5)}
    config = load_judge(write(tmp_path, yaml.safe_dump(values)), {})
    assert config is not None and config.extra_body == values["extra_body"]


def test_a_key_in_the_wrong_variable_is_refused_and_not_repeated() -> None:
    for name in ("LCT_JUDGE_API_KEY", "LCT_JUDGE_KEY", "LCT_JUDGE_API_KEY_ENV"):
        with pytest.raises(InputError) as caught:
            load_judge(None, {"LCT_JUDGE_MODEL": "m", "LCT_JUDGE_BASE_URL": "http://h/v1", name: SECRET})
        assert SECRET not in str(caught.value)
        assert "API_KEY_ENV" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "environ", "said"),
    [
        (None, {"LCT_JUDGE": "none.yaml"}, "no such file"),
        (None, {"LCT_JUDGE_MODLE": "m"}, "LCT_JUDGE_MODLE"),
        ("base_url: http://h/v1\n", {}, "model is missing"),
        ("model: m\n", {}, "base_url is missing"),
        ("model: m\nbase_url: nowhere\n", {}, "must be an address"),
        (
            "kind: orca\nmodel: nowhere\n",
            {},
            r"judge file .*judge\.yaml: model: .*nowhere: not an ORCA checkpoint",
        ),
    ],
)
def test_missing_things_are_named(
    tmp_path: Path, text: str | None, environ: dict[str, str], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        load_judge(None if text is None else write(tmp_path, text), environ)


@pytest.mark.parametrize(
    "path", sorted((REPOSITORY / "configs" / "judges").glob("*.yaml")), ids=lambda p: p.stem
)
def test_the_examples_load(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The trained judge of the example lies where its user has trained it.
    (tmp_path / "judge" / "model" / "lm").mkdir(parents=True)
    for name in ("config.yaml", "model_minus_lm.pt"):
        (tmp_path / "judge" / "model" / name).write_bytes(b"x: 1")
    monkeypatch.chdir(tmp_path)
    assert load_judge(path, {}) is not None


def test_the_papers_judge() -> None:
    config = load_judge(REPOSITORY / "configs" / "judges" / "openai_gpt4.yaml", {})
    assert config is not None
    expected = {
        "name": "gpt-4-0613",
        "kind": "openai",
        "model": "gpt-4-0613",
        "revision": None,
        "api": "chat",
    }
    expected |= {"prompt_template": None, "temperature": 0.6, "top_p": 0.9, "max_tokens": 1024}
    assert config.description() == expected | {"seeds": [2023], "extra_body": {}, "asks": 3}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_registers_itself(name: str) -> None:
    fields = {"kind": name, "model": "m"} | ({"base_url": "http://h/v1"} if name == "openai" else {})
    config = load_judge(None, {f"LCT_JUDGE_{key.upper()}": text for key, text in fields.items()} | REVISION)
    assert config is not None
    kind = kind_of(config)
    assert type(config) is kind.config and config.in_process == (kind.load is not None)


def test_a_judge_that_reads_no_prompts_writes_no_text() -> None:
    with pytest.raises(InputError, match=r"judge m: .* kind orca .* name a language model"):
        check_judge(OrcaConfig(model="m"), reads_prompts=True)


def test_a_changed_judge_is_checked() -> None:
    config = JudgeConfig(model="m", base_url="http://h/v1")
    assert config.changed(seeds="1, 2").seeds == (1, 2)
    with pytest.raises(InputError, match="judge m: seeds must be one or more different whole numbers"):
        config.changed(seeds="1,1")
