"""Stage 1: let models write rationales and candidate answers for the questions that still need them."""

import importlib.resources
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from long_context_tasks.annotation.records import Question
from long_context_tasks.annotation.study import Study, add_answers, set_rationales
from long_context_tasks.judges import JudgeConfig, Store, Summary, check_judge, default_store_path
from long_context_tasks.judges.run import Asked, Prompt, ask_all
from long_context_tasks.schema import InputError, Message

PROMPTS = {"text": "rationale_text", "paper": "fig6_rationale"}
"""Prompts for rationales: for a document of text, and in the paper's words, which speak of audio."""
_AUDIO = "audio file URI via Gemini Files API"
_SLOT = re.compile(r"\[([a-zA-Z_ ]+)\]")


def prompt_text(name: str) -> str:
    """Return a prompt file unchanged, by its name without ``.txt``."""
    file = importlib.resources.files("long_context_tasks.annotation") / "prompts" / f"{name}.txt"
    return file.read_bytes().decode("utf-8")


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put values into the places of a prompt, all at once; other brackets stay.

    >>> fill("Q: [question] [x]", {"question": "what is [x]?"})
    'Q: what is [x]? [x]'
    """
    return _SLOT.sub(lambda match: values.get(match[1], match[0]), template)


def _source(study: Study, asked: Question) -> str:
    found = None if asked.document is None else study.document(asked.document)
    found = found if found is not None else asked.transcription
    if found is None:
        raise InputError(
            f"question {asked.id} has neither a document nor a transcription, so no model can be asked; give one, or bring the "
            "rationale or the candidates with the question"
        )
    return found


def rationale_prompt(study: Study, asked: Question, prompts: str = "text") -> tuple[Message, ...]:
    """Return the prompt for the rationale of a question.

    Raises:
        InputError: the question has no document.
    """
    source = _source(study, asked)
    values = {"question": asked.question, "answer": asked.reference, "document": source, _AUDIO: source}
    name = PROMPTS[prompts]
    return (
        Message("system", prompt_text(f"{name}_system")),
        Message("user", fill(prompt_text(f"{name}_user"), values)),
    )


def candidate_prompt(study: Study, asked: Question) -> tuple[Message, ...]:
    """Return the prompt for a candidate answer to a question.

    Raises:
        InputError: the question has no document.
    """
    values = {"question": asked.question, "document": _source(study, asked)}
    return (Message("user", fill(prompt_text("candidate_text_user"), values)),)


def without_rationale(study: Study) -> list[Question]:
    """Return the questions that count and have no rationale; those that people have annotated without one stay as they are."""
    candidates = {
        candidate.id: (candidate.question_id, candidate.version) for candidate in study.candidates()
    }
    seen = {candidates[annotation.candidate] for annotation in study.annotations()}
    return [
        question
        for question in study.questions()
        if question.rationale is None and (question.id, question.version) not in seen
    ]


def without_candidate(study: Study, model: str) -> list[Question]:
    """Return the questions that count and have no answer of a model to their newest version: new ones, and corrected ones."""
    there = {
        (candidate.question_id, candidate.version)
        for candidate in study.candidates()
        if candidate.model == model
    }
    return [question for question in study.questions() if (question.id, question.version) not in there]


@dataclass(frozen=True)
class Written:
    """What a model has written for a study.

    Attributes:
        wanted, done: texts that were missing, and those that are now in the study.
        problems: why the others are not, each with its question.
        summary: of the calls.
    """

    wanted: int
    done: int
    problems: Sequence[str]
    summary: Summary


def ask_model(config: JudgeConfig, prompts: Sequence[Prompt]) -> Asked:
    """Ask a model, checked with a tiny call first; without prompts it need not be there.

    Raises:
        InputError: the model cannot be reached or loaded, or is no language model.
    """
    if prompts:
        check_judge(config, reads_prompts=True)
    return ask_all(prompts, config, Store(default_store_path(config)))


def write_missing(
    study: Study, config: JudgeConfig, what: Literal["rationales", "answers"], prompts: str = "text"
) -> Written:
    """Let a model write the rationales that a study lacks, or answer the questions to whose newest version it has no answer.

    Raises:
        InputError: as :func:`ask_model`, or a question has no document.
    """
    if what == "rationales":
        waiting = without_rationale(study)
        asked = ask_model(config, [rationale_prompt(study, question, prompts) for question in waiting])
    else:
        waiting = without_candidate(study, config.name)
        asked = ask_model(config, [candidate_prompt(study, question) for question in waiting])
    found, problems = [], []
    for question, answer in zip(waiting, asked.answers, strict=True):
        if answer.text is None:
            problems.append(f"question {question.id}: {answer.error or 'no text came'}")
        elif answer.cut:  # not what the model had to say
            problems.append(f"question {question.id}: the text was cut; raise max_tokens in the model's file")
        else:
            found.append((question, answer.text))
    done = set_rationales(study, found) if what == "rationales" else add_answers(study, config.name, found)
    return Written(len(waiting), done, problems, asked.summary)
