"""Check a benchmark in seconds: its builders, cases, prompts, scores and reference hashes.

A few cases of one task of each kind (source, scoring, judge, conversation) are checked.
"""

import difflib
import hashlib
import inspect
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.building import Builder
from long_context_tasks.benchmarks.catalogue import ANY, load_task
from long_context_tasks.benchmarks.plugin import Benchmark
from long_context_tasks.judges.task_judge import Judging, score_turns
from long_context_tasks.judges.verdict import Verdict
from long_context_tasks.schema import (
    Case,
    InputError,
    LoadedTask,
    Message,
    Options,
    parse_length,
    resolve_options,
)
from long_context_tasks.schema.files import loads, write_json
from long_context_tasks.schema.options import cache_dir
from long_context_tasks.schema.report import HeatMap, ScoredRun, ScoredTurn, Section, only
from long_context_tasks.schema.response import (
    DOES_NOT_FIT,
    ENDPOINT_FAILED,
    JUDGE_FAILED,
    JUDGE_UNPARSABLE,
    NOT_JUDGED,
    OF_THE_JUDGE,
    REASONS,
    UNPARSABLE,
    Response,
)
from long_context_tasks.tokens import CL100K, get_tokenizer
from long_context_tasks.tokens.build_settings import BuildSettings

REFERENCE = "reference.json"
"""File next to the card, with the reference hashes of a benchmark whose card has none."""

_CASES = 3
_LENGTH = "2k"
_SMALL = {"length": _LENGTH, "seed": 0, "n": _CASES}
_ODD = 2_345  # tokens; a length that no card lists
_ANSWER = "Is it {0}, or {answer}?"  # str.format fails on it
# Share of a task's length that its prompts fill at least; noise makes texts shorter.
_FULL = 0.75
_HASHES = "import json, sys; from long_context_tasks.benchmarks.checking import seeded_hashes; print(json.dumps(seeded_hashes(sys.argv[1])))"


class Remark(NamedTuple):
    """A mistake at a place, such as a task; ``wrong`` is False if the place could only not be checked."""

    place: str
    text: str
    wrong: bool = True
    file: str = ""  # file to correct, with a line if it is known


def check_benchmark(name: str) -> list[Remark]:
    """Return the mistakes of a benchmark, and remarks on parts that could not be checked. The cache is not used."""
    benchmark = catalogue.benchmark(name)
    remarks = [*_wrong_in_card(benchmark), *_misspelt(benchmark), *_wrong_in_options(benchmark)]
    remarks += _wrong_in_builders(benchmark)
    plain = any(not spec.judged and spec.scoring == "generate" for spec in _one_of_each_kind(name))
    if plain and type(benchmark).example_answers is Benchmark.example_answers:
        text = "none, so that scores of right answers are not checked; write the method"
        remarks.append(Remark("example_answers", text, wrong=False, file=_file(type(benchmark), benchmark)))
    # Of two packages with one option, the later one is left out, and the new one may be the earlier.
    remarks += [
        Remark("options", f"leaves out benchmark {other}: {why}", file=_file(type(benchmark), benchmark))
        for other, why in catalogue.broken_benchmarks().items()
        if f"benchmark {name} in package" in why
    ]
    runs: list[ScoredRun] = []
    # Cached cases would hide a change in the code that makes them.
    with _empty_cache() as folder:
        try:
            benchmark.write_example_files(folder / "examples" / name, _CASES)
        except Exception as error:  # raised by the benchmark's own code
            remarks.append(_raised(benchmark, "write_example_files", error))
        data = folder / "examples" if (folder / "examples").is_dir() else None
        for spec in _one_of_each_kind(name):
            remarks += _check_task(benchmark, spec, data, runs)
        remarks += _wrong_in_reports(benchmark, runs)
        # Hashes of cases that are wrong anyway would only repeat the mistakes.
        for check in (_wrong_elsewhere, _check_reference):
            if not any(remark.wrong for remark in remarks):
                remarks += check(benchmark)
    return remarks


def _file(thing: Any, benchmark: Benchmark) -> str:
    """Return the file that defines a function or class; or else the file of the benchmark's class."""
    try:
        return inspect.getsourcefile(inspect.unwrap(getattr(thing, "func", thing))) or ""
    except TypeError:
        return inspect.getsourcefile(type(benchmark)) or ""


