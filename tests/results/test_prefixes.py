"""Shared prefixes and the hits of a prefix cache: against a slow count, and on real tasks."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_commands import lct

from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.results.plan.cost import CostPlan, PlanSettings, make_plan
from long_context_tasks.results.plan.prefixes import PrefixCache, Prompts, Shared
from long_context_tasks.schema import InputError
from long_context_tasks.schema.case import CL100K
from long_context_tasks.tokens import get_tokenizer

# Texts of a tree: two first halves, two second halves, and ends that no block fills.
PROMPTS = st.lists(
    st.tuples(st.sampled_from([1, 2]), st.integers(0, 70), st.sampled_from([3, 4]), st.integers(0, 70)).map(
        lambda one: [one[0]] * one[1] + [one[2]] * one[3] or [9]
    ),
    max_size=12,
)


def shared(prompts: Sequence[Sequence[int]], cache: PrefixCache) -> Shared:
    tally = Prompts()
    for tokens in prompts:
        tally.add("t", tokens)
    return tally.shared(cache).get("t", Shared())


def alike(one: Sequence[int], other: Sequence[int]) -> int:
    return next(
        (n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )


@given(PROMPTS)
def test_unique_tokens_are_those_in_blocks_that_no_prompt_before_began_with(prompts: list[list[int]]) -> None:
    unique = hits = 0
    for place, prompt in enumerate(prompts):
        begun = max((alike(prompt, before) // 16 * 16 for before in prompts[:place]), default=0)
        unique += len(prompt) - begun
        hits += min(begun, (len(prompt) - 1) // 16 * 16)
    assert shared(prompts, PrefixCache()) == Shared(sum(map(len, prompts)), unique, hits)


def test_a_hit_has_a_least_length_and_grows_by_steps() -> None:
    openai = PrefixCache.named("openai")
    first = list(range(3000))
    for length, hit in ((1023, 0), (1024, 0), (1025, 1024), (1151, 1024), (1300, 1280), (3000, 2944)):
        assert shared([first, first[:length]], openai).cached == hit, length
    assert shared([first, [*first[:1100], *range(5000, 6000)]], openai).cached == 1024


def test_what_was_used_longest_ago_goes_first_and_the_beginning_of_a_text_last() -> None:
    a, b = [1] * 160, [2] * 160
    assert shared([a, b, a], PrefixCache()).cached == 144
    assert shared([a, b, a], PrefixCache(size=160)).cached == 0
    # Of the first text its first 10 of 20 blocks are left.
    long = list(range(320))
    assert shared([long, b, long], PrefixCache(size=320)).cached == 160
    assert shared([a, a, b, b], PrefixCache(size=160)).cached == 288


def test_longest_first_is_the_order_over_all_tasks() -> None:
    tally = Prompts()
    for task, tokens in (("x", [1] * 32), ("y", [1] * 64), ("x", [2] * 48)):
        tally.add(task, tokens)
    assert tally.shared(PrefixCache()) == {"x": Shared(80, 80, 0), "y": Shared(64, 32, 32)}
    assert tally.shared(PrefixCache(order="longest")) == {"y": Shared(64, 64, 0), "x": Shared(80, 48, 16)}


def test_prompts_that_no_cache_takes_fill_none() -> None:
    tally = Prompts()
    for _ in range(2):
        tally.add("x", [1] * 33, cacheable=False)
    tally.add("y", [1] * 33)
    assert tally.shared(PrefixCache()) == {"x": Shared(66, 34, 0), "y": Shared(33, 1, 0)}


@pytest.mark.parametrize("text", ["gpu", "8:0", "20:0", "16:", "16:-1"])
def test_a_cache_that_cannot_be_is_an_error(text: str) -> None:
    with pytest.raises(InputError, match=r"STEP:LEAST|multiple of 16"):
        PrefixCache.named(text)


def planned(names: Sequence[str], cache: PrefixCache | None, **options: str) -> CostPlan:
    tokenizer = get_tokenizer(CL100K)
    settings = PlanSettings(
        {CL100K: lambda texts: tokenizer.count_many(list(texts))}, cache=cache, encode=tokenizer.encode
    )
    return make_plan(
        names, resolve_options({f"lct_{key}": value for key, value in options.items()}, {}), settings
    )


@pytest.mark.slow
def test_questions_on_a_meeting_and_tasks_on_a_document_share_it() -> None:
    def ratio(*names: str) -> float:
        plan = planned(names, PrefixCache(), length="8k", n="8")
        assert plan.total.shared and not plan.not_planned
        # A system message is not in the count of messages' tokens twice, so the totals differ by a few.
        assert plan.total.shared.tokens == pytest.approx(plan.total.prompt_tokens[CL100K], rel=1e-3)
        return plan.total.shared.tokens / plan.total.shared.unique

    assert 7.5 < ratio("elitr_bench_qa_synthetic") < 8
    assert ratio("ethic_recall_medicine_synthetic") < 1.02
    assert 1.9 < ratio("ethic_recall_medicine_synthetic", "ethic_sections_medicine") < 2


@pytest.mark.slow
def test_the_command_prints_hits_hours_and_both_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "220")
    words = [
        "plan",
        "--tasks",
        "elitr_bench_qa_synthetic",
        "--length",
        "2k",
        "--n",
        "4",
        "--answer-tokens",
        "10",
    ]
    prices = ["--prompt-price", "2", "--completion-price", "8", "--rate-prompt", "100", "--rate-answer", "10"]
    cache = ["--prefix-cache", "vllm", "--cached-price", "1"]
    total = lct(*words, *prices, *cache, "--json").rows["total"]
    cached = total["shared"]["cached"]
    assert cached > 0.4 * total["shared"]["tokens"] and total["shared"]["unique"] < total["shared"]["tokens"]
    assert total["price"] - total["price_cached"] == pytest.approx(cached * (2 - 1) / 1e6)
    assert total["hours"] - total["hours_cached"] == pytest.approx(cached / 100 / 3600)
    shown = lct(*words, *prices, *cache).out
    assert "hours, cached" in shown and "price, cached" in shown and f"{cached:,}" in shown
    assert "shared" not in lct(*words, "--json").rows["total"]
    assert "--prefix-cache" in lct(*words, "--cache-size", "4k").err
    twice = lct(*words, "--prefix-cache", "vllm", "--repeats", "2", "--json").rows["total"]["shared"]
    assert twice["cached"] > cached + 0.98 * total["shared"]["tokens"]
