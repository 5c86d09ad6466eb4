"""Readers of debates: JSON Lines with the turns of each speaker, or plain transcripts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from long_context_tasks.corpora.plain_files import field_of, read_records, read_rows, read_text, stem_of
from long_context_tasks.schema import InputError

FORMS = (
    '.jsonl[.gz] with "debate_id" (or "id"), "title" and "turns": [{"speaker": ..., "text": ...}], or .txt[.gz] transcripts, '
    "one debate a file, a blank line between speeches"
)


@dataclass(frozen=True)
class Debate:
    """A debate.

    Attributes:
        id: of the debate.
        title: else the id.
        speeches: in order, each beginning with its speaker and a colon where the speaker is known; one line each.
    """

    id: str
    title: str
    speeches: tuple[str, ...]


def read_debates(path: Path) -> Iterator[Debate]:
    """Yield the debates at a path, one in memory at a time.

    Args:
        path: a file of one of the :data:`FORMS`, or a folder of such files.

    Raises:
        InputError: nothing to read, a row of another form, a debate without a word, two debates of one id.
    """
    readers = {"jsonl": _of_rows, "txt": _of_text}
    for place, debate in read_records(path, readers, f"no debates in it; give {FORMS}"):
        if not debate.speeches:
            raise InputError(f"{place}: the debate has no words; remove it or replace it")
        yield debate


def _of_rows(file: Path) -> Iterator[tuple[str, Debate]]:
    for place, row in read_rows(file, "a debate"):
        name = field_of(row, ("debate_id", "id"), place)
        turns = row.get("turns")
        if not isinstance(turns, list):
            raise InputError(f'{place}: "turns" must be a list of {{"speaker": ..., "text": ...}}')
        speeches = []
        for number, turn in enumerate(turns, start=1):
            if not isinstance(turn, dict) or not isinstance(turn.get("text"), str):
                raise InputError(f'{place}, turn {number}: must be {{"speaker": ..., "text": ...}}')
            speaker, text = turn.get("speaker"), " ".join(turn["text"].split())
            if text:
                speeches.append(f"{speaker.strip()}: {text}" if isinstance(speaker, str) else text)
        yield place, Debate(name, field_of(row, ("title",), place, needed=False) or name, tuple(speeches))


def _of_text(file: Path) -> Iterator[tuple[str, Debate]]:
    speeches = (" ".join(part.split()) for part in re.split(r"\n\s*\n", read_text(file)))
    yield str(file), Debate(stem_of(file), stem_of(file), tuple(filter(None, speeches)))
