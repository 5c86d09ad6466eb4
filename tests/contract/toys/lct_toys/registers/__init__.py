"""Registers: find the line of one box among thousands; cases are written from a seed."""

from long_context_tasks.benchmarks.plugin import Benchmark, Builder
from long_context_tasks.schema.card import Card

BENCHMARK = Benchmark(
    card=Card.load(__file__),
    load=f"{__name__}.data:load_task",
    builders={"registers_keys": Builder("keys", f"{__name__}.data:Settings", f"{__name__}.data:write")},
    sections=f"{__name__}.data:sections",
)
