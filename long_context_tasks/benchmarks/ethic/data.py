"""Load a task's cases: published data, a folder of built cases, or cases generated from a seed.

A local copy of the published data is in ``LCT_DATA_DIR/ethic``: for each configuration ``X`` (Recalling,
Summarizing, Organizing, Attributing), either an archive ``X.zip`` of one JSON Lines file, as provided by `lct
data fetch ethic` and the hub, or ``X.jsonl``, ``X.jsonl.gz`` or ``X.json``. The files may also be in a folder
``X``, and their names may have a suffix after ``X``. JSON files take precedence over archives.

Messages are stored in the case folder's document table, so a case itself contains no long text. All cases
have the structure of the published ones: ``inputs`` holds the text keys under ``system`` (may be empty) and
``user``; the gold of the only turn is a list of texts (labels; entries with ids; option numbers in order;
section markers of the context); the label ``domain`` gives the domain.
"""

import ast
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BeforeValidator

from long_context_tasks.benchmarks.catalogue import TaskSpec, card, parse_task
from long_context_tasks.benchmarks.downloads import hub_answers, in_hub_caches, without_downloads
from long_context_tasks.benchmarks.ethic import prompts
from long_context_tasks.benchmarks.ethic.options import EthicOptions
from long_context_tasks.benchmarks.published_files import PublishedRow, json_rows, missing_data
from long_context_tasks.schema import (
    Case,
    CaseScores,
    CaseSet,
    CaseWriter,
    InputError,
    LoadedTask,
    Options,
    Turn,
    file_sha256,
    format_length,
)
from long_context_tasks.schema.case_folder import cached_folder, read_manifest, text_key
from long_context_tasks.schema.options import data_dir
from long_context_tasks.schema.validated import validated
from long_context_tasks.tokens import CL100K, Countable, count_cases, same_tokenizer, tokenizer_identity

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
COUNTERPARTS = "ethic_recall_counterparts"  # the task family that has no published data
COLUMNS = ("ID", "Domain", "System_msg", "User_msg", "Answer")
# Sources of cases that are generated from a seed. Only they import the generators, which are large.
_WRITTEN = ("seed", "recast")
_REMEDY = f"ETHIC has the columns {', '.join(COLUMNS)}: fetch it again with `lct data fetch {NAME}`, or rename the columns"
_KINDS = ((".jsonl", ".jsonl.gz", ".json", ".json.gz"), (".zip",))


def load_task(name: str, options: EthicOptions) -> LoadedTask:
    """Load a task by name, ready to run on any host."""
    from long_context_tasks.benchmarks.ethic import scoring

    spec = parse_task(name)
    folder = options.cases and _built_folder(spec, options.cases)
    if folder is not None:
        options = options.as_built(read_manifest(folder)["options"], folder, same_tokenizer)
    _check_options(spec, options)
    n_all = None
    known_by = ""  # key prefix in the token-count cache; if empty, the texts themselves are the keys
    if folder is not None:
        cases = _built(spec, options, folder)
    elif spec.source in _WRITTEN:
        from long_context_tasks.benchmarks.ethic.synthetic import cached_synthetic, cases_of
        from long_context_tasks.benchmarks.run_cases import with_length

        options = with_length(options)
        cases = cached_synthetic(spec, options)
        n_all = cases_of(spec.task) if options.prompt_tokens is None else None
    elif spec.task in CONFIGURATIONS:
        # Results record what was run, and published contexts have fixed lengths.
        options = replace(options, length=None)
        known_by, cases = published(spec, options)
    else:
        raise InputError(
            f"{name}: has no published data; build cases with `lct build {COUNTERPARTS}` and name their folder with lct_cases "
            "(LCT_CASES)"
        )
    cases = cases.selected(
        replace(case, inputs={**case.inputs, "style": options.prompt_style}) for case in cases.cases
    )
    if options.prompt_tokens is not None:
        from long_context_tasks.benchmarks.ethic.prompt_tokens import within

        cases = within(spec, options, cases)
    n_all = n_all or len(cases)
    metrics = scoring.METRICS[spec.task]
    task = LoadedTask(
        name=name,
        version=card(NAME).version,
        options=options,
        cases=_counted(spec, options, cases, known_by),
        metrics=metrics,
        intervals=metrics[:2],
        answer_budget=options.answer_budget or spec.card.answer_budget,
        render=prompts.messages,
        score=scoring.SCORES.get(spec.task, _score_unjudged),
        # The host must not apply a chat template to such a prompt.
        own_template=str(options.prompt_style) if options.prompt_style in prompts.OWN_TEMPLATE else "",
        # Only counterparts have a question with a single reference answer.
        asked_and_right=_asked_and_right if spec.source == "built" else None,
        n_all=n_all,
    )
    # Only summaries are judged.
    return _judged(task) if spec.task == "summarize" else task


