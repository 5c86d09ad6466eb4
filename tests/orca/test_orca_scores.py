"""Scoring: order, batches, windows, what does not fit."""

import itertools
import json
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lazy_modules import torch
from orca_checkpoints import byte_tokenizer, saved_checkpoint, tiny_checkpoint
from orca_lazy import model_code, scorer

from long_context_tasks.judges.config import Draw
from long_context_tasks.judges.run import judge_all
from long_context_tasks.judges.store import Store
from long_context_tasks.judges.verdict import JudgeRequest, Reply
from long_context_tasks.orca import InputFormat, OrcaItem
from long_context_tasks.orca.checkpoint import Checkpoint
from long_context_tasks.orca.data import item_of_row
from long_context_tasks.orca.inputs import RELEASED_FORMAT, encode_items, input_text
from long_context_tasks.orca.judge import KIND, RUBRIC, OrcaConfig
from long_context_tasks.schema import InputError, Message

WORDS = ("rain", "a violin", "two speakers", "žádný zvuk", "her coach", "nothing at all", "音楽")


def _items(n: int, seed: int = 0, context: int = 12) -> list[OrcaItem]:
    rng = random.Random(seed)

    def some(most: int) -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(1, most)))

    return [
        OrcaItem(
            str(number),
            some(3),
            some(2),
            some(6),
            some(context),
            ratings=tuple(float(rng.randint(1, 5)) for _ in range(rng.randint(1, 4))),
        )
        for number in range(n)
    ]


@pytest.fixture(scope="module", params=["beta", "multinomial", "bernoulli"])
def checkpoint(request: pytest.FixtureRequest) -> Checkpoint:
    return tiny_checkpoint(request.param)


def _naive(checkpoint: Checkpoint, text: str) -> list[float]:
    """The whole language model on one text, the last hidden state of the last token, the linear layer."""
    ids = checkpoint.tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        hidden = checkpoint.model.lm(input_ids=ids, output_hidden_states=True).hidden_states[-1]
        params: list[float] = checkpoint.model.linear(hidden[0, -1]).tolist()
    return params


def test_each_score_is_that_of_the_item_alone_and_in_its_place(checkpoint: Checkpoint) -> None:
    items = _items(23)
    scoring = scorer.score_items(checkpoint, items)
    for item, score in zip(items, scoring.scores, strict=True):
        assert list(score.params or ()) == pytest.approx(_naive(checkpoint, input_text(item)), abs=2e-5)
    assert sum(score.tokens for score in scoring.scores) == sum(
        len(input_text(item).encode()) for item in items
    )
    assert (scoring.shortened, scoring.unfit, str(scoring)) == (0, 0, "23 of 23 scored")


@pytest.mark.parametrize("n", [32, 141, 500])
def test_a_tenth_of_what_the_model_reads_is_padding_at_most(n: int) -> None:
    checkpoint, items = tiny_checkpoint(), _items(n)
    read = []

    def count(_: Any, __: Any, inputs: dict[str, Any]) -> None:
        read.append(inputs["input_ids"].numel())

    checkpoint.model.body().register_forward_pre_hook(count, with_kwargs=True)
    scores = scorer.score_items(checkpoint, items).scores
    assert sum(read) <= 1.1 * sum(score.tokens for score in scores)
    assert len(read) <= n / 3


