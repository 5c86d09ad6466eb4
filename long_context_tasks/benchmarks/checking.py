"""Check a benchmark in seconds: its builders, cases, prompts, scores and reference hashes.

A few cases of one task of each kind (source, scoring, judge, conversation) are checked.
"""

import hashlib
import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.building import Builder
from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.benchmarks.plugin import Benchmark
from long_context_tasks.judges.task_judge import score_turns
from long_context_tasks.schema import Case, InputError, LoadedTask, Message, Options, parse_length
from long_context_tasks.schema.files import loads, write_json
from long_context_tasks.schema.options import cache_dir
from long_context_tasks.schema.response import Response
from long_context_tasks.tokens.build_settings import BuildSettings

REFERENCE = "reference.json"
"""File next to the card, with the reference hashes of a benchmark whose card has none."""

_CASES = 3


class Remark(NamedTuple):
    """A mistake at a place, such as a task; ``wrong`` is False if the place could only not be checked."""

    place: str
    text: str
    wrong: bool = True


def check_benchmark(name: str) -> list[Remark]:
    """Return the mistakes of a benchmark, and remarks on parts that could not be checked. The cache is not used."""
    benchmark = catalogue.benchmark(name)
    remarks = list(_wrong_in_builders(benchmark))
    # Cached cases would hide a change in the code that makes them.
    with _empty_cache() as folder:
        try:
            benchmark.write_example_files(folder / "examples" / name, _CASES)
        except Exception as error:  # raised by the benchmark's own code
            remarks.append(Remark("write_example_files", f"{type(error).__name__}: {error}"))
        data = folder / "examples" if (folder / "examples").is_dir() else None
        for spec in _one_of_each_kind(name):
            remarks += _check_task(benchmark, spec, data)
        # Hashes of cases that are wrong anyway would only repeat the mistakes.
        if not any(remark.wrong for remark in remarks):
            remarks += _check_reference(benchmark)
    return remarks


@contextmanager
def _empty_cache() -> Iterator[Path]:
    """Replace the cache by a new folder; published files are still read from the user's."""
    before = {variable: os.environ.get(variable) for variable in ("LCT_CACHE_DIR", "LCT_DATA_DIR")}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LCT_DATA_DIR"] = before["LCT_DATA_DIR"] or str(cache_dir() / "data")
        os.environ["LCT_CACHE_DIR"] = folder
        try:
            yield Path(folder)
        finally:
            for variable, value in before.items():
                os.environ.pop(variable)
                if value is not None:
                    os.environ[variable] = value


def _wrong_in_builders(benchmark: Benchmark) -> Iterator[Remark]:
    try:
        builders = list(benchmark.builders())
    except Exception as error:  # raised by the benchmark's own code
        yield Remark("builders", f"{type(error).__name__}: {error}")
        return
    for builder in builders:
        if not isinstance(builder, Builder):
            yield Remark("builders", f"returned a {type(builder).__name__}, expected a Builder")
        elif builder.task not in benchmark.card.tasks:
            yield Remark(builder.name, f"its task {builder.task!r} is not on the card")
        elif not builder.name.startswith(f"{benchmark.name}_"):
            yield Remark(builder.name, f"its name does not begin with {benchmark.name}_")
        elif not issubclass(builder.settings, BuildSettings):
            yield Remark(builder.name, "its settings are not a subclass of BuildSettings")


def _one_of_each_kind(name: str) -> list[catalogue.TaskSpec]:
    kinds: dict[tuple[object, ...], catalogue.TaskSpec] = {}
    for spec in catalogue.task_specs():
        if spec.benchmark == name and spec.source != "built" and spec.length != catalogue.ANY:
            # Combined variants repeat the checks of single ones.
            variant = spec.variant if len(spec.variants) == 1 else ""
            kind = (spec.task, variant, spec.source, spec.scoring, spec.judged, spec.conversation)
            kinds.setdefault(kind, spec)
    return list(kinds.values())


def _check_task(benchmark: Benchmark, spec: catalogue.TaskSpec, data: Path | None) -> Iterator[Remark]:
    place, loaded = spec.name, False
    # Tasks without a length in their name need one; 2k is quick to write.
    given: dict[str, Any] = {"lct_n": _CASES, "lct_length": None if spec.length else "2k"}
    try:
        task = load_task(spec.name, given | ({"lct_data_dir": str(data)} if data else {}))
        loaded = True
        cases = task.cases.cases
        if not cases or len(task.by_id) != len(cases):
            yield Remark(place, "two cases have one id" if cases else "no cases")
        for case in cases[:_CASES]:
            place = f"{spec.name}, case {case.id}"
            benchmark.labels(case.id, case.labels)
            benchmark.split(case, 0, task.cases.documents)
            yield from (Remark(place, text) for text in _wrong_in_case(benchmark, task, case))
    except InputError as error:
        # Missing published files are not a mistake of the benchmark.
        checkable = loaded or data is not None or spec.source == "seed"
        text = str(error) if checkable else f"not checked, as the benchmark writes no example files: {error}"
        yield Remark(place, text, wrong=checkable)
    except Exception as error:  # of the benchmark's own code
        yield Remark(place, f"{type(error).__name__}: {error}")


