"""Data as scripts: pages opened from a folder cannot fetch, but they can add a script."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from long_context_tasks.schema.files import json_value, write_whole

# What could end a script or a line of one in an old browser.
_UNSAFE = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
# Half of a surrogate pair, which UTF-8 has no bytes for.
_HALF = re.compile("[\ud800-\udfff]")


def script_json(value: Any) -> str:
    r"""JSON that means the same inside a script, whatever texts are in it.

    Keys of objects must be names of our own: a text of somebody else goes into lists (``__proto__`` is a key with a meaning).

    >>> script_json(["</script>", float("nan")])
    '["\\u003c/script\\u003e",null]'
    """
    text = json.dumps(json_value(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Not one expression: a text of millions of such characters would take seconds.
    for character, escaped in _UNSAFE.items():
        text = text.replace(character, escaped)
    return _HALF.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class ChunkStore:
    """Chunks in a folder, each once, under 16 digits of the SHA-256 of its content."""

    def __init__(self, folder: Path) -> None:
        """Args: folder: is made."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._known: set[str] = set()

    def put(self, value: Any) -> str:
        """Store a value and give its name.

        Raises:
            InputError: the file cannot be written.
        """
        text = script_json(value)
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        if name not in self._known:
            write_whole(self._folder / f"{name}.js", f'LCT.take("{name}",{text});\n')
            self._known.add(name)
        return name
