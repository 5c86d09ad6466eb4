"""Options: one spelling everywhere, the first given wins, nothing unknown passes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.benchmarks.ada_leval import AdaLevalOptions
from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.schema import InputError, Options, format_length, parse_length


@given(st.integers(min_value=1, max_value=10**9))
def test_a_length_survives_its_name(tokens: int) -> None:
    assert parse_length(format_length(tokens)) == tokens


@pytest.mark.parametrize("bad", ["", "0", "-1k", "2kk", "k", "1.5k", "٣k", None, "2 k"])
def test_what_is_no_length_is_refused(bad: object) -> None:
    with pytest.raises(InputError, match="length"):
        parse_length(bad)  # type: ignore[arg-type]


def test_given_wins_over_the_environment() -> None:
    options = resolve_options({"lct_length": "8k", "pretrained": "x"}, {"LCT_LENGTH": "2k", "LCT_SEED": "5"})
    assert (options.length, options.seed) == (8000, 5)


def test_a_given_seed_of_zero_wins() -> None:
    assert resolve_options({"lct_seed": 0}, {"LCT_SEED": "5"}).seed == 0


def test_an_unknown_option_is_an_error_with_a_hint() -> None:
    with pytest.raises(InputError, match="lct_lenght; did you mean lct_length"):
        resolve_options({"lct_lenght": "8k"}, {})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("n", 0),
        ("n", "many"),
        ("subset", 100),
        ("length_policy", "same"),
        ("seed", "x"),
        ("window", "-3"),
        ("cut_keep", "mid"),
    ],
)
def test_a_bad_value_names_its_option(key: str, value: object) -> None:
    with pytest.raises(InputError, match=f"lct_{key}|length"):
        resolve_options({f"lct_{key}": value}, {})


def test_same_tokens_needs_a_tokenizer() -> None:
    with pytest.raises(InputError, match="lct_tokenizer"):
        resolve_options({"lct_length_policy": "same_tokens"}, {})


def test_resolved_options_come_back_equal() -> None:
    given_options = {
        "lct_cases": "x/y",
        "lct_length": "4k",
        "lct_n": "7",
        "lct_window": 8192,
        "lct_subset": 50,
    }
    options = resolve_options(given_options, {})
    assert resolve_options(options.resolved(), {}) == options
    assert set(options.resolved()) <= {f"lct_{name}" for name in type(options).names()}


def test_a_benchmark_takes_the_options_that_it_has() -> None:
    every = resolve_options({"lct_cut_keep": "rear", "lct_prompt_style": "raw", "lct_n": 3}, {})
    mine = AdaLevalOptions.of(every)
    assert (mine.cut_keep, mine.n, mine.given) == ("rear", 3, {"cut_keep", "n"})
    assert "lct_prompt_style" not in mine.resolved()
    assert Options.of(mine) == Options(n=3) and AdaLevalOptions.of(mine) is mine


def test_what_is_given_is_told_from_defaults() -> None:
    options = resolve_options({"lct_seed": 0}, {"LCT_LENGTH_POLICY": "same_information"})
    assert Options.of(options) == Options() and options.given == {"seed", "length_policy"}
    assert Options().given == resolve_options({}, {}).given == frozenset()
    assert Options(seed=4).given == {"seed"}
    assert replace(options, n=3).given == {"seed", "length_policy", "n"}


BUILT = {"seed": 3, "length_policy": "same_tokens", "tokenizer": "m/odel", "lengths": [2000]}
FOLDER = Path("cases/x")


def test_what_cases_were_built_with_stands_for_what_is_not_given() -> None:
    options = resolve_options({"lct_cases": "cases", "lct_n": 2}, {}).as_built(BUILT, FOLDER)
    assert (options.seed, options.length_policy, options.tokenizer, options.n) == (
        3,
        "same_tokens",
        "m/odel",
        2,
    )
    # A second process gets the resolved options as given ones.
    again = resolve_options(options.resolved(), {}).as_built(BUILT, FOLDER)
    assert again == options


def test_a_record_without_a_key_leaves_the_option() -> None:
    options = Options(seed=4, tokenizer="t")
    assert options.as_built({}, FOLDER) == options
    assert options.as_built({"tokenizer": None, "length_policy": "same_information"}, FOLDER) == options


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"lct_seed": 5}, ["seed 3", "lct_seed=5", "LCT_SEED", "--seed 5"]),
        ({"lct_seed": 0}, ["seed 3", "lct_seed=0"]),
        (
            {"lct_length_policy": "same_information"},
            ["length policy same_tokens", "lct_length_policy=same_information"],
        ),
        ({"lct_tokenizer": "other"}, ["tokenizer m/odel", "lct_tokenizer=other"]),
        ({"lct_tokenizer": "other", "lct_seed": 5}, ["seed 3, tokenizer m/odel", "--tokenizer other"]),
    ],
)
def test_what_contradicts_the_cases_is_one_error(options: dict[str, Any], named: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        resolve_options({"lct_cases": "cases", **options}, {}).as_built(BUILT, FOLDER)
    assert all(piece in str(caught.value) for piece in [str(FOLDER), *named])


def test_same_tokens_may_not_be_asked_of_same_information_cases() -> None:
    built = {"seed": 0, "length_policy": "same_information", "tokenizer": None}
    for given_options in ({}, {"lct_tokenizer": "x"}):
        options = resolve_options({"lct_cases": "c", "lct_length_policy": "same_tokens", **given_options}, {})
        with pytest.raises(InputError, match="built with length policy same_information"):
            options.as_built(built, FOLDER)


def test_another_tokenizer_may_count_same_information_cases() -> None:
    built = {"seed": 0, "length_policy": "same_information", "tokenizer": "m/odel"}
    assert Options(tokenizer="other").as_built(built, FOLDER).tokenizer == "other"
    assert Options().as_built(built, FOLDER).tokenizer == "m/odel"


def test_another_path_of_the_same_tokenizer_is_no_contradiction() -> None:
    options = Options(tokenizer="/copy").as_built(BUILT, FOLDER, lambda one, other: True)
    assert options.tokenizer == "/copy"
