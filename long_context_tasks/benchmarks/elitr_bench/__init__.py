"""ELITR-Bench: questions about meeting transcripts, in QA or dialogue form (Thonet et al., COLING 2025)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from long_context_tasks.benchmarks.elitr_bench.options import ElitrBenchOptions
from long_context_tasks.benchmarks.plugin import Benchmark
from long_context_tasks.schema.card import Card

if TYPE_CHECKING:
    from long_context_tasks.benchmarks.building import Builder
    from long_context_tasks.coverage.items import Parts
    from long_context_tasks.schema import Case, Documents, LoadedTask, Options
    from long_context_tasks.schema.report import ScoredRun, Section


class ElitrBench(Benchmark[ElitrBenchOptions]):
    card = Card.load(__file__)
    options = ElitrBenchOptions

    def load_task(self, name: str, options: ElitrBenchOptions) -> "LoadedTask":
        from long_context_tasks.benchmarks.elitr_bench.data import load_task

        return load_task(name, options)

    def has_data(self, name: str, options: ElitrBenchOptions) -> bool:
        from long_context_tasks.benchmarks.elitr_bench.data import has_data

        return has_data(name, options)

    def builders(self) -> "Sequence[Builder]":
        from long_context_tasks.benchmarks.elitr_bench.builders import BUILDERS

        return BUILDERS

    def split(self, case: "Case", turn: int, documents: "Documents") -> "Parts":
        from long_context_tasks.benchmarks.elitr_bench.prompts import messages
        from long_context_tasks.coverage.items import split_by_documents

        return split_by_documents(case, turn, documents, messages)

    def sections(self, runs: "Sequence[ScoredRun]", bins: int | None = None) -> "list[Section]":
        from long_context_tasks.benchmarks.elitr_bench.report import sections

        return sections(runs)

    def paper_tables(self, options: "Options", only: str) -> "list[Section]":
        from long_context_tasks.benchmarks.elitr_bench.paper import sections

        return sections(options, only)

    def judge_template(self, task: str, rubric: str) -> str:
        from long_context_tasks.benchmarks.elitr_bench.prompts import judge_conversation, template
        from long_context_tasks.benchmarks.elitr_bench.task import parse_name

        name = rubric or "gpt"
        prompt = template(f"judge_{name}_{parse_name(task).language}")
        return "\n\n".join(message.content for message in judge_conversation(prompt, name))

    def judge_agreement(self, model: str) -> str:
        from long_context_tasks.benchmarks.elitr_bench.report import judge_agreement

        return judge_agreement(model)

    def rating(
        self, scores: Mapping[str, float | None], verdicts: Sequence[float | None], rubric: str | None
    ) -> Mapping[str, float | None]:
        from long_context_tasks.benchmarks.elitr_bench.scoring import rating

        return rating(scores, verdicts, rubric)

    def rated_answers(self, options: "Options", raters: Sequence[str] = ()) -> Iterable[dict[str, Any]]:
        from long_context_tasks.benchmarks.elitr_bench.paper import rated_answers

        return rated_answers(options, raters)

    def machine_scores(
        self, options: "Options"
    ) -> Sequence[tuple[str, tuple[float | None, ...], tuple[float, float]]]:
        from long_context_tasks.benchmarks.elitr_bench.paper import machine_scores

        return machine_scores(options)


BENCHMARK = ElitrBench()
