"""Riddles: the smallest benchmark, a card and one file."""

from long_context_tasks.benchmarks.plugin import Benchmark
from long_context_tasks.schema.card import Card

BENCHMARK = Benchmark(card=Card.load(__file__), load=f"{__name__}.data:load_task")
