"""A judge in this process, on transformers or vLLM; vLLM occupies the GPU until the process ends."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from long_context_tasks.judges.config import Draw, JudgeConfig
from long_context_tasks.judges.kinds import Generate, Kind
from long_context_tasks.judges.verdict import Reply, TopLogprobs
from long_context_tasks.schema import InputError, Message

MAX_TOKENS = 1024  # reply limit if the judge file sets none


def load_hf_judge(config: JudgeConfig, *, device: str = "auto") -> Generate:
    """Load the judge's model and return a function that generates replies.

    Each row of a batch has its own random generator, seeded by the judge's seed, the attempt and the prompt.
    A reply therefore does not depend on its batch or on earlier replies, and a resumed run equals an
    uninterrupted one.
    """
    with named_failures(config):
        model, tokenizer = _loaded(config.model, device)

    def generate(prompts: Sequence[Sequence[Message]], draw: Draw) -> list[Reply]:
        replies: list[Reply] = []
        for start in range(0, len(prompts), config.batch_size):
            batch = prompts[start : start + config.batch_size]
            replies += _generate_batch(model, tokenizer, batch, config, draw)
        return replies

    return generate


def check_local_judge(config: JudgeConfig) -> None:
    """Check the engine and the model's configuration and tokenizer without loading the weights."""
    if config.engine == "vllm" and find_spec("vllm") is None:
        raise InputError(
            f"judge {config.name}: vLLM is not installed; install it in this environment, use engine: hf, or start the model "
            "as a server (kind: openai)"
        )
    with named_failures(config):
        from transformers import AutoConfig, AutoTokenizer

        AutoConfig.from_pretrained(config.model)
        AutoTokenizer.from_pretrained(config.model)  # type: ignore[no-untyped-call,unused-ignore]


@contextmanager
def named_failures(config: JudgeConfig) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise InputError(
            f"judge {config.name}: a local judge needs {'vllm' if config.engine == 'vllm' else 'torch and transformers'} in this "
            "environment; install it, or start the model as a server (kind: openai)"
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(
            f"judge {config.name}: the model {config.model} cannot be loaded ({type(error).__name__}); give the path of a "
            "folder that contains it, or a hub id that is available"
        ) from error


@lru_cache(maxsize=1)
def _loaded(name: str, device: str) -> tuple[Any, Any]:
    """Return model and tokenizer, loaded once for all tasks of a run."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(name, padding_side="left")  # type: ignore[no-untyped-call,unused-ignore]
    model: Any = AutoModelForCausalLM.from_pretrained(name, dtype="auto")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return model.to(device).eval(), tokenizer


def _generate_batch(
    model: Any, tokenizer: Any, prompts: Sequence[Sequence[Message]], config: JudgeConfig, draw: Draw
) -> list[Reply]:
    import torch
    from transformers import GenerationConfig, LogitsProcessorList

    texts, special = prompt_texts(tokenizer, prompts, config)
    inputs = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=special).to(model.device)
    own = model.generation_config
    plan = GenerationConfig(  # type: ignore[no-untyped-call,unused-ignore]
        do_sample=False,
        max_new_tokens=config.max_tokens or MAX_TOKENS,
        eos_token_id=own.eos_token_id if own.eos_token_id is not None else tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    first = _FirstPlace(config.logprobs or 0)
    steps = [first] if config.logprobs is not None else []
    with torch.inference_mode():
        output = model.generate(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            generation_config=plan,
            logits_processor=LogitsProcessorList([*steps, *_sampling(texts, config, draw)]),
        )
    new = output[:, inputs["input_ids"].shape[1] :]
    # A model without an end-of-sequence token always generates up to the limit.
    end_tokens = [] if plan.eos_token_id is None else plan.eos_token_id
    ends = torch.isin(new, torch.tensor(end_tokens, device=new.device, dtype=new.dtype))
    whole = ends.any(dim=1)
    # Length including the end-of-sequence token; a reply without one was truncated.
    written = torch.where(whole, ends.int().argmax(dim=1) + 1, new.shape[1])
    rows = zip(
        tokenizer.batch_decode(new, skip_special_tokens=True),
        inputs["attention_mask"].sum(dim=1).tolist(),
        written.tolist(),
        ["stop" if done else "length" for done in whole.tolist()],
        first.tokens(tokenizer) if steps else [None] * len(texts),
        strict=True,
    )
    return [Reply(*row) for row in rows]


def prompt_texts(
    tokenizer: Any, prompts: Sequence[Sequence[Message]], config: JudgeConfig
) -> tuple[list[str], bool]:
    """Apply the judge's own template or the model's chat template.

    Returns the texts and whether the tokenizer should add special tokens.
    """
    if config.prompt_template is not None or tokenizer.chat_template is None:
        return [config.plain_prompt(messages) for messages in prompts], True
    chats = [[{"role": each.role, "content": each.content} for each in messages] for messages in prompts]
    texts = [
        tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True) for chat in chats
    ]
    # A chat template already includes the beginning-of-sequence token.
    return [str(text) for text in texts], False


def _sampling(texts: Sequence[str], config: JudgeConfig, draw: Draw) -> list[Any]:
    """Return processors for temperature, top_p and Gumbel noise.

    The argmax of logits with Gumbel noise is a sample from their softmax.
    """
    from transformers import TemperatureLogitsWarper, TopPLogitsWarper

    if not config.temperature:
        return []
    steps: list[Any] = [TemperatureLogitsWarper(config.temperature)]
    if config.top_p is not None and config.top_p < 1:
        steps.append(TopPLogitsWarper(config.top_p))
    return [*steps, _Gumbel([row_seed(text, draw) for text in texts])]


def row_seed(text: str, draw: Draw) -> int:
    """Return the seed of a draw, below 2**56, from the judge's seed, the attempt and the prompt."""
    name = f"{draw.seed}/{draw.attempt}/".encode() + text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(name).digest()[:7], "big")


