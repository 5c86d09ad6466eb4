"""Every synthetic task: its length in any tokenizer, and equal cases for any number of them."""

from dataclasses import replace
from pathlib import Path

import pytest
from other_tokenizers import other_tokenizer
from typer.testing import CliRunner

from long_context_tasks.benchmarks.catalogue import load_task, synthetic_tasks
from long_context_tasks.cli import app
from long_context_tasks.schema import InputError, LoadedTask, Options
from long_context_tasks.tokens import get_tokenizer

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_cache")]

NAMES = [spec.name for spec in synthetic_tasks()]
TASKS = pytest.mark.parametrize("name", NAMES)


def check_sizes(task: LoadedTask, tokenizer: str = "cl100k") -> None:
    """Prompts are at most two per cent below the length in a tokenizer; they are counted in cl100k, too."""
    length = task.description()["lct_length"]
    # Recalling leaves room for a prompt that names the sections of its context.
    spared = (150 if tokenizer == "cl100k" else 300) if "recall" in task.name else 0
    for case in task.cases.cases:
        later = [str(turn.question).strip() for turn in case.turns[1:]]
        texts = ["\n\n".join(message.content for message in task.messages(case)), *later]
        sizes = {name: sum(get_tokenizer(name).fresh().count_many(texts)) for name in {tokenizer, "cl100k"}}
        assert case.num_tokens["cl100k"] == sizes["cl100k"] and case.num_tokens.keys() == sizes.keys()
        # A tokenizer of bytes adds a blank before each text, and cases are counted in other pieces.
        assert abs(case.num_tokens[tokenizer] - sizes[tokenizer]) <= 1, (case.id, sizes)
        assert 0.98 * length - spared <= sizes[tokenizer] <= length, (case.id, sizes)


@TASKS
@pytest.mark.parametrize(("length", "n"), [(1000, 6), (1130, 6), (3100, 4), (8000, 2)])
def test_a_prompt_is_at_most_two_percent_below_its_length(name: str, length: int, n: int) -> None:
    task = load_task(name, Options(length=length, n=n, seed=length))
    assert len(task.cases) == n
    check_sizes(task)


@TASKS
@pytest.mark.parametrize(("kind", "lengths"), [("words", (1500, 8000)), ("bytes", (6000, 24_000))])
def test_another_tokenizer_measures_its_own_tokens(
    name: str, kind: str, lengths: tuple[int, ...], tmp_path: Path
) -> None:
    """It has fewer tokens than cl100k, or four times as many."""
    own = other_tokenizer(kind, tmp_path)
    for length in lengths:
        task = load_task(name, Options(length=length, n=2, tokenizer=own, length_policy="same_tokens"))
        check_sizes(task, own)


def texts(task: LoadedTask) -> set[str]:
    """The texts of all cases."""
    found = [
        case.inputs.get(name) for case in task.cases.cases for name in ("question", "transcript", "user")
    ]
    keys = [
        *filter(None, found),
        *(key for case in task.cases.cases for key in case.inputs.get("answers", ())),
    ]
    return {task.cases.documents[key] for key in keys}


@TASKS
def test_fewer_cases_are_the_first_of_more_and_seeds_differ(name: str) -> None:
    few, many, other = (
        load_task(name, Options(length=2000, n=n, seed=seed)) for n, seed in ((3, 1), (7, 1), (3, 2))
    )
    assert few.cases.cases == many.cases.cases[:3]
    assert {case.id for case in few.cases.cases}.isdisjoint(case.id for case in other.cases.cases)
    sent, more = ([each.messages(case) for case in each.cases.cases] for each in (few, many))
    assert sent == more[:3]
    assert not texts(many) & texts(other)


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("ada_leval_bestanswer_synthetic", "ada_leval_bestanswer_any_synthetic"),
        ("elitr_bench_conv_synthetic", "elitr_bench_conv_synthetic"),
        ("ethic_attribute_synthetic", "ethic_attribute_medicine_synthetic"),
    ],
)
def test_built_cases_are_those_that_are_written_at_first_use(family: str, name: str, tmp_path: Path) -> None:
    out = tmp_path / "cases"
    typed = ["build", family, "--length", "1k,2k", "--n", "2", "--seed", "4", "--out", str(out)]
    refused = CliRunner().invoke(app, [*typed, "--tokenizer", str(tmp_path / "none")])
    # It is reported before anything is written.
    assert refused.exit_code == 2 and "tokenizer" in refused.output and not out.exists()
    own = other_tokenizer("words", tmp_path / "own")
    result = CliRunner().invoke(app, [*typed, "--tokenizer", own])
    assert result.exit_code == 0, result.output
    with pytest.raises(InputError, match=r"lct_length"):
        load_task(name, Options(cases=out))
    built = load_task(name, Options(cases=out, length=2000))
    written = load_task(name, Options(length=2000, n=2, seed=4))
    assert built.description()["lct_seed"] == 4 and len(built.cases) == 2
    # A tokenizer that only counts changes no case.
    for one, other in zip(built.cases.cases, written.cases.cases, strict=True):
        assert one.num_tokens.keys() == {"cl100k", own} and built.messages(one) == written.messages(other)
        assert replace(one, num_tokens=other.num_tokens) == other
    with pytest.raises(InputError, match="lct_seed=5"):
        load_task(name, Options(cases=out, length=2000, seed=5))
