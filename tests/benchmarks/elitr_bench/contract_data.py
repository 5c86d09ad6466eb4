"""The archives with invented meetings, for the test that both hosts are equal."""

from pathlib import Path

from invented_meetings import write_archives


def write_published_files(folder: Path, cases: int) -> None:
    """Write all archives, whose number of questions is fixed."""
    folder.rmdir()
    write_archives(folder.parent)
