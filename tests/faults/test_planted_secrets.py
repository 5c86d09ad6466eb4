"""Forty secrets in the places where users put them: a full run on both hosts leaves none in a file, a log or on the console."""

import json
import shutil
import subprocess
import threading
import zipfile
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from kills import ALL
from needs import needs
from preloaded import preloaded_host
from run_commands import QA, own_responses, published_data

pytestmark = [
    *(needs("lm_eval"), needs("opencompass"), pytest.mark.slow, pytest.mark.hosts, pytest.mark.faults)
]

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
KEYS = {f"k{n}": f"sk-plant{n:02d}Q7x9Zr4Lm2Kp8Wt" for n in range(1, 18)}
"""Secrets that look like keys."""
PASSWORDS = {f"p{n}": f"Pw{n:02d}plantVb6Nq3" for n in range(1, 24)}
"""Secrets that only their place reveals."""
S = {**KEYS, **PASSWORDS}


class Echo(BaseHTTPRequestHandler):
    """Repeats all it was sent in its answers, or in its errors under ``/fail``."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        said = f"{self.path} {json.dumps(dict(self.headers.items()))}"
        if self.path.startswith("/fail"):
            return self._send(500, {"error": {"message": said, "param": said}})
        message = {"role": "assistant", "content": rf"A1 {said} \boxed{{7}}"}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        self._send(200, {"id": said, "object": "chat.completion", "model": "stub", "choices": [choice]})

    def do_GET(self) -> None:
        self._send(200, {"data": [{"id": "stub"}]})

    def _send(self, status: int, row: object) -> None:
        body = json.dumps(row).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def echo() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


class Machine:
    """A user's machine: a home, a repository to work in, an environment, and a folder for all results."""

    def __init__(self, folder: Path, host: str, data: Path) -> None:
        self.folder, self.host, self.data = folder, host, data
        self.home, self.work, self.out = folder / "home", folder / "work", folder / "out"
        for each in (self.home / ".cache" / "huggingface", self.work, self.out):
            each.mkdir(parents=True)
        self.planted: set[Path] = set()
        self._plant_files()
        proxy = f"http://me:{{}}@{host.split(':')[0]}:9"
        self.variables = {
            "HOME": str(self.home),
            "LCT_CACHE_DIR": str(folder / "cache"),
            "LCT_DATA_DIR": str(data),
            "OPENAI_API_KEY": S["k1"],
            "ANTHROPIC_API_KEY": S["k2"],
            "HF_TOKEN": f"hf_{S['p1']}plantplant",
            "WANDB_API_KEY": S["p2"],
            "AWS_SECRET_ACCESS_KEY": S["p3"],
            "HTTP_PROXY": proxy.format(S["p4"]),
            "HTTPS_PROXY": proxy.format(S["p5"]),
            "ALL_PROXY": proxy.format(S["p6"]),
            "NO_PROXY": "127.0.0.1,localhost",
            "JUDGE_KEY": S["p7"],
            "STACK_A_KEY": S["p8"],
            "STACK_B_KEY": S["k3"],
            "PIP_INDEX_URL": f"https://me:{S['p9']}@pypi.example/simple",
            "DATABASE_URL": f"postgres://me:{S['p10']}@db.example/x",
            "LCT_SECRET_TOKEN": S["k4"],
        }

    def _plant_files(self) -> None:
        git = ["git", "-C", str(self.work)]
        for words in (
            ["init", "-q"],
            ["remote", "add", "origin", f"https://me:{S['p11']}@github.example/x.git"],
            [*("-c", "user.name=a", "-c", "user.email=a@b"), "commit", "-q", "--allow-empty", "-m", "x"],
        ):
            subprocess.run([*git, *words], check=True)
        self.plant(self.home / ".cache" / "huggingface" / "token", f"hf_{S['p12']}plantplant")
        self.plant(self.home / ".netrc", f"machine 127.0.0.1\nlogin me\npassword {S['p13']}\n").chmod(0o600)
        for name, more in {
            "judge": f"api_key_env: JUDGE_KEY # was {S['k5']}",
            "extra_body": f"extra_body: {{api_key: {S['k6']}}}",
            "api_key": f"api_key: {S['k7']}",
            "base_url": f"api_key_env: JUDGE_KEY\nbase_url: http://me:{S['p14']}@{self.host}/v1",
            "api_key_env": f"api_key_env: {S['p15']}",
            "revision": f"revision: {S['k8']}",
            "a": "api_key_env: STACK_A_KEY",
            "b": "api_key_env: STACK_B_KEY",
        }.items():
            address = "" if name == "base_url" else f"base_url: http://{self.host}/v1\n"
            text = f"model: stub\nname: {name}\nretries: 1\nasks: 1\n{address}{more}\n"
            self.plant(self.work / f"{name}.yaml", text)

    def plant(self, path: Path, text: str) -> Path:
        path.write_text(text)
        self.planted.add(path)
        return path

    def run(self, *words: object, **variables: str) -> int:
        """Run a command; its console is a file beside the results."""
        log = self.folder / "console" / f"{len(list((self.folder / 'console').glob('*')))}.txt"
        log.parent.mkdir(exist_ok=True)
        texts = list(map(str, words))
        ready = preloaded_host("lm_eval" if words[0] == "lct" else str(words[0]))
        return ready.start(texts, self.work, {**self.variables, **variables}, log).wait()

    def found(self) -> dict[str, list[str]]:
        """Each secret to the files in which it stands, also encoded."""
        forms = {
            name: [
                secret,
                b64encode(secret.encode()).decode()[:-4],
                b64encode(f"me:{secret}".encode()).decode(),
            ]
            for name, secret in S.items()
        }
        places: dict[str, list[str]] = {}
        for path in sorted(self.folder.rglob("*")):
            if path.is_file() and path not in self.planted and ".git" not in path.parts:
                text = f"{path}\n{_text_in(path)}"
                for name, known in forms.items():
                    if any(form in text for form in known):
                        places.setdefault(name, []).append(str(path.relative_to(self.folder)))
        return places


