"""The models that ``lct annotate`` asks: for missing rationales, for candidate answers, and as judges beside people.

A model is named by a file as for judges, and asked by the judges' client: what it answered once is not asked again.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from long_context_tasks.cli.tables import say

if TYPE_CHECKING:
    from long_context_tasks.annotation import Question, Study
    from long_context_tasks.judges.ask import Asked, Prompt


def ask_model(
    file: Path, prompts: "Callable[[str], list[Prompt]]", usable: "Callable[[str], bool] | None" = None
) -> "tuple[str, Asked]":
    """Ask the model of a file.

    Args:
        file: as for judges.
        prompts: makes the prompts from the model's name; none are no call.
        usable: whether an answer can be used; by default, whether it says anything.

    Returns:
        The model's name, and its answers in the order of the prompts.

    Raises:
        InputError: the file names no model, the model cannot be reached or loaded, or ``prompts`` raises it.
    """
    from long_context_tasks.judges import Store, check_judge, default_store_path, load_judge
    from long_context_tasks.judges.ask import ask_all, local_model, says_something
    from long_context_tasks.schema import InputError

    if (config := load_judge(file)) is None:
        raise InputError(f"{file}: names no model")
    ready = prompts(config.name)
    generate = local_model(config)
    if ready:
        check_judge(config)
    store = Store(default_store_path(config))
    return config.name, ask_all(ready, config, store, generate, usable=usable or says_something)


def _texts(name: str, asked: "Asked", questions: "Sequence[Question]") -> "list[tuple[Question, str]]":
    """Answers that can be used; says why the first of the others cannot."""
    found, problems = [], []
    for question, answer in zip(questions, asked.answers, strict=True):
        if answer.text is None:
            problems.append(f"question {question.id}: {answer.error or 'no text came'}")
        elif answer.cut:  # not what the model had to say
            problems.append(f"question {question.id}: the text was cut; raise max_tokens in the model's file")
        else:
            found.append((question, answer.text))
    if problems:
        typer.echo(f"{name}: {len(problems)} without a text; first: {problems[0]}", err=True)
    return found


def write_rationales(study: "Study", file: Path, prompts: str) -> int:
    """Let a model write the rationales that a study lacks.

    Args:
        study: is changed.
        file: the model's.
        prompts: a key of :data:`long_context_tasks.annotation.prepare.PROMPTS`.

    Returns:
        How many are missing still.

    Raises:
        InputError: as :func:`ask_model`, or a question has no document.
    """
    from long_context_tasks.annotation import set_rationales
    from long_context_tasks.annotation.prepare import rationale_prompt, without_rationale

    waiting = without_rationale(study)
    name, asked = ask_model(file, lambda _: [rationale_prompt(study, one, prompts) for one in waiting])
    done = set_rationales(study, _texts(name, asked, waiting))
    say(f"{name}: {done} rationales of {len(waiting)}; {asked.summary}")
    return len(waiting) - done


def write_candidates(study: "Study", file: Path) -> int:
    """Let a model answer the questions to whose newest version it has no answer in a study.

    Args:
        study: is changed.
        file: the model's.

    Returns:
        How many answers are missing still.

    Raises:
        InputError: as :func:`ask_model`, or a question has no document.
    """
    from long_context_tasks.annotation import add_answers
    from long_context_tasks.annotation.prepare import candidate_prompt, without_candidate

    waiting: list[Question] = []

    def prompts(name: str) -> "list[Prompt]":
        waiting.extend(without_candidate(study, name))
        return [candidate_prompt(study, one) for one in waiting]

    name, asked = ask_model(file, prompts)
    done = add_answers(study, name, _texts(name, asked, waiting))
    say(f"{name}: {done} answers of {len(waiting)}; {asked.summary}")
    return len(waiting) - done