def _raised(benchmark: Benchmark, place: str, error: Exception) -> Remark:
    """Return a remark on an error with the last of the benchmark's own lines that led to it."""
    line = benchmark.line_of(error)
    file = "{}, line {}".format(*line) if line else _file(type(benchmark), benchmark)
    # An InputError has a remedy of its own.
    text = str(error) if isinstance(error, InputError) else f"correct {type(error).__name__}: {error}"
    return Remark(place, text, file=file)


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


def _wrong_in_card(benchmark: Benchmark) -> Iterator[Remark]:
    card, file = benchmark.card, str(benchmark.folder / "card.yaml")
    tasks = (name for task in card.tasks.values() for name in task.files.values())
    listed = {*card.data.get("other_urls", {}), *tasks}
    # A file whose checksum has another name would be fetched unchecked.
    for name in sorted(set(card.data.get("sha256", {})) - listed):
        yield Remark("data", f"sha256 has {name}, which no task lists under files; correct one", file=file)


def _misspelt(benchmark: Benchmark) -> Iterator[Remark]:
    for name in sorted(set(dir(benchmark)) - set(dir(Benchmark))):
        if near := difflib.get_close_matches(name, dir(Benchmark), 1, 0.8):
            text = f"nothing calls it; rename it if it is meant as {near[0]}"
            yield Remark(name, text, file=_file(type(benchmark), benchmark))


def _wrong_in_options(benchmark: Benchmark) -> Iterator[Remark]:
    """Yield attributes that look like options but are none, and options whose default is refused."""
    own, file = {each.name: each for each in fields(benchmark.options)}, _file(benchmark.options, benchmark)
    for name in sorted(set(dir(benchmark.options)) - set(dir(Options)) - set(own)):
        if not callable(value := getattr(benchmark.options, name)) and not isinstance(value, property):
            text = "is no option; write @dataclass(frozen=True) above the class, and a type behind the name"
            yield Remark(f"option {name}", text, file=file)
    for option in [each for name, each in own.items() if not hasattr(Options, name)]:
        try:
            resolve_options({f"lct_{option.name}": option.default}, {}, benchmark.options)
        except InputError as error:
            yield Remark(
                f"option {option.name}", f"its default {option.default!r} is refused: {error}", file=file
            )


def _wrong_in_builders(benchmark: Benchmark) -> Iterator[Remark]:
    try:
        builders = list(benchmark.builders())
    except Exception as error:  # raised by the benchmark's own code
        yield _raised(benchmark, "builders", error)
        return
    names = Counter(getattr(builder, "name", "") for builder in builders)
    for builder in builders:
        file = _file(type(builder), benchmark)
        if not isinstance(builder, Builder):
            yield Remark("builders", f"returned a {type(builder).__name__}, expected a Builder", file=file)
        elif builder.task not in benchmark.card.tasks:
            known = ", ".join(benchmark.card.tasks)
            text = f"its task {builder.task!r} is not on the card; name one of: {known}"
            yield Remark(builder.name, text, file=file)
        elif not builder.name.startswith(family := f"{benchmark.name}_{builder.task}"):
            yield Remark(builder.name, f"its name does not begin with {family}; rename it", file=file)
        elif not issubclass(builder.settings, BuildSettings):
            yield Remark(builder.name, "its settings are not a subclass of BuildSettings", file=file)
        elif names[builder.name] > 1:
            yield Remark(builder.name, "two builders have this name; rename one", file=file)


def _one_of_each_kind(name: str) -> list[catalogue.TaskSpec]:
    kinds: dict[tuple[object, ...], catalogue.TaskSpec] = {}
    for spec in catalogue.task_specs():
        if spec.benchmark == name and spec.source != "built" and spec.length != catalogue.ANY:
            # Combined variants repeat the checks of single ones.
            variant = spec.variant if len(spec.variants) == 1 else ""
            kind = (spec.task, variant, spec.source, spec.scoring, spec.judged, spec.conversation)
            kinds.setdefault(kind, spec)
    return list(kinds.values())


