"""Runs that the hosts have left on disk: found, read case by case, and what was made of them afterwards."""

from long_context_tasks.runs.find import FoundRuns, Problem, find_runs
from long_context_tasks.runs.stored import StoredCase, StoredRun

__all__ = ["FoundRuns", "Problem", "StoredCase", "StoredRun", "find_runs"]
