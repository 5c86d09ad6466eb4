"""The gates between equal stacks of docs/gate.md: the small model answers eight times at temperature 0.8, and each pair of answers is a gate.

``python docs/figures/equal_stacks.py FOLDER`` takes about three minutes of one core.
"""

import argparse
import json
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache
from typer.testing import CliRunner

import long_context_tasks as lct
from long_context_tasks.cli import app
from long_context_tasks.hosts.demo_model import demo_model_path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "gate" / "easy"))  # the task facts_likes
TEMPERATURE = 0.8


def sampled(model: Any, ids: torch.Tensor, runs: int, budget: int, end: int) -> list[list[int]]:
    """Return tokens of ``runs`` answers to a prompt of shape (1, tokens), which is read once."""
    cache = DynamicCache()
    with torch.inference_mode():
        likely = model(ids, past_key_values=cache, logits_to_keep=1).logits[:, -1].repeat(runs, 1)
        cache.batch_repeat_interleave(runs)
        columns = []
        for _ in range(budget):
            columns.append(torch.multinomial((likely / TEMPERATURE).softmax(-1), 1))
            likely = model(columns[-1], past_key_values=cache).logits[:, -1]
    answers = torch.cat(columns, dim=1).tolist()
    return [answer[: answer.index(end)] if end in answer else answer for answer in answers]


def main() -> None:
    """Ask, then hold each run against each other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--n", type=int, default=64, help="questions, two on a text")
    parser.add_argument("--within", default="20")
    parser.add_argument("--runs", type=int, default=8, help="answers to each question")
    parser.add_argument("--seed", type=int, default=0, help="of the questions and the answers")
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    tokenizer: Any = AutoTokenizer.from_pretrained(demo_model_path())
    model = AutoModelForCausalLM.from_pretrained(demo_model_path(), dtype=torch.float32).eval()
    task = lct.load_task("facts_likes", n=given.n, length="64", seed=given.seed)
    responses: list[dict[str, str]] = [{} for _ in range(given.runs)]
    for case in task.cases:
        ids = tokenizer.apply_chat_template(
            task.messages(case), add_generation_prompt=True, return_tensors="pt", return_dict=True
        ).input_ids
        for own, answer in zip(
            responses, sampled(model, ids, given.runs, 12, tokenizer.eos_token_id), strict=True
        ):
            own[case.id] = tokenizer.decode(answer, skip_special_tokens=True)
    folders = [given.folder / f"run{number}" for number in range(given.runs)]
    for folder, own in zip(folders, responses, strict=True):
        task.save(own, model="small", folder=str(folder))
    verdicts: Counter[str] = Counter()
    for a, b in combinations(folders, 2):
        words = [
            "gate",
            str(a),
            str(b),
            "--within",
            given.within,
            "--batch",
            "6",
            "--out",
            str(given.folder / "gate"),
            "--json",
        ]
        found = json.loads(CliRunner().invoke(app, words).stdout)["result"]
        verdicts[found["verdict"]] += 1
        print(found["line"])
    print(dict(verdicts))


if __name__ == "__main__":
    main()