def _check_task(
    benchmark: Benchmark, spec: catalogue.TaskSpec, data: Path | None, runs: list[ScoredRun]
) -> Iterator[Remark]:
    """Yield the mistakes of a task; add runs with its example answers to ``runs``."""
    place, loaded = spec.name, False
    # Tasks without a length in their name need one; 2k is quick to write.
    given: dict[str, Any] = {"lct_n": _CASES, "lct_length": None if spec.length else "2k"}
    try:
        task = load_task(spec.name, given | ({"lct_data_dir": str(data)} if data else {}))
        loaded = True
        cases = task.cases.cases[:_CASES]
        render = _file(task.render, benchmark)
        if not cases or len(task.by_id) != len(task.cases.cases):
            text = "two cases have one id; give each its own" if cases else "no cases"
            yield Remark(place, text, file=render)
        if texts := [*_wrong_conversation(spec, task, cases), *_wrong_judge(spec, task, benchmark)]:
            yield from (Remark(place, text, file=str(benchmark.folder / "card.yaml")) for text in texts)
            return
        for case in cases:
            place = f"{spec.name}, case {case.id}"
            yield from _check_case(benchmark, spec, task, case, place)
        place = spec.name
        if text := _given_away(task, cases) or _split(task):
            yield Remark(place, text, file=render)
        if spec.source == "seed" and not task.by_likelihood:
            place = replace(spec, length=ANY).name if spec.tokens else spec.name
            if text := _wrong_with_seeds(place):
                maker = next((each for each in benchmark.builders() if each.task == spec.task), benchmark)
                yield Remark(spec.name, text, file=_file(type(maker), benchmark))
        runs += _example_runs(benchmark, task, cases)
    except InputError as error:
        # Missing published files are not a mistake of the benchmark.
        if loaded or data is not None or spec.source == "seed":
            yield _raised(benchmark, place, error)
        else:
            text = f"not checked, as the benchmark writes no example files: {error}"
            yield Remark(place, text, wrong=False)
    except Exception as error:  # of the benchmark's own code
        yield _raised(benchmark, place, error)


def _check_case(
    benchmark: Benchmark, spec: catalogue.TaskSpec, task: LoadedTask, case: Case, place: str
) -> Iterator[Remark]:
    render, score = _file(task.render, benchmark), _file(task.score, benchmark)
    benchmark.labels(case.id, case.labels)
    benchmark.split(case, 0, task.cases.documents)
    # A variant may have another history on purpose.
    later = () if spec.variant else _wrong_in_turns(task, case)
    for text in itertools.chain(_wrong_in_prompt(task, case), later):
        yield Remark(place, text, file=render)
    tokens = case.num_tokens.get(CL100K, 0)
    if spec.source == "seed" and tokens > 1.05 * (spec.tokens or tokens):
        text = f"{tokens} tokens are more than the {spec.length} of the name; make the text shorter"
        yield Remark(place, text, file=render)
    if spec.source == "seed" and tokens < _FULL * (spec.tokens or 0):
        text = f"{tokens} tokens are far fewer than the {spec.length} of the name; make the text longer"
        yield Remark(place, text, file=render)
    yield from (Remark(place, text, file=score) for text in _wrong_in_scores(benchmark, task, case))
    if task.judging is not None:
        judge = _file(task.judging.requests, benchmark)
        once = dict.fromkeys(_wrong_in_judging(task, case))  # for all turns
        yield from (Remark(place, text, file=judge) for text in once)


def _wrong_conversation(spec: catalogue.TaskSpec, task: LoadedTask, cases: Sequence[Case]) -> Iterator[str]:
    several = any(len(case.turns) > 1 for case in cases)
    if spec.conversation == task.is_conversation == several:
        return
    if not spec.conversation:
        yield "its cases have several turns, or it has a render_turn; write conversation: true and give both"
    else:
        lacks = "case has a second turn" if task.is_conversation else "render_turn"
        yield f"it has conversation: true, but no {lacks}; remove the key, or give both"


