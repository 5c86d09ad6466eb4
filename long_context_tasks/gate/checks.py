"""Self-checks: lost rotary settings, double BOS, other templates, truncated prompts, endless thinking.

They do not depend on scores. Each check uses information reported by an endpoint, and is skipped if the
endpoint does not report it.
"""

import asyncio
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from long_context_tasks.gate.stacks import SIDES, Asking, GateCell, StackAnswer
from long_context_tasks.hosts.rope import own_base
from long_context_tasks.hosts.stored import StoredRun
from long_context_tasks.schema import InputError
from long_context_tasks.schema.case import CL100K
from long_context_tasks.schema.response import ANSWER_CUT

_PROBES = 8
_PROBE_LENGTH = 400  # characters
_APART = 0.05  # nats
_TIMES = 8.0
_CUT = 0.95
_CUT_PROMPTS, _DOUBLE_BOS = "cut prompts", "double BOS"
_BOUNDARY = 2  # tokens that may merge at the boundary of template and text
_LEAST_SHARE = 0.6
_NAMED_SHARE = 0.05
_MORE_CUT = 0.1


@dataclass(frozen=True)
class Fault:
    side: str  # A, B or A and B
    name: str  # short name of the fault
    text: str  # the observation and the remedy

    def __str__(self) -> str:
        return f"{self.side}: {self.name}: {self.text}"


def check_runs(cells: Sequence[GateCell]) -> list[Fault]:
    """Check stored runs' RoPE bases against their checkpoints and compare the stacks' settings.

    Each fault is reported once.
    """
    faults: dict[tuple[str, str], Fault] = {}
    for cell in cells:
        for side, run in cell.runs.items():
            rope = str(run.provenance.get("rope") or "")
            if base := re.search(r"base (\S+)$", rope):
                of_checkpoint = own_base(_checkpoint(run), float(base[1]))
                if of_checkpoint != float(base[1]):
                    text = f"ran with {rope}, its checkpoint has base {of_checkpoint:g}; name rope_theta in the override of rope_parameters"
                    faults.setdefault((side, "RoPE base"), Fault(side, "lost RoPE base", text))
        if len(cell.runs) < len(SIDES):
            continue
        for fact, name in (
            ("rope", "RoPE settings differ"),
            ("chat_template_sha", "chat templates differ"),
            ("system_instruction", "system messages differ"),
        ):
            first, second = (cell.runs[side].provenance.get(fact) for side in SIDES)
            if first and second and first != second:
                text = f"A has {str(first)[:60]}, B {str(second)[:60]}; run one again with those of the other"
                faults.setdefault(("both", fact), Fault("A and B", name, text))
    return list(faults.values())


def _checkpoint(run: StoredRun) -> str:
    arguments = run.provenance.get("model_args")
    if isinstance(arguments, Mapping):
        return str(arguments.get("pretrained", run.model))
    match = re.search(r"pretrained=([^,]+)", str(arguments or ""))
    return match[1] if match else run.model


async def check_endpoints(asking: Mapping[str, Asking], cells: Sequence[GateCell]) -> list[Fault]:
    """Compare endpoints by a prompt's tokens and by texts' likelihoods, which depend on rotary settings."""
    if not asking:
        return []
    faults = []
    ids = dict(zip(asking, await asyncio.gather(*map(_prompt_ids, asking.values())), strict=True))
    for side, tokens in ids.items():
        if tokens[:1] and tokens[:1] == tokens[1:2]:
            text = f"prompts begin with token {tokens[0]} twice; the template writes it and the tokenizer adds it: turn one off"
            faults.append(Fault(side, _DOUBLE_BOS, text))
    # The other checks compare two endpoints.
    if len(asking) < len(SIDES):
        return faults
    first, second = (ids[side] for side in SIDES)
    if first and second and first != second and not faults:
        place = next((i for i, pair in enumerate(zip(first, second, strict=False)) if len(set(pair)) > 1), 0)
        text = f"the same messages are {len(first)} tokens in A and {len(second)} in B, other from place {place} on; give both the same --chat-template"
        faults.append(Fault("A and B", "chat templates differ", text))
    texts = _texts(cells)
    sides = [asyncio.gather(*(_likelihoods(asking[side], text) for text in texts)) for side in SIDES]
    return [*faults, *_rope_apart(*await asyncio.gather(*sides))]


