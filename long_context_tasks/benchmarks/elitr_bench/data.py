"""Load a task's cases from the published archives, or from synthetic meetings generated from a seed.

The archives are decrypted in memory. Questions, gold answers and (noisy) transcripts are stored in a case
folder in the user's cache, the only place where they are unencrypted; later runs read that folder. For
synthetic meetings see :mod:`.synthetic`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.benchmarks.elitr_bench import answers, prompts, scoring
from long_context_tasks.benchmarks.elitr_bench.archives import (
    NAME,
    Archives,
    PublishedMeeting,
    PublishedQuestion,
)
from long_context_tasks.benchmarks.elitr_bench.options import ElitrBenchOptions
from long_context_tasks.benchmarks.elitr_bench.task import (
    ElitrTask,
    noise_description,
    noisy,
    parse_name,
)
from long_context_tasks.schema import Case, CaseSet, CaseWriter, InputError, LoadedTask, Turn, file_sha256
from long_context_tasks.schema.case_folder import cached_folder
from long_context_tasks.tokens import CL100K, get_tokenizer


def load_task(name: str, options: ElitrBenchOptions) -> LoadedTask:
    """Load a task by name, ready to run on any host, with its cases ordered by meeting."""
    from long_context_tasks.judges.task_judge import Judging

    task = parse_name(name)
    if not task.wer:
        options = replace(options, noise_mode=None, noise_rules=None)
    style, markers = options.prompt_style, options.question_markers
    prompts.check_style(style, markers)
    metrics: tuple[str, ...] = scoring.METRICS
    intervals: tuple[str, ...] = scoring.INTERVALS
    if task.source == "seed":
        from long_context_tasks.benchmarks.elitr_bench import synthetic

        options, cases = synthetic.cases_of(task, options)
        n, n_all = options.n or options.subset, len(cases)
        if options.cases is None:
            n_all = synthetic.default_cases(task.family)
        metrics = scoring.SYNTHETIC_METRICS
        intervals = (answers.METRIC, *intervals)
    else:
        # Results record what was run, and published meetings have fixed lengths.
        options = replace(options, length=None)
        cases = _published(task, options)
        n, n_all = options.n, len(cases)
    sent = {"history": "gold" if task.gold_history else "own", "style": style, "markers": markers}
    # Stored token counts apply to the plain chat prompt.
    counted = style in (prompts.CHAT, "raw") and not markers and not task.gold_history
    chosen = (
        replace(
            case, task=name, inputs={**case.inputs, **sent}, num_tokens=case.num_tokens if counted else {}
        )
        for case in cases.cases[:n]
    )
    return LoadedTask(
        name=name,
        version=card(NAME).version,
        options=options,
        cases=cases.selected(chosen),
        metrics=metrics,
        intervals=intervals,
        answer_budget=options.answer_budget or task.card.answer_budget,
        render=prompts.messages,
        score=scoring.score_case,
        render_turn=prompts.messages if task.conversation else None,
        judging=Judging(
            rubric=partial(scoring.rubric, language=task.language),
            requests=scoring.judge_requests,
            score_turn=scoring.score_turn,
            default="gpt",
            metrics=scoring.INTERVALS,
            headline="judge_score",
        ),
        points=card(NAME).points,
        own_template=style if style in prompts.CONVERSATIONS else "",
        asked_and_right=_asked_and_right,
        n_all=n_all,
    )


def _asked_and_right(case: Case, turn: int) -> tuple[str, str]:
    asked = case.turns[turn]
    return str(asked.question), str(asked.gold)


def has_data(name: str, options: ElitrBenchOptions) -> bool:
    """Return True, or raise an InputError that names the missing archive and the remedies."""
    task = parse_name(name)
    Archives.of(options, name).paths(task.split, task.language == "czech")
    return True


def _published(task: ElitrTask, options: ElitrBenchOptions) -> CaseSet:
    if options.cases is not None:
        raise InputError(
            f"{task.name}: takes no built cases; leave out lct_cases, its questions are the published ones"
        )
    if options.subset is not None:
        raise InputError(
            f"{task.name}: has no official subsets; leave out lct_subset, lct_n takes the first cases"
        )
    archives = Archives.of(options, task.name)
    czech = task.language == "czech"
    # Without the password: it does not affect the cases, and a wrong one writes nothing.
    made_from: dict[str, Any] = {path.name: file_sha256(path) for path in archives.paths(task.split, czech)}
    if task.wer:
        made_from |= noise_description(options) | {"wer": task.wer, "lct_seed": options.seed}
    # QA and Conv, single- and multi-turn, share a folder, because their transcripts are the same.
    shared = [word for word in task.words if word == "czech" or word.startswith("wer")]
    folder = cached_folder(
        "_".join([NAME, task.split, *shared]),
        {"files": made_from, "card": card(NAME).version},
        lambda folder: convert(archives, task, folder, made_from, options),
    )
    return CaseSet.read(folder, _stored_name(task, task.task, multi_turn=task.conversation))


def _stored_name(task: ElitrTask, kind: str, *, multi_turn: bool) -> str:
    """Return the task name under which a task's cases are stored; the gold history does not change them."""
    words = [word for word in task.words if word not in ("multiturn", "goldhistory")]
    if multi_turn and kind == "qa":
        words.insert(0, "multiturn")
    return replace(task, task=kind, variant="_".join(words)).name


