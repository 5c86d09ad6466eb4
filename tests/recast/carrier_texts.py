"""Real texts of every kind for the tests of recasting, from the folder that LCT_SHARED names."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from long_context_tasks.corpora.books import read_books
from long_context_tasks.corpora.documents import read_debates, read_opinions, read_reviews
from long_context_tasks.corpora.plain_files import read_rows

KINDS = ("novels", "debates", "opinions", "abstracts", "meetings")


def carrier_texts(shared: Path, kind: str, n: int) -> list[str]:
    """Return the first texts of a kind."""
    return list(islice(_texts(shared, kind), n))


def _texts(shared: Path, kind: str) -> Iterator[str]:
    if kind == "novels":
        yield from ("\n\n".join(book.paragraphs) for book in read_books(shared / "books"))
    elif kind == "debates":
        debates = read_debates(shared / "debates" / "debates_turns.jsonl.gz")
        yield from ("\n\n".join(debate.speeches) for debate in debates)
    elif kind == "opinions":
        opinions = read_opinions(shared / "court_opinions" / "courtlistener_appellate_opinions.jsonl.gz")
        yield from ("\n\n".join(opinion.pages) for opinion in opinions)
    elif kind == "abstracts":
        for review in read_reviews(shared / "medical_abstracts" / "systematic_reviews"):
            yield "\n\n".join(f"{study.title}\n{study.abstract}" for study in review.studies[:100])
    else:
        for _, row in read_rows(shared / "qmsum" / "test.jsonl.gz", "a meeting"):
            turns = row["meeting_transcripts"]
            yield "\n\n".join(f"{turn['speaker']}: {turn['content']}" for turn in turns)
