"""A judge on vLLM in this process, where no server is to be started. The model takes the GPU for as long as the process lives."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.local import named_failures, prompt_text, row_seed
from long_context_tasks.judges.run import Generate, GenerateSettings
from long_context_tasks.judges.verdict import Reply
from long_context_tasks.schema import Message


def load_vllm_judge(config: JudgeConfig) -> Generate:
    """Load the judge's model with vLLM and return what generates its replies.

    Every prompt has a seed of its own (judge's seed, attempt, prompt), as with transformers.

    Args:
        config: a judge of kind ``local``, engine ``vllm``.

    Raises:
        InputError: vLLM is missing, or the model cannot be loaded.
    """
    with named_failures(config):
        model = _loaded(config.model)
    tokenizer = model.get_tokenizer()

    def generate(prompts: Sequence[Sequence[Message]], settings: GenerateSettings) -> list[Reply]:
        from vllm import SamplingParams

        texts = [prompt_text(tokenizer, prompt, settings.prompt_template) for prompt in prompts]
        # A chat template writes the beginning-of-sequence token itself.
        special = settings.prompt_template is not None or tokenizer.chat_template is None
        tokens = [
            {"prompt_token_ids": tokenizer(text, add_special_tokens=special)["input_ids"]} for text in texts
        ]
        plans = [
            SamplingParams(
                temperature=settings.temperature or 0.0,
                top_p=1.0 if settings.top_p is None else settings.top_p,
                max_tokens=settings.max_tokens,
                seed=row_seed(text, settings),
                logprobs=settings.logprobs,
            )
            for text in texts
        ]
        return [_reply(one) for one in model.generate(tokens, plans, use_tqdm=False)]

    return generate


def _reply(answered: Any) -> Reply:
    """VLLM's RequestOutput with one completion. Its log-probabilities are those before temperature and sampling."""
    [said] = answered.outputs
    likely = said.logprobs[0] if said.logprobs else None
    return Reply(
        str(said.text),
        len(answered.prompt_token_ids),
        len(said.token_ids),
        said.finish_reason,
        # The token that was drawn stands among them also where it is not one of the likeliest.
        None
        if likely is None
        else tuple((str(one.decoded_token), float(one.logprob)) for one in likely.values()),
    )


@lru_cache(maxsize=1)
def _loaded(name: str) -> Any:
    """The model, once for all tasks of a run."""
    from vllm import LLM

    return LLM(model=name, trust_remote_code=False)
