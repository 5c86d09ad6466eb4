"""Made-up results for the site: cells, runs and cases that no model produced."""

import hashlib
import json
import random
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from long_context_tasks.benchmarks.catalogue import benchmark_names
from long_context_tasks.benchmarks.published import PublishedScore
from long_context_tasks.results.case_pages import ShownCase, ShownTurn
from long_context_tasks.results.cells import Cell
from long_context_tasks.results.lengths import FamilyLength
from long_context_tasks.results.models import ModelFacts, Models
from long_context_tasks.results.tidy import RUNS, SCORES, Collection
from long_context_tasks.schema.card import LabelCard
from long_context_tasks.schema.report import HeatMap, Line, Lines, Section, Table
from long_context_tasks.site import BuiltSite, CellMap, SiteOptions, build_site
from long_context_tasks.stats.effective_length import EffectiveLength, LengthOutcome, Outcome
from long_context_tasks.stats.intervals import Interval, exact_interval
from long_context_tasks.stats.means import Mean

HOSTILE_NAME = '"><img src=x onerror=alert(1)>'
HOSTILE_TEXT = (
    "<script>alert(1)</script></script><!-- \u2028 and \u2029 | a | table |\n|---|---|\n| <b>x</b> | y |\n"
    "<table><tr><td>forged</td></tr></table> \u202eright to left\u202c \ud800 {{ 7*7 }} ${1} __proto__"
)


POSITION = LabelCard(values={"front": "front", "middle": "in the middle", "rear": "rear"}, position=True)


def made_up_cell(
    model: str, task: str, mean: Mean, runs: tuple[str, ...], metric: str = "accuracy", **other: Any
) -> Cell:
    """A cell of which a test names what matters to it."""
    values: dict[str, Any] = {
        "benchmark": "ethic", "family": task, "length": None, "variant": "", "wer": None, "judge": None, "version": 1,
        "points": False, "official": {}, "n_runs": len(runs), "run_sd": None, "truncated": 0, "n_cases": mean.total,
        "n_available": mean.total, "hosts": ("lm_eval",), "made": "2026-11-02T10-11-12.5",
    }  # fmt: skip
    return Cell(model=model, task=task, mean=mean, runs=runs, metric=metric, **values | other)


_ends = lru_cache(exact_interval)


def rate(share: float, n: int, total: int | None = None, reasons: Mapping[str, int] | None = None) -> Mean:
    """A mean of hits and misses."""
    hits = round(share * n)
    ends = _ends(hits, n)
    return Mean(hits / n, ends.low, ends.high, n, total or n, reasons or {})


def published_score(
    model: str, task: str, metric: str, printed: str, source: str, points: bool = False, **other: Any
) -> PublishedScore:
    """A figure of a paper of which a test names what matters to it."""
    benchmark = other.pop("benchmark", "")
    return PublishedScore(benchmark, model, task, metric, printed, points, source, **other)


def family_length(
    model: str, family: str, outcomes: Mapping[int, Outcome], definition: str, threshold: float | None = None
) -> FamilyLength:
    """An effective length of which a test names what matters to it: the outcome of each length, in order, without ups and downs."""
    nowhere = Interval(0.1, 0.2)
    lengths = [
        LengthOutcome(length, 9, 9, 9, 0.5, nowhere, 0.4, nowhere, outcome)
        for length, outcome in outcomes.items()
    ]
    held = [length for length, outcome in outcomes.items() if outcome == "holds"]
    lost = [length for length, outcome in outcomes.items() if outcome == "fails"]
    found = EffectiveLength(max(held, default=None), min(lost, default=None), lengths, definition)
    return FamilyLength(model, "", family, "", None, "{}", found, threshold)


