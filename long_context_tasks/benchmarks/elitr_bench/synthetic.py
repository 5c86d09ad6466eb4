"""Generate meeting cases from a seed, at any length and with gold answers known by construction.

The cases have the structure of the published ones, so prompts, judges and noise are the same. In addition
they list the forms in which the correct and the other values may be stated, see :mod:`.answers`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from math import nan
from pathlib import Path

from long_context_tasks.benchmarks.building import MadeCases, TaskReport, Work, write_task
from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.benchmarks.elitr_bench import prompts
from long_context_tasks.benchmarks.elitr_bench.answers import INPUT
from long_context_tasks.benchmarks.elitr_bench.options import ElitrBenchOptions, MeetingSettings
from long_context_tasks.benchmarks.elitr_bench.task import ElitrTask, noise_description, noisy
from long_context_tasks.benchmarks.run_cases import (
    DEFAULT_LENGTH,
    built_file,
    cached_cases,
    refusal,
    run_settings,
    with_length,
)
from long_context_tasks.schema import Case, CaseSet, CaseWriter, InputError, Turn, format_length
from long_context_tasks.schema.case_folder import cached_folder
from long_context_tasks.synthetic.meeting import MeetingQuestion, SyntheticMeeting, write_meeting
from long_context_tasks.synthetic.wording import stream
from long_context_tasks.tokens import CL100K, Tokenizer, get_tokenizer, tokenizer_identity

NAME = "elitr_bench"
CASES = 200  # default number of cases per length
MOST_QUESTIONS = 8
NANO = f"{NAME}_qa_nano"  # the family with more questions per meeting
NANO_QUESTIONS = 16  # questions per meeting from 8k on
NANO_CASES = 320  # default number of questions per length: 20 meetings from 8k on; see docs/nano.md
# Tokens initially left free for the joint between the parts of the prompt.
_MARGIN = 2
_TRIES = 5


def questions_at(length: int, family: str = "") -> int:
    """Return the number of questions per meeting: eight (nano: sixteen), fewer for a short one."""
    if family == NANO:
        return max(1, min(NANO_QUESTIONS, length // 500))
    return max(1, min(MOST_QUESTIONS, length // 1_000))


def default_cases(family: str) -> int:
    return NANO_CASES if family == NANO else CASES


def file_of(family: str, length: int) -> str:
    return f"{family}_{format_length(length)}"


def build(family: str, settings: MeetingSettings, folder: Path, work: Work) -> list[TaskReport]:
    """Write the cases of a family such as ``elitr_bench_qa_synthetic``, replacing an older case folder."""
    number = settings.n or default_cases(family)
    # The manifest records the number written, not that the default was used.
    settings = replace(settings, n=number)
    # Reports an unavailable tokenizer before anything is written.
    _ = (settings.measure, settings.other_tokenizer)
    with work.writer(folder, {**asdict(settings), "card_version": card(NAME).version}) as writer:
        reports = []
        for length in settings.lengths:
            task, step = file_of(family, length), 1 if _is_conv(family) else questions_at(length, family)
            places = range(-(-number // step))
            cases = work.cases(writer, partial(_made, family, settings, length), places, task)
            reports.append(write_task(writer, task, cases, settings, lambda case: nan, {}))
        return reports


def _is_conv(family: str) -> bool:
    return family.startswith(f"{NAME}_conv")


def _made(family: str, settings: MeetingSettings, length: int, place: int) -> MadeCases:
    """Return the cases for one meeting: one per question, or one dialogue."""
    conv = _is_conv(family)
    # Lengths may be measured in either. Fresh, because shared ones would cache the counts of all meetings.
    known = (get_tokenizer(CL100K), settings.other_tokenizer)
    tokenizers = {counter.name: counter.fresh() for counter in known if counter is not None}
    meeting = _meeting(length, settings, place, family, tokenizers[settings.measure.name])
    whole = Case(
        id=meeting.id,
        task=file_of(family, length),
        inputs={"transcript": meeting.id, "language": "english"},
        turns=tuple(_turn(number, each, conv) for number, each in enumerate(meeting.questions, 1)),
        cluster=meeting.id,
        document=meeting.id,
        labels={"split": "synthetic", "language": "english", "length": format_length(length)},
    )
    stated = []
    for question in meeting.questions:
        forms = [list(each) for each in question.forms]
        stated.append({"right": forms.pop(question.right), "wrong": forms})
    texts = {meeting.id: meeting.transcript}
    passages = {meeting.id: meeting.passages}
    counted = prompts.counted([whole], texts, list(tokenizers.values()), together=conv, passages=passages)
    cases = [
        replace(case, inputs={**case.inputs, INPUT: group})
        for case, group in zip(counted, [stated] if conv else [[each] for each in stated], strict=True)
    ]
    # The last meeting may have more questions than are still needed.
    left = (settings.n or default_cases(family)) - place * len(cases)
    return MadeCases(tuple(cases[:left]), tuple(texts.items()))


def _meeting(
    length: int, settings: MeetingSettings, place: int, family: str, tokenizer: Tokenizer
) -> SyntheticMeeting:
    """Generate a meeting whose prompts nearly fill ``length`` tokens; QA and Conv have the same questions."""
    conv, number = _is_conv(family), questions_at(length, family)
    seed = stream(settings.seed, f"meeting {length} {place}") >> 16

    def opening(passages: Sequence[str]) -> int:
        return tokenizer.count_parts(prompts.opening(passages))

    def asked(questions: Sequence[MeetingQuestion]) -> int:
        counts = [tokenizer.count(prompts.asked(_text(question, conv))) for question in questions]
        # A dialogue contains all questions, a QA prompt one. The first estimate is made before they are
        # known.
        return (sum(counts) if conv else max(counts)) if counts else 20 * number

    room = length - opening([""]) - _MARGIN
    for _ in range(_TRIES):
        meeting = write_meeting(
            seed,
            lambda questions, room=room: room - asked(questions),  # type: ignore[misc]
            number,
            first=place * number,
            count=tokenizer.count,
        )
        over = opening(meeting.passages) + asked(meeting.questions) - length
        # The questions depend on the meeting, so their token counts are known only now.
        if over <= 0:
            name = f"{settings.seed}_{format_length(length)}_{place}"
            return replace(meeting, id=f"{name}_conv" if conv else name)
        room -= over
    raise InputError(
        f"seed {settings.seed}: meeting {place} of {length} tokens does not fit; use another seed"
    )


def _text(question: MeetingQuestion, conv: bool) -> str:
    return question.follow_up or question.text if conv else question.text


def _turn(number: int, question: MeetingQuestion, conv: bool) -> Turn:
    labels = {
        "question_id": str(number),
        "question_type": question.type,
        "answer_position": question.position,
        "qa_conv_differs": question.follow_up is not None,
    }
    return Turn(gold=question.answer, question=_text(question, conv), labels=labels)


def cases_of(task: ElitrTask, options: ElitrBenchOptions) -> tuple[ElitrBenchOptions, CaseSet]:
    """Return the options used for building, and the built or cached cases."""
    if options.cases is not None:
        built = built_file(options.cases, task.family, f"{task.family}_*", options.length)
        options, cases = built.resolve(options), built.read()
    else:
        if options.tokenizer is not None:
            tokenizer_identity(options.tokenizer)  # reports an unknown name before anything is generated
        options = with_length(options)
        settings = run_settings(task.name, MeetingSettings, options, default_cases(task.family))
        cases = cached_cases(
            file_of(task.family, settings.lengths[0]),
            settings,
            options,
            card(NAME).version,
            lambda folder: build(task.family, settings, folder, Work(progress=True)),
        )
    return options, _noisy(task, task.wer, cases, options) if task.wer else cases


def _noisy(task: ElitrTask, wer: int, cases: CaseSet, options: ElitrBenchOptions) -> CaseSet:
    """Return the same cases with noisy transcripts; noise makes some prompts exceed the length."""
    length = options.length or DEFAULT_LENGTH
    file = file_of(task.family, length)
    chosen = cases.cases[: options.n or options.subset]
    made_from = {
        "cases": cases.manifest["tasks"],
        "of": cases.manifest["options"],
        "n": len(chosen),
        "wer": wer,
        "seed": options.seed,
        "card": card(NAME).version,
        **noise_description(options),
    }

    def changed(writer: CaseWriter) -> Iterator[Case]:
        tokenizer = get_tokenizer(CL100K).fresh()
        document, text, rate = "", "", 0.0
        for case in chosen:
            if document != f"{case.document}_wer{wer}":
                made = noisy(cases.documents[str(case.document)], wer, case.cluster, options)
                document, text, rate = f"{case.document}_wer{wer}", made.text, round(made.measured_wer, 6)
                writer.add_documents([(document, text)])
            other = replace(
                case,
                inputs={**case.inputs, "transcript": document},
                document=document,
                labels={**case.labels, "wer": wer, "measured_wer": rate},
            )
            yield from prompts.counted([other], {document: text}, [tokenizer], together=True)

    def write(folder: Path) -> None:
        with CaseWriter(folder, {"made_from": made_from}) as writer:
            writer.add_cases(file, changed(writer))

    refused = refusal(options, length, len(chosen))
    return CaseSet.read(cached_folder(f"{file}_wer{wer}", made_from, write, refused), file)
