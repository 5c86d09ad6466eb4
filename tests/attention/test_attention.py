"""ReRoPE, Leaky ReRoPE and InfLLM on tiny random models, held against rotary attention and against the definition."""

import math
from typing import Any

import pytest
from lazy_modules import Lazy, torch, transformers

from long_context_tasks.schema import InputError

infllm = Lazy("long_context_tasks.attention.infllm")
models = Lazy("long_context_tasks.attention.models")
rectified = Lazy("long_context_tasks.attention.rectified")
pytestmark = pytest.mark.slow
SMALL = {"n_init": 2, "n_local": 8, "block_size": 4, "repr_topk": 2, "exc_block_size": 8}


def tiny(kind: str = "Llama", **more: Any) -> Any:
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=50,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        initializer_range=0.5,  # so large that attention is not nearly even
        **more,
    )
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return transformers.AutoModelForCausalLM.from_config(config).eval()


def text(length: int, seed: int = 0) -> Any:
    return torch.randint(3, 50, (1, length), generator=torch.Generator().manual_seed(seed))


def logits(model: Any, tokens: Any, **more: Any) -> Any:
    with torch.no_grad():
        return model(tokens, **more).logits


def changed(name: str, kind: str = "Llama", **settings: Any) -> Any:
    model = tiny(kind)
    models.use_attention(model, name, settings)
    return model


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Llama", "Qwen2", "Qwen3", "Mistral"])
@pytest.mark.parametrize("name", ["rerope", "leaky_rerope", "infllm"])
def test_inside_the_window_it_is_the_models_own_attention(kind: str, name: str) -> None:
    more = {"sliding_window": None} if kind == "Mistral" else {}
    model, tokens = tiny(kind, **more), text(40)
    before = logits(model, tokens)
    settings = {"n_local": 64, "exc_block_size": 16} if name == "infllm" else {"window": 64}
    models.use_attention(model, name, settings)
    assert torch.allclose(logits(model, tokens), before, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rerope", "leaky_rerope", "infllm"])
def test_beyond_the_window_it_is_another(name: str) -> None:
    tokens = text(40)
    settings = {**SMALL, "topk": 1} if name == "infllm" else {"window": 8}
    model = changed(name, **settings)
    own = logits(tiny(), tokens)
    assert torch.allclose(logits(model, tokens)[:, :8], own[:, :8], atol=1e-4)
    assert not torch.allclose(logits(model, tokens)[:, 20:], own[:, 20:], atol=1e-2)


@pytest.mark.parametrize("slope", [0.0, 1 / 4])
def test_scores_have_the_relative_positions_of_the_reference(slope: float) -> None:
    """min(i - j, w) for ReRoPE, w + (i - j - w) / k for Leaky ReRoPE: read off the phase of each score."""
    window, length = 5, 30

    class OneAngle:
        def __call__(self, states: Any, at: Any) -> Any:
            return torch.cos(0.1 * at)[..., None].expand(-1, -1, 2), torch.sin(0.1 * at)[..., None].expand(
                -1, -1, 2
            )

    ones = torch.tensor([1.0, 0.0]).expand(1, 1, length, 2)
    places = torch.arange(length)
    scores, distance = rectified.rectified_scores(
        ones[:, :, 20:],
        ones,
        (places[20:], places),
        rectified.Rotary(OneAngle()),
        rectified.Positions(window, slope),
    )
    expected = torch.where(distance < window, distance.float(), window + slope * (distance.float() - window))
    seen = distance >= 0
    assert torch.allclose(torch.acos(scores[0, 0].clamp(-1, 1))[seen], 0.1 * expected[seen], atol=1e-3)


def test_queries_far_in_the_text_are_scaled_as_in_the_reference() -> None:
    model, tokens = tiny(), text(40)
    own = logits(model, tokens)
    models.use_attention(model, "rerope", {"window": 64, "training_length": 10})
    grown = logits(model, tokens)
    assert torch.allclose(grown[:, :10], own[:, :10], atol=1e-4)
    assert not torch.allclose(grown[:, 30:], own[:, 30:], atol=1e-2)
    # With all queries of one layer scaled by hand the same comes out.
    by_hand, factor = tiny(), math.log(40) / math.log(10)
    by_hand.model.layers = by_hand.model.layers[:1]
    model.model.layers = model.model.layers[:1]
    by_hand.model.layers[0].self_attn.scaling *= factor
    assert torch.allclose(logits(by_hand, tokens)[:, -1], logits(model, tokens)[:, -1], atol=1e-3)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("rerope", {"window": 8}),
        ("leaky_rerope", {"window": 8, "factor": 3}),
        ("infllm", {**SMALL, "topk": 50}),
    ],
)
def test_reading_with_a_cache_is_reading_at_once(name: str, settings: dict[str, int]) -> None:
    model, tokens = changed(name, **settings), text(40)
    at_once = logits(model, tokens)
    with torch.no_grad():
        first = model(tokens[:, :30], use_cache=True)
        cache, parts = first.past_key_values, [first.logits]
        parts += [
            model(tokens[:, n : n + 1], past_key_values=cache, use_cache=True).logits for n in range(30, 40)
        ]
    assert torch.allclose(torch.cat(parts, dim=1), at_once, atol=1e-4)
    made = model.generate(tokens, max_new_tokens=5, do_sample=False, min_new_tokens=5, pad_token_id=0)
    again = tokens
    for _ in range(5):
        again = torch.cat([again, logits(model, again)[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(made, again)


def test_padding_changes_nothing() -> None:
    model = changed("rerope", window=8, training_length=10)
    short, long = text(20, 1), text(30, 2)
    padded = torch.cat([torch.cat([torch.zeros(1, 10, dtype=torch.long), short], dim=1), long])
    mask = torch.ones_like(padded)
    mask[0, :10] = 0
    both = logits(model, padded, attention_mask=mask)
    assert torch.allclose(both[0, 10:], logits(model, short)[0], atol=1e-4)
    assert torch.allclose(both[1], logits(model, long)[0], atol=1e-4)


def test_infllm_with_a_memory_that_holds_all_is_attention_to_all() -> None:
    """Whatever lies beyond the local window has the window as its relative position, and nothing is left out."""
    tokens = text(60)
    everything = logits(changed("infllm", **SMALL, topk=50), tokens)
    rectified = logits(changed("rerope", window=8, training_length=10**9), tokens)
    assert torch.allclose(everything, rectified, atol=1e-4)
    assert not torch.allclose(logits(changed("infllm", **SMALL, topk=1), tokens), rectified, atol=1e-2)


def test_infllm_finds_the_block_that_fits() -> None:
    class NoAngle:
        def __call__(self, states: Any, at: Any) -> Any:
            return torch.ones(1, at.shape[1], 4), torch.zeros(1, at.shape[1], 4)

    # The block of places 26 to 29, of which two are alike to all queries and so get attention: they represent it.
    length, alike = 64, [27, 28]
    key = torch.randn(1, 1, length, 4, generator=torch.Generator().manual_seed(0)) * 0.1
    key[0, 0, alike, 0] = 5.0
    key[0, 0, [26, 29], 0] = -5.0
    value = torch.zeros(1, 1, length, 4)
    value[0, 0, alike, 1] = 1.0
    query = torch.zeros(1, 2, length, 4)
    query[..., 0] = 5.0
    attention = infllm.InfLLM(rectified.Rotary(NoAngle()), infllm.InfLLMSettings(**SMALL, topk=1))
    found = attention(query, key, value, None, 1.0)
    assert found[0, :, -1, 1].min() > 0.99
    value[0, 0, alike, 1] = 0.0
    assert attention(query, key, value, None, 1.0)[0, :, -1, 1].max() < 0.01


def test_what_does_not_fit_is_refused() -> None:
    model = changed("infllm", **SMALL)
    with pytest.raises(InputError, match="batch size 1"):
        logits(model, text(20).repeat(2, 1))
    with pytest.raises(InputError, match=r"has infllm_.* already"):
        models.use_attention(model, "rerope", {})
    first = model(text(20)).past_key_values
    logits(model, text(30))
    with pytest.raises(InputError, match="one after the other"):
        model(text(1), past_key_values=first)
    for name, settings, message in (
        ("alibi", {}, "take one of rerope, leaky_rerope, infllm"),
        ("rerope", {"factor": 2}, "its settings are window, training_length"),
        ("rerope", {"window": "much"}, "whole number of 1 or more"),
        ("infllm", {"n_local": 4}, "exc_block_size=512 is more than n_local=4"),
        ("infllm", {"repr_topk": 500}, "more than block_size"),
    ):
        with pytest.raises(InputError, match=message):
            models.use_attention(tiny(), name, settings)
    with pytest.raises(InputError, match="Llama-type models only"):
        models.use_attention(tiny("Phi3", pad_token_id=0), "rerope", {})
    with pytest.raises(InputError, match="sliding window"):
        models.use_attention(tiny("Mistral", sliding_window=16), "rerope", {})


def test_a_name_tells_settings_apart() -> None:
    names = [
        models.describe(name, models.attention_settings(name, given))
        for name, given in (
            ("rerope", {}),
            ("rerope", {"window": 64}),
            ("infllm", {}),
            ("infllm", {"topk": 2}),
        )
    ]
    assert names == ["rerope_window512", "rerope_window64", "infllm", "infllm_topk2"]