def _judged(task: LoadedTask) -> LoadedTask:
    # Imported here, because the other tasks need no judge.
    from long_context_tasks.benchmarks.ethic.scoring import SUMMARY_POINTS, summaries
    from long_context_tasks.judges.task_judge import Judging

    judging = Judging(
        rubric=summaries.rubric,
        requests=partial(summaries.judge_requests, documents=task.cases.documents),
        score_turn=summaries.score_turn,
        default=summaries.DEFAULT,
        metrics=SUMMARY_POINTS,
    )
    return replace(task, judging=judging, points=card(NAME).points)


def _score_unjudged(case: Case, response: str | None, status: str | None = None) -> CaseScores:
    from long_context_tasks.benchmarks.ethic.scoring.summaries import score_turn

    return score_turn(case, 0, response, status=status)


def has_data(name: str, options: EthicOptions) -> bool:
    """Return True, or raise an InputError that names the missing data or carriers and the remedies."""
    spec = parse_task(name)
    if spec.source == "recast":
        from long_context_tasks.recast.carriers import CARRIER_KINDS, carriers_of

        carriers_of(options, CARRIER_KINDS[spec.split], name)
    else:
        check_local(spec.task, options, name)
    return True


def _asked_and_right(case: Case, turn: int) -> tuple[str, str]:
    asked = case.turns[turn]
    return str(asked.question), str(asked.gold[0])


def _check_options(spec: TaskSpec, options: EthicOptions) -> None:
    """Reject invalid options before any data are read."""
    if options.subset is not None:
        raise InputError(
            f"{spec.name}: has no official subsets; leave out lct_subset, lct_n takes the first cases"
        )
    prompts.layout("", "", str(options.prompt_style))
    if options.prompt_tokens is not None and options.tokenizer is None:
        raise InputError(
            f"{spec.name}: lct_prompt_tokens={options.prompt_tokens} counts in the model's tokenizer; give lct_tokenizer as well"
        )
    if options.tokenizer is not None:
        tokenizer_identity(options.tokenizer)


def _built_folder(spec: TaskSpec, root: Path) -> Path:
    """Return a task's case folder: ``root`` itself, or the subfolder that `lct build` made for the task."""
    from long_context_tasks.benchmarks.run_cases import family_folder

    family = spec.family if spec.task in CONFIGURATIONS else COUNTERPARTS
    if spec.source in _WRITTEN:
        from long_context_tasks.benchmarks.ethic.synthetic import EDITIONS, family_of

        family = family_of(spec.task, EDITIONS[spec.source])
    return family_folder(root, family)


