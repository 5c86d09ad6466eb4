"""JSON as the hosts write it, read fast where ``orjson`` is installed (the extra ``report`` brings it)."""

import json
from typing import Any

try:
    from orjson import loads as _strict
except ImportError:  # pragma: no cover - the standard library reads the same, some times slower
    _strict = None  # type: ignore[assignment]


def loads(data: bytes) -> Any:
    """A value from JSON; also with NaN and halves of surrogate pairs, which Python's own writer lets through.

    >>> loads(b'[1, "x"]'), loads(b'"\\\\ud800"')
    ([1, 'x'], '\\ud800')

    Raises:
        ValueError: not JSON, or nested beyond all reason.
    """
    if _strict is not None:
        try:
            return _strict(data)
        except ValueError:
            pass  # NaN, say: the standard library decides
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
