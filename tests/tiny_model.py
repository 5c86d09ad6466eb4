"""A random model so small that a whole host run takes seconds, for tests of plumbing and windows (not of answers)."""

import functools
from pathlib import Path

import pytest

from long_context_tasks.hosts.demo_model import demo_model_path
from long_context_tasks.schema.options import cache_dir

CACHE = cache_dir()
"""That of whoever runs the tests, as long as no test has set another."""


@functools.cache
def demo_model() -> Path:
    """The demo model in the cache of whoever runs the tests: making it takes half a minute, and a test's own cache is empty."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LCT_CACHE_DIR", str(CACHE))
        return demo_model_path()


def make_tiny_model(
    folder: Path, max_position_embeddings: int = 8192, seed: int = 0, initializer_range: float = 0.02
) -> Path:
    """A two-layer Llama (1.6 M parameters) with random weights and the demo model's tokenizer and chat template.

    Args:
        folder: where it is written; made when missing.
        max_position_embeddings: its window in tokens.
        seed: of the weights; the same seed gives the same model.
        initializer_range: their standard deviation; the larger, the less alike are the likelihoods of tokens.

    Returns:
        The folder.
    """
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(demo_model(), local_files_only=True)
    tokenizer.model_max_length = max_position_embeddings
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=max_position_embeddings,
        initializer_range=initializer_range,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config).to(torch.float32)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_rope_checkpoint(folder: Path, kind: str) -> Path:
    """An untrained model of a kind (``Llama``, ``Qwen2``) with RoPE base 1,000,000 and a window of 32,768, without tokenizer."""
    import transformers

    config = getattr(transformers, f"{kind}Config")(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=32768,
        rope_theta=1e6,
    )
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return folder
