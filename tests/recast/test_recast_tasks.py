"""Recast tasks on tiny carriers: length, gold from the text, and new names for each seed."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tiny_carriers import PEOPLE, PLACES, write_carriers

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import ANY, load_task
from long_context_tasks.benchmarks.ethic.synthetic.organize import _sentences, organize
from long_context_tasks.schema import InputError, LoadedTask, Options

TASKS = [spec.name for spec in catalogue.task_specs() if spec.source == "recast" and spec.length in ("", ANY)]


@pytest.fixture(scope="module")
def carriers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_carriers(tmp_path_factory.mktemp("carriers"))


pytestmark = pytest.mark.usefixtures("own_cache")


def _load(task: str, carriers: Path, seed: int = 0, length: int = 2000, n: int = 4) -> LoadedTask:
    return load_task(
        task,
        {"lct_carriers": str(carriers), "lct_length": str(length), "lct_n": str(n), "lct_seed": str(seed)},
    )


def _prompts(task: LoadedTask) -> list[str]:
    return [task.messages(case)[-1].content for case in task.cases.cases] if not task.by_likelihood else []


def _context(prompt: str) -> str:
    return prompt.partition("### Context:\n")[2].partition("\n\nNow, respond")[0]


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_a_task_fits_its_length_and_shows_no_name_of_the_carrier(task: str, carriers: Path) -> None:
    loaded = _load(task, carriers)
    assert len(loaded.cases) == 4 and loaded.description()["lct_carriers"] == str(carriers)
    assert all(1960 <= case.num_tokens["cl100k"] <= 2000 for case in loaded.cases.cases)
    names = {word for name in (*PEOPLE, *PLACES) for word in name.split()}
    for prompt in _prompts(loaded):
        assert not names & set(re.findall(r"\w+", prompt))
    assert _prompts(_load(task, carriers)) == _prompts(loaded)
    other = _load(task, carriers, seed=1)
    assert loaded.by_likelihood or not set(_prompts(other)) & set(_prompts(loaded))


@pytest.mark.parametrize("domain", ["books", "debates"])
def test_options_are_sentences_removed_from_the_context(domain: str, carriers: Path) -> None:
    loaded = _load(f"ethic_organize_{domain}_recast", carriers)
    for case, prompt in zip(loaded.cases.cases, _prompts(loaded), strict=True):
        options = re.findall(r"^\[\d+\] (.*)$", prompt, re.MULTILINE)
        assert len(options) == len(set(options)) == len(case.turns[0].gold) >= 3
        assert not any(option in _context(prompt) for option in options)
        assert "sentences that were taken out" in prompt and "summarize" not in prompt


def test_no_option_begins_after_a_title_or_with_a_speaker() -> None:
    said = "Hon. Anne Bell asked for the report of the whole committee. “Where is it, then?” Mr. Cole said to the house in a loud voice. So the debate went on until late at night."
    assert _sentences(said) == [
        "Hon. Anne Bell asked for the report of the whole committee.",
        "So the debate went on until late at night.",
    ]


def test_a_document_after_one_with_too_few_sentences_has_fewer_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(organize.__globals__, "_in_parts", lambda maker, document, number, room: number)

    def parts(length: int, attempt: int) -> Any:
        tuned = lambda room, make: make(room)  # noqa: E731
        return organize(SimpleNamespace(length=length, attempt=attempt, document=list, tuned=tuned))  # type: ignore[arg-type]

    assert [parts(128_000, attempt) for attempt in (0, 1, 4, 40)] == [200, 160, 100, 18]
    assert parts(2000, 0) == parts(2000, 40) == 6


def test_without_carriers_the_remedies_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lct data fetch carriers"):
        load_task("ethic_organize_books_recast", Options(data_dir=tmp_path, length=2000))


def test_a_length_that_the_carriers_do_not_have_is_said(carriers: Path) -> None:
    with pytest.raises(InputError, match="add files, or use a shorter length"):
        _load("ethic_organize_books_recast", carriers, length=400_000, n=1)
