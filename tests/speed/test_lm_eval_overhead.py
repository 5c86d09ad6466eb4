"""Our tasks in lm-eval compared with a minimal task that serves the same bytes from ids: time, and hardly more memory.

The minimal task is a YAML file whose documents are ids and whose prompts are read from one file by offset. Both run in the host's
evaluator with its dummy model, each in its own process. ``LCT_OVERHEAD_CASES=1000`` sets the number of cases.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("lm_eval")

from long_context_tasks.benchmarks.catalogue import load_task, resolve_options
from long_context_tasks.hosts.lm_eval.task_files import task_folder
from long_context_tasks.schema import Case, CaseWriter, Turn

pytestmark = pytest.mark.speed

SCRIPT = Path(__file__).with_name("lm_eval_process.py")
N = int(os.environ.get("LCT_OVERHEAD_CASES", "200"))
MOST_MEMORY = 1.2
# Characters of a prompt of 128k tokens.
SIZE = 512_000
BOOK = 1_500_000
ANSWER = 800
# Built cases carry the tokens of their prompts; how many does not matter here.
COUNTED = {"cl100k": 1000}
MODULE = """
from pathlib import Path
import datasets

FOLDER = Path(__file__).parent
TEXTS = (FOLDER / "texts").open("rb")
ENDS = [0, *map(int, (FOLDER / "ends").read_text().split())]

def ids(**_):
    return {"test": datasets.Dataset.from_list([{"id": i} for i in range(len(ENDS) - 1)])}

def prompt(doc):
    TEXTS.seek(ENDS[doc["id"]])
    return TEXTS.read(ENDS[doc["id"] + 1] - ENDS[doc["id"]]).decode()
"""
YAML = """
task: plain
custom_dataset: !function plain_task.ids
test_split: test
doc_to_text: !function plain_task.prompt
doc_to_target: A1
fewshot_config: {samples: []}
output_type: generate_until
generation_kwargs: {until: [], do_sample: false, max_gen_toks: 64}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
metadata: {version: 1}
"""


def words(n: int) -> str:
    rng = random.Random(0)
    return "".join(rng.choice("etaoin shrdlu") for _ in range(n))


def tsort(task: str, size: int) -> tuple[Iterator[tuple[str, str]], Iterator[Case]]:
    books = 8
    part = size // 4 - 500
    text = words(BOOK + books)

    def cases() -> Iterator[Case]:
        for i in range(N):
            at = 1000 + 37 * i % (BOOK - size - 2000)
            spans = [[at + place * part, at + (place + 1) * part] for place in (1, 0, 3, 2)]
            inputs = {
                "before": [at - 900, at],
                "segments": spans,
                "after": [at + 4 * part, at + 4 * part + 900],
            }
            gold, book = (Turn([2, 1, 4, 3]),), str(i % books)
            yield Case(str(i), task, inputs, gold, book, COUNTED, document=book)

    return ((str(i), text[i : i + BOOK]) for i in range(books)), cases()


def bestanswer(task: str, size: int) -> tuple[Iterator[tuple[str, str]], Iterator[Case]]:
    posts, shown = 20_000, size // ANSWER
    text = words(ANSWER + posts)

    def cases() -> Iterator[Case]:
        rng = random.Random(1)
        for i in range(N):
            keys = [str(number) for number in rng.sample(range(posts), shown)]
            inputs = {"question": str(i % posts), "answers": keys}
            yield Case(str(i), task, inputs, (Turn("A1"),), str(i), COUNTED)

    return ((str(i), text[i : i + ANSWER]) for i in range(posts)), cases()


def write_plain_task(folder: Path, task: str, cases: Path) -> None:
    loaded = load_task(task, resolve_options({"lct_cases": str(cases), "lct_n": N}, environ={}))
    folder.mkdir()
    (folder / "plain.yaml").write_text(YAML)
    (folder / "plain_task.py").write_text(MODULE)
    with (folder / "texts").open("wb") as file, (folder / "ends").open("w") as ends:
        for case in loaded.cases.cases:
            file.write(loaded.messages(case)[0].content.encode())
            ends.write(f"{file.tell()}\n")


def run(folder: str, task: str, metadata: dict[str, object]) -> tuple[float, int]:
    """Seconds of processor time, and kilobytes at the peak."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
    command = [sys.executable, str(SCRIPT), folder, task, json.dumps(metadata)]
    with subprocess.Popen(
        command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, output[-3000:]
    assert f"\nn {N}\n" in output
    return used.ru_utime + used.ru_stime, used.ru_maxrss


@pytest.mark.parametrize(
    ("task", "make"),
    [
        ("ada_leval_bestanswer_128k", bestanswer),
        ("ada_leval_tsort_128k", tsort),
    ],
)
def test_time_and_memory_of_long_cases(
    task: str,
    make: Callable[[str, int], tuple[Iterator[tuple[str, str]], Iterator[Case]]],
    tmp_path: Path,
    compared: Callable[[str, float, str, float], None],
) -> None:
    documents, cases = make(task, SIZE)
    with CaseWriter(tmp_path / "cases", {}) as writer:
        writer.add_documents(documents)
        writer.add_cases(task, cases)
    write_plain_task(tmp_path / "plain", task, tmp_path / "cases")
    metadata: dict[str, object] = {"lct_cases": str(tmp_path / "cases"), "lct_n": N}
    plain_seconds, plain_peak = run(str(tmp_path / "plain"), "plain", {})
    seconds, peak = run(str(task_folder()), task, metadata)
    compared(f"lm_eval, {N} cases of {task}", seconds, "a minimal task", plain_seconds)
    assert peak <= MOST_MEMORY * plain_peak
