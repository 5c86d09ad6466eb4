"""Small files in the published form, for the test that both hosts are equal."""

import json
from pathlib import Path

from long_context_tasks.benchmarks import catalogue


def write_published_files(folder: Path, cases: int) -> None:
    """Write a file for every published length of every task.

    Args:
        folder: the benchmark's folder in LCT_DATA_DIR; it is there.
        cases: records of each file.
    """
    tasks = catalogue.card("ada_leval").tasks
    for length, file_name in tasks["bestanswer"].files.items():
        rows = []
        for i in range(cases):
            question = f"\nHow long is {length} {{really}}? ünï – 😀\n"
            answers = [f"\nAnswer {j} of question {i} at {length}.\n" * 40 for j in range(1, 6)]
            row = {"question_id": f"{length}{i}", "question": question, "all_answers": answers}
            rows.append({**row, "answer": f"A{i % 5 + 1}", "tags": ["length"]})
        (folder / file_name).write_text(json.dumps(rows), encoding="utf-8")
    for length, file_name in tasks["tsort"].files.items():
        rows = []
        for i in range(cases):
            row = {"book_id": f"book {i}", "para_offset": [i, 9], "answer": [2, 1, 4, 3]}
            rows.append({**row, "prompt": f"\nSort {length}, {i}.\n\n"})
        (folder / file_name).write_text(json.dumps(rows), encoding="utf-8")
