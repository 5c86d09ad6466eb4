"""ORCA's scoring against a plain reference, in one run on the same items."""

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lazy_modules import torch
from orca_lazy import heads, model_code, scorer
from timing import best_in_turns
from tiny_model import demo_model

from long_context_tasks.orca import OrcaItem
from long_context_tasks.orca.checkpoint import Checkpoint, load_lm, load_tokenizer
from long_context_tasks.orca.inputs import input_text

pytestmark = pytest.mark.speed

ITEMS = (32, 141, 500)
WORDS = (
    "rain",
    "on a roof",
    "two speakers",
    "a violin",
    "her coach",
    "melancholic",
    "the clip is cut before the end",
)


def naive_scores(checkpoint: Checkpoint, items: list[OrcaItem]) -> list[float]:
    """One item at a time, through the model's body alone."""
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    means = []
    for item in items:
        text = f" |context: {item.rationale} |question: {item.question} |correct answer: {item.reference} |candidate answer: {item.candidate}"
        ids = tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            hidden = model.body()(ids, use_cache=False).last_hidden_state
            mean, _ = model.head.moments(model.linear(hidden[0, -1]))
        means.append(mean.item())
    return means


@pytest.fixture(scope="module")
def items() -> list[OrcaItem]:
    rng = random.Random(0)

    def some(most: int) -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(1, most)))

    return [OrcaItem(str(n), some(4), some(2), f"{n} {some(6)}", some(12)) for n in range(ITEMS[-1])]


@pytest.fixture(scope="module")
def checkpoint(items: list[OrcaItem]) -> Checkpoint:
    """Two layers, 64 wide. Its vocabulary is learned from the items, so that a word is about a token, as it is to a real model."""
    pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=480, initial_alphabet=alphabet, show_progress=False)
    core.train_from_iterator([input_text(item) for item in items], trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", padding_side="right")
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        initializer_range=0.15,
        tie_word_embeddings=True,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = model_code.OrcaModel(LlamaForCausalLM(config), heads.HEADS["multinomial"]).eval()
    return Checkpoint(Path(), model, tokenizer, {})


@pytest.fixture(scope="module")
def real_checkpoint() -> Checkpoint:
    """Five of the small model's thirty layers, as wide as they are, with a new head."""
    pytest.importorskip("transformers")
    lm = load_lm(demo_model(), "float32")
    lm.model.layers = lm.model.layers[:5]
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = model_code.OrcaModel(lm, heads.HEADS["multinomial"]).eval()
    return Checkpoint(Path(), model, load_tokenizer(demo_model()), {})


@pytest.mark.parametrize("n", ITEMS)
@pytest.mark.parametrize("name", ["checkpoint", "real_checkpoint"])
def test_scoring(
    n: int,
    name: str,
    items: list[OrcaItem],
    request: pytest.FixtureRequest,
    compared: Callable[[str, float, str, float], None],
) -> None:
    checkpoint, items = request.getfixturevalue(name), items[:n]

    def ours() -> list[float]:
        return [score.mean or 0.0 for score in scorer.score_items(checkpoint, items).scores]

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # on a model this small, threads only wait for each other
    try:
        assert ours() == pytest.approx(naive_scores(checkpoint, items), abs=1e-5)
        fast, slow = best_in_turns(
            ours, lambda: naive_scores(checkpoint, items), times=3, clock=time.process_time
        )
    finally:
        torch.set_num_threads(threads)
    title = "two small layers" if name == "checkpoint" else "five layers of SmolLM2"
    compared(f"ORCA, {title}, {n} items, processor time", fast, "one at a time", slow)
