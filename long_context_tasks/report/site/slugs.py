"""Names of files for names of models and tasks, which may hold anything."""

import hashlib
import re

_PLAIN = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_HASHED = re.compile(r".*-[0-9a-f]{8}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")


def slug(name: str) -> str:
    """A name that is good for a file on any system, different for different names.

    Small letters, digits, ``.``, ``_`` and ``-`` stay; a name that loses something, that some system keeps for itself, or that ends as
    if it had them, gets eight digits of its hash.

    >>> slug("ada_leval_tsort_8k")
    'ada_leval_tsort_8k'
    >>> slug("Qwen/Qwen3-0.6B")
    'qwen-qwen3-0.6b-fb68f5a6'
    """
    odd = name.endswith(".") or _RESERVED.fullmatch(name) or _HASHED.fullmatch(name)
    if _PLAIN.fullmatch(name) and not odd:
        return name
    cleaned = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")[:48].rstrip("-._")
    return f"{cleaned or 'name'}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
