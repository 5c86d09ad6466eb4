"""Transcripts of meetings: JSON Lines in the form of QMSum, a meeting a line with ``meeting_transcripts``: speaker and content of each turn."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from long_context_tasks.corpora.plain_files import SourceRow, data_files, read_checked, stem_of
from long_context_tasks.schema import InputError

_NOTES = {"{disfmarker}": "-", "{gap}": "<unintelligible/>", "{vocalsound}": "<laugh/>"}
_NOTE = re.compile(r"\{\w+\}")
_SPELLED = re.compile(r"(?<=[A-Za-z])_(?=[A-Za-z]?)")
# One blank: longer runs are one blank by then.
_BEFORE_MARK = re.compile(r" (?=[.,?!;:]|['’](?:s|re|ve|d|ll|m|t)\b)")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class MeetingTalk:
    """A meeting: an id, and its turns, each with its speaker."""

    id: str
    turns: tuple[tuple[str, str], ...]


class _Turn(SourceRow):
    speaker: str
    content: str


class _Row(SourceRow):
    meeting_transcripts: list[_Turn]

    def record(self) -> tuple[tuple[str, str], ...]:
        return tuple((turn.speaker.strip(), clean(turn.content)) for turn in self.meeting_transcripts)


def clean(text: str) -> str:
    """Return what was said in ordinary spelling, with the marks of ELITR transcripts for laughter and what was not understood.

    >>> clean("Okay . So we {disfmarker} that 's the T_V_ {pause} one")
    "Okay. So we - that's the TV one"
    """
    text = _NOTE.sub(lambda found: _NOTES.get(found[0], ""), text)
    return _BEFORE_MARK.sub("", _SPACE.sub(" ", _SPELLED.sub("", text)).strip())


def read_meetings(path: Path, left_out: Counter[str] | None = None) -> Iterator[MeetingTalk]:
    """Yield the meetings of a file or a folder.

    Args:
        path: the file or folder.
        left_out: takes the numbers of turns without a speaker and without a word.

    Raises:
        InputError: no meeting there, or a row of another form.
    """
    files = data_files(path, "jsonl")
    for file in files:
        for number, (_, turns) in enumerate(read_checked(file, _Row, "a meeting"), 1):
            named = [turn for turn in turns if turn[0]]
            kept = tuple(turn for turn in named if turn[1].strip("-<>/ "))
            if left_out is not None:
                left_out["turns without a speaker"] += len(turns) - len(named)
                left_out["turns without a word"] += len(named) - len(kept)
            yield MeetingTalk(f"{stem_of(file)}-{number}", kept)
    if not files:
        raise InputError(
            f'{path}: there is no meeting; put .jsonl files with "meeting_transcripts": [{{"speaker": ..., "content": ...}}] there'
        )
