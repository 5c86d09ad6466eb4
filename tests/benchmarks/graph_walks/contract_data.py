"""Small files in the published form."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from long_context_tasks.benchmarks import catalogue

EDGES = "".join(f"{number:010x} -> {(number + step) % 40:010x}\n" for number in range(40) for step in (1, 7))
PROMPT = "You will be given a graph.\nThe graph has the following edges:\n{edges}\n\nOperation:\n{operation}\n\nReturn a list.\n"


def rows(cases: int, first: int) -> list[dict[str, object]]:
    """Return rows of both operations, from a node on, on one graph, in which node n leads to n + 1 and n + 7."""
    made: list[dict[str, object]] = []
    for number in range(first, first + cases):
        for kind, operation, nodes in (
            ("parents", f"Find the parents of node {number:010x}.", [(number - 1) % 40, (number - 7) % 40]),
            ("bfs", f"Perform a BFS from node {number:010x} with depth 1.", [number + 1, number + 7]),
        ):
            prompt = PROMPT.format(edges=EDGES, operation=operation)
            names = [f"{node:010x}" for node in nodes]
            row = {"prompt": prompt, "answer_nodes": names, "prompt_chars": len(prompt)}
            made.append({**row, "problem_type": kind, "date_added": "04-12-2025"})
    return made


def write_published_files(folder: Path, cases: int) -> None:
    # Each file asks about other nodes, so that a host that reads the wrong one is noticed.
    for place, name in enumerate(catalogue.card("graph_walks").tasks["bfs"].files.values()):
        pq.write_table(pa.Table.from_pylist(rows(cases, 10 * place)), folder / name)