def _text_in(path: Path) -> str:
    """What a file holds, also compressed in a bundle."""
    text = path.read_bytes().decode("latin-1")
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as bundle:
            for name in bundle.namelist():
                content = bundle.read(name)
                text += f"{name} {content.decode('latin-1')}"
                if name.endswith(".parquet"):
                    with bundle.open(name) as file:
                        text += str(pq.read_table(file).to_pylist())
    return text


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    data = tmp_path / "data"
    for _ in published_data(data):
        responses = own_responses(QA, data, tmp_path)
    (tmp_path / "machine").mkdir()
    with echo() as host:
        made = Machine(tmp_path / "machine", host, data)
        shutil.copy(responses, made.work / "responses.jsonl")
        yield made


LM = "local-chat-completions"


def with_lm_eval(machine: Machine) -> None:
    def run(name: str, address: str, arguments: Mapping[str, object], *more: str) -> int:
        given = {"model": "stub", "base_url": address, "num_concurrent": 2, "tokenizer_backend": None}
        metadata = {
            "lct_judge": str(machine.work / "judge.yaml"),
            "api_key": S["k9"],
            "password": S["p16"],
            "note": f"token={S['p17']}",
            "url": f"http://me:{S['p18']}@h/x",
        }
        where = machine.out / name
        return machine.run(
            *(
                "lm_eval",
                "run",
                "--model",
                LM,
                "--model_args",
                json.dumps(given | arguments),
                "--tasks",
                QA,
            ),
            *("--apply_chat_template", "--log_samples", "--show_config", "--use_cache", f"{where}-kept"),
            *("--output_path", where, "--metadata", json.dumps(metadata), *more),
        )

    base = f"http://{machine.host}"
    path = "v1/chat/completions"
    header = {"Authorization": f"Bearer {S['k10']}", "X-Password": S["p19"]}
    asked = {"api_key": S["k11"], "header": header}
    more = ("--gen_kwargs", json.dumps({"extra_headers": S["k12"], "api_token": S["p20"]}))
    assert run("lm", f"{base}/{path}?api-key={S['p21']}", asked, *more) == 0
    # Without a header, the login of .netrc is sent.
    assert run("lm2", f"{base}/{path}", {"auth_token": S["p22"], "num_concurrent": 1}) == 0
    for number in (1, 2):  # errors repeat the key
        failing = {"max_retries": 1, "num_concurrent": number, **asked}
        assert run(f"lm-failed-{number}", f"{base}/fail/{path}?api-key={S['p21']}", failing) == 1