class _FirstPlace:
    """Record each reply's top first tokens before temperature and sampling."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._top: Any = None

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        if self._top is None:
            self._top = scores.float().log_softmax(dim=-1).topk(min(self._count, scores.shape[1]))
        return scores

    def tokens(self, tokenizer: Any) -> list[TopLogprobs]:
        """Return each row's top tokens as text with natural log-probabilities, most likely first."""
        rows = zip(self._top.indices.tolist(), self._top.values.tolist(), strict=True)
        return [tuple(zip(map(tokenizer.decode, tokens), values, strict=True)) for tokens, values in rows]


class _Gumbel:
    """Add noise from each row's generator to its logits, on the CPU so that all devices draw the same samples."""

    def __init__(self, seeds: Sequence[int]) -> None:
        import torch

        self._generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        import torch

        noise = torch.stack(
            [torch.rand(scores.shape[1], generator=generator) for generator in self._generators]
        )
        gumbel = -torch.log(-torch.log(noise.clamp(1e-10, 1 - 1e-7)))
        return scores.float() + gumbel.to(scores.device)


def load_vllm_judge(config: JudgeConfig) -> Generate:
    """Load the judge's model with vLLM; each prompt has its own seed, as in :func:`load_hf_judge`."""
    with named_failures(config):
        model = _loaded_vllm(config.model)
    tokenizer = model.get_tokenizer()

    def generate(prompts: Sequence[Sequence[Message]], draw: Draw) -> list[Reply]:
        from vllm import SamplingParams

        texts, special = prompt_texts(tokenizer, prompts, config)
        tokens = [
            {"prompt_token_ids": tokenizer(text, add_special_tokens=special)["input_ids"]} for text in texts
        ]
        plans = [
            SamplingParams(
                temperature=config.temperature or 0.0,
                top_p=1.0 if config.top_p is None else config.top_p,
                max_tokens=config.max_tokens or MAX_TOKENS,
                seed=row_seed(text, draw),
                logprobs=config.logprobs,
            )
            for text in texts
        ]
        return [_vllm_reply(output) for output in model.generate(tokens, plans, use_tqdm=False)]

    return generate


def _vllm_reply(output: Any) -> Reply:
    [said] = output.outputs
    # vLLM includes the sampled token even if it is not among the top ones.
    likely = said.logprobs[0].values() if said.logprobs else ()
    top = tuple((str(token.decoded_token), float(token.logprob)) for token in likely)
    return Reply(
        str(said.text), len(output.prompt_token_ids), len(said.token_ids), said.finish_reason, top or None
    )


@lru_cache(maxsize=1)
def _loaded_vllm(name: str) -> Any:
    from vllm import LLM

    return LLM(model=name, trust_remote_code=False)


def load_local_judge(config: JudgeConfig) -> Generate:
    return load_vllm_judge(config) if config.engine == "vllm" else load_hf_judge(config)


KIND = Kind(check=check_local_judge, load=load_local_judge)
