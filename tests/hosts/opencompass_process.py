"""OpenCompass' three processes on a folder of cases, without the command line around them; prints their peak memory.

    python opencompass_process.py CASES WORK FEW MANY

Each is a fork, which finds the host imported. It runs on few cases, then on many, and prints the bytes of its peak after each.
"""

import os
import resource
import sys
from pathlib import Path
from typing import Any

from mmengine.config import Config
from opencompass.models.base_api import BaseAPIModel
from opencompass.partitioners import NumWorkerPartitioner
from opencompass.tasks import OpenICLEvalTask, OpenICLInferTask

HOST = "long_context_tasks.hosts.opencompass.task."
OPENICL = "opencompass.openicl."


class FirstAnswer(BaseAPIModel):  # type: ignore[misc]
    """Takes the first answer; counts a token for four characters."""

    def generate(self, inputs: list[Any], max_out_len: int) -> list[str]:
        return ["A1"] * len(inputs)

    def get_token_len(self, prompt: str) -> int:
        return len(prompt) // 4


def config(cases: Path, n: int, work: Path) -> Config:
    dataset = {
        "abbr": "ada_leval_bestanswer_128k",
        "type": f"{HOST}CaseDataset",
        "lct_task": "ada_leval_bestanswer_128k",
        "lct_cases": str(cases),
        "lct_n": n,
        "reader_cfg": {"input_columns": ["case"], "output_column": "reference"},
        "infer_cfg": {
            "prompt_template": {"type": f"{OPENICL}icl_prompt_template.PromptTemplate", "template": "{case}"},
            "retriever": {"type": f"{OPENICL}icl_retriever.ZeroRetriever"},
            "inferencer": {"type": f"{HOST}CaseGenInferencer"},
        },
        "eval_cfg": {"evaluator": {"type": f"{HOST}CaseEvaluator"}},
    }
    model = {"abbr": "first", "type": FirstAnswer, "path": "first", "max_seq_len": 200_000, "batch_size": 8}
    return Config({"models": [model], "datasets": [[dataset]], "work_dir": str(work)})


def run(process: str, cases: Path, n: int, work: Path) -> None:
    settings = config(cases, n, work)
    if process == "main":
        partitioner = NumWorkerPartitioner(str(work), num_worker=1, force_rebuild=True, dataset_size_path="")
        assert partitioner.get_size(settings.datasets[0][0]) == n
    elif process == "infer":
        OpenICLInferTask(settings).run()
    else:
        settings.eval = {"runner": {"task": {"dump_details": True}}}
        OpenICLEvalTask(settings).run()


def main(cases: str, work: str, *sizes: str) -> None:
    for process in ("main", "infer", "eval"):
        if (child := os.fork()) == 0:
            for n in sizes:
                run(process, Path(cases), int(n), Path(work, n))
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
                sys.stdout.write(f"\npeak {process} {n} {peak}\n")
            sys.exit()
        if status := os.waitpid(child, 0)[1]:
            sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(*sys.argv[1:])
