"""A random ORCA model with a tokenizer of bytes, made in a second, for tests of everything but its judgement."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from long_context_tasks.orca.checkpoint import Checkpoint, save_checkpoint

if TYPE_CHECKING:
    from long_context_tasks.orca.model import OrcaModel


def byte_tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE({letter: place for place, letter in enumerate(letters)}, []))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=core, eos_token="</s>")


def tiny_lm(vocabulary: int, window: int = 512, seed: int = 0) -> Any:
    """A Llama of two small layers with random weights."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=window,
        initializer_range=0.2,
        tie_word_embeddings=True,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return LlamaForCausalLM(config).eval()


def tiny_model(head: str = "beta", window: int = 512, cls: bool = False) -> "tuple[OrcaModel, Any]":
    import torch

    from long_context_tasks.orca.model import HEADS, OrcaModel

    tokenizer = byte_tokenizer()
    lm = tiny_lm(len(tokenizer), window)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = OrcaModel(lm, HEADS[head], cls).eval()
        model.linear.weight.data *= 100  # a fresh head is nearly flat, and these scores must differ
    tokenizer.pad_token = tokenizer.eos_token
    return model, tokenizer


def tiny_checkpoint(head: str = "beta", window: int = 512, cls: bool = False) -> Checkpoint:
    model, tokenizer = tiny_model(head, window, cls)
    return Checkpoint(Path(), model, tokenizer, {})


def saved_checkpoint(folder: Path, head: str = "beta", window: int = 512, cls: bool = False) -> Checkpoint:
    model, tokenizer = tiny_model(head, window, cls)
    save_checkpoint(folder, model, tokenizer, {"seed": 1})
    return Checkpoint(folder, model, tokenizer, {})


def save_tiny_lm(folder: Path, window: int = 512) -> Path:
    tokenizer = byte_tokenizer()
    tiny_lm(len(tokenizer), window).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
