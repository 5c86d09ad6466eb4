"""Load tasks from published files, a folder of built cases, the synthetic forum, or recast novels.

Published files (``stackselect_*.json``, ``textsort_*.json``, plain or ``.gz``) are streamed once into a case
folder in the cache. Settings and indices follow the official code.

Every case of a generative task has its prompt's token counts in cl100k and in ``lct_tokenizer``; missing
counts are computed once and cached.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, Json, field_validator, model_validator

from long_context_tasks.benchmarks.ada_leval import prompts, scoring
from long_context_tasks.benchmarks.ada_leval.options import AdaLevalOptions
from long_context_tasks.benchmarks.catalogue import TaskSpec, card, parse_task
from long_context_tasks.benchmarks.published_files import PublishedRow, checked_rows, find_file
from long_context_tasks.benchmarks.run_cases import (
    built_file,
    cached_cases,
    run_settings,
    with_length,
)
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
from long_context_tasks.schema.case_folder import cached_folder, text_key
from long_context_tasks.tokens import (
    CL100K,
    Countable,
    count_cases,
    get_tokenizer,
    tokenizer_identity,
)

NAME = "ada_leval"
POSITIONS = ("front", "mid", "rear")
INTERVALS = ("strict_accuracy", "official_accuracy")
# Number of tokens from which the paper runs 200 cases instead of 1,000.
_ULTRA_LONG = 32_000
# Suffixes of builder and file names, by source of the cases.
_EDITIONS = {"seed": "_synthetic", "recast": "_recast"}


def load_task(name: str, options: AdaLevalOptions) -> LoadedTask:
    """Load a task: choose its cases, apply the variant, group cases by document, and count the prompts."""
    spec = parse_task(name)
    # Results record what was run: a task's fixed length takes precedence over lct_length.
    options = replace(options, length=spec.tokens or options.length)
    by_likelihood = spec.scoring == "likelihood"
    edition = _EDITIONS.get(spec.source, "")
    if options.cases is not None:
        built = built_file(
            options.cases, f"{spec.family}{edition}", f"{spec.family}_*{edition}", options.length
        )
        options, cases = built.resolve(options), built.read()
    else:
        # Candidates are scored, not counted.
        if options.tokenizer is not None and not by_likelihood:
            tokenizer_identity(options.tokenizer)  # reports an unknown name before anything is built
        if spec.source == "published":
            cases = _official(spec, options)
        else:
            options = with_length(options)
            cases = _made(spec, options)
    n_all = _number_of_all(spec, options, len(cases.cases))
    chosen = list(cases.cases[: options.n or options.subset or n_all])
    if by_likelihood:
        _require_segments(chosen, cases.documents)
    chosen = apply(chosen, spec.variant, options)
    # Cases are chosen in the official order; then those with the same document become adjacent, for prefix
    # caching.
    order = {
        document: place for place, document in reversed(list(enumerate(case.document for case in chosen)))
    }
    chosen.sort(key=lambda case: order[case.document])
    if not by_likelihood:
        for tokenizer in dict.fromkeys((CL100K, options.tokenizer or CL100K)):
            chosen = count_cases(chosen, tokenizer, lambda case: _countable(case, cases.documents), name)
    return LoadedTask(
        name=name,
        version=card(NAME).version,
        options=options,
        cases=cases.selected(chosen),
        metrics=("strict_accuracy", "random_guess") if by_likelihood else scoring.METRICS,
        intervals=INTERVALS,
        answer_budget=0 if by_likelihood else options.answer_budget or spec.card.answer_budget,
        render=prompts.messages,
        score=scoring.score_case,
        candidates=prompts.arrangements if by_likelihood else None,
        score_candidates=scoring.score_perplexity if by_likelihood else None,
        n_all=n_all,
    )


def _countable(case: Case, documents: Documents) -> Countable:
    """Return the cache key of a prompt's token count, and a function that returns the prompt."""
    # Truncation needs the tokenizer, so a truncated prompt's key is made from the whole one.
    if "cut" not in case.inputs:
        text = prompts.prompt(case, documents)
        return text, lambda: text
    whole = replace(case, inputs={name: value for name, value in case.inputs.items() if name != "cut"})
    how = json.dumps([case.inputs["cut"], card(NAME).version], sort_keys=True)
    return f"{prompts.prompt(whole, documents)}\0{how}", lambda: prompts.prompt(case, documents)


