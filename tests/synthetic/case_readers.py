"""Answers finished cases of the synthetic tasks from what a model sees: the text of the prompt, and nothing else of the case.

Each function takes a prompt apart by its headings, gives the texts to the independent reader of that kind of text (regular expressions
and a dictionary, none of the writers' bookkeeping), and returns the answer in the form of the gold one.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import forum_reader
import meeting_reader
import trials_reader

_CONTEXT = re.compile(
    r"^### Context:\n(.*?)\n\nNow, respond to the instruction\.\n\n### Instruction:\n(.*)", re.DOTALL
)
_STUDY = re.compile(r"^ID: (\d+)\nTitle: (.*)\nAbstract: (.*)$", re.MULTILINE)
_SUBJECT = re.compile(r"the (?:(?!the ).)*?\[PROJECT\d+\]")


def between(text: str, start: str, end: str) -> str:
    """What stands between the last ``start`` and the ``end`` behind it."""
    return text.rpartition(start)[2].partition(end)[0]


def context_and_rest(prompt: str) -> tuple[str, str]:
    """The context of a prompt and what follows the heading of its instruction."""
    match = _CONTEXT.match(prompt)
    assert match is not None, prompt[:300]
    return match[1], match[2]


def recalled(prompt: str) -> set[str]:
    """Counts of people."""
    context, _ = context_and_rest(prompt)
    return {found for paragraph in re.split(r"\n\n+", context) for found in trials_reader.counts(paragraph)}


def included_studies(prompt: str) -> set[str]:
    """Ids of the studies that meet what the background asks for."""
    context, rest = context_and_rest(prompt)
    background = between(rest, "### Background:\n", "\n\nNow, label each study")
    studies = _STUDY.findall(context)
    assert len(studies) == context.count("ID: ")
    return trials_reader.included(background, {study: abstract for study, _, abstract in studies})


def full_questions(asked: Sequence[str]) -> list[str]:
    """Questions of a conversation, each with what it is about: a follow-up asks about the subject of the one before.

    >>> full_questions(["When is the report of [PROJECT1] due?", "And by whom is it checked?"])[1]
    'by whom is it checked? (the report of [PROJECT1])'
    """
    subject, full = "", []
    for question in asked:
        if found := _SUBJECT.findall(question):
            subject = found[0]
            full.append(question)
        else:
            question = re.sub(r"^And about what\b", "What is it mainly about", question)
            full.append(f"{question.removeprefix('And ')} ({subject})")
    return full


def settled(prompts: Sequence[str], options: Sequence[Sequence[str]]) -> list[str | None]:
    """What the meeting comes to on each question; None also for what somebody calls out of date.

    Args:
        prompts: the messages of the user, in order; the first one holds the transcript.
        options: for each question, the values that people bring up, in an order that says nothing.
    """
    first, *others = prompts
    transcript = between(
        first, "may span over several lines.\n\n", "\n\nAs a professional conversational assistant"
    )
    questions = full_questions([first.rsplit("\n", 1)[1], *others])
    found = []
    for question, values in zip(questions, options, strict=True):
        answer = meeting_reader.answer(transcript, question, values)
        stale = answer is not None and meeting_reader.rejects(transcript, question, answer)
        found.append(None if stale else answer)
    return found


def question_and_answers(prompt: str) -> tuple[str, list[str]]:
    """The question and the answers, in order."""
    case = prompt.rpartition("The question is given below.\n")[2]
    question, answers = case.split("Possible answers are given below.\n")
    _, *texts = re.split(r"^A\d+:\n", answers.rpartition("\nNow the answers are over")[0], flags=re.MULTILINE)
    return question.strip(), [text.strip() for text in texts]


def accepted(prompt: str) -> str | None:
    """The designation of the only answer that meets every point of the question; None where there is not one."""
    found = forum_reader.choose(*question_and_answers(prompt))
    return f"A{found[0] + 1}" if len(found) == 1 else None


READERS: Mapping[str, Callable[[str], Any]] = {
    "ethic_recall_medicine_synthetic": recalled,
    "ethic_attribute_medicine_synthetic": included_studies,
    "ada_leval_bestanswer_any_synthetic": accepted,
}
"""Task to the function that answers a prompt of it, for tasks of a single message."""
