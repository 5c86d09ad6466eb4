"""Cases, prompt and scoring of Registers."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

from long_context_tasks.benchmarks.building import (
    Builder,
    TaskReport,
    Work,
)
from long_context_tasks.benchmarks.catalogue import card, parse_task
from long_context_tasks.benchmarks.run_cases import (
    built_file,
    cached_cases,
    run_settings,
)
from long_context_tasks.schema import (
    Case,
    CaseScores,
    CaseWriter,
    Documents,
    LoadedTask,
    Message,
    Options,
    Score,
    Turn,
    format_length,
)
from long_context_tasks.schema.report import ScoredRun, Section, Table
from long_context_tasks.tokens import CL100K, get_tokenizer
from long_context_tasks.tokens.build_settings import BuildSettings, option

PROMPT = "{register}\n\nHow many keys are in box {box}? Reply with the number only."


@dataclass(frozen=True)
class Settings(BuildSettings):
    """Settings of `lct build registers_keys`."""

    most_keys: Annotated[int, option("Most keys in a box. Default: 99", "Registers", ge=2, le=999)] = 99


def load_task(name: str, options: Options) -> LoadedTask:
    """Return a task: cases from the seed, or built ones."""
    spec = parse_task(name)
    options = replace(options, length=spec.tokens or options.length)
    if options.cases is not None:
        built = built_file(options.cases, "registers_keys", "registers_keys_*", options.length)
        options, cases = built.resolve(options), built.read()
    else:
        settings = run_settings(name, Settings, options, cases=20)
        task = f"registers_keys_{format_length(settings.lengths[0])}"
        cases = cached_cases(
            task,
            settings,
            options,
            card("registers").version,
            lambda folder: write("registers_keys", settings, folder),
        )
    return LoadedTask(
        name=name,
        version=card("registers").version,
        options=options,
        cases=cases.selected(cases.cases[: options.n]),
        metrics=("exact",),
        intervals=("exact",),
        answer_budget=options.answer_budget or spec.card.answer_budget,
        render=render,
        score=score,
    )


class KeysBuilder(Builder):
    """Builds the cases of every length."""

    settings = Settings

    def write(self, source: object, settings: BuildSettings, folder: Path, work: Work) -> list[TaskReport]:
        """See :func:`write`."""
        assert isinstance(settings, Settings)
        return write(self.name, settings, folder)


def write(name: str, settings: Settings, folder: Path) -> list[TaskReport]:
    """Write the cases of every length into a case folder."""
    reports = []
    with CaseWriter(folder, asdict(settings)) as writer:
        for length in settings.lengths:
            made = list(_cases(settings, length))
            writer.add_documents((case.inputs["register"], text) for case, text in made)
            writer.add_cases(f"{name}_{format_length(length)}", [case for case, _ in made])
            tokens = [case.num_tokens[CL100K] for case, _ in made]
            reports.append(TaskReport(f"{name}_{format_length(length)}", tokens, len(made), 0.01))
    return reports


def _cases(settings: Settings, length: int) -> Iterator[tuple[Case, str]]:
    tokenizer = get_tokenizer(CL100K)
    per_line = tokenizer.count("Box 1000 holds 50 keys.\n") + 1
    for number in range(settings.n or 20):
        draw = random.Random(f"{settings.seed} {length} {number}")
        boxes = draw.sample(range(1000, 100_000), max(2, (length - 40) // per_line))
        keys = {box: draw.randint(1, settings.most_keys) for box in boxes}
        text = "\n".join(f"Box {box} holds {count} keys." for box, count in keys.items())
        box = draw.choice(boxes)
        key = f"{length}_{settings.seed}_{number}"
        tokens = tokenizer.count(PROMPT.format(register=text, box=box))
        inputs = {"register": key, "box": box}
        turn = Turn(keys[box], labels={"place": boxes.index(box) * 4 // len(boxes)})
        yield (
            Case(key, f"registers_keys_{format_length(length)}", inputs, (turn,), key, {CL100K: tokens}),
            text,
        )


def render(case: Case, documents: Documents) -> list[Message]:
    """Return the prompt."""
    text = PROMPT.format(register=documents[case.inputs["register"]], box=case.inputs["box"])
    return [Message("user", text)]


def score(case: Case, response: str | None, status: str | None) -> CaseScores:
    """Score a response."""
    if response is None:
        return {"exact": Score(None, status)}
    return {"exact": Score(float(response.strip() == str(case.turns[0].gold)))}


def sections(runs: Sequence[ScoredRun]) -> list[Section]:
    """Return one table: scores by the quarter of the register that holds the answer."""
    rows = []
    for run in runs:
        turns = list(run.read())
        for place in range(4):
            values = [t.value for t in turns if t.labels.get("place") == place and t.value is not None]
            rows.append((run.model, run.task, str(place + 1), f"{len(values)}"))
    return [
        Section(
            "places",
            "Registers by place",
            (Table("places", "Cases by quarter", ("model", "task", "quarter", "n"), tuple(rows)),),
        )
    ]