def _number_of_all(spec: TaskSpec, options: Options, available: int) -> int:
    """Return the number of cases that run without ``lct_n`` and ``lct_subset``.

    Published data use the official size for open models.
    """
    if options.cases is not None:
        return available
    if spec.source != "published":
        from long_context_tasks.benchmarks.ada_leval.builders import SYNTHETIC_CASES

        return SYNTHETIC_CASES
    sizes = card(NAME).subsets["open_models"]
    size = sizes["from_32k"] if (options.length or 0) >= _ULTRA_LONG else sizes["below_32k"]
    return min(available, int(size))


def _made(spec: TaskSpec, options: Options) -> CaseSet:
    from long_context_tasks.benchmarks.ada_leval.builders import BUILDERS, SYNTHETIC_CASES
    from long_context_tasks.benchmarks.building import Work
    from long_context_tasks.recast.carriers import NOVELS, carriers_of

    builder = BUILDERS[spec.family + _EDITIONS[spec.source]]
    settings = run_settings(spec.name, builder.settings, options, SYNTHETIC_CASES)
    carriers = carriers_of(options, NOVELS, spec.name) if spec.source == "recast" else None
    return cached_cases(
        builder.files(settings)[settings.lengths[0]],
        settings,
        options,
        card(NAME).version,
        lambda folder: builder.write(carriers and carriers.parent, settings, folder, Work(progress=True)),
        carriers,
    )


def apply(cases: Sequence[Case], variant: str, options: AdaLevalOptions) -> list[Case]:
    """Apply a variant to the cases; token counts are removed if the prompts change."""
    kind = variant.split("_", maxsplit=1)[0]
    if kind in POSITIONS:
        return [_moved(case, kind) for case in cases]
    if kind == "nodoc":
        return [replace(case, inputs={**case.inputs, "question": None}, num_tokens={}) for case in cases]
    if kind.startswith("cut"):
        cut = {"cut": {"tokens": parse_length(kind.removeprefix("cut")), "keep": options.cut_keep}}
        return [
            replace(case, inputs={**case.inputs, **cut}, labels={**case.labels, **cut}, num_tokens={})
            for case in cases
        ]
    return list(cases)


def _moved(case: Case, position: str) -> Case:
    answers = list(case.inputs["answers"])
    gold = int(str(case.turns[0].gold)[1:]) - 1
    target = {"front": 0, "mid": len(answers) // 2, "rear": len(answers) - 1}[position]
    answers.insert(target, answers.pop(gold))
    return replace(
        case,
        inputs={**case.inputs, "answers": answers},
        turns=(replace(case.turns[0], gold=f"A{target + 1}"),),
        labels={**case.labels, "position": position},
        num_tokens={},
    )


def _require_segments(cases: Sequence[Case], documents: Documents) -> None:
    for case in cases:
        try:
            prompts.arrangements(case, documents)
        except ValueError as error:
            raise InputError(
                f"case {case.id}: its segments, which the perplexity variant puts in every order, cannot be separated: {error}; "
                "correct the file, build cases with `lct build ada_leval_tsort` and give lct_cases"
            ) from error


def has_data(name: str, options: AdaLevalOptions) -> bool:
    """Return whether a task's published file, or a recast task's carriers, are available.

    Without a length, the file of any length suffices; a cut input must be longer than the cut.
    """
    from long_context_tasks.recast.carriers import NOVELS, carriers_of

    spec = parse_task(name)
    if spec.source == "recast":
        carriers_of(options, NOVELS, name)  # raises InputError if they are missing
        return True
    length, files = spec.tokens or options.length, spec.card.files
    cut = parse_length(spec.variant.removeprefix("cut")) if spec.variant.startswith("cut") else 0
    for each in [format_length(length)] if length else [key for key in files if parse_length(key) > cut]:
        with suppress(InputError):
            return bool(find_file(files.get(each, ""), options, NAME))
    return False


def _official(spec: TaskSpec, options: Options) -> CaseSet:
    length = options.length
    if length is None:
        raise InputError(
            f"{spec.name}: give a length (lct_length=8k) or a folder of built cases (lct_cases=DIR)"
        )
    if options.length_policy != "same_information":
        raise InputError(
            f"{spec.name}: the published files are same_information (cl100k lengths); for lct_length_policy=same_tokens build "
            f"cases with `lct build {spec.family} --length-policy same_tokens` and give lct_cases"
        )
    # Files are named by the paper's lengths, however the user wrote the length.
    name = format_length(length)
    file_name = spec.card.files.get(name)
    if file_name is None:
        raise InputError(
            f"{spec.name}: no published file of {name} (there are: {', '.join(spec.card.files)}); build cases of any "
            f"length with `lct build {spec.family} --length {name}` and run on them with lct_cases"
        )
    path = find_file(file_name, options, NAME, spec.name)
    task = f"{spec.family}_{name}"
    made_from = {"file": path.name, "sha256": file_sha256(path)}
    folder = cached_folder(
        task,
        {**made_from, "card": card(NAME).version},
        lambda folder: convert(path, spec.task, task, length, folder, made_from),
    )
    return CaseSet.read(folder, task)


class _BestAnswerRow(PublishedRow):
    question_id: str | int
    question: str
    all_answers: Annotated[list[str], Field(min_length=1)]
    answer: str
    tags: list[str] | None = None

    @model_validator(mode="after")
    def _accepted_is_shown(self) -> "_BestAnswerRow":
        if self.answer not in {f"A{number}" for number in range(1, len(self.all_answers) + 1)}:
            raise ValueError(f"answer {self.answer!r} names none of the {len(self.all_answers)} answers")
        return self

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.question, *self.all_answers)

    def to_case(self, task: str) -> Case:
        answers = [text_key(text) for text in self.all_answers]
        return Case(
            id=f"{self.question_id}_{self.answer}",
            task=task,
            inputs={"question": text_key(self.question), "answers": answers},
            turns=(Turn(gold=self.answer),),
            cluster=str(self.question_id),
            labels={"tags": self.tags or [], "num_answers": len(answers)},
        )


