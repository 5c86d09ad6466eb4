"""Needle has no published files: its cases are written from a seed."""

from pathlib import Path


def write_published_files(folder: Path, cases: int) -> None:
    pass
