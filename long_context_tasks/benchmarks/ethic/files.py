"""Read the rows of the data set: from a local copy, as a stream, or from the Hugging Face hub.

A local copy is in ``LCT_DATA_DIR/ethic``: for each configuration ``X`` (Recalling, Summarizing, Organizing, Attributing) an archive
``X.zip`` of one JSON Lines file, as `lct data fetch ethic` and the hub have it, or ``X.jsonl``, ``X.jsonl.gz`` or ``X.json``. The files
may also be in a folder ``X``, and their names may go on after ``X``. JSON files come before archives.
"""

import ast
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from long_context_tasks.benchmarks.catalogue import TaskSpec, card
from long_context_tasks.benchmarks.downloads import hub_answers, without_downloads
from long_context_tasks.benchmarks.ethic.prompts import context_of, split_sections
from long_context_tasks.benchmarks.ethic.scoring.official import DOMAINS, order_of
from long_context_tasks.benchmarks.published_files import PublishedRow, json_rows, missing_data
from long_context_tasks.schema import Case, CaseSet, CaseWriter, InputError, Options, Turn, file_sha256
from long_context_tasks.schema.case_folder import cached_folder, read_manifest, text_key
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.options import data_dir
from long_context_tasks.schema.validated import validated

logger = logging.getLogger(__name__)

NAME = "ethic"
HUB = "dmis-lab/ETHIC"
SPLIT = "test"
CONFIGURATIONS: Mapping[str, str] = {
    "recall": "Recalling",
    "summarize": "Summarizing",
    "organize": "Organizing",
    "attribute": "Attributing",
}
COLUMNS = ("ID", "Domain", "System_msg", "User_msg", "Answer")
_REMEDY = f"ETHIC has the columns {', '.join(COLUMNS)}: fetch it again with `lct data fetch {NAME}`, or rename the columns"
_KINDS = ((".jsonl", ".jsonl.gz", ".json", ".json.gz"), (".zip",))


@dataclass(frozen=True)
class PublishedData:
    """Rows of a task: local files, or a data set that the hub's library has loaded."""

    name: str
    folder: Path = Path()
    files: tuple[Path, ...] = ()  # at any depth of the folder; none for a data set of the hub
    dataset: Any = None

    def made_from(self) -> dict[str, str]:
        if self.dataset is not None:
            return {"hub": HUB, "revision": _revision(), "fingerprint": str(self.dataset._fingerprint)}
        # With their folders, because files in different folders may have the same name.
        return {
            path.relative_to(self.folder).as_posix(): _sha256(
                path, path.stat().st_size, path.stat().st_mtime_ns
            )
            for path in self.files
        }

    def rows(self) -> Iterator[tuple[str, Any]]:
        """Yield all rows in order, each with its place for error messages."""
        if self.dataset is not None:
            columns = self.dataset.column_names
            if missing := [column for column in COLUMNS if column not in columns]:
                raise InputError(
                    f"{self.name}: no column {', '.join(missing)} (there are: {', '.join(columns)}); {_REMEDY}"
                )
            for number, values in enumerate(self.dataset, start=1):
                yield f"{self.name}, row {number}", values
        for path in self.files:
            yield from json_rows(path, NAME)


# Cached by size and modification time, because the files are large.
@lru_cache(maxsize=64)
def _sha256(path: Path, size: int, mtime_ns: int) -> str:
    return file_sha256(path)


def source_of(spec: TaskSpec, options: Options) -> PublishedData:
    """Return the local copy of a task's data, or the hub's data set if there is none."""
    configuration = CONFIGURATIONS[spec.task]
    folder = data_dir(options, NAME)
    if files := local_files(folder, configuration):
        return PublishedData(str(folder), folder, tuple(files))
    logger.info("no %s in %s; taking %s from the Hugging Face hub", configuration, folder, HUB)
    return PublishedData(f"{HUB}/{configuration}", dataset=_from_hub(configuration, folder, spec.name))


