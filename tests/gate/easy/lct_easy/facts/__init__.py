"""Facts: what somebody likes most, two questions on a text."""

from long_context_tasks.benchmarks.plugin import Benchmark
from long_context_tasks.schema.card import Card

BENCHMARK = Benchmark(
    card=Card.load(__file__), load=f"{__name__}.data:load_task", split=f"{__name__}.data:split"
)
