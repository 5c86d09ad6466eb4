"""What the benchmark consists of, as in Table 1 of the paper."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from long_context_tasks.benchmarks.elitr_bench.archives import Archives, Meeting
from long_context_tasks.benchmarks.elitr_bench.data import differing_questions


@dataclass(frozen=True)
class Counts:
    """Table 1 for one split.

    Attributes:
        questions_per_meeting: by meeting id.
        by_type: questions by type.
        by_position: questions by the place of their answer.
        by_type_and_position: questions by both, as "who/B".
        differing: questions that QA and Conv word differently.
        differing_answers: questions whose gold answer differs between the two.
        tokens: mean, least and most tokens of a transcript; None when nobody counted.
    """

    questions_per_meeting: Mapping[str, int]
    by_type: Mapping[str, int]
    by_position: Mapping[str, int]
    by_type_and_position: Mapping[str, int]
    differing: int
    differing_answers: int
    tokens: tuple[float, int, int] | None = None

    @property
    def meetings(self) -> int:
        """Number of meetings."""
        return len(self.questions_per_meeting)

    @property
    def questions(self) -> int:
        """Number of questions."""
        return sum(self.questions_per_meeting.values())


def count(
    qa: Sequence[Meeting],
    conv: Sequence[Meeting],
    transcripts: Mapping[str, str] | None = None,
    count_tokens: Callable[[str], int] | None = None,
) -> Counts:
    """Counts of a split.

    Args:
        qa: meetings with the questions of the QA setting.
        conv: the same of the Conv setting.
        transcripts: by meeting id; with ``count_tokens`` their tokens are counted too.
        count_tokens: of a tokenizer; the paper's is LLaMA-2's.

    Raises:
        InputError: QA and Conv do not have the same questions.
    """
    questions = [question for meeting in qa for question in meeting.questions]
    others = [question for meeting in conv for question in meeting.questions]
    tokens = None
    if transcripts and count_tokens:
        lengths = [count_tokens(transcripts[meeting.id]) for meeting in qa]
        tokens = (sum(lengths) / len(lengths), min(lengths), max(lengths))
    return Counts(
        questions_per_meeting={meeting.id: len(meeting.questions) for meeting in qa},
        by_type=dict(Counter(question.type for question in questions)),
        by_position=dict(Counter(question.position for question in questions)),
        by_type_and_position=dict(Counter(f"{question.type}/{question.position}" for question in questions)),
        differing=len(differing_questions(qa, conv)),
        differing_answers=sum(
            one.answer != other.answer for one, other in zip(questions, others, strict=True)
        ),
        tokens=tokens,
    )


def count_split(archives: Archives, split: str, count_tokens: Callable[[str], int] | None = None) -> Counts:
    """Counts of a split of the published archives; transcripts are read only to count tokens."""
    qa, conv = archives.questions(split), archives.questions(split, conv=True)
    return count(qa, conv, archives.transcripts(split) if count_tokens else None, count_tokens)