def check_local(task: str, options: Options, name: str) -> None:
    """Check that a copy of a task's data is in LCT_DATA_DIR or in the cache of the hub's library."""
    configuration, folder = CONFIGURATIONS[task], data_dir(options, NAME)
    home = Path(os.environ.get("HF_HOME") or "~/.cache/huggingface").expanduser()
    cached = Path(os.environ.get("HF_DATASETS_CACHE") or home / "datasets") / HUB.replace("/", "___").lower()
    if not local_files(folder, configuration) and not (cached / configuration).is_dir():
        raise _missing(configuration, folder, name)


def _missing(configuration: str, folder: Path, task: str, why: str = "") -> InputError:
    file = f"{configuration.lower()}.zip"
    return missing_data(f"{folder / file} (or .jsonl)", f"{NAME}/{file}", NAME, task, why)


def local_files(folder: Path, configuration: str) -> list[Path]:
    """Return the files of a configuration in a folder, all of one kind and sorted by path; see the top of this module."""
    wanted = configuration.lower()

    def belongs(path: Path) -> bool:
        *folders, name = path.relative_to(folder).parts
        hidden = any(part.startswith(".") for part in (*folders, name)) or name.startswith("cache-")
        named = wanted in map(str.lower, folders) or name.lower().startswith(wanted)
        return named and not hidden and path.is_file()

    found = [path for path in sorted(folder.rglob("*")) if belongs(path)] if folder.is_dir() else []
    # One kind only, because the same rows may be there in several.
    kinds = ([path for path in found if path.name.endswith(endings)] for endings in _KINDS)
    return next(filter(None, kinds), [])


def _revision() -> str:
    """Return the hub's commit from the card, so that a later upload does not change any score."""
    return str(card(NAME).data["hub"]["revision"])


def _from_hub(configuration: str, folder: Path, task: str) -> Any:
    try:
        import datasets

        # If the hub cannot be reached, the library's cache may still have the data.
        with nullcontext() if hub_answers(HUB) else without_downloads():
            return datasets.load_dataset(HUB, configuration, split=SPLIT, revision=_revision())
    except Exception as error:
        # The library does not wrap the errors of its HTTP and file layers, so any exception may come.
        why = f"{HUB} is not available from the Hugging Face hub ({type(error).__name__})"
        if isinstance(error, ImportError):
            why = "the hub's library is missing (pip install datasets)"
        raise _missing(configuration, folder, task, why) from error


def _known_domain(value: Any) -> str:
    domain = str(value).strip().lower()
    if domain not in DOMAINS["recall"]:
        raise ValueError(f"must be one of {', '.join(DOMAINS['recall'])}")
    return domain


