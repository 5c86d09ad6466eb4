"""Small files in the published form: a conversation in the first bin of lengths, and one in the last."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from long_context_tasks.benchmarks import catalogue

WORDS = {0: 4_100, 1: 524_300}  # in the filler of each part; each word is a token


def row(number: int, part: int, needles: int) -> dict[str, object]:
    """Return a row: the first message has the examples, and the needles follow one another."""
    asked = [("user", "Here are some examples of conversations:\n" + " word" * WORDS[part])]
    for needle in range(needles):
        asked += [("user", "write a poem about tapirs"), ("assistant", f"Tapir {number}, poem {needle}")]
    question = "Prepend aB3 to the 2nd (1 indexed) poem about tapirs. Do not include any other text in your response."
    messages = [{"role": role, "content": text} for role, text in [*asked, ("user", question)]]
    return {
        "prompt": json.dumps(messages),
        "answer": f"aB3Tapir {number}, poem 1",
        "random_string_to_prepend": "aB3",
        "n_needles": needles,
        "desired_msg_index": 4,
        "total_messages": len(messages),
        "n_chars": sum(len(text) for _, text in asked),
        "date_added": "04-12-2025",
    }


def write_published_files(folder: Path, cases: int) -> None:
    for task in catalogue.card("openai_mrcr").tasks:
        (folder / task).mkdir()
        for part in WORDS:
            rows = [row(number, part, int(task[0])) for number in range(cases)]
            pq.write_table(pa.Table.from_pylist(rows), folder / task / f"{task}_{part}.parquet")
