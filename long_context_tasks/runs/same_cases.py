"""Whether a run was made as it is asked for, as far as its options tell; of built cases what they hold counts, and not where they lie."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from long_context_tasks.runs.bundle import is_bundle
from long_context_tasks.runs.settings import DEFAULTS, OF_THE_PLACE
from long_context_tasks.runs.stored import StoredRun
from long_context_tasks.schema import InputError

COUNTED_BY_SIZE = ("lct_n", "lct_subset")
"""How many cases is counted, and no difference."""
CASES, _RULES = "lct_cases", "lct_noise_rules"
_DIGEST = "cases_sha256"


@dataclass(frozen=True)
class BuiltCases:
    """The built cases that a task is asked for on.

    Attributes:
        digest: of the folder's files, see :func:`long_context_tasks.hosts.built_cases.cases_digest`; empty when not known.
        ids: of all cases.
    """

    digest: str
    ids: frozenset[str]


def telling(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that change what is asked; how many cases is counted instead."""
    return {
        key: _resolved(value) if key in (CASES, _RULES) else value
        for key, value in options.items()
        if key not in (*OF_THE_PLACE, *COUNTED_BY_SIZE) and value != DEFAULTS.get(key)
    }


def differing(
    run: StoredRun, asked: Mapping[str, Any] | None, given: frozenset[str], built: BuiltCases | None = None
) -> str:
    """Which options of a run are not those asked for, in words; empty when none, or when nobody knows.

    Built cases are the same when the run tells the same hash of them. A run of before hashes were written is taken to be on the same cases when
    its folder is the one asked for, or one of the same name with the same ids. Bundles keep of a path its
    last name, and that is compared.

    Args:
        run: any.
        asked: see :func:`telling`; None when nobody knows.
        given: those of them that the user gave: a run must tell them. Others follow from the task or its cases, and OpenCompass writes
            down what was given only.
        built: the cases that are asked for; None where they are not built, or could not be read.
    """
    return "" if asked is None else ", ".join(_differences(run, asked, given, built))


def _differences(
    run: StoredRun, asked: Mapping[str, Any], given: frozenset[str], built: BuiltCases | None
) -> Iterator[str]:
    then = telling(run.options)
    for key in sorted({*then, *asked}):
        one, other = then.get(key), asked.get(key)
        if key == CASES and None not in (one, other) and built is not None:
            if why := _other_cases(run, str(other), built):
                yield f"{key}={run.options[key]} {why}"
        elif one != other and (key in then or key in given):
            if key in (CASES, _RULES) and None not in (one, other) and is_bundle(run.folder):
                one, other = _name(run.options[key]), _name(other)
            if one != other:
                yield f"{key}={one} instead of {other}"


def _other_cases(run: StoredRun, asked: str, built: BuiltCases) -> str:
    """Why the built cases of a run are not those asked for, in a folder; empty when they are."""
    digest = run.provenance.get(_DIGEST)
    if digest and built.digest:
        return "" if digest == built.digest else f"held other cases than {asked}"
    told = str(run.options[CASES])
    # A bundle has the last name of the path only, which says nothing of a folder here.
    if not is_bundle(run.folder) and _resolved(told) == asked:
        return ""
    if _name(told) != _name(asked):
        return f"instead of {asked}"
    try:
        ids = {case.id for case in run.cases()}
    except InputError:
        return f"instead of {asked}, and the run has no cases that can be compared"
    # Of the same cases either may have run fewer (lct_n).
    return "" if ids and (ids <= built.ids or built.ids <= ids) else f"held other cases than {asked}"


def _resolved(place: Any) -> Any:
    """A whole path; what is none, in files of others, stays as it is."""
    return str(Path(place).resolve()) if isinstance(place, str) and "\0" not in place else place


def _name(place: Any) -> str:
    """The last part of a path of any system."""
    return re.split(r"[/\\]", str(place).rstrip("/\\"))[-1]
