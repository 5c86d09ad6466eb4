"""Shared prefixes and the hits of a prefix cache: against a slow count, and on real tasks."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_commands import lct

from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.results.plan.cost import CostPlan, PlanSettings, TaskPlan, make_plan
from long_context_tasks.results.plan.prefixes import Prompts, Shared
from long_context_tasks.results.plan.prices import PrefixCache, PriceTable, Rate
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


TABLE = PriceTable.read()


def shared(prompts: Sequence[Sequence[int]], cache: PrefixCache) -> Shared:
    """What prompts of one part share; tokens billed as written are another test's."""
    tally = Prompts()
    for tokens in prompts:
        tally.add("t", [tokens])
    return replace(tally.shared(cache).get("t", Shared()), written=0)


def asked(texts: int, text: int, questions: int, question: int, marks: bool, answer: int = 0) -> Prompts:
    """Prompts of some texts, each with some questions of its own, all without a token in common."""
    tally = Prompts()
    for number in range(texts * questions):
        parts = [range(-1, -text - 1, -1), range(number * question, (number + 1) * question)]
        tally.add("t", parts, marked=int(marks), answer=answer)
    return tally


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
    openai = TABLE.cache("openai-earlier")
    first = list(range(3000))
    for length, hit in ((1023, 0), (1024, 0), (1025, 1024), (1151, 1024), (1300, 1280), (3000, 2944)):
        assert shared([first, first[:length]], openai).cached == hit, length
    assert shared([first, [*first[:1100], *range(5000, 6000)]], openai).cached == 1024


@pytest.mark.parametrize(
    ("model", "marks", "written", "cached", "price"),
    [
        # By hand from the published lists: 8 questions of 100 tokens on a text of 10,000, answers of 50 tokens.
        # GPT-6.2 Sol, a million tokens: prompts $2, written $2.50, read $.10, answers $10. OpenAI writes whole prompts.
        ("gpt-6.2-sol", True, 10_000 + 8 * 100, 7 * 10_000, 10_800 * 2.5 + 70_000 * 0.1 + 400 * 10),
        ("gpt-6.2-sol", False, 80_800, 0, 80_800 * 2.5 + 400 * 10),
        # Claude Opus 5: prompts $5, written $6.25, read $.50, answers $25. Only the text is written.
        ("claude-opus-5", True, 10_000, 7 * 10_000, 10_000 * 6.25 + 70_000 * 0.5 + 800 * 5 + 400 * 25),
        ("claude-opus-5", False, 0, 0, 80_800 * 5 + 400 * 25),
        # GPT-4o: prompts $2.50, read $1.25, answers $10; hits of 9,984 tokens, a multiple of 128.
        ("gpt-4o-2024-08-06", False, 0, 7 * 9_984, (80_800 - 69_888) * 2.5 + 69_888 * 1.25 + 400 * 10),
    ],
)
def test_prices_are_those_of_the_published_lists(
    model: str, marks: bool, written: int, cached: int, price: float
) -> None:
    rule, known = TABLE.cache(model), TABLE.models.get(model)
    assert known is not None
    found = asked(1, 10_000, 8, 100, marks).shared(rule)["t"]
    assert found.cached == cached and (found.written == written or rule.write == 1)
    plan = TaskPlan("t", prompt_tokens={CL100K: 80_800}, answer_tokens=400, shared=found)
    assert plan.price(known, CL100K, rule) == pytest.approx(price / 1e6)


@pytest.mark.parametrize(
    ("model", "text", "price"),
    [
        # By hand: two questions of 100 tokens on a text of 300,000 with a mark, answers of 50 tokens. Long prompts of GPT-6.2
        # Sol cost $4 (written $5, read $.20), their answers $15; of Gemini 2.5 Pro $2.50 (read $.25) and $15.
        ("gpt-6.2-sol", 300_000, 300_200 * 5 + 300_000 * 0.2 + 100 * 15),
        ("gpt-6.2-sol", 271_900, 272_100 * 2.5 + 271_900 * 0.1 + 100 * 10),
        ("gemini-2.5-pro", 300_000, (600_200 - 300_000) * 2.5 + 300_000 * 0.25 + 100 * 15),
    ],
)
def test_long_prompts_cost_more(model: str, text: int, price: float) -> None:
    rule, known = TABLE.cache(model), TABLE.models[model]
    found = asked(1, text, 2, 100, True).shared(rule)["t"]
    sent = 2 * (text + 100)
    assert known.above is not None
    long = sent if text + 100 > known.above else 0
    plan = TaskPlan(
        "t",
        prompt_tokens={CL100K: sent},
        answer_tokens=100,
        long_tokens=long,
        long_answer_tokens=100 if long else 0,
        shared=found,
    )
    assert plan.price(known, CL100K, rule) == pytest.approx(price / 1e6, rel=1e-4)


def test_marks_below_the_least_length_change_nothing() -> None:
    for name, text, found in (("anthropic", 1_023, 0), ("anthropic", 1_024, 1_024), ("openai", 1_000, 0)):
        counted = asked(1, text, 2, 100, True).shared(TABLE.cache(name))["t"]
        assert counted.cached == found, name
        # OpenAI bills the prompt, long enough as a whole, as written; Anthropic nothing below its least length.
        assert counted.written == (2 * (text + 100) if name == "openai" else found)


