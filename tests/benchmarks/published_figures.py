"""The papers' figures, as the tests of them choose them: by table, and the one that fits."""

from long_context_tasks.benchmarks.published import PublishedScore, published

PAPERS = {
    "ada_leval": "004_85c5eacda52d566f.txt",
    "elitr_bench": "000_bbe043eb5d0f2740.txt",
    "ethic": "001_0e90cd97757411d1.txt",
}
ONE, THREE = "judge gpt-4-0613, one run", "judge gpt-4-0613, mean of three runs"
DOMAINS = {"books": 100, "debates": 229, "medicine": 230, "law": 103}
TYPES = {"who": 45, "what": 57, "when": 20, "howmany": 8}
POSITIONS = {"B": 43, "M": 34, "E": 22, "S": 31}


def table_of(score: PublishedScore) -> str:
    """The table of a figure: ``Table 6``."""
    return score.source.split("), ")[1].split(",")[0]


def chosen(benchmark: str, table: str) -> list[PublishedScore]:
    return [score for score in published(benchmark) if table_of(score) == table]


def printed(
    benchmark: str, table: str, model: str, task: str, setting: str | None = None, subset: str = ""
) -> str:
    """The one figure that fits."""
    found = [
        score.printed
        for score in chosen(benchmark, table)
        if (score.model, score.task, score.subset) == (model, task, subset)
        and setting in (None, score.setting)
    ]
    assert len(found) == 1, found
    return found[0]
