"""Options: one spelling everywhere, the first given wins, nothing unknown passes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.schema import InputError, format_length, parse_length, resolve_options
from long_context_tasks.schema.options import OPTION_NAMES


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
    assert set(options.resolved()) <= {f"lct_{name}" for name in OPTION_NAMES}
