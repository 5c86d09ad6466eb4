"""Where the cases of a task come from: published files, a folder of built cases, or the synthetic corpus.

Published files (``stackselect_*.json``, ``textsort_*.json``, plain or ``.gz``) are read once, as a stream, into a case
folder in the cache; later runs read that. Settings and indices follow the official code.

Every case of a task that generates carries the tokens of its prompt, in cl100k and in the tokenizer asked for; what no
file has stored is counted once and kept in the cache.
"""

import gzip
import hashlib
import json
import logging
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import Any

import ijson

from long_context_tasks.benchmarks.ada_leval import prompts, scoring
from long_context_tasks.benchmarks.building import (
    BuiltFile,
    built_file,
    cached_cases,
    no_length,
    run_settings,
)
from long_context_tasks.benchmarks.catalogue import TaskSpec, card, parse_task
from long_context_tasks.schema import (
    Case,
    CaseSet,
    CaseWriter,
    Documents,
    InputError,
    LoadedTask,
    Options,
    Turn,
    file_sha256,
    format_length,
    parse_length,
)
from long_context_tasks.schema.case_folder import cached_folder
from long_context_tasks.schema.folders import data_dir
from long_context_tasks.tokens import (
    CL100K,
    Countable,
    count_cases,
    get_tokenizer,
    tokenizer_identity,
)

# Variants of a case: where the accepted answer stands, what of the input is kept, what is left out.


POSITIONS = ("front", "mid", "rear")


def renamed(case: Case, case_id: str) -> Case:
    """The same case with another id."""
    return replace(case, id=case_id)


def with_tokens(case: Case, num_tokens: Mapping[str, int], length: int | None = None) -> Case:
    """The case with token counts, and with its length as a label."""
    labels = dict(case.labels) if length is None else {**case.labels, "length": length}
    return replace(case, num_tokens={**case.num_tokens, **num_tokens}, labels=labels)