def convert(
    archives: Archives,
    task: ElitrTask,
    folder: Path,
    made_from: Mapping[str, Any],
    options: ElitrBenchOptions,
) -> None:
    """Convert the archives into a case folder for all tasks with one split, language and word error rate."""
    czech = task.language == "czech"
    settings = {kind: archives.questions(task.split, kind == "conv", czech) for kind in ("qa", "conv")}
    differing = differing_questions(settings["qa"], settings["conv"])
    transcripts = archives.transcripts(task.split)
    _check_transcripts(archives, settings["qa"], transcripts)
    texts: dict[str, str] = {}
    # Cases without turns: QA and Conv add their own questions to the same transcripts.
    bare: dict[str, Case] = {}
    for meeting in settings["qa"]:
        key, text = meeting.id, transcripts[meeting.id]
        labels: dict[str, Any] = {"split": task.split, "language": task.language}
        if task.wer:
            made = noisy(text, task.wer, key, options)
            key, text = f"{key}_wer{task.wer}", made.text
            # Rounded so that equal cases have equal bytes on every machine.
            labels |= {"wer": task.wer, "measured_wer": round(made.measured_wer, 6)}
        texts[key] = text
        inputs = {"transcript": key, "language": task.language}
        bare[meeting.id] = Case(meeting.id, "", inputs, (), meeting.id, {}, key, labels)
    with CaseWriter(folder, {"made_from": dict(made_from)}) as writer:
        writer.add_documents(texts.items())
        for kind, together in (("qa", False), ("qa", True), ("conv", True)):
            name = _stored_name(task, kind, multi_turn=together)
            whole = (
                replace(
                    bare[meeting.id],
                    task=name,
                    turns=tuple(
                        _turn(question, (meeting.id, question.id) in differing)
                        for question in meeting.questions
                    ),
                )
                for meeting in settings[kind]
            )
            writer.add_cases(name, prompts.counted(whole, texts, [get_tokenizer(CL100K)], together=together))
    folder.chmod(0o700)  # plain-text gold answers are readable by this user only


def _check_transcripts(
    archives: Archives, meetings: Sequence[PublishedMeeting], transcripts: Mapping[str, str]
) -> None:
    if missing := [meeting.id for meeting in meetings if not transcripts.get(meeting.id, "").strip()]:
        raise InputError(
            f"{archives.folder}: no transcript of {', '.join(missing)}, or an empty one (there are: {', '.join(transcripts)}); "
            f"questions and transcripts are of different editions or splits, fetch both with `lct data fetch {NAME}`"
        )


def _turn(question: PublishedQuestion, differs: bool) -> Turn:
    labels = {
        "question_id": question.id,
        "question_type": question.type,
        "answer_position": question.position,
        "qa_conv_differs": differs,
    }
    return Turn(gold=question.answer, question=question.text, labels=labels)


def differing_questions(
    qa: Sequence[PublishedMeeting], conv: Sequence[PublishedMeeting]
) -> set[tuple[str, str]]:
    """Return the (meeting, question) ids of questions that QA and Conv word differently."""
    single, talk = (
        {(meeting.id, question.id): question.text for meeting in meetings for question in meeting.questions}
        for meetings in (qa, conv)
    )
    # Questions of the two settings are paired by id, on which the analysis in Fig. 3 relies.
    if list(single) != list(talk):
        only = [
            f"{meeting}, question {question}, only in {'QA' if (meeting, question) in single else 'Conv'}"
            for meeting, question in sorted(single.keys() ^ talk.keys())
        ]
        raise InputError(
            f"the QA and Conv files do not have the same meetings and questions ({'; '.join(only[:3]) or 'their order'}); both "
            f"come from one archive, fetch it again with `lct data fetch {NAME}`"
        )
    return {key for key, text in single.items() if text != talk[key]}