def with_opencompass(machine: Machine) -> None:
    shutil.copytree(CONFIGS, machine.work / "configs")
    config = machine.work / "configs" / "eval_elitr_bench.py"
    text = config.read_text().replace(".models.lct_model", ".models.lct_endpoint")
    config.write_text(f"{text}\neval['partitioner']['n'] = 1000\n")

    def run(place: Path, address: str, *more: str) -> int:
        named = {"LCT_TASKS": QA, "LCT_API_MODEL": "stub", "LCT_JUDGE": str(machine.work / "judge.yaml")}
        words = ("opencompass", config, "-w", place, *more)
        return machine.run(*words, LCT_API_BASE=address, **named)

    failed = machine.folder / "failed"
    assert run(failed, f"http://me:{S['p23']}@{machine.host}/v1") == 1
    assert run(failed, f"http://{machine.host}/v1?key={S['k13']}") == 1
    assert run(machine.out / "oc", f"http://{machine.host}/v1", "--debug") == 0
    # Otherwise the host starts processes of its own, which write the same error to a file.
    assert run(failed, f"http://{machine.host}/fail/v1", *(() if ALL else ["--debug"])) == 1


def with_our_commands(machine: Machine) -> None:
    def lct(code: int, *words: object, **variables: str) -> None:
        assert machine.run("lct", *words, **variables) == code, words

    host, out, site = machine.host, machine.out, machine.folder / "site"
    for name in ("extra_body", "api_key", "base_url", "api_key_env", "revision"):
        lct(2, "--debug", "judge", "run", out, "--judge", f"{name}.yaml")
    lct(2, "gate", f"http://me:{S['p14']}@{host}/v1", f"http://{host}/v1", "--out", out / "g")
    few = ("--length", "2k", "--n", "2", "--tasks", "ethic_recall_medicine_synthetic")
    machine.run("lct", "gate", "a.yaml", "b.yaml", *few, "--out", out / "gate")
    score = ("runs", "score", QA, "responses.jsonl", "--out", out / "own")
    lct(2, *score, "--model", f"https://me:{S['p23']}@h.example/m")
    lct(0, *score, "--model", "m", "--pipeline", f"vllm --api-key {S['k14']}")
    lct(0, "judge", "run", out, "--judge", "judge.yaml")
    lct(2, "judge", "run", out, "--judge", "judge.yaml", "--engine", f"ray://me:{S['p23']}@{host}")
    named = {"LCT_JUDGE_BASE_URL": f"http://me:{S['p14']}@{host}/v1", "LCT_JUDGE_MODEL": "x"}
    lct(2, "judge", "run", out / "own", **named)
    away = {"HF_ENDPOINT": f"https://me:{S['p23']}@127.0.0.1:9"}
    lct(2, "data", "fetch", "ethic", "--data-dir", machine.folder / "fetched", **away)
    lct(0, "report", out, "--out", site, "--private")
    lct(0, "report", out, "--json")
    lct(0, "report", "pack", out, "--out", machine.folder / "bundles")
    lct(0, "report", "check", machine.folder / "bundles")
    # The gate's models, "stub (A)" and "stub (B)", have no run of this task.
    lct(0, "plan", out, "--missing", "--tasks", QA, "--model", "stub", "--model", "m")
    lct(0, "runs", "rescore", out)


def test_planted_secrets(machine: Machine) -> None:
    with_lm_eval(machine)
    with_opencompass(machine)
    with_our_commands(machine)
    assert len(S) == 40
    assert machine.found() == {}
