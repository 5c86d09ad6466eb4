"""Cases on meetings that are written from a seed: any length, no download, gold answers that the writer knows.

A case has the form of the published ones, so that prompts, judges and noise are the same; beside its gold answers it says in which
forms the right value and the others may be stated, see :mod:`.answer_found`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from long_context_tasks.benchmarks.building import (
    BuiltFile,
    Progress,
    TaskReport,
    built_file,
    cached_cases,
    run_settings,
)
from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.benchmarks.elitr_bench import prompts
from long_context_tasks.benchmarks.elitr_bench.answers import INPUT
from long_context_tasks.benchmarks.elitr_bench.names import SYNTHETIC, TaskName
from long_context_tasks.benchmarks.elitr_bench.options import ElitrBenchOptions
from long_context_tasks.schema import (
    Case,
    CaseSet,
    CaseWriter,
    InputError,
    Options,
    Turn,
    format_length,
)
from long_context_tasks.schema.case_folder import cached_folder
from long_context_tasks.synthetic.meeting import Meeting, MeetingQuestion, write_meeting
from long_context_tasks.synthetic.wording import stream
from long_context_tasks.tokens import CL100K, Tokenizer, get_tokenizer, tokenizer_identity
from long_context_tasks.tokens.build_settings import BuildSettings

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.elitr_bench.noise import NoiseSettings

NAME = "elitr_bench"
CASES = 200
"""Questions, or conversations, of each length when no number is asked for."""
LENGTH = 8_000
"""Length when none is asked for."""
MOST_QUESTIONS = 8
_MARGIN = 2
_TRIES = 5


@dataclass(frozen=True)
class MeetingSettings(BuildSettings):
    """Settings of synthetic cases: a length is the most tokens of a prompt, without the model's earlier answers."""

    SHORTEST = 1_000
    INSTRUCTION = "some 100"


