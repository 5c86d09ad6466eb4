"""Settings of runs and cells, which stand in tables as JSON."""

import json
from typing import Any

from long_context_tasks.schema.files import json_value


def held_settings(text: str | None) -> dict[str, Any]:
    """Settings by name; none where the text, which may come from a file of somebody else, is no JSON object.

    >>> held_settings('{"lct_n": 5}'), held_settings("[1]"), held_settings(None)
    ({'lct_n': 5}, {}, {})
    """
    try:
        held = json_value(json.loads(text or "{}"))
    except (ValueError, RecursionError):
        return {}
    return held if isinstance(held, dict) else {}
