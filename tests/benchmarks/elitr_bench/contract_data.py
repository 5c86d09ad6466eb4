"""The archives with invented meetings, for the test that both hosts are equal."""

from pathlib import Path

from invented_meetings import write_archives


def write_published_files(folder: Path, cases: int) -> None:
    """Write all archives; their questions are as many as they are.

    Args:
        folder: the benchmark's folder in LCT_DATA_DIR; it is there.
        cases: not looked at.
    """
    folder.rmdir()
    write_archives(folder.parent)
