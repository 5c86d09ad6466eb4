"""Cases on meetings that are written from a seed, or on the talk of real meetings: any length, gold answers that the writer knows.

A case has the form of the published ones, so that prompts, judges and noise are the same; beside its gold answers it says in which
forms the right value and the others may be stated, see :mod:`.answers`. Of real meetings the people are tags, and other names are
replaced from a seed.
"""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from math import nan
from pathlib import Path
from random import Random

from long_context_tasks.benchmarks.building import (
    DEFAULT_LENGTH,
    BuiltFile,
    MadeCases,
    TaskReport,
    Work,
    built_file,
    cached_cases,
    run_settings,
    with_length,
    write_task,
)
from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.benchmarks.elitr_bench import prompts
from long_context_tasks.benchmarks.elitr_bench.answers import INPUT
from long_context_tasks.benchmarks.elitr_bench.task import (
    ElitrBenchOptions,
    ElitrTask,
    noise_description,
    noisy,
)
from long_context_tasks.corpora.meetings import MeetingTalk, read_meetings
from long_context_tasks.recast.carriers import carriers_of, recast_texts
from long_context_tasks.recast.entities import PERSON
from long_context_tasks.recast.substitution import Recast
from long_context_tasks.schema import Case, CaseSet, CaseWriter, InputError, Options, Turn, format_length
from long_context_tasks.schema.case_folder import cached_folder
from long_context_tasks.synthetic.meeting import Meeting, MeetingQuestion, write_meeting
from long_context_tasks.synthetic.meeting.points import Lines
from long_context_tasks.synthetic.meeting.speech import Cast, turn
from long_context_tasks.synthetic.meeting.talk import SyntheticTalk, Talk
from long_context_tasks.synthetic.vocabulary import Vocabulary
from long_context_tasks.synthetic.wording import stream
from long_context_tasks.tokens import CL100K, Tokenizer, get_tokenizer, tokenizer_identity
from long_context_tasks.tokens.build_settings import BuildSettings

logger = logging.getLogger(__name__)

NAME = "elitr_bench"
CASES = 200
"""Questions, or conversations, of each length when no number is asked for."""
MOST_QUESTIONS = 8
NANO = f"{NAME}_qa_nano"
"""The family with more questions on each meeting."""
NANO_QUESTIONS = 16
"""On a meeting, from 8k on."""
NANO_CASES = 320
"""Of each length, on 20 meetings from 8k on; see docs/nano.md."""
_MARGIN = 2
_TRIES = 5
MEETINGS = "meetings"
"""Kind of the carriers."""


@dataclass(frozen=True)
class MeetingSettings(BuildSettings):
    """Settings of synthetic cases: a length is the most tokens of a prompt, without the model's earlier answers."""

    SHORTEST = 1_000
    INSTRUCTION = "some 100"


