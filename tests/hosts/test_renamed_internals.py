"""lm-eval as an unknown version: whatever a patch uses has another name, and runs go on with one warning."""

import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kills import ALL
from lm_eval_runs import TASK, served_by
from needs import needs
from preloaded import Preloaded, preloaded
from run_commands import published_data
from stub_server import Stub, answer_by_hash, stub_server

from long_context_tasks.benchmarks.catalogue import parse_task
from long_context_tasks.hosts.lm_eval.patches import MODELS, PATCHES
from long_context_tasks.hosts.lm_eval.task_files import task_yaml

pytestmark = [needs("lm_eval"), pytest.mark.slow, pytest.mark.hosts, pytest.mark.faults]

LIBRARIES = ("torch", "transformers", "datasets", "evaluate", "requests", "aiohttp", "sqlitedict", "jinja2")
"""Imported once for all runs; the host itself is imported anew."""
WORDS = {
    "include_path": ("TaskManager.__init__",),
    **dict.fromkeys(("match_tasks", "task_list", "all_tasks", "_entry"), ("TaskManager.match_tasks",)),
    "_load_spec": ("TaskManager.match_tasks", "TaskManager._load_spec"),
    "TaskManager": ("TaskManager.__init__", "TaskManager.match_tasks", "TaskManager._load_spec"),
    **dict.fromkeys(("aggregate", "task_metrics", "get_all_tasks"), ("Group.aggregate",)),
    "aggregate_metric_list": ("Group.aggregate",),
    **dict.fromkeys(("make_table", "result_dict"), ("make_table",)),
    **dict.fromkeys(("add_env_info", "storage"), ("add_env_info",)),
    **dict.fromkeys(("TemplateAPI", "model_call", "amodel_call"), ("TemplateAPI.generate_until",)),
    **dict.fromkeys(("parse_generations", "_create_payload", "tok_encode"), ("TemplateAPI.generate_until",)),
    **dict.fromkeys(("tokenized_requests", "max_length"), ("TemplateAPI.generate_until",)),
    **dict.fromkeys(("CachingLM", "dbdict", "hash_args"), ("CachingLM.__getattr__",)),
    "model_registry": (),
}
"""A name in lm-eval, and the patches that step aside without it."""
SOME = [*dict(zip(WORDS.values(), WORDS, strict=True)).values()]
"""One name for each patch; `make faults` tries all."""
# Names that also stand for something else, which keeps its name: methods of tasks, keys of YAML files.
ONLY = {
    "aggregate": ("*", r"(?<=def )aggregate(?=\(\s*self, task_metrics)|(?<=group\.)aggregate\b"),
    "aggregate_metric_list": ("api/group.py", r"(?<!config\.)\baggregate_metric_list\b"),
}


def renamed_host(folder: Path, word: str) -> Path:
    """Write lm-eval's code, without its tasks, with another name in place of a word."""
    spec = importlib.util.find_spec("lm_eval")
    assert spec is not None and spec.origin is not None
    source, n_renamed = Path(spec.origin).parent, 0
    for path in source.rglob("*.py"):
        place = path.relative_to(source)
        if place.parts[0] == "tasks" and len(place.parts) > 2:
            continue
        where, pattern = ONLY.get(word, ("*", rf"\b{word}\b"))
        text, n = path.read_text(encoding="utf-8"), 0
        if word and place.match(where):
            text, n = re.subn(pattern, f"{word}_renamed", text)
        n_renamed += n
        (folder / "lm_eval" / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / "lm_eval" / place).write_text(text, encoding="utf-8")
    assert bool(n_renamed) == bool(word)
    return folder