def _wrong_judge(spec: catalogue.TaskSpec, task: LoadedTask, benchmark: Benchmark) -> Iterator[str]:
    """Yield where the card and the task differ in the judge and in the scales of its scores."""
    if spec.judged != (task.judging is not None):
        yield "give it both judged: true and a Judging (LoadedTask.judging), or neither"
    for metric in task.metrics:
        on_card, of_task = (
            f"[{', '.join(f'{end:g}' for end in points[metric] or ())}]" if metric in points else "none"
            for points in (benchmark.card.points, task.points)
        )
        if on_card != of_task:
            yield f"the points of {metric} are {on_card} on the card and {of_task} in LoadedTask.points; write the same in both"


def _wrong_in_judging(task: LoadedTask, case: Case) -> Iterator[str]:
    judging: Judging = task.judging
    name, turns = judging.default, range(len(case.turns))
    judging.rubric(name)
    judging.requests(case, [None for _ in turns], name)
    requests = judging.requests(case, [_ANSWER for _ in turns], name)
    if any(request.meta.get("turn") not in turns for request in requests):
        yield 'a judge request does not name its turn; give it meta={"turn": turn}, counted from 0'
        return
    if not all(any(_ANSWER in message.content for message in request.messages) for request in requests):
        yield "a judge prompt does not contain the response; insert it unchanged"
    for turn in turns:
        # A judge that fails leaves a turn without verdicts.
        unjudged = judging.score_turn(case, turn, _ANSWER, (), name, None)
        asked = sum(request.meta["turn"] == turn for request in requests)
        failures = {
            reason: judging.score_turn(
                case, turn, _ANSWER, [Verdict(None, of_one, None, (), 0, "")] * asked, name, None
            )
            for of_one, reason in ((ENDPOINT_FAILED, JUDGE_FAILED), (UNPARSABLE, JUDGE_UNPARSABLE))
        }
        for metric in judging.metrics if asked else ():
            for reason, scores in failures.items():
                if scores[metric].value is not None or scores[metric].reason not in OF_THE_JUDGE:
                    yield f'{metric} of verdicts without a score is {scores[metric]}; give Score(None, "{reason}")'
            if unjudged[metric].value is not None or unjudged[metric].reason != NOT_JUDGED:
                yield f'{metric} without verdicts is {unjudged[metric]}; give Score(None, "{NOT_JUDGED}")'


def _wrong_with_seeds(task: str) -> str:
    made = []
    for seed in (0, 0, 1):
        # The cache would return the same cases for the same seed.
        with _empty_cache():
            loaded = load_task(task, Options(length=_ODD, seed=seed, n=2))
            # Without ids, which may contain the seed.
            cases = loaded.cases.cases
            made.append([(list(_sent(loaded, case)), [turn.gold for turn in case.turns]) for case in cases])
    if made[0] != made[1]:
        return "one seed gives other cases each time; draw everything from Random(seed), or from SeededBuilder.dice"
    return "two seeds give the same cases; draw them from settings.seed" if made[0] == made[2] else ""


def _given_away(task: LoadedTask, cases: Sequence[Case]) -> str:
    """Return why prompts give their answers away: each question or end of the last line has the answer of its own case only.

    Contexts contain answers, and questions may list options, so only these two places count, and only if they have no other answer.
    """
    golds = [case.turns[0].gold for case in cases]
    golds = [", ".join(map(str, gold)) if isinstance(gold, list) else gold for gold in golds]
    of_words = not task.by_likelihood and all(isinstance(gold, str | int) for gold in golds)
    if not of_words or len(set(golds)) < 2:
        return ""
    ends = [task.messages(case)[-1].content.strip().rpartition("\n")[2] for case in cases]
    questions = [str(case.turns[0].question or "") for case in cases]
    for where, texts, end in (("last line", ends, r"\W*$"), ("question", questions, "")):
        found = [
            (gold == other) == bool(re.search(rf"(?<!\w){re.escape(str(other))}(?!\w){end}", text))
            for gold, text in zip(golds, texts, strict=True)
            for other in golds
        ]
        if all(found):
            return f"the {where} of the prompt holds the right answer; remove it"
    return ""


def _split(task: LoadedTask) -> str:
    """Return whether cases on the same texts are in different clusters, which would make intervals too narrow."""
    clusters: dict[str, str | None] = {}
    for case in task.cases.cases:
        texts = [value for value in case.inputs.values() if not isinstance(value, int | float)]
        if texts and clusters.setdefault(repr(texts), case.cluster) != case.cluster:
            return f"cases on one text, such as {case.id}, have different clusters; name the text as their cluster"
    return ""