class _TSortRow(PublishedRow):
    """A row of ``textsort_*.json``, which contains its prompt."""

    book_id: str | int
    para_offset: list[Any]
    answer: list[int] | Json[list[int]]
    prompt: str

    @field_validator("answer")
    @classmethod
    def _orders_its_parts(cls, answer: list[int]) -> list[int]:
        if not answer or sorted(answer) != list(range(1, len(answer) + 1)):
            raise ValueError("must be an order of its parts")
        return answer

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.prompt,)

    def to_case(self, task: str) -> Case:
        return Case(
            id="_".join(map(str, [self.book_id, *self.para_offset])),
            task=task,
            inputs={"prompt": text_key(self.prompt)},
            turns=(Turn(gold=self.answer),),
            cluster=str(self.book_id),
            document=str(self.book_id),
            labels={"num_segments": len(self.answer)},
        )


def convert(path: Path, kind: str, task: str, length: int, folder: Path, source: Mapping[str, str]) -> None:
    """Convert a published file to a case folder, counting the cl100k tokens of every prompt."""
    row_kind: type[_BestAnswerRow | _TSortRow] = _BestAnswerRow if kind == "bestanswer" else _TSortRow
    tokenizer = get_tokenizer(CL100K)
    seen: Counter[str] = Counter()

    def cases() -> Iterator[Case]:
        for _, row in checked_rows(path, row_kind, NAME):
            documents = {text_key(text): text for text in row.texts}
            writer.add_documents(documents.items())
            case = row.to_case(task)
            seen[case.id] += 1  # the file repeats some questions with the same answer position
            yield replace(
                case,
                id=case.id if seen[case.id] == 1 else f"{case.id}_{seen[case.id]}",
                num_tokens={CL100K: tokenizer.count(prompts.prompt(case, documents))},
                labels={**case.labels, "length": length},
            )

    with CaseWriter(folder, {"source": source}) as writer:
        writer.add_cases(task, cases())


_ACCEPTED = re.compile(r"_A([1-9][0-9]{0,5})$")
_PARTS = 5


def labels_of(case: str, labels: Mapping[str, Any]) -> dict[str, str]:
    """Return the accepted answer's position in fifths for BestAnswer; nothing for TSort and moved answers.

    >>> labels_of("4711_A2", {"num_answers": 4})
    {'accepted_answer_at': '20–40 %'}
    """
    match, number = _ACCEPTED.search(case), labels.get("num_answers")
    # Published and built cases share the format; only BestAnswer ids have designations.
    if match is None or not isinstance(number, int) or "position" in labels or not int(match[1]) <= number:
        return {}
    part = int((int(match[1]) - 0.5) / number * _PARTS)
    return {"accepted_answer_at": f"{100 * part // _PARTS}–{100 * (part + 1) // _PARTS} %"}