HOSTS_TASK = """
task: capitals{number}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {rows}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
generation_kwargs: {{until: ["\\n"], max_gen_toks: 16}}
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
metadata: {{version: 1}}
"""
HOSTS_GROUP = """
group: places
task: [capitals1, capitals2]
aggregate_metric_list: [{metric: exact_match, weight_by_size: true}]
metadata: {version: 1}
"""


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A group of two tasks as users of the host write them."""
    folder = tmp_path_factory.mktemp("tasks")
    rows = [{"question": f"What is {n}?", "answer": "A2"} for n in range(12)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for number in (1, 2):
        (folder / f"{number}.yaml").write_text(HOSTS_TASK.format(number=number, rows=folder / "rows.jsonl"))
    (folder / "group.yaml").write_text(HOSTS_GROUP)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield from published_data(tmp_path_factory.mktemp("published"), ada_leval=6)


@pytest.fixture(scope="module")
def server() -> Iterator[Stub]:
    with stub_server(answer_by_hash) as stub:
        yield stub


@pytest.fixture(scope="module")
def ready() -> Iterator[Preloaded]:
    with preloaded(*LIBRARIES) as process:
        yield process


class Runs:
    """Runs of lm-eval's command with one copy of its code."""

    def __init__(self, ready: Preloaded, server: Stub, data: Path, tasks: Path, host: Path) -> None:
        self.ready, self.server, self.data, self.tasks, self.host = ready, server, data, tasks, host

    def results(self, task: str, word: str = "", **variables: str) -> tuple[dict[str, Any], str]:
        """Run a task; return its results and what was printed."""
        folder = self.host / f"{task}{len(list(self.host.iterdir()))}"
        folder.mkdir()
        path = f"{word}_renamed" if word == "include_path" else "include_path"
        model = served_by(self.server.url).replace("num_concurrent=1", "num_concurrent=2")
        words = ["lm_eval", "run", "--model", "local-chat-completions", "--model_args", *model.split(",")]
        words += ["--tasks", task, f"--{path}", str(self.tasks), "--apply_chat_template"]
        words += ["--use_cache", str(folder / "kept"), "--output_path", str(folder / "out"), "--log_samples"]
        environment = {
            "PYTHONPATH": str(self.host),
            "LCT_DATA_DIR": str(self.data),
            "OPENAI_API_KEY": "EMPTY",
            "HF_DATASETS_CACHE": str(self.tasks / "cache"),
            **variables,
        }
        code = self.ready.start(words, folder, environment, folder / "log").wait()
        log = (folder / "log").read_text(errors="replace")
        assert code == 0, log[-3000:]
        [path_of_results] = folder.glob("out/*/results_*.json")
        return json.loads(path_of_results.read_text())["results"], log


@pytest.fixture(scope="module")
def usual(
    ready: Preloaded, server: Stub, data: Path, tasks: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Results of the host as it is: of its own group without this package, and of our task."""
    host = renamed_host(tmp_path_factory.mktemp("host"), "")
    runs = Runs(ready, server, data, tasks, host)
    theirs, log = runs.results("places", LCT_NO_HOOK="1")
    assert "long_context_tasks" not in log
    ours, log = runs.results(TASK)
    assert "is not known" not in log and "By length" in log
    return {"places": theirs, TASK: ours}


def test_every_name_that_a_patch_uses_is_tried() -> None:
    used = {patch.function.split(".")[-1] for patch in PATCHES} - {
        "__init__",
        "__getattr__",
        "generate_until",
    }
    used |= {patch.function.split(".")[0] for patch in PATCHES} - {"Group"}
    used |= {name for patch in PATCHES for name in patch.needs}
    assert used <= set(WORDS)
    assert {name for names in WORDS.values() for name in names} == {patch.function for patch in PATCHES}


@pytest.mark.parametrize("word", WORDS if ALL else SOME)
def test_a_host_with_another_name(
    word: str,
    usual: dict[str, Any],
    ready: Preloaded,
    server: Stub,
    data: Path,
    tasks: Path,
    tmp_path: Path,
) -> None:
    runs = Runs(ready, server, data, tasks, renamed_host(tmp_path / "host", word))
    lost = [patch.lost for patch in PATCHES if patch.function in WORDS[word]] or [", ".join(MODELS)]
    theirs, log = runs.results("places", word)
    assert theirs == usual["places"]
    assert log.count("is not known") <= 1
    if word in ("include_path", "TaskManager"):  # what the warning advises
        (tasks / "ours.yaml").write_text(task_yaml(parse_task(TASK)))
    ours, log = runs.results(TASK, word)
    (tasks / "ours.yaml").unlink(missing_ok=True)
    assert ours == usual[TASK]
    [warning] = [line for line in log.splitlines() if "this version of lm-eval is not known" in line]
    assert all(each in warning for each in lost) and warning.count("; ") == len(lost)
