"""A hub that does not answer: one request and one line instead of minutes of attempts, and local copies go on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from file_server import Server, file_server
from judge_server import Answer, free_port, judge_server
from other_tokenizers import other_tokenizer

_COUNT = """
from long_context_tasks.tokens import get_tokenizer
print(get_tokenizer("org/model").count("one two"))
"""
_LOAD = """
import os
from long_context_tasks.hosts.lm_eval.window import check_hub
server = {"base_url": "http://h/v1/completions"}
check_hub({"pretrained": os.environ["MODEL_FOLDER"]})
check_hub({**server, "model": "org/served", "tokenizer": os.environ["MODEL_FOLDER"]})
check_hub({"base_url": "http://h/v1/chat/completions", "model": "org/chat"})
assert "HF_HUB_OFFLINE" not in os.environ
check_hub({"pretrained": "org/elsewhere", "download_dir": "."})
check_hub({"pretrained": object()})
assert "HF_HUB_OFFLINE" not in os.environ
check_hub({**server, "model": "org/served"})
check_hub({"pretrained": "org/model"})
assert os.environ["HF_HUB_OFFLINE"] == "1"
from huggingface_hub import hf_hub_download
hf_hub_download("org/model", "config.json")
"""


@pytest.fixture(params=["status 503", "nothing listens", "a proxy that refuses"])
def down(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Server, dict[str, str]]:
    """A hub that is down, with the variables that name it."""
    own = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
    own.pop("HF_HUB_OFFLINE", None)
    own |= {"HF_HOME": str(tmp_path / "home"), "LCT_CACHE_DIR": str(tmp_path / "cache")}
    hub = request.getfixturevalue("hub")
    if request.param == "status 503":
        return hub, own | {"HF_ENDPOINT": hub.url}
    if request.param == "nothing listens":
        return hub, own | {"HF_ENDPOINT": f"http://127.0.0.1:{free_port()}"}
    return hub, own | {"HF_ENDPOINT": "https://hub.invalid", "HTTPS_PROXY": hub.url}


@pytest.fixture
def hub():  # type: ignore[no-untyped-def]
    with file_server() as server:
        server.statuses = [503] * 100
        yield server


def _run(program: str, variables: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


def test_one_request_and_one_line(down: tuple[Server, dict[str, str]]) -> None:
    server, variables = down
    run = _run(_COUNT, variables)
    *_, last = run.stderr.splitlines()
    assert "tokenizer org/model" in last and variables["HF_ENDPOINT"] in last and "lct_tokenizer" in last
    assert "Retrying" not in run.stderr and len(server.lines) <= 1


def test_a_local_copy_is_read(down: tuple[Server, dict[str, str]]) -> None:
    server, variables = down
    folder = Path(variables["HF_HOME"], "hub", "models--org--model")
    (folder / "snapshots" / "abc").mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("abc")
    other_tokenizer("words", folder / "snapshots" / "abc")
    run = _run(_COUNT, variables)
    assert (run.stdout, run.stderr) == ("2\n", "") and len(server.lines) <= 1


_CHECK = """
import sys
from long_context_tasks.tokens import check_hub_model
check_hub_model(sys.argv[1], "pretrained")
"""


def _checked(name: str, variables: dict[str, str]) -> str:
    """The last line of the error about a model that is nowhere."""
    command = [sys.executable, "-c", _CHECK, name]
    run = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert "Retrying" not in run.stderr
    return run.stderr.strip().rpartition("\n")[2]


@pytest.mark.parametrize("name", ["models/smol", "MODEL", "a/b/c"])
def test_a_model_that_is_nowhere_is_refused(down: tuple[Server, dict[str, str]], name: str) -> None:
    _, variables = down
    last = _checked(name, variables)
    assert f"pretrained {name}: no such folder here" in last and variables["HF_ENDPOINT"] in last
    assert f"hf download {name}" in last


@pytest.mark.parametrize(
    ("name", "status", "refused"),
    [("models/smol", 404, True), ("a/b/c", 200, True), ("org/model", 200, False), ("org/model", 500, False)],
)
def test_a_hub_that_answers_is_asked_for_the_model(
    tmp_path: Path, name: str, status: int, refused: bool
) -> None:
    """Other failures are left to the host's own client."""
    own = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
    own.pop("HF_HUB_OFFLINE", None)
    body = b'{"id": "org/model"}' if status == 200 else b"{}"
    headers = {"X-Error-Code": "RepoNotFound"} if status == 404 else {}
    models = {f"/api/models/{name}": lambda _: Answer(status=status, raw=body, headers=headers)}
    with judge_server(lambda *_: Answer(), others={"/": lambda _: Answer(raw=b"hub"), **models}) as hub:
        variables = own | {"HF_HOME": str(tmp_path), "HF_ENDPOINT": hub.url.removesuffix("/v1")}
        last = _checked(name, variables)
    assert (last != "") is refused
    assert (
        not refused or f"pretrained {name}: no such folder here, and the Hugging Face hub has no such" in last
    )


def test_the_host_that_loads_a_model_asks_no_longer(
    down: tuple[Server, dict[str, str]], tmp_path: Path
) -> None:
    pytest.importorskip("lm_eval")
    server, variables = down
    Path(variables["HF_HOME"], "hub", "models--org--model", "snapshots").mkdir(parents=True)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    run = _run(_LOAD, variables | {"MODEL_FOLDER": str(folder)})
    warned = [line.split(":")[0] for line in run.stderr.splitlines() if "only a local copy is read" in line]
    # From then on the process is offline, also for the next model.
    assert warned == ["org/served"] and "LocalEntryNotFoundError" in run.stderr
    assert "Retrying" not in run.stderr and len(server.lines) <= 1


@pytest.mark.parametrize(
    ("path", "more", "refused"),
    [
        ("completions", {"tokenizer": "org/none"}, True),
        ("completions", {"tokenizer_backend": "huggingface"}, True),
        # lm-eval takes the server's tokenizer if it has one.
        ("completions", {}, False),
        ("completions", {"tokenizer_backend": "remote"}, False),
        ("completions", {"tokenizer_backend": "tiktoken"}, False),
        ("chat/completions", {"tokenizer": "org/none"}, False),
    ],
)
def test_a_served_model_needs_no_hub_unless_the_host_loads_its_tokenizer(
    tmp_path: Path, path: str, more: dict[str, str], refused: bool
) -> None:
    arguments = {"model": "org/served", "base_url": f"http://h/v1/{path}", **more}
    program = f"from long_context_tasks.hosts.lm_eval.window import check_hub; check_hub({arguments})"
    pytest.importorskip("lm_eval")
    done = _run(program, {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"})
    assert ("InputError: tokenizer org/" in done.stderr) is (done.returncode != 0) is refused, done.stderr