def run_name(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def collection_of(cells: Iterable[Cell], cases: Iterable[ShownCase] = ()) -> Collection:
    """Runs of the cells, with a key in a configuration that no page may show, and the scores of cases."""
    scores = [
        (
            case.run,
            case.case,
            case.case,
            number,
            0,
            metric,
            value,
            0.0,
            turn.reason,
            json.dumps({**case.labels}),
        )
        for case in cases
        for number, turn in enumerate(case.turns)
        for metric, value in turn.scores.items()
    ]
    rows = [
        {
            **dict.fromkeys(RUNS),
            **{name: getattr(cell, name) for name in RUNS if hasattr(cell, name)},
            "run": run,
            "host": cell.hosts[0],
            "options": json.dumps({"lct_seed": 1}),
            "settings": "{}",
            "seed": "1",
            "headline": cell.metric,
            "metrics": [cell.metric],
            "points": [cell.metric] if cell.points else [],
            "n_cases_available": cell.n_available,
            "host_version": "0.4.13",
            "package": "0.1.0",
            "commit": "0123abc",
            "provenance": json.dumps({"commit": "0123abc", "model_args": "pretrained=m,api_key=sk-secret"}),
            "source": "results/first",
        }
        for cell in cells
        for run in cell.runs
    ]
    return Collection(
        pl.DataFrame(rows, schema=RUNS),
        pl.DataFrame(scores, schema=SCORES, orient="row"),
        ("results/x.json: cut <b>",),
        ("owl: 2 names of hosts <i> are shown as this one model",),
    )


LENGTHS = (1000, 2000, 4000, 8000, 16000, 32000, 64000)
MODELS = {
    "Quail/Quail3-8B": (0.93, 45_000),
    "meadow/Lark-3.1-8B-Instruct": (0.84, 30_000),
    "magpie-small-24b": (0.97, 70_000),
    "goldfinch-3-4b-it": (0.71, 9_000),
    HOSTILE_NAME: (0.35, 5_000),
}


def small_cells() -> list[Cell]:
    """Five models on lengths, noise, variants and a judged task; one of them hostile."""
    cells = []
    for number, (model, (best, half)) in enumerate(MODELS.items()):
        for family, factor in (("ada_leval_tsort", 0.6), ("ada_leval_bestanswer", 1.0)):
            for length in LENGTHS:
                if number == 3 and length > 16000:
                    continue
                share = factor * best / (1 + (length / half) ** 1.3)
                n = 200 if length < 32000 else 50
                part = number == 1 and length == 64000
                task = f"{family}_{length // 1000}k"
                mean = rate(
                    share,
                    n - 20 if part else n,
                    n,
                    {"does_not_fit": 20} if part else {"unparsed": 3 + number},
                )
                cells.append(
                    made_up_cell(
                        model, task, mean, (run_name(model, task),), "strict_accuracy", benchmark="ada_leval", family=family,
                        length=length, hosts=("lm_eval", "opencompass")[: 1 + number % 2],
                        official={"official_accuracy": rate(min(1, share + 0.03), n), "instruction_following": rate(0.97, n)},
                        ranked=not part, why_unranked="20 of 50 without a score" if part else "", truncated=1 + number,
                    )
                )  # fmt: skip
        for wer in (None, 20, 40, 60, 80, 100):
            points = 7.8 * best - (wer or 0) * 0.025
            variant = f"wer{wer}" if wer else ""
            task = "elitr_bench_qa_test" + (f"_{variant}" if wer else "")
            mean = Mean(points, points - 0.41, points + 0.38, 130, 130, {})
            runs = tuple(run_name(model, task, seed) for seed in range(3 if wer is None else 1))
            cells.append(
                made_up_cell(
                    model, task, mean, runs, "judge_score", benchmark="elitr_bench", family="elitr_bench_qa_test",
                    variant=variant, wer=wer, judge="gpt-4-0613", points=True, run_sd=0.08 if len(runs) > 1 else None,
                )
            )  # fmt: skip
        for domain in ("books", "law"):
            task = f"ethic_recall_{domain}"
            cells.append(made_up_cell(model, task, rate(best * 0.5, 90), (run_name(model, task),), "f1"))
    return cells


def small_cases(cells: list[Cell]) -> Iterator[ShownCase]:
    """Cases of the tasks with 2k tokens and of a conversation, with hostile texts; ELITR-Bench's withheld."""
    for cell in cells:
        for run in cell.runs:
            chance = random.Random(run)
            if cell.task == "ada_leval_tsort_2k":
                for number in range(cell.mean.n):
                    hit = float(chance.random() < cell.mean.value)
                    labels = {"position": ("front", "middle", "rear")[number % 3], "book": f"book {number}"}
                    prompt = (
                        ("system", "You put segments in order."),
                        (
                            "user",
                            f"Case {number}. \U0001f989 {HOSTILE_TEXT}\n"
                            + f"Segment of a book number {number}. " * 200,
                        ),
                    )
                    turn = ShownTurn(
                        None, "2 1 3 4", HOSTILE_TEXT if number == 0 else "The order is 2 1 3 4.",
                        {"strict_accuracy": hit, "official_accuracy": hit, "__proto__": None}, None if hit else "unparsed",
                    )  # fmt: skip
                    yield ShownCase(run, f"tsort_2k_{number:04}", prompt, labels, (turn,))
            if cell.task == "elitr_bench_qa_test":
                for number in range(13):
                    turns = tuple(
                        ShownTurn(None, None, f"Answer {turn}: the deadline was moved. {HOSTILE_TEXT if turn == 1 else ''}",
                                  {"judge_score": float(chance.randint(4, 10))}, None,
                                  (f"The answer names the deadline. {HOSTILE_TEXT}",))
                        for turn in range(3)
                    )  # fmt: skip
                    yield ShownCase(
                        run, f"meeting_{number}", None, {"question type": ("who", "what", "when")[number % 3]}, turns,
                        "ELITR-Bench may not be shown in public: questions, gold answers and transcripts are withheld.",
                    )  # fmt: skip


def known_models(licence: str) -> Models:
    quail = ModelFacts(
        name="Quail/Quail3-8B",
        aliases=("quail3-8b-vllm",),
        window=32768,
        licence=licence,
        parameters="8.2B",
    )
    magpie = ModelFacts(name="magpie-small-24b", window=128000)
    return Models({quail.name: quail, magpie.name: magpie})


def small_options() -> SiteOptions:
    """Return everything that a page can show in addition to runs."""
    published = [
        published_score(
            "GPT-4-Turbo-0125",
            f"ada_leval_tsort_{k}k",
            "official_accuracy",
            printed,
            "Ada-LEval paper (NAACL 2024), Table 2, GPT-4-Turbo-0125",
            n=200,
            benchmark="ada_leval",
        )
        for k, printed in ((2, "15.5"), (4, "16.5"), (8, "8.5"), (16, "5.5"))
    ]
    published += [
        published_score("GPT-4o", task, "official_f1", "41.1", "ETHIC paper (NAACL 2025), Table 3, GPT-4o", n=700, benchmark="ethic")
        for task in ("ethic_recall", "ethic_organize_books")
    ]  # fmt: skip
    matrix = [[round(0.9 / (1 + abs(x - y)), 3) for x in range(10)] for y in range(5)]
    matrix[2][3] = None
    return SiteOptions(
        title="Long-context leaderboard",
        made="2026-11-20",
        published=published,
        groups=[
            made_up_cell(model, "ethic_recall", rate(best * 0.5, 180), (run_name(model, "ethic_recall_books"),), "f1", ranked=best > 0.5)
            for model, (best, _) in MODELS.items()
        ],
        sections={"ethic": [Section(
            "ethic", "As in the paper <i>", (
                Table("length", "Scores by length <b>", ("model", "length", "mean"), (("owl <b>", "8k", "0.5"), ("crow", "16k", "0.25"))),
                Table("empty", "Nothing here", ("model",), ()),
            ),
            (Lines("Scores by noise", "Noise", "Score", (Line("owl <b>", ((0, 7, 6, 8), (20, 5, 4, 6))),), 0, 10),),
            ("a note <i>",),
        )]},
        labels={name: {"position": POSITION} for name in benchmark_names()},
        models=known_models("Apache-2.0 <i>"),
        lengths=[
            family_length(model, family, outcomes, "context up to which the score stays above 85 % of the score at the shortest length")
            for model, outcomes in (("Quail/Quail3-8B", {8000: "holds", 16000: "open", 32000: "fails"}), ("magpie-small-24b", {32000: "holds", 64000: "holds"}))
            for family in ("ada_leval_tsort", "ada_leval_bestanswer")
        ],
        heat_maps=[
            CellMap("Quail/Quail3-8B", ["ethic_recall_books"], HeatMap(
                "Where summaries take their content from",
                "Share of summary sentences by place in the summary (down) and in the context (across).",
                "Place in the context", "Place in the summary",
                ["<b>0</b> &amp; 1", *(f"{10 * x}–{10 * x + 10} %" for x in range(1, 10))], [f"{20 * y}–{20 * y + 20} %" for y in range(5)],
                matrix, (), 0.0, 0.9))
        ],
        measured_wer={f"elitr_bench_qa_test_wer{wer}": wer * 0.93 for wer in (20, 40, 60, 80, 100)},
        chance={f"ada_leval_tsort_{length // 1000}k": 1 / 24 for length in LENGTHS},
        judges={"gpt-4-0613": "Pearson correlation with people 0.82 (0.77–0.86) over 130 answers."},
        benchmarks={"ada_leval": "Ada-LEval", "elitr_bench": "ELITR-Bench", "ethic": "ETHIC"},
        about={"ada_leval_tsort": "Put four shuffled segments of a book back in order."},
        rates={"instruction_following": "Followed the form", "answered": "Answered"},
        official={f"ada_leval_tsort_{length // 1000}k": "official_accuracy" for length in LENGTHS},
        metrics={"ada_leval": {"strict_accuracy": "exactly the right order", "official_accuracy": "the official code's rule"}},
    )  # fmt: skip


def built_small_site(folder: Path) -> BuiltSite:
    """The site with all that a page can show."""
    cells = small_cells()
    cases = list(small_cases(cells))
    return build_site(folder, collection_of(cells, cases), cells, cases, small_options())


def many_cells(models: int, tasks: int) -> list[Cell]:
    """A full table: tasks in families of five lengths, in three benchmarks."""
    chance = random.Random(7)
    cells = []
    for model in range(models):
        skill = chance.uniform(0.2, 0.95)
        for task in range(tasks):
            family, step = divmod(task, 5)
            benchmark = ("ada_leval", "ethic", "elitr_bench")[family % 3]
            name = f"{benchmark}_task{family}_{2**step * 2}k"
            share = min(1.0, max(0.0, skill / (1 + step * 0.3) + chance.uniform(-0.1, 0.1)))
            cells.append(
                made_up_cell(
                    f"organisation-{model % 17}/made-up-model-{model:03}", name, rate(share, 200, reasons={"unparsed": 4}),
                    (run_name(model, task),), benchmark=benchmark, family=f"{benchmark}_task{family}", length=2**step * 2000,
                    official={"official_accuracy": rate(share, 200)},
                )
            )  # fmt: skip
    return cells
