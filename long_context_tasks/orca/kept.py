"""Predictions of a scoring that is not finished, in ``OUT.part`` beside the place of its result."""

import hashlib
import json
import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import loads


class KeptPredictions:
    """Outputs of a model by the tokens that it read. The file grows with each batch, so a scoring that is killed loses one batch at most.

    The first line states what made the outputs, the others are a digest of the tokens and the outputs. What was kept first of some tokens stays.
    """

    def __init__(self, result: Path, made_by: str) -> None:
        """Read what an earlier run kept.

        Args:
            result: place of the scores.
            made_by: checkpoint and precision; outputs of another one are not taken.

        Raises:
            InputError: the file cannot be read, or its outputs were made by something else.
        """
        self.path = result.with_name(f"{result.name}.part")
        self._made_by = made_by
        self._outputs: dict[str, list[float]] = {}
        try:
            lines = self.path.read_bytes().split(b"\n") if self.path.exists() else []
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot be read ({error.strerror}); choose another --out"
            ) from error
        if lines and lines[0] != self._first_line():
            raise InputError(
                f"{self.path}: an unfinished scoring with another checkpoint, device or type; give the same options as then, or remove the file"
            )
        for line in lines[1:]:
            with suppress(ValueError, TypeError):  # the line that was being written
                digest, outputs = loads(line)
                self._outputs.setdefault(digest, outputs)

    def __len__(self) -> int:
        """Return the number of texts whose outputs are kept."""
        return len(self._outputs)

    def get(self, tokens: Sequence[int]) -> list[float] | None:
        """Return the outputs for some tokens; None if they are not kept."""
        return self._outputs.get(_digest(tokens))

    def add(self, rows: Sequence[Sequence[int]], outputs: Sequence[Sequence[float]]) -> None:
        """Keep the outputs for the rows of a batch; what is not finite is not kept.

        Raises:
            InputError: the file cannot be written.
        """
        new: dict[str, list[float]] = {}
        for tokens, values in zip(rows, outputs, strict=True):
            digest = _digest(tokens)
            if digest not in self._outputs and all(map(math.isfinite, values)):
                new[digest] = list(values)
        if not new:
            return
        first = not self._outputs
        self._outputs |= new
        try:
            with self.path.open("wb" if first else "ab") as file:
                # Each line brings the line end before it: the last one may have been cut.
                file.write(self._first_line() if first else b"")
                file.write(b"".join(f"\n{json.dumps(each)}".encode() for each in new.items()))
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot be written ({error.strerror}); make room and give the same command again"
            ) from error

    def remove(self) -> None:
        """Remove the file, once the result is in its place."""
        self.path.unlink(missing_ok=True)

    def _first_line(self) -> bytes:
        return json.dumps({"made by": self._made_by}).encode()


def _digest(tokens: Sequence[int]) -> str:
    return hashlib.sha256(",".join(map(str, tokens)).encode()).hexdigest()[:32]