def test_the_judge_reads_answers_of_similar_length_together(tmp_path: Path) -> None:
    saved_checkpoint(tmp_path / "tiny")
    judge = OrcaConfig(model=str(tmp_path / "tiny"), name="tiny", batch_size=5)
    generate = KIND.load(judge)
    chunks = []

    def generate_chunk(prompts: Sequence[Sequence[Message]], draw: Draw) -> list[Reply]:
        chunks.append([len(message.content) for [message] in prompts])
        return generate(prompts, draw)

    items = _items(300)
    requests = []
    for item in items:
        row = {"question": item.question, "reference": item.reference, "candidate": item.candidate}
        requests.append(JudgeRequest(item.id, (Message("user", json.dumps(row)),)))
    verdicts = judge_all(requests, judge, RUBRIC, Store(tmp_path / "store"), generate_chunk, progress=False)
    assert [len(chunk) for chunk in chunks] == [256, 44]
    assert max(chunks[0]) <= min(chunks[1])
    plain = [replace(item, rationale=None) for item in items]
    alone = scorer.score_items(tiny_checkpoint(), plain, batch_size=1).means
    assert [verdict.score for [verdict] in verdicts] == pytest.approx(alone, abs=1e-5)


def test_mean_interval_and_spread_belong_together(checkpoint: Checkpoint) -> None:
    for score in scorer.score_items(checkpoint, _items(9)).scores:
        assert 0 <= score.mean <= 1
        if checkpoint.model.head.name == "bernoulli":
            assert (score.low, score.high, score.variance, score.std) == (None, None, 0, 0)
        else:
            assert 0 <= score.low <= score.high <= 1
            assert score.std**2 == pytest.approx(score.variance)


def test_equal_texts_get_equal_scores() -> None:
    """So that ties stay ties, in whatever batches the copies would have come."""
    checkpoint, items = tiny_checkpoint(), _items(8)
    scores = scorer.score_items(checkpoint, [*items, *reversed(items)], batch_size=3).scores
    assert [score.params for score in scores[:8]] == [score.params for score in scores[:7:-1]]


def test_the_vocabulary_projection_never_runs() -> None:
    checkpoint = tiny_checkpoint()

    def fail(*_: Any) -> None:
        raise AssertionError("the projection to the vocabulary ran")

    checkpoint.model.lm.lm_head.register_forward_hook(fail)
    scorer.score_items(checkpoint, _items(3))


def test_a_learned_vector_is_read_behind_the_last_token() -> None:
    """Whatever the batch: shorter items too read it, and not their padding."""
    checkpoint, items = tiny_checkpoint(cls=True), _items(7)
    together = scorer.score_items(checkpoint, items, batch_size=7).scores
    alone = scorer.score_items(checkpoint, items, batch_size=1).scores
    for a, b in zip(together, alone, strict=True):
        assert list(a.params or ()) == pytest.approx(list(b.params or ()), abs=2e-5)
    with torch.no_grad():
        checkpoint.model.cls_token += 1.0
    moved = scorer.score_items(checkpoint, items, batch_size=7).scores
    assert all(a.params != b.params for a, b in zip(together, moved, strict=True))
    assert checkpoint.model.window() == 511


def test_what_does_not_fit_has_no_score_and_the_others_have() -> None:
    checkpoint = tiny_checkpoint(window=256)
    long = replace(_items(1)[0], candidate="word " * 400)
    scoring = scorer.score_items(checkpoint, [long, *_items(2, context=2)])
    first = scoring.scores[0]
    assert (first.mean, first.params, first.reason, first.std) == (None, None, scorer.DOES_NOT_FIT, None)
    assert [score.reason for score in scoring.scores[1:]] == [None, None]
    assert scoring.unfit == 1
    assert str(scoring).startswith("2 of 3 scored")
    only = scorer.score_items(checkpoint, [long])
    assert only.unfit == 1


FIELD = st.text(max_size=40)
tokenizer = cache(byte_tokenizer)


