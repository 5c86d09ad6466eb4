"""An invented data set in the published form, for the test that both hosts are equal and for others."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from long_context_tasks.schema import Case, CaseWriter, Turn

CONFIGURATIONS = {
    "Recalling": ("Books", "Debates", "Medicine", "Law"),
    "Summarizing": ("Books", "Debates", "Medicine", "Law"),
    "Organizing": ("Books", "Debates"),
    "Attributing": ("Medicine", "Law"),
}

BUILT = {
    "single_qa": ("books", "debates"),
    "multi_qa": ("medicine", "law"),
    "focused_summary": ("books", "debates", "medicine", "law"),
}
"""Tasks without published data."""


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
    """The gold of a row; some answers of the stub server are right."""
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
    """Yield ``cases`` rows for each domain."""
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
    """Write a file with ``cases`` rows of each domain for each task."""
    for configuration in CONFIGURATIONS:
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows(configuration, cases)]
        (folder / f"{configuration}.jsonl").write_text("".join(lines), encoding="utf-8")


def built_cases(kind: str, domain: str, cases: int) -> Iterator[tuple[Case, dict[str, str]]]:
    """Cases of a task without published data, each with its texts."""
    system = "You read a long context."
    for number in range(cases):
        user = f"### Context:\nAnne {{met}} {number} people.\n\nNow, respond to the instruction.\n\n{kind} {domain}?"
        # All that the stub server answers, in different order and number, so that a score tells one case from another.
        start = (3 * number + len(domain) + len(kind)) % 8
        items = [f"A{n}" for n in range(1, 5)] + ["1", "2", "3", "4"]
        gold = " ".join([*items[start:], *items[:start], *("so", "much", "more")[: number % 4]])
        keys = {"system": f"{kind}_system", "user": f"{kind}_{domain}_{number}"}
        labels = {"domain": domain, "length": 1000, "coverage": "low", "answer_items": 1}
        case = Case(
            f"{domain}{number}_1k",
            f"ethic_{kind}_{domain}",
            keys,
            (Turn([gold]),),
            f"{domain}_{number}",
            {},
            keys["user"],
            labels,
        )
        yield case, {keys["system"]: system, keys["user"]: user}


def write_built_cases(folder: Path, cases: int) -> None:
    """Write the case folder of the tasks without published data, as `lct build ethic_recall_counterparts` names it."""
    with CaseWriter(folder / "ethic_recall_counterparts", {"seed": 22}) as writer:
        for kind, domains in BUILT.items():
            for domain in domains:
                made = list(built_cases(kind, domain, cases))
                writer.add_documents(item for _, texts in made for item in texts.items())
                writer.add_cases(f"ethic_{kind}_{domain}", [case for case, _ in made])