async def _prompt_ids(asking: Asking) -> list[int]:
    """Return the tokens of a short prompt if the server reports them (vLLM does); empty otherwise."""
    client, config = asking.client, asking.endpoint.config
    chat = {
        "model": config.model,
        "messages": [{"role": "user", "content": "Answer with the word yes."}],
    }
    body = {**chat, "max_tokens": 1, "temperature": 0, "return_token_ids": True, **config.extra_body}
    reply = await client.said(f"{config.base_url}/chat/completions", body)
    ids = reply.get("prompt_token_ids") if isinstance(reply, dict) else None
    return [token for token in ids if isinstance(token, int)] if isinstance(ids, list) else []


def _texts(cells: Sequence[GateCell]) -> list[str]:
    cell = cells[0]
    if cell.task is None:
        return []
    text = cell.task.messages(cell.task.cases.cases[0])[-1].content
    step = max(len(text) // _PROBES, 1)
    return [text[start : start + _PROBE_LENGTH].strip() for start in range(0, step * _PROBES, step)]


async def _likelihoods(asking: Asking, text: str) -> list[float]:
    """Return the log-likelihood of each token of a text except the first; empty if not reported."""
    config = asking.endpoint.config
    body = {
        "model": config.model,
        "prompt": text,
        "max_tokens": 1,
        "temperature": 0,
        "echo": True,
        "logprobs": 1,
    }
    reply = await asking.client.said(f"{config.base_url}/completions", body)
    try:
        values = reply["choices"][0]["logprobs"]["token_logprobs"]
        # The last value belongs to the token that the server had to generate.
        return [float(value) for value in values[1:-1]]
    except (KeyError, IndexError, TypeError, ValueError):
        return []


def _rope_apart(first: Sequence[Sequence[float]], second: Sequence[Sequence[float]]) -> list[Fault]:
    """Distinguish different rotary settings from different weights or precision.

    The prediction after a single token does not depend on positions, because the token attends only to
    itself. Stacks that agree on this prediction but not on later ones differ in positions.
    """
    single, later = [], []
    for mine, theirs in zip(first, second, strict=True):
        if len(mine) != len(theirs) or len(mine) < 2:
            continue
        more = [one - other for one, other in zip(mine, theirs, strict=True)]
        single.append(abs(more[0]))
        later += more[1:]
    if not single:
        return []
    at_first, after = sum(single) / len(single), sum(map(abs, later)) / len(later)
    # Differences in precision or kernels are small and equal at every token.
    if after < _APART or after < _TIMES * at_first:
        return []
    lead = sum(later) / len(later)
    better, worse = ("A", "B") if lead > 0 else ("B", "A")
    text = (
        f"after a single token, the predictions of A and B agree ({at_first:.4f} nats apart), but after more tokens they do not ({after:.2f} nats apart). "
        f"Possible causes: a lost RoPE base, or another factor or type. {better} predicts the texts better, by {abs(lead):.2f} nats per token. "
        f"Compare rope_theta and rope_scaling of both servers with the checkpoint's config, starting with {worse}"
    )
    return [Fault("A and B", "RoPE settings differ", text)]


_Case = tuple[str, str]
"""Name of a cell and id of a case."""
Answers = Mapping[str, Mapping[_Case, StackAnswer]]


def check_replies(
    answers: Answers,
    cells: Mapping[str, GateCell],
    tokenizer: str = "",
    template_options: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Fault]:
    """Check prompts' token counts, against a tokenizer if one is given, and how replies end."""
    faults: list[Fault] = []
    counts = {side: _prompt_tokens(answers[side]) for side in SIDES}
    for side in SIDES:
        faults += _thinking(side, answers[side])
        if tokenizer and counts[side]:
            options = (template_options or {}).get(side, {})
            faults += _against_tokenizer(side, counts[side], cells, _tokenizer(tokenizer), options)
        if not any(fault.name == _CUT_PROMPTS for fault in faults if fault.side == side):
            faults += _far_too_short(side, counts[side], cells)
    # A count known to be wrong reveals nothing about the other stack.
    if not any(fault.name in (_CUT_PROMPTS, _DOUBLE_BOS) for fault in faults):
        faults += _compare_counts("A", counts["A"], counts["B"], "B's")
    for side, other in (SIDES, SIDES[::-1]):
        if lost := [
            key
            for key, answer in answers[side].items()
            if any(answer.lacking) > any(answers[other][key].lacking)
        ]:
            text = f"gives no answer to {len(lost)} cases that {other} answers, the first of them {lost[0][1]}; raise its window"
            faults.append(Fault(side, "prompts refused", text))
    (ends, of_a), (others, of_b) = (_ends_at_budget(answers[side]) for side in SIDES)
    if of_a and of_b and _clearly_more(ends, of_a, others, of_b):
        text = f"{ends / of_a:.0%} of its answers end at the answer budget, {others / of_b:.0%} of B's; look at its stop tokens"
        faults.append(Fault("A", "unfinished answers", text))
    return faults


def _prompt_tokens(answers: Mapping[_Case, StackAnswer]) -> dict[_Case, int]:
    return {
        key: answer.replies[0].prompt_tokens
        for key, answer in answers.items()
        if answer.replies and not answer.lacking[0] and answer.replies[0].prompt_tokens is not None
    }


def _far_too_short(side: str, counts: Mapping[_Case, int], cells: Mapping[str, GateCell]) -> list[Fault]:
    """Compare token counts with cl100k's, which no tokenizer undercuts by far."""
    short = []
    for (cell, case), n in counts.items():
        task = cells[cell].task
        rough = 0 if task is None else task.by_id[case].num_tokens.get(CL100K, 0)
        if n < _LEAST_SHARE * rough:
            short.append(f"{n} tokens of {rough}")
    text = f"counts {short[0]} or so in {len(short)} prompts; raise its window" if short else ""
    return [Fault(side, _CUT_PROMPTS, text)] if short else []


@lru_cache(maxsize=2)
def _tokenizer(name: str) -> Any:
    from transformers import AutoTokenizer

    load: Any = AutoTokenizer.from_pretrained
    try:
        return load(name)
    except (OSError, ValueError) as error:
        raise InputError(
            f"--tokenizer {name}: cannot be loaded; give the models' own folder or hub id"
        ) from error


def _against_tokenizer(
    side: str,
    counts: Mapping[_Case, int],
    cells: Mapping[str, GateCell],
    tokenizer: Any,
    options: Mapping[str, Any],
) -> list[Fault]:
    # Three prompts are enough: all have the same template, and long ones take seconds to encode.
    ordered = sorted(counts, key=counts.__getitem__)
    ids: dict[_Case, list[int]] = {}
    for cell, case in dict.fromkeys((ordered[0], ordered[len(ordered) // 2], ordered[-1])):
        task = cells[cell].task
        messages = [] if task is None else task.messages(task.by_id[case])
        rows = [{"role": message.role, "content": message.content} for message in messages]
        text = tokenizer.apply_chat_template(rows, tokenize=False, add_generation_prompt=True, **options)
        ids[cell, case] = tokenizer(text, add_special_tokens=False).input_ids
    of_template = all(tokens[:1] == [tokenizer.bos_token_id] for tokens in ids.values())
    if of_template and {counts[key] - len(tokens) for key, tokens in ids.items()} == {1}:
        text = "prompts have a token more than the chat template writes, and the template writes the BOS already; turn off the tokenizer's own BOS"
        return [Fault(side, _DOUBLE_BOS, text)]
    return _compare_counts(side, counts, {key: len(tokens) for key, tokens in ids.items()}, "the tokenizer's")


def _compare_counts(
    side: str, counts: Mapping[_Case, int], expected: Mapping[_Case, int], whose: str
) -> list[Fault]:
    """Compare prompts' token counts with others' and name the most likely fault.

    ``whose`` names the source of the other counts: the tokenizer or B.
    """
    pairs = {key: (counts[key], expected[key]) for key in expected if key in counts}
    if all(mine == other for mine, other in pairs.values()):
        return []
    directions = [(side, whose, list(pairs.values()))]
    if whose == "B's":
        # Either of two endpoints may truncate prompts, while a tokenizer never does.
        directions.append(("B", "A's", [(theirs, mine) for mine, theirs in pairs.values()]))
        side = "A and B"
    for which, by, numbers in directions:
        if (cut := _cut(numbers)) is not None:
            text = (
                f"a prompt of {cut[1]} tokens by {by} count reaches the model with {cut[0]}; raise its window"
            )
            return [Fault(which, _CUT_PROMPTS, text)]
    more = {mine - other for mine, other in pairs.values()}
    apart = f"{min(more):+d}" if len(more) == 1 else f"{min(more):+d} to {max(more):+d}"
    text = f"prompts differ by {apart} tokens from {whose} count; give the server the model's own"
    by_cell: dict[str, list[int]] = {}
    for (cell, _), (mine, other) in pairs.items():
        by_cell.setdefault(cell, []).append(mine - other)
    # A template adds the same number of tokens to every prompt of a task; a tokenizer adds more to longer
    # ones.
    if any(max(own) - min(own) > _BOUNDARY for own in by_cell.values()):
        return [Fault(side, "tokenizers differ", f"{text} tokenizer")]
    return [Fault(side, "chat templates differ", f"{text} chat template")]


def _cut(numbers: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Return both counts of the longest prompt if only the first counts stop growing; None otherwise.

    A different tokenizer keeps the ratio of the counts, a different template their difference.
    """
    (short, of_short), (long, of_long) = (pick(numbers, key=lambda pair: pair[1]) for pick in (min, max))
    lower = [pair for pair in numbers if pair[0] < pair[1]]
    if long >= _CUT * of_long:
        return None
    spread, of_spread = (max(side) - min(side) for side in zip(*lower, strict=True))
    cut = long / of_long < _CUT * short / of_short or 2 * spread < of_spread
    return (long, of_long) if cut else None


def _thinking(side: str, answers: Mapping[tuple[str, str], StackAnswer]) -> list[Fault]:
    ended = [
        answer
        for answer in answers.values()
        # Some servers do not return thinking, so the reply is empty although the budget is used up.
        if ANSWER_CUT in answer.reasons
        or any(one.finish_reason == "length" and not one.text.strip() for one in answer.replies)
    ]
    if not answers or len(ended) <= _NAMED_SHARE * len(answers):
        return []
    text = f"{len(ended)} of {len(answers)} answers end while the model thinks; raise --answer-budget, or turn thinking off"
    return [Fault(side, "thinking eats the answer budget", text)]


def _ends_at_budget(answers: Mapping[tuple[str, str], StackAnswer]) -> tuple[int, int]:
    replies = [reply for answer in answers.values() for reply in answer.replies]
    return sum(reply.finish_reason == "length" for reply in replies), len(replies)


def _clearly_more(first: int, of_first: int, second: int, of_second: int) -> bool:
    """Check whether a proportion exceeds another by more than 0.1 and by three standard errors."""
    share = (first + second) / (of_first + of_second)
    error = math.sqrt(share * (1 - share) * (1 / of_first + 1 / of_second))
    return first / of_first - second / of_second > max(_MORE_CUT, 3 * error)