def _is_label(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _id(value: Any) -> str:
    if not _is_label(value) or not str(value).strip():
        raise ValueError("must be a text or a whole number")
    return str(value)


def _labels(answer: Any) -> list[str]:
    """Return a list of texts, also if it is stored as one text in JSON or Python notation."""
    # Some exports of the data set write lists as text.
    if isinstance(answer, str) and answer.lstrip().startswith("["):
        for read in (loads, ast.literal_eval):
            try:
                answer = read(answer)
                break
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
    if not isinstance(answer, list) or not all(map(_is_label, answer)):
        raise ValueError("must be a list of texts")
    return [str(item) for item in answer]


def _numbers(answer: Any) -> list[str]:
    texts = [answer] if isinstance(answer, str) else answer
    known = isinstance(texts, list) and all(map(_is_label, texts))
    numbers = [number for item in texts for number in order_of(str(item))] if known else []
    if not numbers:
        raise ValueError("must be a text with the options' numbers in order")
    return numbers


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


def _whole(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair, which is not a character") from None
    return text


_Text = Annotated[str, AfterValidator(_whole)]


class EthicRow(PublishedRow):
    """A row of the data; summarizing does not need the answer."""

    ID: Annotated[_Text, BeforeValidator(_id)]
    Domain: Annotated[str, BeforeValidator(_known_domain)]
    System_msg: _Text | None
    User_msg: Annotated[_Text, AfterValidator(_not_blank)]
    Answer: Any


class LabelsRow(EthicRow):
    Answer: Annotated[list[_Text], BeforeValidator(_labels)]


class OrderRow(EthicRow):
    Answer: Annotated[list[str], BeforeValidator(_numbers)]


_ROWS: Mapping[str, type[EthicRow]] = {
    "recall": LabelsRow,
    "attribute": LabelsRow,
    "organize": OrderRow,
    "summarize": EthicRow,
}


def case_of(place: str, values: Any, task: str) -> tuple[Case, dict[str, str]] | None:
    """Return the case of a row and its texts by key; None for a domain that the task does not have."""
    if isinstance(values, Mapping):
        domain = str(values.get("Domain")).strip().lower()
        # The official code ignores domains that the task lacks; an unknown one is an error.
        if domain in DOMAINS["recall"] and domain not in DOMAINS[task]:
            return None
    row = validated(_ROWS[task], values, place, remedy=_REMEDY)
    gold = row.Answer
    if task == "summarize":
        # There are no reference summaries; the gold is the markers of the sections to be summarized.
        gold = list(split_sections(context_of(row.User_msg) or "", row.Domain))
        if not gold:
            what = "<Segment n>" if row.Domain == "law" else "<Section n>"
            raise InputError(
                f"{place}: User_msg has no sections marked {what} between '### Context:' and 'Now, respond to the instruction'; fetch "
                "the data again"
            )
    user_key = f"{task}_{row.Domain}_{row.ID}"
    texts = {user_key: row.User_msg}
    system_key = ""
    if row.System_msg:
        # Keyed by content, because many cases share it.
        system_key = f"system_{text_key(row.System_msg)}"
        texts[system_key] = row.System_msg
    case = Case(
        id=row.ID,
        task=f"ethic_{task}_{row.Domain}",
        inputs={"system": system_key, "user": user_key},
        turns=(Turn(gold=gold),),
        cluster=f"{row.Domain}_{row.ID}",
        document=user_key,
        labels={"domain": row.Domain, "answer_items": len(gold)},
    )
    return case, texts


def published(spec: TaskSpec, options: Options) -> tuple[str, CaseSet]:
    """Return the cases of a task's published data, converted into a cached case folder, and the folder's name."""
    source = source_of(spec, options)
    facts = {"files": source.made_from(), "card": card(NAME).version}
    folder = cached_folder(spec.family, facts, lambda folder: _convert(source, spec.task, folder))
    cases = CaseSet.read(folder, spec.name)
    if not cases.cases:
        there = [name for name, row in read_manifest(folder)["tasks"].items() if row["n"]]
        raise InputError(
            f"{spec.name}: the data hold no cases of it; they hold some of {', '.join(there) or 'no task'}: name these tasks "
            "instead of a group, or fetch the data again (`lct data fetch ethic`)"
        )
    return folder.name, cases


def _convert(source: PublishedData, task: str, folder: Path) -> None:
    cases: dict[str, dict[str, Case]] = {domain: {} for domain in DOMAINS[task]}
    foreign = 0
    with CaseWriter(folder, {"made_from": source.made_from()}) as writer:
        for place, values in source.rows():
            read = case_of(place, values, task)
            if read is None:
                foreign += 1
                continue
            case, texts = read
            domain = case.labels["domain"]
            if case.id in cases[domain]:
                raise InputError(
                    f"{place}: ID {case.id!r} occurs twice in {domain}; does {source.name} hold two copies?"
                )
            cases[domain][case.id] = case
            writer.add_documents(texts.items())
        for domain, own in cases.items():
            writer.add_cases(f"{NAME}_{task}_{domain}", own.values())
    if foreign:
        message = "%s: %d rows of domains that %s does not have are left out"
        logger.warning(message, source.name, foreign, CONFIGURATIONS[task])
    if empty := [domain for domain, own in cases.items() if not own]:
        # Not an error: a copy may have some of the domains only, and each is a task of its own.
        logger.warning("%s: no cases of %s in %s", source.name, CONFIGURATIONS[task], ", ".join(empty))