def _example_runs(benchmark: Benchmark, task: LoadedTask, cases: Sequence[Case]) -> Iterator[ScoredRun]:
    """Yield a run with the first example answers, and one without any score; none for tasks without a response or with a judge."""
    if task.by_likelihood or task.judging is not None:
        return
    for status in (None, DOES_NOT_FIT):
        turns = []
        for case in cases:
            texts = [next(iter(benchmark.example_answers(case, turn)), "") for turn in range(len(case.turns))]
            responses = [Response(text if status is None else None, status) for text in texts]
            scores = score_turns(task, case, responses)
            for number, (turn, response) in enumerate(zip(case.turns, responses, strict=True)):
                value, labels = scores[number][task.metrics[0]].value, {**case.labels, **turn.labels}
                turns.append(ScoredTurn(case.id, number, 0, case.cluster, value, response, labels))
        yield ScoredRun(
            host="lct check",
            model=status or "examples",
            task=task.name,
            judge="",
            version=task.version,
            settings=task.options.resolved(),
            metric=task.metrics[0],
            points=task.metrics[0] in task.points,
            seed="",
            made="",
            read=turns.copy,
            load=lambda: task,
        )


def _wrong_in_reports(benchmark: Benchmark, runs: Sequence[ScoredRun]) -> Iterator[Remark]:
    for method, kind, more in (
        (benchmark.sections, Section, {"bins": None}),
        (benchmark.heat_maps, HeatMap, {}),
    ):
        place = f"{method.__name__} of runs with and without scores"
        try:
            only(method(runs, **more), method.__name__, kind)
        except Exception as error:  # of the benchmark's own code
            yield _raised(benchmark, place, error)


def _sent(task: LoadedTask, case: Case) -> Sequence[Message]:
    return task.whole_conversation(case) if task.is_conversation else task.messages(case)


def _wrong_in_prompt(task: LoadedTask, case: Case) -> Iterator[str]:
    if task.candidates is not None:
        if len(task.candidates(case, task.cases.documents)) < 2:
            yield "a task by likelihood needs two candidates or more"
        return
    rendered = task.render(case, task.cases.documents)
    if not rendered or not all(isinstance(message, Message) for message in rendered):
        yield f'render returned {str(rendered)[:20]!r}; return a list of messages, as [Message("user", text)]'
        return
    messages = list(_sent(task, case))
    if unknown := {message.role for message in messages} - {"system", "user", "assistant"}:
        yield f"unknown role {unknown.pop()!r}; use system, user or assistant"
    if not case.cluster:
        yield "its cluster is empty; name the text it is about, or the case"
    # Hosts render a case more than once: for the window check and for the request.
    if messages != list(_sent(task, case)):
        yield "render gives a different prompt when it is called again; draw nothing in it"
    if not any(message.content.strip() for message in messages):
        yield "the prompt is empty"
    first = "\n\n".join(message.content for message in task.messages(case))
    later = [str(turn.question).strip() for turn in case.turns[1:]]
    count = sum(get_tokenizer(CL100K).fresh().count_many([first, *later]))
    # The hosts count the prompts of cases without a number; texts that are counted in parts may differ by a few tokens.
    given = case.num_tokens.get(CL100K, count)
    share = 0.002 if catalogue.parse_task(task.name).source == "seed" else 0.01
    if abs(given - count) > share * count + 1 + len(case.turns):
        yield f"num_tokens is {given}, but the prompt has {count} tokens; count the rendered prompt"


def _wrong_in_turns(task: LoadedTask, case: Case) -> Iterator[str]:
    """Yield what the prompts of later turns lack, whatever the model answered."""
    answers: list[str] = []
    before = task.messages(case)
    for turn in range(1, len(case.turns) if task.is_conversation else 1):
        answers.append(f"Answer number {turn}.")
        sent = task.messages(case, turn, answers)
        text = "\n\n".join(message.content for message in sent)
        if [answer for answer in answers if text.count(answer) != 1]:
            yield f"render_turn gives turn {turn} without the model's answers to earlier ones; insert each of answers once"
        if sent[-1] == before[-1] or text.endswith(answers[-1]):
            yield f"render_turn gives turn {turn} without its question; add it after the answers"
        before = sent


