"""One task of inspect_ai for each benchmark, as the inspect_evals register lists them.

    inspect eval configs/inspect/evals.py@ada_leval -T name=ada_leval_tsort_8k -T lct_n=50 --model openai/gpt-4o

After an installation every task goes by its own name as well: ``inspect eval long_context_tasks/ada_leval_tsort_8k``.
"""

from typing import Any

from inspect_ai import Task, task

from long_context_tasks.hosts.inspect.task import case_task


@task
def ada_leval(name: str = "ada_leval_bestanswer_8k_synthetic", **options: Any) -> Task:
    """Ada-LEval: sort the segments of a book, find the accepted answer among many."""
    return case_task(name, **options)


@task
def elitr_bench(name: str = "elitr_bench_qa_synthetic", **options: Any) -> Task:
    """ELITR-Bench: questions about hour-long meetings, alone or in a conversation; needs a judge."""
    return case_task(name, **options)


@task
def ethic(name: str = "ethic_recall_medicine_synthetic", lct_length: str = "8k", **options: Any) -> Task:
    """ETHIC: recall, summarize, organize, attribute."""
    return case_task(name, lct_length=lct_length, **options)
