"""What annotators are asked: the scale, the feedback codes and the guidelines, from a small YAML file.

The five codes are fixed, since the statistics know them (ORCA paper, Appendix A); how they read is up to the file.
"""

import importlib.resources
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from long_context_tasks.schema import InputError

CODES = "QARUE"
"""Question incomplete, rationale insufficient (A), Reference flawed, Unable to judge (ambiguous), lack of Expertise."""
QUESTION_CODES = "QAR"
"""Those that ask for a correction of the question, its rationale or its reference."""
DEFAULT_SCALE = "orca"
SHIPPED = ("orca", "orca_text", "elitr_bench")
MAX_STEPS = 11


@dataclass(frozen=True)
class Step:
    """A row of the scale.

    Attributes:
        values: ratings that this row describes, ascending.
        label: its name, may be empty.
        text: what it means.
    """

    values: tuple[int, ...]
    label: str
    text: str


@dataclass(frozen=True)
class Code:
    """A feedback code as annotators read it."""

    code: str
    label: str
    text: str


@dataclass(frozen=True)
class Scale:
    """What annotators are asked.

    Attributes:
        title: of the study.
        source: what the source is called, such as document or audio.
        steps: of the scale, ascending.
        codes: the five of :data:`CODES`, in that order.
        guidelines: plain text.
    """

    title: str
    source: str
    steps: tuple[Step, ...]
    codes: tuple[Code, ...]
    guidelines: str

    @property
    def values(self) -> tuple[int, ...]:
        """All ratings, ascending."""
        return tuple(value for step in self.steps for value in step.values)

    @property
    def bounds(self) -> tuple[int, int]:
        """Lowest and highest rating."""
        return self.values[0], self.values[-1]

    def as_row(self) -> dict[str, Any]:
        """The content of the YAML file; :func:`parse_scale` reads it back."""
        return {
            "title": self.title,
            "source": self.source,
            "scale": [
                {"values": list(step.values), "label": step.label, "text": step.text} for step in self.steps
            ],
            "codes": {each.code: {"label": each.label, "text": each.text} for each in self.codes},
            "guidelines": self.guidelines,
        }


def load_scale(name: str = DEFAULT_SCALE) -> Scale:
    """A scale that comes with the package, by name, or from a YAML file.

    Raises:
        InputError: no such file, or a file that is no scale.
    """
    if name in SHIPPED:
        file = importlib.resources.files("long_context_tasks.annotation") / "scales" / f"{name}.yaml"
        text, where = file.read_text(encoding="utf-8"), f"{name}.yaml"
    else:
        where = name
        try:
            text = Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"{name}: cannot be read ({error}); give a YAML file or one of {', '.join(SHIPPED)}"
            ) from error
    try:
        row = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"{where}: not YAML ({' '.join(str(error).split())})") from error
    return parse_scale(row, where)


def parse_scale(row: Any, where: str) -> Scale:
    """Check a scale.

    Args:
        row: content of the file.
        where: names it in messages.

    Raises:
        InputError: says what is missing or wrong.
    """
    if not isinstance(row, Mapping):
        raise InputError(f"{where}: no mapping; needs title, source, scale, codes, guidelines")
    names = {"title", "source", "scale", "codes", "guidelines"}
    if unknown := sorted(str(name) for name in set(row) - names):
        raise InputError(f"{where}: unknown key {', '.join(unknown)}; there are: {', '.join(sorted(names))}")
    steps = row.get("scale")
    if not isinstance(steps, list) or not steps:
        raise InputError(
            f"{where}: scale must be a list such as [{{values: [1], label: Wrong, text: The answer is wrong.}}]"
        )
    scale = Scale(
        _text(row, "title", where, "Annotation"),
        _text(row, "source", where, "document"),
        tuple(_step(step, f"{where}: step {number} of scale") for number, step in enumerate(steps, start=1)),
        _codes(row.get("codes"), where),
        _text(row, "guidelines", where, ""),
    )
    values = scale.values
    if not 2 <= len(values) <= MAX_STEPS or list(values) != list(range(values[0], values[-1] + 1)):
        raise InputError(
            f"{where}: the ratings of scale are {', '.join(map(str, values))}; they must be 2 to {MAX_STEPS} whole numbers that "
            "follow each other, ascending"
        )
    return scale


def _text(row: Mapping[str, Any], name: str, where: str, default: str | None = None) -> str:
    value = row.get(name, default)
    if not isinstance(value, str):
        raise InputError(f"{where}: {name} must be text; write it in quotation marks")
    return value.strip()


def _step(row: Any, where: str) -> Step:
    if not isinstance(row, Mapping) or set(row) - {"values", "label", "text"}:
        raise InputError(f"{where}: write {{values: [1], label: Wrong, text: The answer is wrong.}}")
    values = row.get("values")
    if (
        not isinstance(values, list)
        or not values
        or any(isinstance(value, bool) or not isinstance(value, int) or value < 0 for value in values)
    ):
        raise InputError(f"{where}: values must be a list of whole numbers from 0, such as [3, 4]")
    return Step(tuple(values), _text(row, "label", where, ""), _text(row, "text", where, ""))


def _codes(row: Any, where: str) -> tuple[Code, ...]:
    if not isinstance(row, Mapping) or set(row) != set(CODES):
        raise InputError(f"{where}: codes must hold exactly {', '.join(CODES)}, each with label and text")
    codes = []
    for code in CODES:
        each = row[code]
        if not isinstance(each, Mapping) or set(each) - {"label", "text"}:
            raise InputError(f"{where}: code {code}: write {{label: ..., text: ...}}")
        codes.append(
            Code(code, _text(each, "label", f"{where}: code {code}"), _text(each, "text", where, ""))
        )
    return tuple(codes)
