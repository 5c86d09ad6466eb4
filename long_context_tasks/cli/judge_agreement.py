"""Sentences on how judges agree with people: measured by the user, else as a paper prints it, else none."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from long_context_tasks.report.schema import Collection

_PEOPLE = ("people", "human", "gold", "annotator", "rater")
_FORM = "expected what `lct judge compare FILES --out FILE` writes"
# Models whose agreement with people the ELITR-Bench paper prints, by the name of its raters.
_ELITR_RATERS = {"gpt-4-0613": "gpt-4", "prometheus-13b-v1.0": "prometheus"}


def judge_sentences(collection: "Collection", agreement: Path | None) -> dict[str, str]:
    """Judge of the collection to a sentence; judges of whom nobody knows anything are left out.

    Args:
        collection: of the site.
        agreement: what ``lct judge compare --out`` wrote; None: only what papers print.

    Raises:
        InputError: the file is not of that form.
    """
    measured = {} if agreement is None else read_agreement(agreement)
    found: dict[str, str] = {}
    rows = collection.runs.select("judge", "judge_settings", "benchmark").unique(maintain_order=True)
    for judge, settings, benchmark in rows.iter_rows():
        if judge is None or judge in found:
            continue
        model = str((json.loads(settings or "{}") or {}).get("model") or "")
        names = (judge, judge.rpartition("-")[0], model, model.rpartition("/")[2])
        sentence = next((measured[name] for name in names if name and name in measured), "")
        sentence = sentence or (published_sentence(model) if benchmark == "elitr_bench" else "")
        if sentence:
            found[judge] = sentence
    return found


def published_sentence(model: str) -> str:
    """What the ELITR-Bench paper prints on a judge's agreement with people; empty for other models.

    >>> published_sentence("gpt-4-0613").startswith("Pearson correlation with people 0.82 (gold) and 0.78 (silver)")
    True
    """
    from long_context_tasks.benchmarks.elitr_bench.paper_tables import published

    rater = _ELITR_RATERS.get(model.rpartition("/")[2].lower())
    if rater is None:
        return ""
    told = {frozenset(entry["pair"]): entry["published"] for entry in published()["fig2b"]}
    gold, silver = (told[frozenset((rater, f"{kind}-human"))] for kind in ("gold", "silver"))
    return (
        f"Pearson correlation with people {gold} (gold) and {silver} (silver scores), as the ELITR-Bench paper prints it "
        "(Fig. 2b): published, not measured here."
    )


def read_agreement(path: Path) -> dict[str, str]:
    """Rater to a sentence on its agreement with people, from the file of ``lct judge compare --out``, with or without ``--splits``.

    In a file without ``--splits`` people are the rater whose name says so (gold, human, people, annotator, rater), one in each pair.

    Raises:
        InputError: it cannot be read, has another form, or names no people.
    """
    from long_context_tasks.schema import InputError

    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        found = (
            _of_study(content, path.name)
            if "study" in content
            else _of_splits(content["comparison"], path.name)
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        told = getattr(error, "strerror", None) or repr(error)
        raise InputError(f"{path}: no agreement of judges in it ({told}); {_FORM}") from error
    if not found:
        raise InputError(
            f"{path}: no pair of a judge and people; name the people's field gold or human, and compare again"
        )
    return found


def _of_study(content: Mapping[str, Any], name: str) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for one in content["study"]["correlations"]:
        first, second = str(one["first"]), str(one["second"])
        people = [rater for rater in (first, second) if _are_people(rater)]
        if len(people) != 1 or one["value"] is None:
            continue
        judge = second if people[0] == first else first
        ends = one.get("interval") or {}
        low, high = ends.get("low"), ends.get("high")
        interval = "" if low is None or high is None else f" ({low:.2f} to {high:.2f})"
        found.setdefault(judge, []).append(
            f"{str(one['method']).capitalize()} {float(one['value']):.2f}{interval} with {people[0]}, n = {one['n']}"
        )
    return {judge: f"Correlation with people: {'; '.join(told)} ({name})." for judge, told in found.items()}


def _of_splits(content: Mapping[str, Any], name: str) -> dict[str, str]:
    found = {}
    for one in content["figures"]:
        rho, mae = _mean(one["rho"]), _mean(one["mae"])
        if rho is None:
            continue
        error = "" if mae is None else f", mean absolute error {mae:.3f} on 0 to 1"
        found[str(one["name"])] = f"Spearman's rho with people {rho:.2f}{error}, n = {one['n']} ({name})."
    return found


def _mean(value: Any) -> float | None:
    """Of a figure over splits: a number, or an object with its mean."""
    number = value.get("mean") if isinstance(value, Mapping) else value
    return float(number) if isinstance(number, int | float) and math.isfinite(number) else None


def _are_people(name: str) -> bool:
    return any(word in name.lower() for word in _PEOPLE)
