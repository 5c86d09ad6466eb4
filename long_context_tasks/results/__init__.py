"""Runs that the hosts have left on disk: found, read case by case, and what was made of them afterwards."""

from long_context_tasks.hosts.stored import StoredCase, StoredRun
from long_context_tasks.results.find import FoundRuns, Problem, find_runs

__all__ = ["FoundRuns", "Problem", "StoredCase", "StoredRun", "find_runs"]