def moved(case: Case, position: str) -> Case:
    """BestAnswer with the accepted answer at the front, in the middle or at the rear; the others keep their order."""
    answers = list(case.inputs["answers"])
    gold = int(str(case.turns[0].gold)[1:]) - 1
    target = {"front": 0, "mid": len(answers) // 2, "rear": len(answers) - 1}[position]
    answers.insert(target, answers.pop(gold))
    turn = replace(case.turns[0], gold=f"A{target + 1}")
    return replace(
        case,
        inputs={**case.inputs, "answers": answers},
        turns=(turn,),
        labels={**case.labels, "position": position},
    )


def apply(cases: Sequence[Case], variant: str, options: Options) -> list[Case]:
    """The cases as a variant wants them.

    Token counts are dropped where the prompt changes; ``data.load`` counts what is missing.

    Raises:
        InputError: the variant does not go with these cases.
    """
    kind = variant.removesuffix("_synthetic").removesuffix("synthetic")
    if kind in POSITIONS:
        return [replace(moved(case, kind), num_tokens={}) for case in cases]
    if kind == "nodoc":
        return [replace(case, inputs={**case.inputs, "question": None}, num_tokens={}) for case in cases]
    if match := re.fullmatch(r"cut(\w+)", kind):
        cut = {"tokens": parse_length(match[1]), "keep": options.cut_keep}
        return [
            replace(
                case, inputs={**case.inputs, "cut": cut}, labels={**case.labels, "cut": cut}, num_tokens={}
            )
            for case in cases
        ]
    if kind == "ppl":
        for case in cases:
            if "segments" not in case.inputs:
                raise InputError(
                    f"case {case.id}: a published TSort prompt does not tell its segments apart for the perplexity "
                    "variant; build cases with `lct build ada_leval_tsort` and give lct_cases, or use _ppl_synthetic"
                )
    return list(cases)


logger = logging.getLogger(__name__)

NAME = "ada_leval"
INTERVALS = ("strict_accuracy", "official_accuracy")
_ULTRA_LONG = 32_000


def load_task(name: str, options: Options) -> LoadedTask:
    """A task by name, with everything that a host's adapter needs.

    Raises:
        InputError: see :func:`load`; or an unknown name.
    """
    spec = parse_task(name)
    # What stands in the results is what was run: a task's own length wins over lct_length.
    options = replace(options, length=spec.tokens or options.length)
    if options.cases is not None:
        options = _built(spec, options).resolve(options)
    cases = load(spec, options)
    by_likelihood = _by_likelihood(spec)
    return LoadedTask(
        name=name,
        version=card(NAME).version,
        options=options,
        cases=cases,
        metrics=("strict_accuracy", "random_guess") if by_likelihood else tuple(card(NAME).metrics),
        intervals=INTERVALS,
        answer_budget=0 if by_likelihood else options.answer_budget or spec.card.answer_budget,
        render=prompts.messages,
        score=scoring.score_case,
        candidates=prompts.arrangements if by_likelihood else None,
        score_candidates=scoring.score_perplexity if by_likelihood else None,
    )


def _by_likelihood(spec: TaskSpec) -> bool:
    return spec.variant.startswith("ppl")


def load(spec: TaskSpec, options: Options) -> CaseSet:
    """The cases of a task as a host runs them: chosen, varied, cases of one text side by side, prompts counted.

    Raises:
        InputError: missing or damaged data, with the remedies; never another source in silence. Or a tokenizer that cannot
            be had.
    """
    if options.tokenizer is not None and options.cases is None and not _by_likelihood(spec):
        tokenizer_identity(options.tokenizer)  # a wrong name is told before anything is built
    if options.cases is not None:
        cases = _built(spec, options).read()
    elif "synthetic" in spec.variant:
        cases = _synthetic(spec, options)
    else:
        cases = _official(spec, options)
    chosen = list(cases.cases[: _subset_size(spec, options)])
    chosen = apply(chosen, spec.variant, options)
    # Official order chose them; now cases of one document stand together, for a backend's prefix cache.
    order = {
        document: place for place, document in reversed(list(enumerate(case.document for case in chosen)))
    }
    chosen.sort(key=lambda case: order[case.document])
    if not _by_likelihood(spec):
        for tokenizer in _countable_in(spec, chosen, cases, options):
            what = f"counting {spec.name} in {tokenizer}"
            chosen = count_cases(chosen, tokenizer, lambda case: _countable(case, cases.documents), what)
    return cases.selected(chosen)


# --- tokens of prompts -----------------------------------------------------------------------------------------


def _countable_in(
    spec: TaskSpec, chosen: Sequence[Case], cases: CaseSet, options: Options
) -> tuple[str, ...]:
    """The tokenizers in which the prompts are counted."""
    other = options.tokenizer
    if other is None or other == CL100K:
        return (CL100K,)
    recorded = cases.manifest.get("options", {}).get("tokenizer") if options.cases is not None else None
    if other == recorded and not all(other in case.num_tokens for case in chosen):
        try:
            tokenizer_identity(other)
        except InputError as error:
            # Nobody asked for it but the one who built the cases, perhaps elsewhere.
            logger.warning("%s: prompts are counted in cl100k only: %s", spec.name, error)
            return (CL100K,)
    return (CL100K, other)


def _countable(case: Case, documents: Documents) -> Countable:
    """What a prompt is known by, and the prompt; cutting one means encoding it, so a cut one is known by what it is cut from."""
    if "cut" not in case.inputs:
        text = prompts.prompt(case, documents)
        return text, lambda: text
    whole = replace(case, inputs={name: value for name, value in case.inputs.items() if name != "cut"})
    how = json.dumps([case.inputs["cut"], card(NAME).version], sort_keys=True)
    return f"{prompts.prompt(whole, documents)}\0{how}", lambda: prompts.prompt(case, documents)


def _subset_size(spec: TaskSpec, options: Options) -> int | None:
    """How many cases run: ``lct_n``, else ``lct_subset``, else the official size for open models."""
    if options.n is not None:
        return options.n
    if options.subset is not None:
        return options.subset
    if options.cases is not None or "synthetic" in spec.variant:
        return None
    sizes = card(NAME).subsets["open_models"]
    tokens = spec.tokens or options.length or 0
    return int(sizes["from_32k"] if tokens >= _ULTRA_LONG else sizes["below_32k"])


def family(spec: TaskSpec) -> str:
    """Name of the builder and of its case folder: ``ada_leval_tsort`` or ``ada_leval_tsort_synthetic``."""
    return f"{spec.family}_synthetic" if "synthetic" in spec.variant else spec.family


def case_file(spec: TaskSpec, length: str) -> str:
    """Return the name of the task whose cases a variant is made from: the plain or the synthetic task of a length."""
    synthetic = "synthetic" if "synthetic" in spec.variant else ""
    return TaskSpec(spec.benchmark, spec.task, length, synthetic).name


def _built(spec: TaskSpec, options: Options) -> BuiltFile:
    assert options.cases is not None
    return built_file(options.cases, family(spec), case_file(spec, "*"), spec.tokens or options.length)


def _synthetic(spec: TaskSpec, options: Options) -> CaseSet:
    from long_context_tasks.benchmarks.ada_leval.build import FAMILIES, SYNTHETIC_CASES, build

    builder = family(spec)
    kind = FAMILIES[builder].settings
    options = replace(options, length=spec.tokens or options.length)
    settings = run_settings(spec.name, kind, options, SYNTHETIC_CASES)
    return cached_cases(
        case_file(spec, format_length(settings.lengths[0])),
        settings,
        card(NAME).version,
        lambda folder: build(builder, None, settings, folder),
    )


# --- published files -------------------------------------------------------------------------------------------


def _official(spec: TaskSpec, options: Options) -> CaseSet:
    length = spec.tokens or options.length
    if length is None:
        raise no_length(spec.name)
    if options.length_policy != "same_information":
        raise InputError(
            f"{spec.name}: the published files are same_information (cl100k lengths); for lct_length_policy=same_tokens build "
            f"cases with `lct build {spec.family} --length-policy same_tokens` and give lct_cases, or use _synthetic"
        )
    name = format_length(length)
    file_name = spec.card.files.get(name)
    if file_name is None:
        raise InputError(
            f"{spec.name}: no published file of {name} (there are: {', '.join(spec.card.files)}); build cases of any "
            f"length with `lct build {spec.family} --length {name}` and run on them with lct_cases"
        )
    path = find_published(file_name, options)
    task = case_file(spec, name)
    made_from = {"file": path.name, "sha256": file_sha256(path)}
    folder = cached_folder(
        task,
        {**made_from, "card": card(NAME).version},
        lambda folder: convert(path, spec.task, task, folder, made_from),
    )
    return CaseSet.read(folder, task)


def find_published(file_name: str, options: Options) -> Path:
    """Path of a published file, plain or gzipped.

    Raises:
        InputError: it is not there; names both remedies and the way without it.
    """
    folder = data_dir(options, NAME)
    for path in (folder / file_name, folder / f"{file_name}.gz"):
        if path.is_file():
            return path
    raise InputError(
        f"{folder / file_name}[.gz] is missing. Remedies: (1) `lct data fetch ada_leval` downloads the published files; "
        "(2) point LCT_DATA_DIR (or lct_data_dir) at a folder that holds ada_leval/" + file_name + "; "
        "(3) build your own cases with `lct build` and give lct_cases; (4) use the task that ends in _synthetic"
    )


def read_records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Records of a published file (a JSON list), numbered from 1, read as a stream.

    Raises:
        InputError: not JSON, cut short, or not a list of objects.
    """
    try:
        opener = gzip.open if path.suffix == ".gz" else open
        number = 0
        with opener(path, "rb") as file:
            for number, row in enumerate(ijson.items(file, "item"), start=1):
                if not isinstance(row, dict):
                    raise InputError(f"{path}, record {number}: a {type(row).__name__} instead of an object")
                yield number, row
        if not number:
            raise InputError(f"{path}: holds no records; it must be a JSON list. Fetch it again")
    except (ijson.JSONError, zlib.error, EOFError, gzip.BadGzipFile, OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path}, after record {number}: damaged or cut short ({error}); fetch it again with `lct data fetch`"
        ) from error


def text_key(text: str) -> str:
    """Key under which a text of a published file is stored."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _field(row: dict[str, Any], name: str, kinds: type | tuple[type, ...], place: str) -> Any:
    value = row.get(name)
    if not isinstance(value, kinds):
        raise InputError(
            f"{place}: field {name!r} is {type(value).__name__}, not as published; fetch the file again"
        )
    return value


def bestanswer_case(row: dict[str, Any], task: str, place: str) -> tuple[Case, dict[str, str], str]:
    """Case, its texts by key, and its prompt, from a record of ``stackselect_*.json``."""
    question = _field(row, "question", str, place)
    answers = _field(row, "all_answers", list, place)
    answer = _field(row, "answer", str, place)
    question_id = str(_field(row, "question_id", (str, int), place))
    tags = _field(row, "tags", (list, NoneType), place) or []
    if not answers or not all(isinstance(text, str) for text in answers):
        raise InputError(f"{place}: field 'all_answers' must be a list of texts; fetch the file again")
    if answer not in {f"A{j}" for j in range(1, len(answers) + 1)}:
        raise InputError(
            f"{place}: answer {answer!r} names none of the {len(answers)} answers; fetch the file again"
        )
    texts = {text_key(text): text for text in (question, *answers)}
    case = Case(
        id=f"{question_id}_{answer}",
        task=task,
        inputs={"question": text_key(question), "answers": [text_key(text) for text in answers]},
        turns=(Turn(gold=answer),),
        cluster=question_id,
        labels={"tags": tags, "num_answers": len(answers)},
    )
    return case, texts, prompts.render_bestanswer(question, answers)


def tsort_case(row: dict[str, Any], task: str, place: str) -> tuple[Case, dict[str, str], str]:
    """Case, its texts by key, and its prompt, from a record of ``textsort_*.json`` (which brings its prompt)."""
    prompt = _field(row, "prompt", str, place)
    gold = _field(row, "answer", (list, str), place)
    try:
        gold = json.loads(gold) if isinstance(gold, str) else gold
        gold = [int(part) for part in gold]
    except (ValueError, TypeError):
        raise InputError(f"{place}: field 'answer' is not a list of numbers; fetch the file again") from None
    if sorted(gold) != list(range(1, len(gold) + 1)) or not gold:
        raise InputError(f"{place}: field 'answer' {gold} is not an order of its parts; fetch the file again")
    book = str(_field(row, "book_id", (str, int), place))
    offsets = _field(row, "para_offset", list, place)
    case = Case(
        id="_".join([book, *map(str, offsets)]),
        task=task,
        inputs={"prompt": text_key(prompt)},
        turns=(Turn(gold=gold),),
        cluster=book,
        document=book,
        labels={"num_segments": len(gold)},
    )
    return case, {text_key(prompt): prompt}, prompt


def convert(path: Path, task_kind: str, task: str, folder: Path, source: dict[str, str]) -> None:
    """Turn a published file into a case folder, counting the cl100k tokens of every prompt.

    Raises:
        InputError: a damaged file or a record of another shape, with file and record.
    """
    to_case = bestanswer_case if task_kind == "bestanswer" else tsort_case
    tokenizer = get_tokenizer(CL100K)
    with CaseWriter(folder, {"source": source}) as writer:

        def cases() -> Iterable[Case]:
            for number, row in read_records(path):
                case, texts, prompt = to_case(row, task, f"{path}, record {number}")
                writer.add_documents(texts.items())
                yield with_tokens(
                    case, {CL100K: tokenizer.count(prompt)}, length=parse_length(_length_of(task))
                )

        writer.add_cases(task, _unique(cases()))


def _length_of(task: str) -> str:
    return task.removeprefix(NAME + "_").split("_")[1]


def _unique(cases: Iterable[Case]) -> Iterator[Case]:
    """Ids made unique: a repeated question with the same answer place gets a running number."""
    seen: dict[str, int] = {}
    for case in cases:
        seen[case.id] = seen.get(case.id, 0) + 1
        yield case if seen[case.id] == 1 else renamed(case, f"{case.id}_{seen[case.id]}")


# What scores of Ada-LEval are split by beside the labels that cases have.


_ACCEPTED = re.compile(r"_A([1-9][0-9]{0,5})$")
_PARTS = 5


def labels_of(case: str, labels: Mapping[str, Any]) -> dict[str, str]:
    """Where among the answers of BestAnswer the accepted one stands, in fifths; nothing for TSort and moved answers.

    >>> labels_of("4711_A2", {"num_answers": 4})
    {'accepted_answer_at': '20–40 %'}
    >>> labels_of("4711_A2", {"num_answers": 4, "position": "rear"})
    {}

    Args:
        case: id, which ends with the designation of the accepted answer.
        labels: of the case; ``position`` says that the answer was moved.
    """
    match, number = _ACCEPTED.search(case), labels.get("num_answers")
    if match is None or not isinstance(number, int) or "position" in labels or not int(match[1]) <= number:
        return {}
    part = int((int(match[1]) - 0.5) / number * _PARTS)
    return {"accepted_answer_at": f"{100 * part // _PARTS}–{100 * (part + 1) // _PARTS} %"}
