"""GraphWalks against lm-eval's port, a search of our own, and damaged files."""

import re
from collections import deque
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lm_eval.tasks.graphwalks.utils import process_results

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.benchmarks.graph_walks.scoring import score_case
from long_context_tasks.benchmarks.graph_walks.seeded import BUILDERS, GraphSettings
from long_context_tasks.schema import Case, InputError, Options, Turn

NODE = st.text("0123456789abcdef", min_size=10, max_size=10)
FEW = st.lists(st.sampled_from([f"{number:010x}" for number in range(6)]), max_size=6)
# Lists as models write them: in the last line, before other text, twice, broken, or missing.
REPLY = st.builds(
    "{}Final Answer: [{}]{}".format,
    st.sampled_from(("", "The nodes:\n", "Final Answer: [a]\n", "Final Answer: [")),
    FEW.map(", ".join),
    st.sampled_from(("", "\nDone.", " ")),
)


def scores_of(gold: list[str], response: str) -> dict[str, float | None]:
    case = Case("1", "graph_walks_bfs", {}, (Turn(gold),), "1")
    return {name: score.value for name, score in score_case(case, response, None).items()}


@given(
    st.lists(NODE | st.sampled_from([f"{number:010x}" for number in range(6)]), min_size=1), REPLY | st.text()
)
def test_scores_are_those_of_lm_eval_where_a_node_is_right(gold: list[str], response: str) -> None:
    theirs = process_results({"answer_nodes": gold}, [response])
    ours = scores_of(gold, response)
    assert ours["official_f1"] == theirs["f1"]
    # Its flexible reading takes the longest list of a line, ours the last.
    if response.count("[") == 1:
        assert ours["strict_f1"] == theirs["flexible_f1"]
    assert ours["exact"] == float(ours["strict_f1"] == 1)


@pytest.mark.parametrize(
    ("gold", "response", "strict", "official"),
    [
        ([], "Final Answer: []", 1, 1),  # lm-eval: 0
        ([], "I do not know.", 0, 0),
        (["ab", "cd"], "**Final Answer:** [`AB`, 'cd']", 1, 0),
        (["ab", "cd"], "Final Answer: [ab, cd]\n", 1, 0),  # the very last line is empty
        (["ab", "cd"], "Final Answer: [ab,\ncd]", 1, 0),
        (["ab"], "<think>Final Answer: [cd]</think>Final Answer: [ab]", 1, 1),
        (["ab"], "<think>Final Answer: [ab]", 0, 0),
        (["ab"], "[ab]", 0, 0),
    ],
)
def test_replies_of_other_forms(gold: list[str], response: str, strict: float, official: float) -> None:
    found = scores_of(gold, response)
    assert (found["strict_f1"], found["official_f1"]) == (strict, official)


@pytest.mark.parametrize("task", ["bfs", "parents"])
@pytest.mark.parametrize("length", ["900", "4k"])
def test_seeded_gold_nodes_follow_from_the_prompt(task: str, length: str) -> None:
    loaded = load_task(f"graph_walks_{task}_any_synthetic", {"lct_length": length, "lct_n": 20})
    assert len({case.document for case in loaded.cases.cases}) == 20
    for case in loaded.cases.cases:
        text = loaded.messages(case)[0].content
        assert (
            0.98 * (loaded.options.length or 0) <= case.num_tokens["cl100k"] <= (loaded.options.length or 0)
        )
        graph = text.rpartition("edges:\n")[2].partition("\n\nOperation")[0]
        edges = [line.split(" -> ") for line in graph.splitlines()]
        node = re.findall(r"node (\w+)", text.rpartition("Operation:")[2])[0]
        if task == "parents":
            gold = {start for start, end in edges if end == node and start != node}
        else:
            depth = int(re.findall(r"with depth (\d)", text)[-1])
            gold = {each for each, steps in distances(edges, node).items() if steps == depth}
        assert gold == set(case.turns[0].gold) != set()


def test_a_depth_that_no_node_has_is_an_error() -> None:
    builder, settings = BUILDERS["bfs"], GraphSettings((900,), branching=1, hops=20)
    found = []
    for number in range(12):
        try:
            found.append(builder.make(settings, 900, number).cases[0].turns[0].labels["depth"])
        except InputError as error:
            assert "--hops" in str(error)
    assert 0 < len(found) < 12


def distances(edges: list[list[str]], start: str) -> dict[str, int]:
    steps, waiting = {start: 0}, deque([start])
    while waiting:
        node = waiting.popleft()
        for before, after in edges:
            if before == node and after not in steps:
                steps[after] = steps[node] + 1
                waiting.append(after)
    return steps


def published(folder: Path, rows: list[dict[str, object]]) -> Options:
    (folder / "graph_walks").mkdir()
    for name in catalogue.card("graph_walks").tasks["bfs"].files.values():
        pq.write_table(pa.Table.from_pylist(rows), folder / "graph_walks" / name)
    return Options(data_dir=folder)


def test_published_rows_are_sent_as_they_are(tmp_path: Path) -> None:
    prompts = [f"a -> b\n\nOperation:\nFind the parents of node {name}.\n\nReply." for name in "ab"]
    # The older form of the file.
    rows = [{"prompt": prompt, "answer": ["a"], "problem_type": "parents"} for prompt in prompts]
    task = load_task("graph_walks_parents_128k", published(tmp_path, rows))
    assert [task.messages(case)[0].content for case in task.cases.cases] == prompts
    assert {case.cluster for case in task.cases.cases} == {task.cases.cases[0].cluster}  # one graph
    assert not len(load_task("graph_walks_bfs_128k", Options(data_dir=tmp_path)).cases)


def test_a_damaged_file_is_an_error_with_its_row(tmp_path: Path) -> None:
    rows = [{"prompt": "p", "answer_nodes": None, "problem_type": "bfs"}]
    options = published(tmp_path, rows)
    with pytest.raises(
        InputError, match=r"graphwalks_128k_and_shorter.parquet, row 1.*answer_nodes.*lct data fetch"
    ):
        load_task("graph_walks_bfs_128k", options)
    rows = [{"prompt": "p", "answer_nodes": ["a"], "problem_type": "shortest path"}]
    pq.write_table(
        pa.Table.from_pylist(rows), tmp_path / "graph_walks" / "graphwalks_128k_and_shorter.parquet"
    )
    with pytest.raises(InputError, match=r"row 1.*problem_type"):
        load_task("graph_walks_bfs_128k", options)
    (tmp_path / "graph_walks" / "graphwalks_128k_and_shorter.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"damaged or cut short.*lct data fetch graph_walks"):
        load_task("graph_walks_bfs_128k", options)
    with pytest.raises(InputError, match=r"published lengths are 128k, 1m .*not 8k"):
        load_task("graph_walks_bfs_any", Options(data_dir=tmp_path, length=8_000))
