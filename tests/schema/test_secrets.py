"""What is a secret and what is not: names of fields, texts, containers."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from long_context_tasks.schema import secrets
from long_context_tasks.schema.secrets import (
    HIDDEN,
    holds_secret,
    is_secret_name,
    remember_secrets,
    without_known,
    without_secrets,
)

SECRET = [
    "x-api-key", "X-API-KEY", "api_key", "apiKey", "api-key", "APIKEY", "openai_key", "OPENAI_API_KEY",
    "openai_api_key_2", "key", "keys", "access_keys", "token", "HF_TOKEN", "hf_token", "hftoken_token",
    "auth_token", "use_auth_token", "api_tokens", "auth", "basic_auth", "AUTHORIZATION",
    "Authorization", "bearer", "proxy-authorization", "password", "db_passwd", "passphrase",
    "client_secret", "secrets", "aws_secret_access_key", "credentials", "signature", "cookie",
    "headers", "extra_headers", "default-headers", "header", "private_key", "LCT_OTHER_PASSWORD",
    "--api-key",
]  # fmt: skip
PUBLIC = [
    "monkey", "keyword", "keywords", "authors", "author", "author_key_words", "max_completion_tokens",
    "min_tokens", "stop_tokens", "max_tokens", "tokens", "tokenizer", "pad_token_id", "eos_token",
    "pad_token", "add_bos_token", "think_end_token", "stop_token", "num_tokens", "tokens_per_second",
    "api_key_env", "turkey", "keyboard", "key_points", "passage", "secretary", "tokenizer_backend",
    "model", "base_url", "temperature", "bypass", "prompt_tokens", "completion_tokens",
]  # fmt: skip


@pytest.mark.parametrize("name", SECRET)
def test_secret_names(name: str) -> None:
    assert is_secret_name(name)
    assert holds_secret({"deep": [{name: "x"}]})
    assert without_secrets({"deep": [{name: "x7"}]}) == {"deep": [{name: HIDDEN}]}
    assert without_secrets(f"model=m,{name}=x7,n=1") == f"model=m,{name}={HIDDEN},n=1"


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names(name: str) -> None:
    assert not is_secret_name(name)
    for value in ({"deep": [{name: "x"}]}, f"model=m,{name}=x,n=1", [f"--{name}", "x"], f"lct --{name} x"):
        assert without_secrets(value) == value and not holds_secret(value)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("model_args: api_key=s3, n=1", f"model_args: api_key={HIDDEN}, n=1"),
        ('{"api_key": "s 3", "n": 1}', f'{{"api_key": {HIDDEN}, "n": 1}}'),
        ('{\\"token\\": \\"s3\\"}', f'{{\\"token\\": {HIDDEN}}}'),
        ("Authorization: Bearer abc123, n=1", f"Authorization: {HIDDEN}, n=1"),
        ("run --verbose api_key=s3 --seed 1", f"run --verbose api_key={HIDDEN} --seed 1"),
        ("run --api-key s3 --seed 1", f"run --api-key {HIDDEN} --seed 1"),
        (["run", "--api-key", "s3", "--seed", "1"], ["run", "--api-key", HIDDEN, "--seed", "1"]),
        ("http://me:pw@host/v1?code=1,x=2", "http://host/v1,x=2"),
        ("http://me@host/v1", "http://host/v1"),
        ("it was sk-0123456789abcdef0123, then", f"it was {HIDDEN}, then"),
        ("sent with Bearer abcdef123456", f"sent with {HIDDEN}"),
        ({"token": None, "auth": False, "n": 1.5}, {"token": None, "auth": False, "n": 1.5}),
        ("use_auth_token=True,key=none", "use_auth_token=True,key=none"),
        ({"sk-0123456789abcdef0123": 1}, {HIDDEN: 1}),
        ({"a": ("x", {"headers": {"X-Owl": "x"}})}, {"a": ["x", {"headers": HIDDEN}]}),
        ("hf-internal-testing/tiny-random-gpt2", "hf-internal-testing/tiny-random-gpt2"),
        ("sk-learn and hf_transfer, bearer of news", "sk-learn and hf_transfer, bearer of news"),
    ],
)
def test_values(value: Any, shown: Any) -> None:
    assert without_secrets(value) == shown
    assert without_secrets(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "sk-verysecret0123456789",
        "hf_abcdefghijklmnopqrst",
        "glpat-0123456789",
        "Basic dXNlcjpwYXNzd29yZA==",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJvd2wifQ.c2lnbmF0dXJl",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEow==",
    ],
)
def test_texts_in_the_form_of_keys(text: str) -> None:
    assert holds_secret([{"user": f"x {text}"}]) and holds_secret({text: 1})
    assert without_secrets(f"x {text}") == f"x {HIDDEN}"


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    login = "machine host login anne password Netrc-5word\n"
    (tmp_path / ".netrc").write_text(login)
    monkeypatch.setattr(secrets, "_remembered", set())
    for name, value in {
        "NETRC": str(tmp_path / ".netrc"),
        "MY_API_KEY": "Env-1word",
        "OPENAI_API_KEY": "EMPTY",
        "OTHER_TOKEN": "20261127",
        "PLAIN_PASSWORD": "not-needed",
        "HTTPS_PROXY": "http://anne:Pr%40xy-2word@proxy:3128",
        "LCT_NOTE": "an-ordinary-text-of-1-run",
    }.items():
        monkeypatch.setenv(name, value)
    header = {
        "Authorization": "Bearer Head-3word",
        "Content-Type": "application/json",
        "Org": "letters-and-4",
    }
    remember_secrets([{"base_url": "http://h/v1?api-key=Query-4word&v=2024-02-15-preview", "header": header}])
    remember_secrets(["run", "--api-key", "Word-6option", "--gen_kwargs", '{"api_token": "Json-7word"}'])


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    "secret",
    [
        *("Env-1word", "Pr%40xy-2word", "Pr@xy-2word", "Head-3word", "Query-4word", "Netrc-5word"),
        *("Word-6option", "Json-7word", b64encode(b"anne:Netrc-5word").decode()),
        b64encode(b"anne:Pr@xy-2word").decode(),
    ],
)
def test_known_secrets_are_hidden_without_a_name(secret: str) -> None:
    assert without_known(f"I was sent <{secret}>, {secret}") == f"I was sent <{HIDDEN}>, {HIDDEN}"


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    "text",
    [
        *("EMPTY", "20261127", "not-needed", "an-ordinary-text-of-1-run", "application/json"),
        *("letters-and-4", "2024-02-15-preview", "proxy:3128", "anne"),
    ],
)
def test_ordinary_words_are_not_hidden(text: str) -> None:
    assert without_known(text) == text


def test_folders_and_files_that_variables_name_are_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key4.json").touch()
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key4.json"))
    for name in ("PWD", "OLDPWD"):
        monkeypatch.setenv(name, "/srv/removed-folder-4/of-a-user")
    text = f"In /srv/removed-folder-4/of-a-user I read {tmp_path}/key4.json"
    assert without_known(text) == text


def test_a_wrong_netrc_hides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".netrc").write_text("machine host 5 \xff")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    assert without_known("host") == "host"