def questions_at(length: int, family: str = "") -> int:
    """Return the number of questions about one meeting: eight (nano: sixteen), fewer about one that is too short for them."""
    if family == NANO:
        return max(1, min(NANO_QUESTIONS, length // 500))
    return max(1, min(MOST_QUESTIONS, length // 1_000))


def default_cases(family: str) -> int:
    """Return the number of cases of each length when no number is asked for."""
    return NANO_CASES if family == NANO else CASES


def file_of(family: str, length: int) -> str:
    """Return the name of the file of one length."""
    return f"{family}_{format_length(length)}"


def build(
    family: str,
    source: Path | None,
    settings: MeetingSettings,
    folder: Path,
    work: Work | None = None,
) -> list[TaskReport]:
    """Write the cases of a family (``elitr_bench_qa_synthetic``) into a case folder, all or nothing; an older one is replaced.

    Raises:
        InputError: a length is too short, or the tokenizer cannot be had.
    """
    if card(NAME).tasks[family.removeprefix(f"{NAME}_")].source == "recast":
        source = carriers_of(Options(carriers=source), MEETINGS, family)
    work = work or Work()
    number = settings.n or default_cases(family)
    settings = replace(settings, n=number)
    # An unavailable tokenizer is reported before anything is written.
    _ = (settings.measure, settings.other_tokenizer)
    with work.writer(folder, {**asdict(settings), "card_version": card(NAME).version}) as writer:
        reports = []
        for length in settings.lengths:
            task, step = file_of(family, length), 1 if _is_conv(family) else questions_at(length, family)
            places = range(-(-number // step))
            cases = work.cases(writer, partial(_made, family, settings, source, length), places, task)
            reports.append(write_task(writer, task, cases, settings, lambda case: nan, {}))
        return reports


def _is_conv(family: str) -> bool:
    return family.startswith(f"{NAME}_conv")


def _made(family: str, settings: MeetingSettings, source: Path | None, length: int, place: int) -> MadeCases:
    """Return the cases on a meeting: one for each of its questions, or one conversation."""
    conv = _is_conv(family)
    # What is counted here is counted for one meeting only; the tokenizers would remember it for all of them.
    known = (get_tokenizer(CL100K), settings.other_tokenizer)
    tokenizers = {counter.name: counter.fresh() for counter in known if counter is not None}
    meeting = _meeting(length, settings, place, family, source, tokenizers[settings.measure.name])
    whole = Case(
        id=meeting.id,
        task=file_of(family, length),
        inputs={"transcript": meeting.id, "language": "english"},
        turns=tuple(_turn(number, each, conv) for number, each in enumerate(meeting.questions, 1)),
        cluster=meeting.id,
        document=meeting.id,
        labels={
            "split": "recast" if source else "synthetic",
            "language": "english",
            "length": format_length(length),
        },
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
    # Of the last meeting as many as are wanted.
    left = (settings.n or default_cases(family)) - place * len(cases)
    return MadeCases(tuple(cases[:left]), tuple(texts.items()))


def _meeting(
    length: int, settings: MeetingSettings, place: int, family: str, source: Path | None, tokenizer: Tokenizer
) -> Meeting:
    """Return a meeting whose prompts are at most ``length`` tokens, and few less; the same questions for QA and Conv."""
    conv, number = _is_conv(family), questions_at(length, family)
    seed = stream(settings.seed, f"meeting {length} {place}") >> 16

    def opening(passages: Sequence[str]) -> int:
        return tokenizer.count_parts(prompts.opening(passages))

    def asked(questions: Sequence[MeetingQuestion]) -> int:
        counts = [tokenizer.count(prompts.asked(_text(question, conv))) for question in questions]
        return (sum(counts) if conv else max(counts)) if counts else 20 * number

    room = length - opening([""]) - _MARGIN
    for _ in range(_TRIES):
        meeting = write_meeting(
            seed,
            lambda questions, room=room: room - asked(questions),  # type: ignore[misc]
            number,
            first=place * number,
            count=tokenizer.count,
            talks=partial(RealTalk, source, stream(seed, "names")) if source else SyntheticTalk,
        )
        over = opening(meeting.passages) + asked(meeting.questions) - length
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


def resolve(task: ElitrTask, options: ElitrBenchOptions) -> ElitrBenchOptions:
    """Return the options with the length of the cases, and with what built cases say of their making.

    Raises:
        InputError: no such cases, or options that contradict them.
    """
    if options.cases is not None:
        return _built(task, options.cases, options.length).resolve(options)
    if options.tokenizer is not None:
        tokenizer_identity(options.tokenizer)  # an unknown name is reported before anything is written
    return with_length(options)


def _built(task: ElitrTask, folder: Path, length: int | None) -> BuiltFile:
    return built_file(folder, task.family, f"{task.family}_*", length)


def cases_of(task: ElitrTask, options: ElitrBenchOptions) -> CaseSet:
    """Return the cases of a synthetic task: built ones, or written once into the cache; noisy ones are kept there, too.

    Raises:
        InputError: a length that is too short, cases that cannot be read, or noise rules that cannot be used.
    """
    if options.cases is not None:
        cases = _built(task, options.cases, options.length).read()
    else:
        settings = run_settings(MeetingSettings, options, default_cases(task.family))
        carriers = carriers_of(options, MEETINGS, task.name) if task.source == "recast" else None
        cases = cached_cases(
            file_of(task.family, settings.lengths[0]),
            settings,
            card(NAME).version,
            lambda folder: build(task.family, carriers and carriers.parent, settings, folder),
            carriers,
        )
    return _noisy(task, task.wer, cases, options) if task.wer else cases


def _noisy(task: ElitrTask, wer: int, cases: CaseSet, options: ElitrBenchOptions) -> CaseSet:
    """Return the same cases with noisy transcripts.

    Prompts are counted anew: noise changes the length of a text, so that some are longer than what was asked for.
    """
    file = file_of(task.family, options.length or DEFAULT_LENGTH)
    wanted = cases.cases[: options.n or options.subset]
    made_from = {
        "cases": cases.manifest["tasks"],
        "of": cases.manifest["options"],
        "n": len(wanted),
        "wer": wer,
        "seed": options.seed,
        "card": card(NAME).version,
        **noise_description(options),
    }

    def changed(writer: CaseWriter) -> Iterator[Case]:
        tokenizer = get_tokenizer(CL100K).fresh()
        document, text, rate = "", "", 0.0
        for case in wanted:
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
            [counted] = prompts.counted([other], {document: text}, [tokenizer], together=True)
            yield counted

    def write(folder: Path) -> None:
        with CaseWriter(folder, {"made_from": made_from}) as writer:
            writer.add_cases(file, changed(writer))

    return CaseSet.read(cached_folder(f"{file}_wer{wer}", made_from, write), file)


FEWEST = 6
"""People whom a meeting needs, so that a point has four who bring up values, who settles it, and somebody else."""
_MOST = 9  # of them take part in points
_ABSENT = 9
_PIECE = 120  # tokens of real talk between two decisions whether something else is said
_MOST_TURNS = 40  # in one piece
_SENTENCE = re.compile(
    r"(?<=[.?!])(?<!\bMr\.)(?<!\bMs\.)(?<!\bDr\.)(?<!\bSt\.)(?<!\bMrs\.)(?<!\b[A-Z]\.) (?=[A-Z<-])"
)
_NAME = re.compile(r"[^\W\d_]{3,}")

Turns = Sequence[tuple[str, str]]


@lru_cache(maxsize=1)
def _meetings_of(folder: Path) -> Sequence[MeetingTalk]:
    """Return the meetings of a folder in which enough people speak; warn of what is left out.

    Raises:
        InputError: there is none.
    """
    left_out: Counter[str] = Counter()
    meetings = list(read_meetings(folder, left_out))
    found = [meeting for meeting in meetings if len({speaker for speaker, _ in meeting.turns}) >= FEWEST]
    left_out[f"meetings in which fewer than {FEWEST} people speak"] = len(meetings) - len(found)
    if lost := ", ".join(f"{count:,} {what}" for what, count in left_out.items() if count):
        logger.warning("%s: left out %s", folder, lost)
    if not found:
        raise InputError(f"{folder}: in no meeting speak {FEWEST} people or more; put others there")
    return found


class RealTalk(Talk):
    """Goes on with real meetings: from any turn of any of them to its end, then with another one.

    The people who speak most have the same tags in each of them, and only they take part in points.
    """

    def __init__(
        self,
        folder: Path,
        names: int,
        seed: int,
        num_tokens: int,
        count: Callable[[Sequence[str]], int],
    ) -> None:
        """Talk as in the meetings of a folder.

        Args:
            folder: of the carriers.
            names: seed of the replaced names.
            seed: of everything else.
            num_tokens: of the meeting.
            count: returns the tokens of lines.
        """
        random = Random(seed)
        meetings = random.sample(_meetings_of(folder), len(_meetings_of(folder)))
        most = max(len(_speakers(meeting)) for meeting in meetings)
        numbers = Random(names).sample(range(1, most + _ABSENT + 1), most + _ABSENT)
        people = [f"[PERSON{number}]" for number in numbers]
        vocabulary = Vocabulary(names)
        cast = Cast(
            present=tuple(people[: min(_MOST, *(len(_speakers(meeting)) for meeting in meetings))]),
            absent=tuple(people[most:]),
            projects=tuple(vocabulary.product() for _ in range(8 + num_tokens // 10_000)),
            organizations=(),
            locations=(),
        )
        super().__init__(cast, random.random, count)
        self._turns = _endless(meetings, people, names, random)
        self._left: tuple[str, list[str]] = ("", [])

    def chat(self, room: float) -> Lines:
        """Return the next turns, and of the last one as many sentences as there is room for; what is longer than the room is left out."""
        lines: Lines = []
        for _ in range(_MOST_TURNS):
            speaker, sentences = self._left if self._left[1] else next(self._turns)
            said = 0
            while (
                said < len(sentences) and self.count([*lines, *turn(speaker, *sentences[: said + 1])]) <= room
            ):
                said += 1
            if said:
                lines += turn(speaker, *sentences[:said])
            elif not lines:
                said = 1
            self._left = speaker, sentences[said:]
            if lines and (self._left[1] or self.count(lines) >= _PIECE):
                break
        return lines


def _speakers(meeting: MeetingTalk) -> Mapping[str, int]:
    """Return the speakers with their places: who speaks most is the first."""
    ranked = Counter(speaker for speaker, _ in meeting.turns).most_common()
    return {speaker: place for place, (speaker, _) in enumerate(ranked)}


def _endless(
    meetings: Sequence[MeetingTalk], people: Sequence[str], names: int, random: Random
) -> Iterator[tuple[str, list[str]]]:
    """Yield speakers and sentences: the first meeting from any turn on, then the others from their beginning."""
    start: int | None = random.randrange(len(meetings[0].turns))
    while True:
        for meeting in meetings:
            tags = {speaker: people[place] for speaker, place in _speakers(meeting).items()}
            for speaker, text in list(_recast(meeting, names, tuple(tags.items())))[start:]:
                yield speaker, _SENTENCE.split(text)
            start = None


@lru_cache(maxsize=32)
def _recast(meeting: MeetingTalk, names: int, tags: tuple[tuple[str, str], ...]) -> Turns:
    """Return the turns with other names: those of speakers are their tags."""
    owners: dict[str, set[str]] = {}
    for speaker, tag in tags:
        for word in _NAME.findall(speaker.partition("(")[0]):
            owners.setdefault(word, set()).add(tag)
    known = {word: next(iter(found)) for word, found in owners.items() if len(found) == 1}
    texts = recast_texts([f"{speaker}: {text}" for speaker, text in meeting.turns], names, meeting.id)
    return [
        (dict(tags)[speaker], _tagged(text, known))
        for (speaker, _), text in zip(meeting.turns, texts, strict=True)
    ]


def _tagged(recast: Recast, known: Mapping[str, str]) -> str:
    """Return what is said behind the speaker's name, with tags for the names of those who speak in the meeting."""
    text, at, parts, before = recast.text, recast.text.index(": ") + 2, [], ""
    for span in recast.spans:
        word = _NAME.match(span.original)
        tag = known.get(word[0]) if word and span.kind in PERSON | {"name"} else None
        if span.start < at or tag is None:
            continue
        between = text[at : span.start]
        if not (before == tag and between == " "):
            parts += [between, tag]
        end = re.search(r"['’]s?$", span.original)
        parts.append(end[0] if end else "")
        at, before = span.end, tag
    return "".join(parts) + text[at:]
