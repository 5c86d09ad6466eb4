"""Stage 1: models write the missing rationales and candidate answers."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from long_context_tasks.annotation.study import AnnotationStudy, StudyQuestion, changing, open_study
from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.kinds import check_judge
from long_context_tasks.judges.run import ask_all
from long_context_tasks.judges.store import Store, default_store_path
from long_context_tasks.judges.verdict import Summary
from long_context_tasks.schema import InputError, Message
from long_context_tasks.schema.files import packaged_text

PROMPTS = {"text": "rationale_text", "paper": "fig6_rationale"}
"""Prompts for rationales: for a text document, and the paper's wording, which refers to audio."""
_AUDIO = "audio file URI via Gemini Files API"
_SLOT = re.compile(r"\[([a-zA-Z_ ]+)\]")


def prompt_text(name: str) -> str:
    return packaged_text(__package__, "prompts", f"{name}.txt")


def fill(template: str, values: Mapping[str, str]) -> str:
    # In one pass, so that a value cannot fill another slot; other brackets are kept.
    return _SLOT.sub(lambda match: values.get(match[1], match[0]), template)


def _source(study: AnnotationStudy, asked: StudyQuestion) -> str:
    found = None if asked.document is None else study.documents.get(asked.document)
    # A question about speech may come with only its transcript.
    found = found if found is not None else asked.transcription
    if found is None:
        raise InputError(
            f"question {asked.id} has neither a document nor a transcription, so no model can answer it; give one of them, or "
            "give the rationale or the candidates with the question"
        )
    return found


def rationale_prompt(
    study: AnnotationStudy, asked: StudyQuestion, prompts: str = "text"
) -> tuple[Message, ...]:
    source = _source(study, asked)
    values = {"question": asked.question, "answer": asked.reference, "document": source, _AUDIO: source}
    name = PROMPTS[prompts]
    return (
        Message("system", prompt_text(f"{name}_system")),
        Message("user", fill(prompt_text(f"{name}_user"), values)),
    )


def candidate_prompt(study: AnnotationStudy, asked: StudyQuestion) -> tuple[Message, ...]:
    values = {"question": asked.question, "document": _source(study, asked)}
    return (Message("user", fill(prompt_text("candidate_text_user"), values)),)


def without_rationale(study: AnnotationStudy) -> list[StudyQuestion]:
    """Return the questions without a rationale, except those already annotated without one."""
    annotated = study.annotated()
    return [each for each in study.questions() if each.rationale is None and each.key not in annotated]


def without_candidate(study: AnnotationStudy, model: str) -> list[StudyQuestion]:
    answered = {each.question for each in study.candidates() if each.model == model}
    return [each for each in study.questions() if each.key not in answered]


@dataclass(frozen=True)
class Written:
    wanted: int  # number of missing texts
    done: int  # number of texts added by the model
    problems: Sequence[str]  # one line for each of the others
    summary: Summary  # cost of the calls


def write_missing(
    path: Path, config: JudgeConfig, what: Literal["rationales", "answers"], prompts: str = "text"
) -> Written:
    """Have a model write a study's missing rationales or answers.

    Answers are missing if the model has not answered the newest version of a question.
    """
    # Not locked while the model writes, which may take hours.
    study = open_study(path)
    if what == "rationales":
        waiting = without_rationale(study)
        messages = [rationale_prompt(study, question, prompts) for question in waiting]
    else:
        waiting = without_candidate(study, config.name)
        messages = [candidate_prompt(study, question) for question in waiting]
    if messages:  # otherwise the model need not be reachable
        check_judge(config, reads_prompts=True)
    asked = ask_all(messages, config, Store(default_store_path(config)))
    found, problems = [], []
    for question, answer in zip(waiting, asked.answers, strict=True):
        if answer.text is None:
            problems.append(f"question {question.id}: {answer.error or 'the reply is empty'}")
        # A truncated answer would be rated as if it were complete.
        elif answer.cut:
            problems.append(f"question {question.id}: the text was cut; raise max_tokens in the model's file")
        else:
            found.append((question, answer.text))
    # The study may have changed while the model wrote, so the texts are added to its newest state.
    with changing(path) as study:
        done = study.set_rationales(found) if what == "rationales" else study.add_answers(config.name, found)
    return Written(len(waiting), done, problems, asked.summary)
