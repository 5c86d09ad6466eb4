"""Cases of a task from the published archives, or on meetings written from a seed (:mod:`.synthetic`).

The archives are decrypted in memory; what is made of them (questions, gold answers, transcripts, noisy transcripts) goes into a
case folder in the user's cache, the only place where it lies unencrypted. Later runs read that.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks.catalogue import card, parse_task
from long_context_tasks.benchmarks.elitr_bench import answers as answer_found
from long_context_tasks.benchmarks.elitr_bench import prompts, scoring, synthetic
from long_context_tasks.benchmarks.elitr_bench.archives import NAME, Archives, Meeting, Question
from long_context_tasks.benchmarks.elitr_bench.names import SYNTHETIC, TaskName, parse_name
from long_context_tasks.benchmarks.elitr_bench.noise import EXACT, NoiseSettings, noisy
from long_context_tasks.benchmarks.elitr_bench.options import ElitrBenchOptions
from long_context_tasks.judges import Judging
from long_context_tasks.schema import (
    Case,
    CaseSet,
    CaseWriter,
    InputError,
    LoadedTask,
    Options,
    Turn,
    file_sha256,
)
from long_context_tasks.schema.case_folder import cached_folder
from long_context_tasks.tokens import CL100K, get_tokenizer


def load_task(name: str, options: ElitrBenchOptions) -> LoadedTask:
    """Return a task by name, with everything that a host needs.

    Raises:
        InputError: see :func:`load`; or an unknown name.
    """
    task = parse_name(name)
    written = task.split == SYNTHETIC
    # Results say what was run: published meetings have the length they have.
    options = replace(
        synthetic.resolve(task, options) if written else replace(options, length=None),
        prompt_style=options.prompt_style or prompts.CHAT,
        question_markers=bool(options.question_markers),
        noise_mode=(options.noise_mode or EXACT) if task.wer else None,
        noise_rules=options.noise_rules if task.wer else None,
    )
    cases = load(task, options)
    return LoadedTask(
        name=name,
        version=card(NAME).version,
        options=options,
        cases=cases,
        metrics=_metrics(written, judged=options.judge is not None),
        intervals=(*([answer_found.METRIC] if written else []), *scoring.INTERVALS),
        answer_budget=options.answer_budget or parse_task(name).card.answer_budget,
        render=prompts.messages,
        score=scoring.score_case,
        render_turn=prompts.messages if task.multi_turn else None,
        judging=Judging(
            rubric=partial(scoring.rubric, language=task.language),
            requests=scoring.judge_requests,
            score_turn=scoring.score_turn,
            default="gpt",
            metrics=scoring.INTERVALS,
        ),
        points=frozenset(scoring.INTERVALS),
        own_template=str(options.prompt_style) if options.prompt_style in prompts.CONVERSATIONS else "",
        asked_and_right=_asked_and_right,
    )


def _metrics(written: bool, judged: bool) -> tuple[str, ...]:
    """Return the metrics, headline first: the judge's where there is a judge, or where nothing else gives a score."""
    if written and judged:
        return (*scoring.METRICS, answer_found.METRIC)
    return scoring.SYNTHETIC_METRICS if written else scoring.METRICS


def _asked_and_right(case: Case, turn: int) -> tuple[str, str]:
    asked = case.turns[turn]
    return str(asked.question), str(asked.gold)


def load(task: TaskName, options: ElitrBenchOptions) -> CaseSet:
    """Return the cases of a task, ordered by meeting: one per question, or in multi-turn tasks one per meeting.

    Raises:
        InputError: missing or damaged archives, a wrong password, or options that do not go with this benchmark.
    """
    style, markers = str(options.prompt_style), bool(options.question_markers)
    prompts.check_style(style, markers)
    noise = NoiseSettings(options.noise_mode or EXACT, options.noise_rules)
    if task.split == SYNTHETIC:
        cases = synthetic.cases_of(task, options)
        if task.wer:
            cases = synthetic.noisy_cases(task, cases, options, noise)
        number = options.n or options.subset
    else:
        cases = _published(task, options, noise)
        number = options.n
    return cases.selected(_asked(case, task, style, markers) for case in cases.cases[:number])


def _published(task: TaskName, options: Options, noise: NoiseSettings) -> CaseSet:
    if options.cases is not None:
        raise InputError(
            f"{task.name}: takes no built cases; leave out lct_cases, its questions are the published ones"
        )
    if options.subset is not None:
        raise InputError(
            f"{task.name}: has no official subsets; leave out lct_subset, lct_n takes the first cases"
        )
    archives = Archives.of(options)
    # The password is no part of it, and a wrong one writes no folder.
    made_from: dict[str, Any] = {
        path.name: file_sha256(path) for path in archives.paths(task.split, task.czech)
    }
    if task.wer:
        made_from |= noise.description() | {"wer": task.wer, "lct_seed": options.seed}
    # QA and Conv, single and multi-turn share a folder: their transcripts are the same.
    parts = [NAME, task.split, "czech" if task.czech else "", f"wer{task.wer}" if task.wer else ""]
    stored = replace(task, gold_history=False)
    folder = cached_folder(
        "_".join(part for part in parts if part),
        {"files": made_from, "card": card(NAME).version},
        lambda folder: convert(archives, stored, folder, made_from, options, noise),
    )
    return CaseSet.read(folder, stored.name)


