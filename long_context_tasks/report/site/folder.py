"""A folder that is replaced whole, and only where it is a site of ours."""

import json
import os
import shutil
from pathlib import Path
from types import TracebackType

from long_context_tasks.schema import InputError

MARKER = "lct-site.json"
"""Says that a folder is a site of ours, and which of its files are."""


class Replaced:
    """Context manager: gives a folder to write into, and moves it to its place when all went well.

    Where the place holds a site built before, its files go, and others in the folder, as tables written beside the site, stay.
    """

    def __init__(self, place: Path) -> None:
        """Check the place.

        Raises:
            InputError: there is something that is no site of ours.
        """
        self._place = place
        self._part = place.with_name(f".{place.name}.{os.getpid()}.part")
        self._old = place.with_name(f".{place.name}.{os.getpid()}.old")
        if not place.exists() or (place.is_dir() and not any(place.iterdir())):
            return
        if not place.is_dir() or not (place / MARKER).is_file():
            raise InputError(
                f"{place}: there is something that is no site of lct report; choose another folder or remove it"
            )

    def __enter__(self) -> Path:
        """Make the folder to write into.

        Raises:
            InputError: it cannot be made.
        """
        try:
            shutil.rmtree(self._part, ignore_errors=True)
            self._part.mkdir(parents=True)
        except OSError as error:
            raise self._cannot(error) from error
        return self._part

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Move it to its place, or remove it after an error.

        Raises:
            InputError: it cannot be moved; the old site is back in its place then.
        """
        if kind is not None:
            shutil.rmtree(self._part, ignore_errors=True)
            return
        try:
            self._move()
        except OSError as failed:
            shutil.rmtree(self._part, ignore_errors=True)
            raise self._cannot(failed) from failed

    def _move(self) -> None:
        own = sorted(path.name for path in self._part.iterdir())
        (self._part / MARKER).write_text(
            json.dumps({"made_by": "lct report", "files": [*own, MARKER]}, indent=1) + "\n", encoding="utf-8"
        )
        if not self._place.exists():
            self._part.replace(self._place)
            return
        before = _own_files(self._place)
        self._place.replace(self._old)
        try:
            self._part.replace(self._place)
        except OSError:
            self._old.replace(self._place)
            raise
        for path in list(self._old.iterdir()):
            if path.name not in before and not (self._place / path.name).exists():
                path.replace(self._place / path.name)
        shutil.rmtree(self._old, ignore_errors=True)

    def _cannot(self, error: OSError) -> InputError:
        return InputError(
            f"{self._place}: cannot be written ({error.strerror or error}); choose another place"
        )


def _own_files(place: Path) -> set[str]:
    """Names of what the site in the place wrote; nothing of an empty folder is ours."""
    try:
        held = json.loads((place / MARKER).read_text(encoding="utf-8"))
        return {str(name) for name in held["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {MARKER}
