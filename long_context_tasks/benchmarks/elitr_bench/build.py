"""What can be built for ELITR-Bench: nothing, its meetings are the published ones."""

from collections.abc import Mapping

from long_context_tasks.benchmarks.building import Family

FAMILIES: Mapping[str, Family] = {}