def _sent(task: LoadedTask, case: Case) -> Sequence[Message]:
    return task.whole_conversation(case) if task.is_conversation else task.messages(case)


def _wrong_in_case(benchmark: Benchmark, task: LoadedTask, case: Case) -> Iterator[str]:
    if task.candidates is not None:
        if len(task.candidates(case, task.cases.documents)) < 2:
            yield "a task by likelihood needs two candidates or more"
        return
    messages = list(_sent(task, case))
    # Hosts render a case more than once: for the window check and for the request.
    if messages != list(_sent(task, case)):
        yield "render gives another prompt when it is called again"
    if not any(message.content.strip() for message in messages):
        yield "the prompt is empty"
    examples = list(benchmark.example_answers(case, 0)) if task.judging is None else []
    headline = task.metrics[0]
    values: dict[str | None, float | None] = {}
    for text in (None, "", *examples):
        response = Response(text, "endpoint_failed" if text is None else None)
        scores = score_turns(task, case, [response] * len(case.turns))[0]
        values[text] = scores[headline].value
        for metric in task.metrics:
            value, rate = scores[metric].value, metric not in task.points
            if value is None and not scores[metric].reason:
                yield f"{metric} is None without a reason"
            elif value is not None and not (math.isfinite(value) and (0 <= value <= 1 or not rate)):
                yield f"{metric} is {value}; a rate is from 0 to 1, and the card names other metrics under points"
    # No response is a failure of ours and must stay out of the mean.
    if values[None] is not None:
        yield f"{headline} has a value without a response; give Score(None, status)"
    if values[""] is None and task.judging is None:
        yield f"{headline} of an empty response is None; a failure of the model is the lowest score with a reason"
    scored = [values[text] for text in examples]
    known = [value for value in scored if value is not None]
    if examples and not (known and scored[0] == max(known) > min(known)):
        yield f"{headline} of the example answers is {scored}; the first must be the best, and another worse"


def reference_sha256(task: str, settings: Mapping[str, Any]) -> str:
    """Return the hash of the messages, gold answers and inputs of a few seeded cases: ``length``, ``seed`` and ``n`` of the settings."""
    length = parse_length(settings["length"])
    loaded = load_task(task, Options(length=length, seed=settings["seed"], n=settings["n"]))
    digest = hashlib.sha256()
    for case in loaded.cases.cases:
        row = {
            "id": case.id,
            "messages": [[message.role, message.content] for message in _sent(loaded, case)],
            "turns": [[turn.question, turn.gold, dict(turn.labels)] for turn in case.turns],
            "inputs": dict(case.inputs),
        }
        digest.update(json.dumps(row, sort_keys=True, ensure_ascii=False).encode())
    return digest.hexdigest()


def reference_of(benchmark: Benchmark) -> Mapping[str, Any] | None:
    """Return ``version``, ``length``, ``seed``, ``n`` and ``sha256`` by task, from the card or the file next to it; None without both."""
    on_card: Mapping[str, Any] | None = benchmark.card.data.get("synthetic", {}).get("reference")
    path = benchmark.folder / REFERENCE
    return loads(path.read_bytes()) if on_card is None and path.is_file() else on_card


def write_reference(name: str) -> Path:
    benchmark = catalogue.benchmark(name)
    path = benchmark.folder / REFERENCE
    if "reference" in benchmark.card.data.get("synthetic", {}):
        raise InputError(f"{name}: its reference hashes are on its card (data: synthetic: reference)")
    settings = {"version": benchmark.card.version, "length": "2k", "seed": 0, "n": _CASES}
    # Cached cases may be those of earlier code.
    with _empty_cache():
        hashes = {task: reference_sha256(task, settings) for task in _seeded(name)}
    write_json(path, settings | {"sha256": hashes})
    return path


def _seeded(name: str) -> list[str]:
    specs = _one_of_each_kind(name)
    return [spec.name for spec in specs if spec.source == "seed" and spec.scoring == "generate"]


def _check_reference(benchmark: Benchmark) -> Iterator[Remark]:
    name, reference = benchmark.name, reference_of(benchmark)
    remedy = f"`lct check {name} --write`"
    if reference is None:
        if seeded := _seeded(name):
            yield Remark(", ".join(seeded), f"no reference hashes; {remedy} writes them", wrong=False)
        return
    if reference["version"] != benchmark.card.version:
        yield Remark(
            name, f"reference hashes are of version {reference['version']}; {remedy} writes new ones"
        )
        return
    for task, sha256 in reference["sha256"].items():
        if reference_sha256(task, reference) != sha256:
            text = f"its cases differ from those of version {reference['version']}: raise the card's version, then run {remedy}"
            yield Remark(task, text)