def questions_at(length: int) -> int:
    """Questions about one meeting: eight, fewer about one that is too short for them."""
    return max(1, min(MOST_QUESTIONS, length // 1_000))


def family_of(task: TaskName) -> str:
    """``elitr_bench_qa_synthetic``: the builder, its case folder, and the beginning of the name of its files."""
    return f"{NAME}_{'conv' if task.conv else 'qa'}_{SYNTHETIC}"


def file_of(family: str, length: int) -> str:
    """Return the name of the file of one length."""
    return f"{family}_{format_length(length)}"


def build(
    family: str,
    source: Path | None,
    settings: MeetingSettings,
    folder: Path,
    progress: Progress | None = None,
) -> list[TaskReport]:
    """Write the cases of a family (:func:`family_of`) into a case folder, all or nothing; an older case folder is replaced.

    Raises:
        InputError: a length is too short, or the tokenizer cannot be had.
    """
    del source
    progress = progress or Progress()
    settings = replace(settings, n=settings.n or CASES)
    _ = (
        settings.measure,
        settings.other_tokenizer,
    )  # an unavailable one is reported before anything is written
    with CaseWriter(folder, {**asdict(settings), "card_version": card(NAME).version}) as writer:
        return [_build_length(family, length, settings, writer, progress) for length in settings.lengths]


def _build_length(
    family: str, length: int, settings: MeetingSettings, writer: CaseWriter, progress: Progress
) -> TaskReport:
    task = file_of(family, length)
    tokens: list[int] = []
    clusters: set[str] = set()

    def kept() -> Iterator[Case]:
        for case in progress.over(_cases(family, length, settings, writer), task, "case", settings.n):
            tokens.append(case.num_tokens[settings.measure.name])
            clusters.add(case.cluster)
            yield case

    writer.add_cases(task, kept())
    return TaskReport(task, tokens, len(clusters), nan)


def _cases(family: str, length: int, settings: MeetingSettings, writer: CaseWriter) -> Iterator[Case]:
    """Yield the cases of one length; each meeting is stored before the next one is written."""
    conv = family.startswith(f"{NAME}_conv")
    number = questions_at(length)
    left = settings.n or CASES
    place = 0
    while left > 0:
        meeting = _meeting(length, settings, place, number, conv)
        writer.add_documents([(meeting.id, meeting.transcript)])
        cases = list(_cases_of(meeting, family, length, conv, settings))[:left]
        yield from cases
        left -= len(cases)
        place += 1


def _meeting(length: int, settings: MeetingSettings, place: int, number: int, conv: bool) -> Meeting:
    """Return a meeting whose prompts are at most ``length`` tokens, and few less; the same questions for QA and Conv."""
    # What is counted here is counted for one meeting only; the tokenizer would remember it for all of them.
    tokenizer = settings.measure.fresh()
    seed = stream(settings.seed, f"meeting {length} {place}") >> 16
    instruction = tokenizer.count(prompts.instruction("") + prompts.GAP)
    over = 0
    for _ in range(_TRIES):

        def room(questions: Sequence[MeetingQuestion], over: int = over) -> int:
            counts = [tokenizer.count(prompts.asked(text)) for text in _texts(questions, conv)] or [
                20 * number
            ]
            return length - instruction - (sum(counts) if conv else max(counts)) - _MARGIN - over

        meeting = write_meeting(seed, room, number, first=place * number, count=tokenizer.count)
        most = _opening(meeting, tokenizer) + (
            length - room(meeting.questions) - instruction - _MARGIN - over
        )
        if most <= length:
            return replace(
                meeting, id=f"{settings.seed}_{format_length(length)}_{place}{'_conv' if conv else ''}"
            )
        over += most - length
    raise InputError(
        f"seed {settings.seed}: meeting {place} of {length} tokens does not fit; use another seed"
    )


def _texts(questions: Sequence[MeetingQuestion], conv: bool) -> list[str]:
    return [one.follow_up or one.text if conv else one.text for one in questions]


def _opening(meeting: Meeting, tokenizer: Tokenizer) -> int:
    # A run of newlines ends before the question, where a token ends too: counts of the two add up.
    return tokenizer.count(prompts.instruction(meeting.transcript) + prompts.GAP)


def _cases_of(
    meeting: Meeting, family: str, length: int, conv: bool, settings: MeetingSettings
) -> Iterator[Case]:
    """Yield the cases of one meeting: one per question, or one conversation."""
    others = [] if settings.other_tokenizer is None else [settings.other_tokenizer]
    tokenizers = [one.fresh() for one in {one.name: one for one in (get_tokenizer(CL100K), *others)}.values()]
    openings = [_opening(meeting, tokenizer) for tokenizer in tokenizers]
    numbered = list(enumerate(meeting.questions, 1))
    groups = [numbered] if conv else [[one] for one in numbered]
    for group in groups:
        turns = tuple(_turn(number, question, conv) for number, question in group)
        texts = _texts([question for _, question in group], conv)
        yield Case(
            id=meeting.id if conv else f"{meeting.id}_{group[0][0]}",
            task=file_of(family, length),
            inputs={
                "transcript": meeting.id,
                "language": "english",
                INPUT: [_stated(question) for _, question in group],
            },
            turns=turns,
            cluster=meeting.id,
            num_tokens={
                tokenizer.name: opening + sum(tokenizer.count_many([prompts.asked(text) for text in texts]))
                for tokenizer, opening in zip(tokenizers, openings, strict=True)
            },
            document=meeting.id,
            labels={"split": SYNTHETIC, "language": "english", "length": format_length(length)},
        )


def _turn(number: int, question: MeetingQuestion, conv: bool) -> Turn:
    labels = {
        "question_id": str(number),
        "question_type": question.type,
        "answer_position": question.position,
        "qa_conv_differs": question.follow_up is not None,
    }
    return Turn(gold=question.answer, question=_texts([question], conv)[0], labels=labels)


def _stated(question: MeetingQuestion) -> dict[str, Any]:
    forms = [list(one) for one in question.forms]
    right = forms.pop(question.right)
    return {"right": right, "wrong": forms}


def resolve(task: TaskName, options: ElitrBenchOptions) -> ElitrBenchOptions:
    """Return the options with the length of the cases, and with what built cases say of their making.

    Raises:
        InputError: no such cases, or options that contradict them.
    """
    if options.cases is not None:
        return _built(task, options).resolve(options)
    if options.tokenizer is not None:
        tokenizer_identity(options.tokenizer)  # an unknown name is reported before anything is written
    return replace(options, length=options.length or LENGTH)


def _built(task: TaskName, options: Options) -> BuiltFile:
    assert options.cases is not None
    family = family_of(task)
    return built_file(options.cases, family, f"{family}_*", options.length)


def cases_of(task: TaskName, options: Options) -> CaseSet:
    """Return the cases of a synthetic task without noise: built ones, or written once into the cache.

    Raises:
        InputError: a length that is too short, or cases that cannot be read.
    """
    if options.cases is not None:
        return _built(task, options).read()
    family = family_of(task)
    settings = run_settings(task.name, MeetingSettings, options, CASES)
    return cached_cases(
        file_of(family, settings.lengths[0]),
        settings,
        card(NAME).version,
        lambda folder: build(family, None, settings, folder),
    )


def noisy_cases(task: TaskName, cases: CaseSet, options: Options, noise: "NoiseSettings") -> CaseSet:
    """Return the same cases with noisy transcripts, made once and kept in the cache.

    Prompts are counted anew: noise changes the length of a text, so that some are longer than what was asked for.

    Raises:
        InputError: rules that cannot be used.
    """
    assert task.wer is not None
    family = family_of(task)
    file = file_of(family, options.length or LENGTH)
    wanted = cases.cases[: options.n or options.subset]
    made_from = {
        "cases": cases.manifest["tasks"],
        "of": cases.manifest["options"],
        "n": len(wanted),
        "wer": task.wer,
        "seed": options.seed,
        "card": card(NAME).version,
        **noise.description(),
    }

    def write(folder: Path) -> None:
        with CaseWriter(folder, {"made_from": made_from}) as writer:
            writer.add_cases(file, _noisy(task, wanted, cases, options, noise, writer))

    return CaseSet.read(cached_folder(f"{file}_wer{task.wer}", made_from, write), file)


def _noisy(
    task: TaskName,
    wanted: Sequence[Case],
    cases: CaseSet,
    options: Options,
    noise: "NoiseSettings",
    writer: CaseWriter,
) -> Iterator[Case]:
    from long_context_tasks.benchmarks.elitr_bench.noise import noisy  # loads numpy

    tokenizer = get_tokenizer(CL100K).fresh()
    key, rate, opening = "", 0.0, 0
    for case in wanted:
        document = f"{case.document}_wer{task.wer}"
        if document != key:
            made = noisy(
                cases.documents[str(case.document)], int(task.wer or 0), noise, case.cluster, options.seed
            )
            writer.add_documents([(document, made.text)])
            key, rate = document, round(made.measured_wer, 6)
            opening = tokenizer.count(prompts.instruction(made.text) + prompts.GAP)
        asked = tokenizer.count_many([prompts.asked(str(turn.question)) for turn in case.turns])
        yield replace(
            case,
            inputs={**case.inputs, "transcript": document},
            num_tokens={CL100K: opening + sum(asked)},
            document=document,
            labels={**case.labels, "wer": task.wer, "measured_wer": rate},
        )