def _wrong_in_scores(benchmark: Benchmark, task: LoadedTask, case: Case) -> Iterator[str]:
    if task.by_likelihood:
        return
    examples = list(benchmark.example_answers(case, 0)) if task.judging is None else []
    headline = task.metrics[0]
    values: dict[str | None, float | None] = {}
    for text in (None, "", _ANSWER, *examples):
        response = Response(text, "endpoint_failed" if text is None else None)
        scores, again = (score_turns(task, case, [response] * len(case.turns))[0] for _ in range(2))
        if repr(scores) != repr(again):
            yield "score gives a different score when it is called again; draw nothing in it"
        values[text] = scores[headline].value
        # Results count the reasons of the headline only.
        if (reason := scores[headline].reason) and reason not in REASONS:
            yield f"{headline} has the unknown reason {reason!r}; use one of {', '.join(REASONS)}"
        for metric in task.metrics:
            value = scores[metric].value
            if value is None and not scores[metric].reason:
                yield f"{metric} is None without a reason"
            elif text := _off_scale(task, metric, value):
                yield text
    # No response is a failure of ours and must stay out of the mean.
    if values[None] is not None:
        yield f"{headline} has a value without a response; give Score(None, status)"
    if values[""] is None and task.judging is None:
        yield f"{headline} of an empty response is None; a failure of the model is the lowest score with a reason"
    scored = [values[text] for text in examples]
    known = [value for value in scored if value is not None]
    budget = get_tokenizer(CL100K).fresh().count(examples[0]) if examples else 0
    if budget > task.answer_budget:
        yield f"the first example answer has {budget} tokens, and answer_budget is {task.answer_budget}; raise it"
    if examples and not (known and scored[0] == max(known) > min(known)):
        yield f"{headline} of the example answers is {scored}; the first must be the best, and another worse"


def _off_scale(task: LoadedTask, metric: str, value: float | None) -> str:
    least, most = task.points.get(metric, (0, 1)) or (-sys.float_info.max, sys.float_info.max)
    if value is None or least <= value <= most:
        return ""
    if metric not in task.points:
        return f"{metric} is {value}; a rate is from 0 to 1, and the card names other metrics under points"
    return f"{metric} is {value:g}, outside its scale of {least:g} to {most:g}; correct the score, or points on the card and in LoadedTask"


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


def seeded_hashes(name: str) -> dict[str, str]:
    """Return :func:`reference_sha256` of a benchmark's seeded tasks, made anew."""
    # Cached cases may be those of earlier code.
    with _empty_cache():
        return {task: reference_sha256(task, _SMALL) for task in _seeded(name)}


def _wrong_elsewhere(benchmark: Benchmark) -> Iterator[Remark]:
    """Yield whether another process in another folder, where sets have another order, makes other cases."""
    if not (here := seeded_hashes(benchmark.name)):
        return
    with tempfile.TemporaryDirectory() as folder:
        seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
        more = {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
        command = [sys.executable, "-B", "-c", _HASHES, benchmark.name]
        done = subprocess.run(
            command, check=False, cwd=folder, env=os.environ | more, capture_output=True, text=True
        )
    maker = next(iter(benchmark.builders()), benchmark)
    place, file = "in another process and folder", _file(type(maker), benchmark)
    if done.returncode:
        error = (done.stderr.strip().splitlines() or ["no message"])[-1]
        yield Remark(place, f"{error}; name files by their place next to __file__", file=file)
        return
    there = loads(done.stdout.splitlines()[-1].encode())
    for task in [task for task, sha256 in here.items() if there.get(task) != sha256]:
        text = "other cases; draw nothing from the order of a set (sort it), hash(), the time or the folder"
        yield Remark(f"{task} {place}", text, file=file)


def write_reference(name: str) -> Path:
    benchmark = catalogue.benchmark(name)
    path = benchmark.folder / REFERENCE
    if "reference" in benchmark.card.data.get("synthetic", {}):
        raise InputError(f"{name}: its reference hashes are on its card (data: synthetic: reference)")
    write_json(path, {"version": benchmark.card.version, **_SMALL, "sha256": seeded_hashes(name)})
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