def test_an_entry_expires_after_its_last_use_and_kept_tokens_cost_storage() -> None:
    prompts = asked(1, 5_000, 4, 100, True, answer=60)
    rule = TABLE.cache("anthropic")
    slow, fast = (prompts.shared(rule, rate=Rate(1e9, rate))["t"].cached for rate in (0.19, 0.21))
    assert (slow, fast) == (0, 15_000)  # an answer takes 316 s, or 286 s; five minutes are 300 s
    explicit, known = TABLE.cache("google-explicit"), TABLE.models.get("gemini-2.5-pro")
    found = prompts.shared(explicit)["t"]
    plan = TaskPlan("t", prompt_tokens={CL100K: 20_400}, shared=found)
    by_hand = 5_400 * 1.25 + 15_000 * 0.125 + 5_000 * 4.5  # prompts, read, an hour of storage
    assert known is not None and plan.price(known, CL100K, explicit) == pytest.approx(by_hand / 1e6)


def test_a_hybrid_model_is_found_only_at_the_ends_of_chunks_and_prompts() -> None:
    """A state after the last whole block is of no use if that block holds a part of the question."""
    hybrid = TABLE.cache("hybrid")
    for text, found in ((500, 0), (1_000, 0), (1_060, 1_056), (1_584, 1_584)):
        cached = asked(1, text, 2, 100, False).shared(hybrid)["t"].cached
        assert cached == found, text  # 500 is below a block; 1,000 + 100 tokens end their last block at 1,056
    long = asked(1, 20_000, 2, 300, False)
    last = 20_000 // 528 * 528
    # 20,300 tokens end at 20,064, after the text, so only the chunks of 8,192 tokens are left.
    assert last < 20_000 < 20_300 // 528 * 528
    assert long.shared(hybrid)["t"].cached == 2 * 8_192 // 528 * 528
    assert long.shared(hybrid.model_copy(update={"chunk": 0}))["t"].cached == 0
    assert long.shared(TABLE.cache("hybrid:7808"))["t"].cached == 2 * 7_808
    assert long.shared(PrefixCache(step=528))["t"].cached == last  # with states after every block


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
        tally.add(task, [tokens])
    assert tally.shared(PrefixCache()) == {"x": Shared(80, 80, 0, 80), "y": Shared(64, 32, 32, 32)}
    longest = tally.shared(PrefixCache(), "longest")
    assert longest == {"y": Shared(64, 64, 0, 64), "x": Shared(80, 48, 16, 64)}


def test_prompts_that_no_cache_takes_fill_none() -> None:
    tally = Prompts()
    for _ in range(2):
        tally.add("x", [[1] * 33], cacheable=False)
    tally.add("y", [[1] * 33])
    assert tally.shared(PrefixCache()) == {"x": Shared(66, 34, 0), "y": Shared(33, 1, 0, 33)}


@pytest.mark.parametrize("text", ["gpu", "8:0", "20:0", "16:", "16:-1", "hybrid:20"])
def test_a_cache_that_cannot_be_is_an_error(text: str) -> None:
    with pytest.raises(InputError, match=r"STEP:LEAST|multiple of 16|at least 16"):
        TABLE.cache(text)


def test_every_entry_of_the_table_has_its_source_and_models_have_caches() -> None:
    assert all(
        entry.source.startswith("https://") for entry in (*TABLE.caches.values(), *TABLE.models.values())
    )
    assert {model.cache for model in TABLE.models.values()} <= set(TABLE.caches)


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
def test_the_command_prints_hits_hours_and_both_prices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    own = tmp_path / "prices.yaml"
    own.write_text("date: 2031-02-03\nmodels: {}\ncaches: {mine: {read: 0.5, source: here}}\n")
    cache = ["--prefix-cache", "mine", "--prices", str(own)]
    total = lct(*words, *prices, *cache, "--json").rows["total"]
    cached = total["shared"]["cached"]
    assert cached > 0.4 * total["shared"]["tokens"] and total["shared"]["unique"] < total["shared"]["tokens"]
    assert total["price"] - total["price_cached"] == pytest.approx(cached * (2 - 1) / 1e6)
    assert total["hours"] - total["hours_cached"] == pytest.approx(cached / 100 / 3600)
    shown = lct(*words, *prices, *cache).out
    assert "hours, cached" in shown and "price, cached" in shown and f"{cached:,}" in shown
    assert f"{own} of 2031-02-03 (here)" in shown
    model = lct(*words, "--model", "gpt-6.2-sol", "--prefix-cache", "openai")
    assert f"packaged table of {TABLE.date} (https://developers.openai.com/" in model.out
    assert "--split-messages" in model.out
    own.write_text("date: 2031-02-03\nmodels: {}\ncaches: {mine: {reed: 1}}\n")
    assert "did you mean read" in lct(*words, *cache).err
    assert "shared" not in lct(*words, "--json").rows["total"]
    assert "--prefix-cache" in lct(*words, "--cache-size", "4k").err
    twice = lct(*words, "--prefix-cache", "vllm", "--repeats", "2", "--json").rows["total"]["shared"]
    assert twice["cached"] > cached + 0.98 * total["shared"]["tokens"]
