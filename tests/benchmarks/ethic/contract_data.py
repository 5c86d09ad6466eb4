"""An invented data set in the published form, for the test that both hosts are equal and for others."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CONFIGURATIONS = {
    "Recalling": ("Books", "Debates", "Medicine", "Law"),
    "Summarizing": ("Books", "Debates", "Medicine", "Law"),
    "Organizing": ("Books", "Debates"),
    "Attributing": ("Medicine", "Law"),
}


def user_message(configuration: str, domain: str, number: int) -> str:
    """A prompt as in the data: instruction, context, and a last line."""
    name = "Segment" if domain == "Law" else "Section"
    # One section in the first case, then more.
    parts = [f"<{name} {n}>\nAnne {{met}} {n} people – ünï 😀." for n in range(1, 2 + number % 3)]
    return (
        f"### Instruction:\n{configuration} {domain} {number}.\n\n### Context:\n"
        + "\n\n".join(parts)
        + "\n\nNow, respond to the instruction above."
    )


def answer(configuration: str, domain: str, number: int) -> Any:
    """The gold of a row; some of what the stub server answers is right."""
    place = CONFIGURATIONS[configuration].index(domain)
    if configuration == "Organizing":
        return ("[2] > [1] > [4] > [3]", "<Section 1>, <Section 2>", "1", "4, 1, 3, 2")[
            2 * place + number % 2
        ]
    if configuration == "Attributing":
        return [f"<Segment {n}>" for n in range(1, 4 + 2 * place)] if number % 2 == 0 else ["none"]
    if configuration == "Recalling":
        # Of different number, so that one right item is worth something else in each.
        return [*(f"A{n}" for n in range(1, 5)), *(str(n) for n in range(1, 3 + 2 * place + number)), "1,234"]
    return []


def rows(configuration: str, cases: int) -> Iterator[dict[str, Any]]:
    """As many rows for each domain as there are cases."""
    for domain in CONFIGURATIONS[configuration]:
        for number in range(cases):
            yield {
                "ID": f"{domain[0]}{number}",
                "Domain": domain,
                "System_msg": f"You read {domain.lower()}.",
                "User_msg": user_message(configuration, domain, number),
                "Answer": answer(configuration, domain, number),
            }


def write_published_files(folder: Path, cases: int) -> None:
    """Write a file for each task.

    Args:
        folder: the benchmark's folder in LCT_DATA_DIR; it is there.
        cases: rows of each domain.
    """
    for configuration in CONFIGURATIONS:
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows(configuration, cases)]
        (folder / f"{configuration}.jsonl").write_text("".join(lines), encoding="utf-8")
