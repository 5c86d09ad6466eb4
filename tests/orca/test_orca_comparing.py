"""A judge that reads reference and candidate as two texts: what it computes, alone and in a batch, with a language model and with an encoder."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lazy_modules import Lazy, torch
from orca_checkpoints import byte_tokenizer, tiny_checkpoint
from orca_commands import bad, good, read, write
from orca_lazy import heads, model_code, scorer
from orca_training import rated_items, rows_of

from long_context_tasks.orca import InputFormat, OrcaItem
from long_context_tasks.orca.checkpoint import (
    Checkpoint,
    fingerprint,
    load_checkpoint,
    load_lm,
    load_tokenizer,
)
from long_context_tasks.orca.inputs import BETWEEN, COMPARING, encode_items
from long_context_tasks.schema import InputError

transformers = Lazy("transformers")

ITEMS = [
    OrcaItem("1", "Who?", "two speakers", "It was two people who speak, her coach among them."),
    OrcaItem("2", "Who?", "rain", "rain"),
    OrcaItem("3", "Who?", "", "a violin"),
    OrcaItem("4", "Who?", "a long reference of many words, which takes more tokens than the answer", ""),
    OrcaItem("5", "Who?", "half \ud83d of it", "half"),
]


def _encoder(folder: Path) -> Path:
    """A BERT of two small layers with random weights, and its tokenizer, which puts <s> and </s> around a text."""
    from tokenizers.processors import TemplateProcessing

    tokenizer = byte_tokenizer()
    tokenizer.add_special_tokens({"cls_token": "<s>", "pad_token": "<pad>"})
    special = [("<s>", tokenizer.cls_token_id), ("</s>", tokenizer.eos_token_id)]
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing("<s> $A </s>", special_tokens=special)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=128, initializer_range=0.2,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformers.BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _by_hand(checkpoint: Checkpoint, item: OrcaItem) -> list[float]:
    """Each text alone, without padding; weighted recall with the product in place of the cosine."""

    def states(text: str | None) -> Any:
        ids = checkpoint.tokenizer(str(text).encode("utf-8", "replace").decode())["input_ids"]
        ids = ids or [checkpoint.tokenizer.pad_token_id]
        with torch.no_grad():
            found = checkpoint.model.body()(input_ids=torch.tensor([ids])).last_hidden_state[0].numpy()
        return found / np.linalg.norm(found, axis=1, keepdims=True), ids

    (reference, ids), (candidate, _) = states(item.reference), states(item.candidate)
    parts = [each * candidate[(candidate @ each).argmax()] for each in reference]
    weights = checkpoint.model.token_weights
    weights = np.ones(len(ids)) if weights is None else weights[ids].numpy()
    hidden = torch.tensor(np.average(parts, axis=0, weights=weights).astype("float32") * len(parts[0]))
    params: list[float] = checkpoint.model.linear(hidden).tolist()
    return params


def test_each_answer_is_compared_as_if_it_were_alone(tmp_path: Path) -> None:
    encoder = Checkpoint(
        Path(),
        model_code.OrcaModel(load_lm(_encoder(tmp_path), "float32"), heads.HEADS["multinomial"]).eval(),
        load_tokenizer(tmp_path),
        {},
    )
    weighing = tiny_checkpoint()
    weighing.model.begin_comparing(torch.rand(len(weighing.tokenizer)) + 0.01)
    for checkpoint in (tiny_checkpoint(), weighing, encoder):
        for batch_size in (1, 2, 64):
            scoring = scorer.score_items(checkpoint, ITEMS, COMPARING, batch_size=batch_size)
            for item, score in zip(ITEMS, scoring.scores, strict=True):
                assert list(score.params or ()) == pytest.approx(_by_hand(checkpoint, item), abs=2e-5)
        other = [replace(item, question="What?", rationale="Because.") for item in ITEMS]
        assert [each.params for each in scorer.score_items(checkpoint, other, COMPARING).scores] == [
            each.params for each in scoring.scores
        ]
    assert scoring.tokens == sum(
        len(encoder.tokenizer(str(text).encode("utf-8", "replace").decode())["input_ids"])
        for item in ITEMS
        for text in (item.reference, item.candidate)
    )


def test_a_text_beyond_the_window_does_not_fit() -> None:
    texts = [("r" * 30, "c"), ("r", "c" * 30), ("r" * 20, "c" * 20)]
    items = [OrcaItem(str(place), "q", *both) for place, both in enumerate(texts)]
    encoded = encode_items(items, byte_tokenizer(), COMPARING, 20)
    assert [each.fits for each in encoded] == [False, False, True]
    assert len(encoded[2].ids) == 41 and encoded[2].ids[20] == BETWEEN


@pytest.mark.parametrize("head", ["beta", "multinomial", "bernoulli"])
def test_a_fresh_head_takes_the_likeness_for_the_rating(head: str) -> None:
    model = tiny_checkpoint(head).model
    model.begin_comparing(torch.ones(300))
    likeness = torch.tensor([0.1, 0.4, 0.5, 0.6, 0.95])
    hidden = torch.rand(5, model.linear.in_features)
    hidden *= likeness[:, None] * hidden.shape[1] / hidden.sum(dim=1, keepdim=True)
    means = model.head.moments(model.linear(hidden))[0].tolist()
    assert means == sorted(set(means)) and means[2] == pytest.approx(0.5, abs=1e-4)
    assert means[0] < 0.1 and means[-1] > 0.9


def test_rare_tokens_weigh_most() -> None:
    rows = [
        [7, 1, BETWEEN, 1, 2, 2],
        [7, 1, BETWEEN, 1, 3],
        [7, 1, 4, BETWEEN, 1],
    ]  # five texts: two references are equal
    weights = model_code.rarity(rows, 8)
    expected = [6, 6 / 6, 6 / 2, 6 / 2, 6 / 2, 6, 6, 6 / 3]
    assert weights.tolist() == pytest.approx([math.log(each) + 0.01 for each in expected], abs=1e-6)


def test_the_format_is_that_of_the_training_and_cannot_be_widened() -> None:
    assert InputFormat.of_args(COMPARING.args()) == COMPARING
    assert COMPARING.lacking(ITEMS) is None
    assert COMPARING.with_parts(question=None, rationale=False) == COMPARING
    with pytest.raises(InputError, match="--question, --transcript: a judge that compares"):
        COMPARING.with_parts(question=True, transcript=True)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["full", "lora"])
def test_an_encoder_becomes_a_judge(tmp_path: Path, method: str) -> None:
    _encoder(tmp_path / "bert")
    train = write(tmp_path / "train.jsonl", rows_of(rated_items(12)))
    dev = write(tmp_path / "dev.jsonl", rows_of(rated_items(8, 9)))
    given = "train", "--train", train, "--dev", dev, "--model", tmp_path / "bert", "--head", "multinomial"
    more = "--steps", 3, "--method", method, "--device", "cpu", "--compare", "--out"
    said = good(*given, "--negatives", "0.5", "--balance", "--select", "within", *more, tmp_path / "judge")
    assert "stage human: 18 answers, 3 steps" in said.output
    good("score", dev, "--checkpoint", tmp_path / "judge", "-o", tmp_path / "scored.jsonl", "--device", "cpu")
    checkpoint = load_checkpoint(tmp_path / "judge", device="cpu")
    weights = checkpoint.model.token_weights
    assert weights.min() > 0 and weights[checkpoint.tokenizer.cls_token_id] == weights.min() < weights.max()
    for row, item in zip(read(tmp_path / "scored.jsonl"), rated_items(8, 9), strict=True):
        assert row["params"] == pytest.approx(_by_hand(checkpoint, item), abs=2e-5)
        assert row["rating_orca"] != row["rating_orca_mismatched"] != row["rating_orca_without_reference"]
    assert len(fingerprint(tmp_path / "judge")) == 12
    assert "a judge that compares" in bad(
        "score", dev, "--checkpoint", tmp_path / "judge", "--rationale", "--device", "cpu"
    )
    assert "a judge that compares" in bad(*given, "--transcript", *more, tmp_path / "no")
    # What a training goes on from was shown other parts.
    joint = "train", "--train", train, "--dev", dev, "--init", tmp_path / "judge", "--steps", 1
    assert (
        "was trained to read other parts" in good(*joint, "--out", tmp_path / "on", "--device", "cpu").output
    )