def convert(
    archives: Archives,
    task: TaskName,
    folder: Path,
    made_from: Mapping[str, Any],
    options: Options,
    noise: NoiseSettings,
) -> None:
    """Turn the archives into a case folder for all tasks of a split, language and word error rate.

    Raises:
        InputError: see :class:`Archives`; or questions, transcripts and the two settings do not belong together.
    """
    settings = {conv: archives.questions(task.split, conv, task.czech) for conv in (False, True)}
    differing = differing_questions(settings[False], settings[True])
    transcripts = archives.transcripts(task.split)
    _check_transcripts(settings[False], transcripts, archives)
    labels: dict[str, dict[str, Any]] = {}
    texts: dict[str, str] = {}
    for meeting in (meeting.id for meeting in settings[False]):
        texts[meeting] = transcripts[meeting]
        labels[meeting] = {"split": task.split, "language": task.language}
        if task.wer:
            made = noisy(transcripts[meeting], task.wer, noise, meeting, options.seed)
            texts[meeting] = made.text
            labels[meeting] |= {"wer": task.wer, "measured_wer": round(made.measured_wer, 6)}
    with CaseWriter(folder, {"made_from": dict(made_from)}) as writer:
        writer.add_documents((_document(meeting, task), text) for meeting, text in texts.items())
        for conv, multi_turn in ((False, False), (False, True), (True, True)):
            named = replace(task, conv=conv, multi_turn=multi_turn)
            writer.add_cases(named.name, make_cases(named, settings[conv], texts, labels, differing))
    folder.chmod(0o700)  # gold answers in plain text, for this user only


def _check_transcripts(
    meetings: Sequence[Meeting], transcripts: Mapping[str, str], archives: Archives
) -> None:
    if missing := [meeting.id for meeting in meetings if meeting.id not in transcripts]:
        raise InputError(
            f"{archives.folder}: no transcript of {', '.join(missing)} (there are: {', '.join(transcripts)}); questions and "
            f"transcripts are of different editions or splits, fetch both with `lct data fetch {NAME}`"
        )
    if empty := [meeting.id for meeting in meetings if not transcripts[meeting.id].strip()]:
        raise InputError(
            f"{archives.folder}: the transcript of {', '.join(empty)} is empty; fetch it again with `lct data fetch {NAME}`"
        )


def differing_questions(qa: Sequence[Meeting], conv: Sequence[Meeting]) -> set[tuple[str, str]]:
    """Return meeting and question id of the questions that QA and Conv word differently (section 3 of the paper).

    Raises:
        InputError: the two do not have the same questions in the same order.
    """
    pairs = [_keys(meetings) for meetings in (qa, conv)]
    if list(pairs[0]) != list(pairs[1]):
        only = [
            f"{meeting}, question {question}, only in {name}"
            for name, own, other in (("QA", *pairs), ("Conv", *reversed(pairs)))
            for meeting, question in own
            if (meeting, question) not in other
        ]
        raise InputError(
            f"the QA and Conv files do not have the same meetings and questions ({'; '.join(only[:3]) or 'their order'}); both "
            f"come from one archive, fetch it again with `lct data fetch {NAME}`"
        )
    return {key for key, question in pairs[0].items() if question.text != pairs[1][key].text}


def _keys(meetings: Sequence[Meeting]) -> dict[tuple[str, str], Question]:
    return {(meeting.id, question.id): question for meeting in meetings for question in meeting.questions}


def _document(meeting: str, task: TaskName) -> str:
    return f"{meeting}_wer{task.wer}" if task.wer else meeting


def make_cases(
    task: TaskName,
    meetings: Sequence[Meeting],
    transcripts: Mapping[str, str],
    labels: Mapping[str, Mapping[str, Any]],
    differing: set[tuple[str, str]],
) -> Iterator[Case]:
    """Yield cases in order of meetings and questions, with the cl100k tokens of what is sent in the chat style.

    In multi-turn tasks the tokens are those of the last turn without the model's answers.
    """
    tokenizer = get_tokenizer(CL100K)
    for meeting in meetings:
        transcript = transcripts[meeting.id]
        # A run of newlines ends before the question, where a token ends too: counts of the two add up.
        opening = tokenizer.count(prompts.instruction(transcript, task.language) + prompts.GAP)
        turns = [_turn(question, (meeting.id, question.id) in differing) for question in meeting.questions]
        counts = [tokenizer.count(prompts.asked(question.text)) for question in meeting.questions]
        if task.multi_turn:
            groups = [(meeting.id, turns, sum(counts))]
        else:
            groups = [
                (f"{meeting.id}_{question.id}", [turn], count)
                for question, turn, count in zip(meeting.questions, turns, counts, strict=True)
            ]
        for case_id, own, count in groups:
            document = _document(meeting.id, task)
            yield Case(
                id=case_id,
                task=task.name,
                inputs={"transcript": document, "language": task.language},
                turns=tuple(own),
                cluster=meeting.id,
                num_tokens={CL100K: opening + count},
                document=document,
                labels=dict(labels[meeting.id]),
            )


def _turn(question: Question, differs: bool) -> Turn:
    labels = {
        "question_id": question.id,
        "question_type": question.type,
        "answer_position": question.position,
        "qa_conv_differs": differs,
    }
    return Turn(gold=question.answer, question=question.text, labels=labels)


def _asked(case: Case, task: TaskName, style: str, markers: bool) -> Case:
    """Return the case as this task sends it; token counts stay only where the sent text was counted."""
    history = "gold" if task.gold_history else "own"
    inputs = {**case.inputs, "history": history, "style": style, "markers": markers}
    counted = style in (prompts.CHAT, "raw") and not markers and not task.gold_history
    return replace(case, task=task.name, inputs=inputs, num_tokens=case.num_tokens if counted else {})