@given(
    st.builds(
        OrcaItem,
        id=FIELD,
        question=FIELD,
        reference=FIELD,
        candidate=FIELD,
        rationale=FIELD,
        transcription=FIELD,
    ),
    st.integers(30, 400),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_only_the_context_is_shortened_and_no_more_than_needed(
    item: OrcaItem, window: int, transcript: bool
) -> None:
    form = InputFormat(transcript=transcript)
    text = input_text(item, form)
    (encoded,) = encode_items([item], tokenizer(), form, window)
    full = len(text.encode())
    after = input_text(item, InputFormat(rationale=False))
    if full <= window:
        assert tokenizer().decode(encoded.ids) == text
        assert encoded.dropped == 0
    elif encoded.fits:
        kept = tokenizer().decode(encoded.ids)
        assert kept.endswith(after)
        assert len(encoded.ids) <= window
        assert encoded.dropped == full - len(encoded.ids)
        # A character has at most four bytes: no more than three are lost beyond what the window asks.
        assert window - len(encoded.ids) <= 3
        assert kept.startswith(" |context: ")
    else:
        context = len((item.rationale or "").encode())
        context += len((item.transcription or "").encode()) if transcript else 0
        assert full - context > window
        assert encoded.ids == ()


@pytest.mark.parametrize(
    ("transcription", "rules", "context"),
    [
        ({"transcription": ""}, "checked", "|transcription:  Two people."),
        ({"transcription": ""}, "released", "|transcription:  Two people."),
        ({"transcription": None}, "released", "|transcription: None Two people."),
        ({"transcription": None}, "checked", "Two people."),
        ({}, "released", "Two people."),
    ],
)
def test_an_empty_transcription_is_written_as_released(
    transcription: dict[str, Any], rules: Any, context: str
) -> None:
    """The released code asks whether the row has the field, not whether the field holds anything."""
    row = {"question": "Who?", "reference": "Anna", "candidate": "Ann", "rationale": "Two people."}
    item = item_of_row({**row, **transcription}, rules=rules)
    assert input_text(item, InputFormat(transcript=True)) == (
        f" |context: {context} |question: Who? |correct answer: Anna |candidate answer: Ann"
    )
    assert "transcription" not in input_text(item)


def test_half_a_surrogate_pair_is_scored() -> None:
    (encoded,) = encode_items([OrcaItem("1", "q", "r", "half \ud83d of it")], tokenizer(), RELEASED_FORMAT)
    assert tokenizer().decode(encoded.ids).endswith("half ? of it")


@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=8),
    st.integers(1, 120),
    st.integers(1, 8),
    st.sampled_from([0, 24, math.inf]),
)
@settings(deadline=None)
def test_batches_are_the_cheapest_of_all(
    lengths: list[int], most_tokens: int, most_items: int, batch_cost: float
) -> None:
    def allowed(own: list[int]) -> bool:
        most = min(most_tokens, model_code.MAX_PADDING * sum(own))
        return len(own) == 1 or (len(own) <= most_items and len(own) * max(own) <= most)

    def cost(batches: list[list[int]]) -> float:
        return sum(len(own) * max(own) + batch_cost for own in batches)

    batches = model_code.length_batches(lengths, most_tokens, most_items, batch_cost)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    ours = [[lengths[index] for index in batch] for batch in batches]
    order = sorted(lengths, reverse=True)
    assert list(itertools.chain(*ours)) == order and all(map(allowed, ours))
    for cuts in itertools.product((False, True), repeat=len(order) - 1):
        ends = [*(place for place, cut in enumerate(cuts, start=1) if cut), len(order)]
        other = [order[start:end] for start, end in itertools.pairwise([0, *ends])]
        assert not all(map(allowed, other)) or cost(ours) <= cost(other)


def test_without_a_limit_of_padding_there_are_as_few_batches_as_possible() -> None:
    batches = model_code.length_batches([30, 90, 10, 20], 180, 3, math.inf, math.inf)
    assert batches == [[1], [0, 3, 2]]
    assert model_code.length_batches([], 180, 3, math.inf, math.inf) == []


def test_output_that_is_no_number_is_named() -> None:
    checkpoint = tiny_checkpoint()
    with torch.no_grad():
        checkpoint.model.linear.bias.fill_(float("nan"))
    with pytest.raises(InputError, match="item 0: the model's output is not a number"):
        scorer.score_items(checkpoint, _items(2))
