"""Readers of systematic reviews with the abstracts of their studies: screening lists, MS^2 records, JSON Lines."""

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from long_context_tasks.corpora.plain_files import field_of, read_records, read_rows, read_text, stem_of
from long_context_tasks.schema import InputError

FORMS = (
    '.jsonl[.gz] with "review_id", "title", "background" and "studies": [{"id", "title", "abstract", "included"}]; '
    ".csv[.gz] screening lists, one review a file, with the columns record_id or pubmedID, title, abstract, label_included; "
    "or .json[.gz] records of MS^2"
)
_TAG = re.compile(r"</?(?:pop|int|out)>")
_YES = ("1", "1.0", "true", "yes")
_NO = ("", "0", "0.0", "false", "no")


@dataclass(frozen=True)
class Study:
    """A study that was looked at for a review.

    Attributes:
        id: digits; a PubMed id where the review has them, else unique within the review only.
        title, abstract: one line each; studies without an abstract are left out by the readers.
        included: whether the finished review uses it.
    """

    id: str
    title: str
    abstract: str
    included: bool


@dataclass(frozen=True)
class Review:
    """A systematic review.

    Attributes:
        id: name of its file, or from its row.
        title: else the id.
        background: the paragraph that says what the review asks; empty where there is none.
        studies: those with an abstract, in order, each id once.
        pubmed: whether the ids are PubMed's, so that those of two reviews can be compared.
    """

    id: str
    title: str
    background: str
    studies: tuple[Study, ...]
    pubmed: bool

    @property
    def included(self) -> frozenset[str]:
        """Ids of the studies that the finished review uses."""
        return frozenset(study.id for study in self.studies if study.included)


def read_reviews(path: Path) -> Iterator[Review]:
    """Yield the reviews at a path.

    Args:
        path: a file of one of the :data:`FORMS`, or a folder of such files (and of folders of them); JSON files of another
            shape in a folder are passed over.

    Raises:
        InputError: nothing to read, a row of another form, two reviews of one id.
    """
    readers = {"csv": _of_list, "jsonl": _of_rows, "json": _of_ms2}
    for _, review in read_records(path, readers, f"no reviews in it; give {FORMS}"):
        yield review


def _studies(found: Sequence[Study]) -> tuple[Study, ...]:
    by_id: dict[str, Study] = {}
    for study in found:
        if study.abstract:
            by_id.setdefault(study.id, study)
    return tuple(by_id.values())


def _line(text: object) -> str:
    return " ".join(_TAG.sub("", text).split()) if isinstance(text, str) else ""


def _number(text: str, place: str) -> str:
    if not re.fullmatch(r"\d+", text, re.ASCII):
        raise InputError(f"{place}: the id {text[:40]!r} must be digits, as answers name studies by number")
    return text


def _is_included(value: object, place: str) -> bool:
    text = str(value if value is not None else "").strip().lower()
    if text not in (*_YES, *_NO):
        raise InputError(f"{place}: label_included (included) must be 1 or 0, not {text[:20]!r}")
    return text in _YES


def _of_list(file: Path) -> Iterator[tuple[str, Review]]:
    """Read a screening list, whose name is its topic, such as ``Cohen_2006_Estrogens``."""
    csv.field_size_limit(1 << 27)
    table = csv.DictReader(io.StringIO(read_text(file), newline=""))
    names = table.fieldnames or ()
    pubmed = "pubmedID" in names
    key = "pubmedID" if pubmed else "record_id"
    if missing := [name for name in (key, "title", "abstract", "label_included") if name not in names]:
        raise InputError(
            f"{file}: no column {', '.join(missing)}; a screening list has record_id or pubmedID, title, abstract, label_included"
        )
    found = []
    try:
        for number, row in enumerate(table, start=2):
            place = f"{file}, row {number}"
            if (row[key] or "").strip():
                name = _number(re.sub(r"\.0$", "", row[key].strip()), place)
                included = _is_included(row["label_included"], place)
                found.append(Study(name, _line(row["title"]), _line(row["abstract"]), included))
    except csv.Error as error:
        raise InputError(f"{file}, line {table.line_num}: not CSV ({error}); write it again") from error
    name = stem_of(file)
    yield str(file), Review(name, name.replace("_", " "), "", _studies(found), pubmed)


def _of_rows(file: Path) -> Iterator[tuple[str, Review]]:
    for place, row in read_rows(file, "a review"):
        name = field_of(row, ("review_id", "id"), place)
        rows = row.get("studies")
        if not isinstance(rows, list) or not all(isinstance(one, dict) for one in rows):
            raise InputError(
                f'{place}: "studies" must be a list of {{"id", "title", "abstract", "included"}}'
            )
        found = []
        for number, one in enumerate(rows, start=1):
            at = f"{place}, study {number}"
            study_id = _number(field_of(one, ("id", "pmid"), at), at)
            # As in MS^2, what is listed is used, if nothing else is said.
            included = _is_included(one.get("included", True), at)
            found.append(Study(study_id, _line(one.get("title")), _line(one.get("abstract")), included))
        title = field_of(row, ("title",), place, needed=False) or name
        yield place, Review(name, title, _line(row.get("background")), _studies(found), True)


def _of_ms2(file: Path) -> Iterator[tuple[str, Review]]:
    """Read a record of MS^2: the background are the sentences of the review's own abstract with that label."""
    try:
        record = json.loads(read_text(file))
    except ValueError as error:
        raise InputError(f"{file}: no JSON ({error}); give a record of MS^2") from error
    for number, row in enumerate(record if isinstance(record, list) else [record], start=1):
        if not isinstance(row, dict) or not isinstance(row.get("included_studies"), list):
            continue
        place = f"{file}, record {number}"
        found = []
        for reference in _references(row["included_studies"], place):
            study_id = _number(field_of(reference, ("pmid",), place), place)
            found.append(
                Study(study_id, _line(reference.get("title")), _line(reference.get("abstract")), True)
            )
        sentences = row.get("structured_abstract")
        background = (
            [
                _line(one[1])
                for one in sentences
                if isinstance(one, list) and len(one) > 1 and one[0] == "BACKGROUND"
            ]
            if isinstance(sentences, list)
            else []
        )
        name = field_of(row, ("pmid", "docid"), place)
        title = field_of(row, ("title",), place, needed=False) or name
        yield place, Review(name, title, " ".join(background), _studies(found), True)


def _references(studies: list[Any], place: str) -> Iterator[dict[str, Any]]:
    for study in studies:
        references = study.get("references") if isinstance(study, dict) else None
        if not isinstance(references, list) or not all(isinstance(one, dict) for one in references):
            raise InputError(f'{place}: "included_studies" must be a list of objects with "references"')
        yield from (one for one in references if one.get("abstract"))