def _built(spec: TaskSpec, options: EthicOptions, folder: Path) -> CaseSet:
    cases = CaseSet.read(folder, spec.name)
    there = sorted({case.labels["length"] for case in cases.cases if "length" in case.labels})
    listed = ", ".join(map(format_length, there)) or "none"
    if options.length is None:
        # Cases built from documents may be run at several lengths together; synthetic ones are reported per
        # length.
        if len(there) > 1 and spec.source in _WRITTEN:
            raise InputError(f"the built cases have the lengths {listed}; choose one with lct_length")
        return cases
    chosen = [case for case in cases.cases if case.labels.get("length") == options.length]
    if not chosen:
        raise InputError(
            f"no built cases of length {format_length(options.length)}; there are: {listed}; correct lct_length"
        )
    return cases.selected(chosen)


def _counted(spec: TaskSpec, options: EthicOptions, cases: CaseSet, known_by: str) -> CaseSet:
    """Return the first ``lct_n`` cases with token counts of the system and user messages."""

    def text_of(case: Case) -> str:
        plain = replace(case, inputs={**case.inputs, "style": prompts.FOLDED})
        return prompts.messages(plain, cases.documents)[0].content

    def countable(case: Case) -> Countable:
        return f"{NAME}\0{known_by}\0{case.document}" if known_by else text_of(case), partial(text_of, case)

    chosen: Sequence[Case] = cases.cases[: options.n]
    for tokenizer in dict.fromkeys((CL100K, options.tokenizer or CL100K)):
        chosen = count_cases(chosen, tokenizer, countable, spec.name)
    return cases.selected(chosen)


class PublishedData(NamedTuple):
    """Rows of a task's published data, and their provenance."""

    name: str
    made_from: Mapping[str, str]
    rows: Iterable[tuple[str, Any]]  # each with its location for error messages


def source_of(spec: TaskSpec, options: Options) -> PublishedData:
    """Return the local copy of a task's data, or the hub data set if there is none."""
    configuration, folder = CONFIGURATIONS[spec.task], data_dir(options, NAME)
    if files := local_files(folder, configuration):
        sizes = ((path, path.stat()) for path in files)
        # Keyed by relative path, because files in different folders may have the same name.
        made_from = {
            path.relative_to(folder).as_posix(): _sha256(path, size.st_size, size.st_mtime_ns)
            for path, size in sizes
        }
        return PublishedData(str(folder), made_from, (row for path in files for row in json_rows(path, NAME)))
    logger.info("no %s in %s; taking %s from the Hugging Face hub", configuration, folder, HUB)
    dataset = _from_hub(configuration, folder, spec.name)
    made_from = {"hub": HUB, "revision": _revision(), "fingerprint": str(dataset._fingerprint)}
    name = f"{HUB}/{configuration}"
    return PublishedData(name, made_from, _hub_rows(name, dataset))


# Cached by size and modification time, because the files are large.
@lru_cache(maxsize=64)
def _sha256(path: Path, size: int, mtime_ns: int) -> str:
    return file_sha256(path)


def _hub_rows(name: str, dataset: Any) -> Iterator[tuple[str, Any]]:
    columns = dataset.column_names
    if missing := [column for column in COLUMNS if column not in columns]:
        raise InputError(
            f"{name}: no column {', '.join(missing)} (there are: {', '.join(columns)}); {_REMEDY}"
        )
    for number, values in enumerate(dataset, start=1):
        yield f"{name}, row {number}", values


def check_local(task: str, options: Options, name: str) -> None:
    """Check that a task's data are in LCT_DATA_DIR or in the ``datasets`` library's cache."""
    configuration, folder = CONFIGURATIONS[task], data_dir(options, NAME)
    home = Path(os.environ.get("HF_HOME") or "~/.cache/huggingface").expanduser()
    cached = Path(os.environ.get("HF_DATASETS_CACHE") or home / "datasets") / HUB.replace("/", "___").lower()
    if not local_files(folder, configuration) and not (cached / configuration).is_dir():
        raise _missing(configuration, folder, name)


def _missing(configuration: str, folder: Path, task: str, why: str = "") -> InputError:
    file = f"{configuration.lower()}.zip"
    return missing_data(f"{folder / file} (or .jsonl)", f"{NAME}/{file}", NAME, task, why)


