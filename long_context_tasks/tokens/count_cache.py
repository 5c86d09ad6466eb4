"""Token counts of long prompts, kept in the user's cache so that later runs do not encode the same text again.

One SQLite file per tokenizer identity, ``token_counts/<identity>.sqlite``, has a row with a 16-byte hash and a count for every text.
SQLite's locks make it safe for several processes. If the cache cannot be read or written, texts are counted without it after a warning.
"""

import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

from long_context_tasks.schema import Case
from long_context_tasks.schema.options import cache_dir
from long_context_tasks.tokens.tokenizers import get_tokenizer, text_hash, tokenizer_identity

logger = logging.getLogger(__name__)

Countable = tuple[str, Callable[[], str]]
"""Key of a text (the text itself, or anything that determines it), and a function that returns the text."""
# Few, because a batch of long prompts is in memory at once.
_BATCH = 16
_THREADS = 8
_WAIT = 60.0  # seconds for the writes of other processes, which are short but may be many
_WRITE_EVERY = 5.0


def count_cases(
    cases: Sequence[Case], name: str, countable: Callable[[Case], Countable], what: str = ""
) -> list[Case]:
    """Return the cases with the number of tokens of their prompts added to ``num_tokens``; existing counts stay.

    Args:
        cases: any number of cases.
        name: name of the tokenizer, which is the key in ``num_tokens``.
        countable: returns the prompt of a case.
        what: title of the progress bar.

    Raises:
        InputError: the tokenizer is not available.
    """
    new = [case for case in cases if name not in case.num_tokens]
    counts = iter(cached_counts(name, map(countable, new), len(new), what) if new else [])
    return [
        case if name in case.num_tokens else replace(case, num_tokens={**case.num_tokens, name: next(counts)})
        for case in cases
    ]


def cached_counts(
    name: str, texts: Iterable[Countable], total: int | None = None, what: str = ""
) -> list[int]:
    """Return the number of tokens of each text; only texts that no run has counted yet are encoded.

    Texts are taken in small batches, so that memory never holds them all; a progress bar appears when it takes a while.

    Args:
        name: of a tokenizer, see :func:`get_tokenizer`, which is only called when a text must be encoded.
        texts: in any number; see :data:`Countable`.
        total: their number, for the progress bar.
        what: title of the progress bar.

    Raises:
        InputError: the tokenizer is not available.
    """
    identity = tokenizer_identity(name)
    store = _Store(cache_dir() / "token_counts" / f"{identity}.sqlite")
    counts: list[int] = []
    from tqdm import tqdm

    bar = tqdm(total=total, desc=what or name, unit=" prompts", delay=1.0, disable=None, leave=False)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # Encoding runs outside Python's lock, so threads use the processor's cores.
    with closing(store), bar, ThreadPoolExecutor(min(_THREADS, cores)) as pool:
        waiting = iter(texts)
        while batch := list(islice(waiting, _BATCH)):
            keys = [text_hash(known_by) for known_by, _ in batch]
            found = store.read(keys)
            new = {key: text for key, (_, text) in zip(keys, batch, strict=True) if key not in found}
            if new:
                if get_tokenizer(name).identity != identity:
                    get_tokenizer.cache_clear()  # the file was replaced after this process read it
                counter = get_tokenizer(name).count
                # Texts are made in this thread, because their sources need not be thread-safe.
                sizes = pool.map(counter, [text() for text in new.values()])
                added = dict(zip(new, sizes, strict=True))
                store.add(added)
                found.update(added)
            counts += [found[key] for key in keys]
            bar.update(len(batch))
    return counts


class _Store:
    """Counts of a tokenizer on disk; empty after a warning if the file cannot be used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._table: sqlite3.Connection | None = None
        self._unwritten: dict[bytes, int] = {}
        self._written = time.monotonic()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._table = sqlite3.connect(path, timeout=_WAIT)
            self._table.execute(
                "CREATE TABLE IF NOT EXISTS counts (key BLOB PRIMARY KEY, tokens INTEGER NOT NULL) WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)

    def read(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        if self._table is None:
            return {}
        marks = ",".join("?" * len(keys))
        try:
            rows = self._table.execute(f"SELECT key, tokens FROM counts WHERE key IN ({marks})", keys)
            found = {bytes(key): int(tokens) for key, tokens in rows}
        except sqlite3.Error as error:
            self._give_up(error)
            return {}
        return found | {key: self._unwritten[key] for key in keys if key in self._unwritten}

    def add(self, counts: dict[bytes, int]) -> None:
        """Add counts, which are written every few seconds, because a commit is slow, and when the store is closed."""
        self._unwritten.update(counts)
        if time.monotonic() - self._written > _WRITE_EVERY:
            self._write()

    def _write(self) -> None:
        if self._table is not None and self._unwritten:
            try:
                with self._table:
                    # Another process may have added the same rows.
                    self._table.executemany(
                        "INSERT OR IGNORE INTO counts VALUES (?, ?)", self._unwritten.items()
                    )
            except sqlite3.Error as error:
                self._give_up(error)
        self._unwritten.clear()
        self._written = time.monotonic()

    def _give_up(self, error: Exception) -> None:
        logger.warning(
            "%s: cannot keep token counts there (%s), so every run counts again; remove the file, free some space, or point "
            "LCT_CACHE_DIR at another folder",
            *(self.path, error),
        )
        if self._table is not None:
            self._table.close()
            self._table = None

    def close(self) -> None:
        self._write()
        if self._table is not None:
            self._table.close()
            self._table = None
