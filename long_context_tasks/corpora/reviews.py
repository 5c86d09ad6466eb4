"""Read systematic reviews with the abstracts of their studies: JSON Lines, CSV screening lists, records of MS^2."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from html import unescape
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import AliasChoices as Either
from pydantic import BeforeValidator, Field

from long_context_tasks.corpora.plain_files import (
    ROW_REMEDY,
    Id,
    Reader,
    SourceRow,
    Title,
    read_checked,
    read_records,
    read_text,
    read_value,
    stem_of,
)
from long_context_tasks.corpora.printed_text import one_line
from long_context_tasks.schema import InputError
from long_context_tasks.schema.validated import validated

REVIEW_FORMS = (
    '.jsonl[.gz] with "review_id", "title", "background" and "studies": [{"id", "title", "abstract", "included"}]; '
    ".csv[.gz] screening lists, one review a file, with the columns record_id or pubmedID (or pmid), title, abstract, "
    "label_included (or included); "
    "or .json[.gz] records of MS^2"
)
_PUBMED_IDS = ("pubmedID", "pmid", "PMID")
_TAG = re.compile(r"</?(?:pop|int|out|b|i|u|em|strong|sub|sup|inf|p|br)(?: [^<>]*)?/?>", re.IGNORECASE)
_WITHOUT_ABSTRACT = "studies without an abstract"
_NO_ABSTRACT = re.compile(
    r"\W*(?:(?:(?:no abstract|abstract not)(?: is| was)?(?: available| provided| found)?|n/?a|none|null)\W*)?",
    re.IGNORECASE,
)
_INCLUDED = {
    **dict.fromkeys(("1", "1.0", "true", "yes"), True),
    **dict.fromkeys(("", "0", "0.0", "false", "no"), False),
}
# Tables with semicolons between their fields put quotation marks around semicolons in the text.
_QUOTED_SEMICOLON = re.compile(r'";"')
_QUOTED_FIELDS = re.compile(r'";([^"]*;)"')
_HALF_QUOTED = re.compile(r';"(?=[\s\d])')


@dataclass(frozen=True)
class Study:
    id: str  # digits; a PubMed id if the review has them, otherwise unique within the review only
    title: str  # one line
    abstract: str  # one line, not empty
    included: bool  # whether the finished review uses it


@dataclass(frozen=True)
class Review:
    id: str  # name of the file without its ending, or the id in the row
    title: str  # title in the source, or the id
    background: str  # the paragraph with the question of the review; may be empty
    studies: tuple[Study, ...]  # the studies with an abstract in order, each id once
    pubmed: bool  # whether the ids are PubMed's, so that those of two reviews can be compared
    # Reason -> number of listed studies that are not among them.
    left_out: Mapping[str, int] = field(default_factory=dict, compare=False)

    @cached_property
    def included(self) -> frozenset[str]:
        return frozenset(study.id for study in self.studies if study.included)


def _digits(value: object) -> str:
    text = str(value).strip()
    if not re.fullmatch(r"\d+", text, re.ASCII):
        raise ValueError("must be digits, as answers name studies by number")
    return text


def _is_included(value: object) -> bool:
    text = "" if value is None else str(value).strip().lower()
    if text not in _INCLUDED:
        raise ValueError("(label_included) must be 1 or 0")
    return _INCLUDED[text]


def _untagged(text: object) -> str:
    if not isinstance(text, str):
        return ""
    plain = _QUOTED_FIELDS.sub(r";\1", _QUOTED_SEMICOLON.sub(";", unescape(text)))
    if plain.count('"') % 2:
        plain = _HALF_QUOTED.sub(";", plain)
    return one_line(_TAG.sub("", plain))


_Untagged = Annotated[str, BeforeValidator(_untagged)]


class _StudyRow(SourceRow):
    id: Annotated[str, BeforeValidator(_digits)] = Field(validation_alias=Either("id", "pmid"))
    title: _Untagged = ""
    abstract: _Untagged = ""
    # A review without labels lists the studies that it uses, as in MS^2.
    included: Annotated[bool, BeforeValidator(_is_included)] = True


class _ReviewOfRow(SourceRow):
    id: Id = Field(validation_alias=Either("review_id", "id"))
    title: Title = ""
    background: _Untagged = ""
    studies: list[_StudyRow]

    def record(self) -> Review:
        return _review(self.id, self.title, self.background, self.studies)


class _Reported(SourceRow):
    references: list[dict[str, Any]]


class _Ms2Row(SourceRow):
    id: Id = Field(validation_alias=Either("pmid", "docid"))
    title: Title = ""
    included_studies: list[_Reported]
    structured_abstract: Any = None


def read_reviews(path: Path, left_out: Counter[str] | None = None) -> Iterator[Review]:
    """Yield the reviews at a path.

    Args:
        path: a file of one of the :data:`REVIEW_FORMS`, or a folder of such files and of folders of them. JSON files of
            another shape are skipped.
        left_out: receives the number of studies without an abstract or an id, and of repeated ones.

    Raises:
        InputError: there is nothing to read, a row has another form, or two reviews have the same id.
    """
    readers: dict[str, Reader[Review]] = {
        "csv": _read_screening_list,
        "jsonl": partial(read_checked, kind=_ReviewOfRow, what="a review"),
        "json": _read_ms2,
    }
    for _, review in read_records(path, readers, f"no reviews in it; give {REVIEW_FORMS}"):
        if left_out is not None:
            left_out.update(review.left_out)
        yield review


def _review(
    name: str,
    title: str,
    background: str,
    rows: Iterable[_StudyRow],
    *,
    pubmed: bool = True,
    left_out: Mapping[str, int] = MappingProxyType({}),
) -> Review:
    by_id: dict[str, Study] = {}
    missing = Counter(left_out)
    for row in rows:
        if _NO_ABSTRACT.fullmatch(row.abstract):
            missing[_WITHOUT_ABSTRACT] += 1
        elif row.id in by_id:
            missing["studies listed twice in a review"] += 1
        else:
            by_id[row.id] = Study(row.id, row.title, row.abstract, row.included)
    return Review(name, title or name, background, tuple(by_id.values()), pubmed, +missing)


def _read_screening_list(file: Path) -> Iterator[tuple[str, Review]]:
    """Read a screening list, whose file name is its topic (``Cohen_2006_Estrogens``)."""
    csv.field_size_limit(1 << 27)
    text = read_text(file)
    # Spreadsheets of several countries put semicolons or tabs between the fields.
    separator = max(",;\t|", key=text.partition("\n")[0].count)
    table = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator)
    key, label = _columns(file, table.fieldnames or ())
    rows: list[_StudyRow] = []
    unnamed = 0
    try:
        for number, row in enumerate(table, start=2):
            if study := (row[key] or "").strip().removesuffix(".0"):  # pandas writes numbers so
                values = {**row, "id": study, "included": row[label] or "0"}
                rows.append(validated(_StudyRow, values, f"{file}, row {number}", remedy=ROW_REMEDY))
            elif row["title"] or row["abstract"]:
                unnamed += 1
    except csv.Error as error:
        raise InputError(f"{file}, line {table.line_num}: not CSV ({error}); write it again") from error
    name, pubmed = stem_of(file), key in _PUBMED_IDS
    missing = {"studies without an id": unnamed}
    yield str(file), _review(name, name.replace("_", " "), "", rows, pubmed=pubmed, left_out=missing)


def _columns(file: Path, names: Iterable[str]) -> tuple[str, str]:
    """Return the columns of ids and labels."""
    names = list(names)
    key = next((name for name in (*_PUBMED_IDS, "record_id") if name in names), "record_id")
    label = "included" if "label_included" not in names and "included" in names else "label_included"
    if missing := [name for name in (key, "title", "abstract", label) if name not in names]:
        raise InputError(
            f"{file}: no column {', '.join(missing)}; a screening list has record_id or pubmedID, title, abstract, label_included"
        )
    return key, label


def _read_ms2(file: Path) -> Iterator[tuple[str, Review]]:
    """Read records of MS^2; the background consists of the sentences of the review's own abstract with that label."""
    record = read_value(file, "a record of MS^2")
    for number, item in enumerate(record if isinstance(record, list) else [record], start=1):
        if not isinstance(item, dict) or not isinstance(item.get("included_studies"), list):
            continue
        place = f"{file}, record {number}"
        row = validated(_Ms2Row, item, place, remedy=ROW_REMEDY)
        references = [one for reported in row.included_studies for one in reported.references]
        studies = [
            validated(_StudyRow, {**reference, "id": reference.get("pmid"), "included": True}, place)
            for reference in references
            if reference.get("abstract")
        ]
        missing = {_WITHOUT_ABSTRACT: len(references) - len(studies)}
        sentences = row.structured_abstract if isinstance(row.structured_abstract, list) else []
        background = [
            _untagged(sentence[1])
            for sentence in sentences
            if isinstance(sentence, list) and len(sentence) > 1 and sentence[0] == "BACKGROUND"
        ]
        yield place, _review(row.id, row.title, " ".join(background), studies, left_out=missing)
