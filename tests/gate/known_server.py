"""OpenAI-compatible server of a made-up model with given correct answers and error rates."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from judge_server import Answer, judge_server

from long_context_tasks.gate.stacks import planned_cells

TASK = "ada_leval_bestanswer_any_synthetic"


def right_answers(
    n: int = 200, lengths: Sequence[str] = ("1k",), seed: int = 0, only: str = ""
) -> dict[str, str]:
    """The last message of each case (of one of the lengths) to what is right."""
    known = {}
    for cell in planned_cells([TASK], lengths, {"lct_n": n, "lct_seed": seed}, print):
        assert cell.task is not None
        if only not in ("", cell.length):
            continue
        for case in cell.task.cases.cases:
            known[cell.task.messages(case)[-1].content] = f"Answer: {case.turns[0].gold}"
    return known


def share_of(text: str, salt: str) -> float:
    return int(hashlib.sha256(f"{salt} {text}".encode()).hexdigest()[:8], 16) / 16**8


@contextmanager
def known_server(
    right: dict[str, str],
    accuracy: float,
    salt: str = "",
    more_tokens: int = 0,
    window: int = 10**9,
    think: float = 0.0,
    refuse: bool = False,
    wrong: str = "Answer: A999",
    ids: Sequence[int] = (),
) -> Iterator[Any]:
    """Serve until the block ends.

    Args:
        right: prompt to the right answer.
        accuracy: share of right answers; equal salts err on the same prompts.
        salt: of the draw.
        more_tokens: added to the count of every prompt.
        window: prompts count at most so many tokens.
        think: share of prompts whose answer budget ends in thinking.
        refuse: prompts over the window are refused instead of cut.
        wrong: what a wrong answer says.
        ids: tokens that every prompt is said to have, where they are asked for.
    """

    def behave(body: dict[str, Any], _: int) -> Answer:
        if "messages" not in body:
            return Answer(status=404)
        prompt = body["messages"][-1]["content"]
        tokens = len(prompt) // 4 + 10
        if refuse and tokens > window:
            return Answer(status=400, error="This model's maximum context length is 100 tokens.")
        hit = share_of(prompt, salt) < accuracy
        message: dict[str, Any] = {"role": "assistant", "content": right.get(prompt, "") if hit else wrong}
        reason = "stop"
        if share_of(prompt, "think") < think:
            message = {"role": "assistant", "content": None, "reasoning_content": "Is it A1?"}
            reason = "length"
        row: dict[str, Any] = {
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": min(tokens, window) + more_tokens, "completion_tokens": 5},
        }
        if body.get("return_token_ids") and ids:
            row["prompt_token_ids"] = list(ids)
        return Answer(raw=json.dumps(row).encode())

    with judge_server(behave, models=["known"]) as server:
        yield server
