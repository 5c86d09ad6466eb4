"""Options: one spelling everywhere, the first given wins, nothing unknown passes."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.benchmarks.ada_leval.options import AdaLevalOptions
from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.schema import InputError, Options, format_length, options, parse_length


@given(st.integers(min_value=1, max_value=10**9))
def test_a_length_survives_its_name(tokens: int) -> None:
    assert parse_length(format_length(tokens)) == tokens


@pytest.mark.parametrize("bad", ["", "0", "-1k", "2kk", "k", "1.5k", "٣k", None, "2 k", "9" * 5000])
def test_what_is_no_length_is_refused(bad: object) -> None:
    with pytest.raises(InputError, match="length"):
        parse_length(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "environ", "length", "seed"),
    [
        ({"lct_length": "8k", "pretrained": "x"}, {"LCT_LENGTH": "2k", "LCT_SEED": "5"}, 8000, 5),
        ({"lct_seed": 0, "lct_length": None}, {"LCT_SEED": "5", "LCT_LENGTH": "1m"}, 1_000_000, 0),
    ],
)
def test_given_wins_over_the_environment(
    given: dict[str, Any], environ: dict[str, str], length: int, seed: int
) -> None:
    options = resolve_options(given, environ)
    assert (options.length, options.seed) == (length, seed)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lct_lenght": "8k"}, "unknown option lct_lenght; did you mean lct_length"),
        ({"lct_n": 0}, "lct_n must be above 0"),
        ({"lct_n": "many"}, "lct_n must be a whole number"),
        ({"lct_subset": 100}, "lct_subset must be 1000, 200 or 50"),
        ({"lct_length_policy": "same"}, "lct_length_policy must be 'same_information' or 'same_tokens'"),
        ({"lct_seed": "x"}, "lct_seed must be a whole number"),
        ({"lct_window": "-3"}, "lct_window '-3' is not a length: write it like 2k"),
        ({"lct_cut_keep": "mid"}, "lct_cut_keep must be 'front' or 'rear'"),
        ({"lct_question_markers": "maybe"}, "lct_question_markers must be true or false"),
        ({"lct_length_policy": "same_tokens"}, "give lct_tokenizer"),
    ],
)
def test_what_does_not_fit_names_its_option(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        resolve_options(given, {})


def test_true_is_no_number_of_a_benchmark_s_own_option() -> None:
    @dataclass(frozen=True)
    class Own(Options):
        distractors: int | None = None
        shown: bool = False

    for value in (True, False):
        with pytest.raises(InputError, match=f"lct_distractors must be a number, not {str(value).lower()}"):
            options.resolve_options({"lct_distractors": value}, {}, Own)
    assert options.resolve_options({"lct_distractors": 2, "lct_shown": True}, {}, Own).shown


def test_resolved_options_come_back_equal() -> None:
    given_options = {
        "lct_cases": "x/y",
        "lct_length": "4k",
        "lct_n": "7",
        "lct_window": 8192,
        "lct_subset": "50",
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
    expected = Options(
        cases=Path("cases").absolute(), seed=3, length_policy="same_tokens", tokenizer="m/odel", n=2
    )
    assert Options.of(options) == expected
    # A second process gets the resolved options as given ones.
    assert resolve_options(options.resolved(), {}).as_built(BUILT, FOLDER) == options
    # A record without a key leaves the option.
    own = Options(seed=4, tokenizer="t")
    assert own.as_built({}, FOLDER) == own
    assert own.as_built({"tokenizer": None, "length_policy": "same_information"}, FOLDER) == own


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


def test_another_tokenizer_may_count_same_information_cases_and_another_path_may_name_it() -> None:
    built = {"seed": 0, "length_policy": "same_information", "tokenizer": "m/odel"}
    assert Options(tokenizer="other").as_built(built, FOLDER).tokenizer == "other"
    assert Options().as_built(built, FOLDER).tokenizer == "m/odel"
    options = Options(tokenizer="/copy").as_built(BUILT, FOLDER, lambda one, other: True)
    assert options.tokenizer == "/copy"
