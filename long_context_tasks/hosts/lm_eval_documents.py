"""Short texts that many cases show are read once: a BestAnswer case of 128k tokens takes hundreds of posts."""

from collections import OrderedDict

from long_context_tasks.schema import Documents

# Characters kept; a thousand rendered prompts of 128k tokens, which the host keeps, are twenty times as many.
KEPT = 24_000_000
# Of longer texts (a book, a whole context) only the last is kept: cases of one stand together.
LONG = 200_000


class RecentDocuments(Documents):
    """A document table that keeps the texts asked for last, up to :data:`KEPT` characters."""

    def __init__(self, documents: Documents) -> None:
        """Read the same table."""
        super().__init__(documents.path)
        self._recent: OrderedDict[str, str] = OrderedDict()
        self._last_long = ("", "")
        self._size = 0

    def __getitem__(self, key: str) -> str:
        """Text of a document.

        Raises:
            InputError: no such key, or a damaged table.
        """
        if key == self._last_long[0]:
            return self._last_long[1]
        text = self._recent.get(key)
        if text is not None:
            self._recent.move_to_end(key)
            return text
        text = super().__getitem__(key)
        if len(text) > LONG:
            self._last_long = (key, text)
            return text
        self._recent[key] = text
        self._size += len(text)
        while self._size > KEPT:
            self._size -= len(self._recent.popitem(last=False)[1])
        return text

    def __getstate__(self) -> dict[str, object]:
        """Only the path travels to another process."""
        return {**super().__getstate__(), "_recent": OrderedDict(), "_last_long": ("", ""), "_size": 0}