def local_files(folder: Path, configuration: str) -> list[Path]:
    """Return a configuration's files in a folder, all of one kind and sorted by path."""
    wanted = configuration.lower()

    def belongs(path: Path) -> bool:
        *folders, name = path.relative_to(folder).parts
        hidden = any(part.startswith(".") for part in (*folders, name)) or name.startswith("cache-")
        named = wanted in map(str.lower, folders) or name.lower().startswith(wanted)
        return named and not hidden and path.is_file()

    found = [path for path in sorted(folder.rglob("*")) if belongs(path)] if folder.is_dir() else []
    # One kind only, because the same rows may exist in several formats.
    kinds = ([path for path in found if path.name.endswith(endings)] for endings in _KINDS)
    return next(filter(None, kinds), [])


def _revision() -> str:
    """Return the hub commit pinned in the card, so that a later upload does not change any score."""
    return str(card(NAME).data["hub"]["revision"])


def _from_hub(configuration: str, folder: Path, task: str) -> Any:
    try:
        answers = hub_answers(HUB)
        # If the hub cannot be reached, the data may still be in the library's cache. Loading the library takes longer than a small report.
        if not answers and not in_hub_caches(HUB):
            raise ConnectionError
        import datasets

        with nullcontext() if answers else without_downloads():
            return datasets.load_dataset(HUB, configuration, split=SPLIT, revision=_revision())
    except Exception as error:
        # The library does not wrap the errors of its HTTP and file layers, so any exception may be raised.
        why = f"{HUB} is not available from the Hugging Face hub ({type(error).__name__})"
        if isinstance(error, ImportError):
            why = "the hub's library is missing (pip install datasets)"
        raise _missing(configuration, folder, task, why) from error


def _known_domain(value: Any) -> str:
    from long_context_tasks.benchmarks.ethic.scoring.official import DOMAINS

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
    """Return a list of strings, even if it is stored as a single JSON or Python literal string."""
    # Some exports of the data set write lists as strings; a JSON list of strings is also a Python literal.
    if isinstance(answer, str) and answer.lstrip().startswith("["):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            answer = ast.literal_eval(answer.strip())
    if not isinstance(answer, list) or not all(map(_is_label, answer)):
        raise ValueError("must be a list of texts")
    return [str(item) for item in answer]


def _numbers(answer: Any) -> list[str]:
    from long_context_tasks.benchmarks.ethic.scoring.official import order_of

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
    """A row of the data; Summarizing needs no answer."""

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
    """Return a row's case and its texts by key, or None if the task does not cover the row's domain."""
    from long_context_tasks.benchmarks.ethic.scoring.official import DOMAINS

    if isinstance(values, Mapping):
        domain = str(values.get("Domain")).strip().lower()
        # The official code ignores domains that the task lacks; an unknown one is an error.
        if domain in DOMAINS["recall"] and domain not in DOMAINS[task]:
            return None
    row = validated(_ROWS[task], values, place, remedy=_REMEDY)
    gold = row.Answer
    if task == "summarize":
        # There are no reference summaries; the gold is the markers of the sections to summarize.
        gold = list(prompts.split_sections(prompts.context_of(row.User_msg) or "", row.Domain))
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
    """Return the published cases, converted into a cached case folder, and the folder's name."""
    source = source_of(spec, options)
    facts = {"files": source.made_from, "card": card(NAME).version}
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
    from long_context_tasks.benchmarks.ethic.scoring.official import DOMAINS

    cases: dict[str, dict[str, Case]] = {domain: {} for domain in DOMAINS[task]}
    foreign = 0
    with CaseWriter(folder, {"made_from": source.made_from}) as writer:
        for place, values in source.rows:
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
        # Not an error: a copy may contain only some of the domains, and each is a separate task.
        logger.warning("%s: no cases of %s in %s", source.name, CONFIGURATIONS[task], ", ".join(empty))
