"""Log-likelihoods that a host kept, scored again by the current rules."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from written_book import sorting_cases

from long_context_tasks.benchmarks.catalogue import resolve_options
from long_context_tasks.hosts.own.export import load
from long_context_tasks.results import StoredCase, StoredRun
from long_context_tasks.results.evaluations import unjudged_evaluation
from long_context_tasks.results.rescore import rescore
from long_context_tasks.schema import InputError, LoadedTask, Options
from long_context_tasks.schema.response import Response


def likelihood_run(cases: Sequence[StoredCase], folder: Path) -> StoredRun:
    return StoredRun(
        host="opencompass",
        model="m",
        task="ada_leval_tsort_any_ppl",
        options={"lct_length": 1000},
        version=1,
        folder=folder,
        label="m/x",
        made="20260101_000000",
        files=(),
        read=lambda _: iter(cases),
    )


def test_log_likelihoods_that_were_kept(tmp_path: Path) -> None:
    options: Options = resolve_options(
        {"lct_length": 1000, "lct_cases": str(sorting_cases(tmp_path / "cases"))}, {}
    )
    task: LoadedTask = load("ada_leval_tsort_any_ppl", options)
    first, second = task.cases.cases
    gold = list(itertools.permutations(range(1, 5))).index(tuple(first.turns[0].gold))
    values = [-100.0] * 24
    values[gold] = -50.0
    counts = [10] * 24
    cases = [
        StoredCase(
            first.id, (Response(None),), log_likelihoods=tuple(values), num_candidate_tokens=tuple(counts)
        ),
        StoredCase(second.id, (Response(None, "does_not_fit"),)),
    ]
    run = likelihood_run(cases, tmp_path)
    one = rescore(unjudged_evaluation(run), task, write=True)
    assert (
        one.scored.numbers["n_scored"] == 1
        and one.scored.numbers["strict_accuracy"] == 1
        and one.scored.not_scored == {"does_not_fit": 1}
    )
    assert unjudged_evaluation(run).numbers["strict_accuracy"] == 1
    run = likelihood_run([replace(cases[0], num_candidate_tokens=None)], tmp_path)
    with pytest.raises(InputError, match="numbers of tokens"):
        rescore(unjudged_evaluation(run, original=True), task)
    run = likelihood_run([replace(cases[0], log_likelihoods=(-1.0,), num_candidate_tokens=(1,))], tmp_path)
    with pytest.raises(InputError, match="other data"):
        rescore(unjudged_evaluation(run, original=True), task)
