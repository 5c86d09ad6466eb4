"""What annotators are asked: the scale, the feedback codes and the guidelines, from a small YAML file.

The five codes are fixed, since the statistics know them (ORCA paper, Appendix A); how they read is up to the file.
"""

import importlib.resources
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, Strict, field_validator

from long_context_tasks.schema.files import read_yaml
from long_context_tasks.schema.validated import Checked, validated

CODES = "QARUE"
"""Question incomplete, rationale insufficient (A), Reference flawed, Unable to judge (ambiguous), lack of Expertise."""
QUESTION_CODES = "QAR"
"""Those that ask for a correction of the question, its rationale or its reference."""
DEFAULT_SCALE = "orca"
_SCALES = importlib.resources.files("long_context_tasks.annotation") / "scales"
SHIPPED = tuple(sorted(file.name.removesuffix(".yaml") for file in _SCALES.iterdir()))
"""Names of the scales that come with the package."""
MAX_STEPS = 11


class Step(Checked):
    """A row of the scale.

    Attributes:
        values: ratings that this row describes, ascending.
        label: its name, may be empty.
        text: what it means.
    """

    model_config = ConfigDict(str_strip_whitespace=True)

    values: tuple[Annotated[int, Strict(), Field(ge=0)], ...]
    label: str = ""
    text: str = ""


class Code(Checked):
    """A feedback code as annotators read it."""

    model_config = ConfigDict(str_strip_whitespace=True)

    label: str
    text: str = ""


class Scale(Checked):
    """What annotators are asked.

    Attributes:
        title: of the study.
        source: what the source is called, such as document or audio.
        steps: of the scale, ascending; ``scale`` in the file.
        codes: the five of :data:`CODES`, in that order.
        guidelines: plain text.
    """

    model_config = ConfigDict(str_strip_whitespace=True)

    title: str = "Annotation"
    source: str = "document"
    steps: tuple[Step, ...] = Field(alias="scale")
    codes: dict[str, Code]
    guidelines: str = ""

    @field_validator("steps")
    @classmethod
    def _ascending(cls, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        values = [value for step in steps for value in step.values]
        if not 2 <= len(values) <= MAX_STEPS or values != list(range(values[0], values[-1] + 1)):
            raise ValueError(
                f"must hold 2 to {MAX_STEPS} ratings, whole numbers that follow each other, ascending: "
                "[{values: [1], label: Wrong, text: The answer is wrong.}, ...]"
            )
        return steps

    @field_validator("codes")
    @classmethod
    def _all_five(cls, codes: dict[str, Code]) -> dict[str, Code]:
        if set(codes) != set(CODES):
            raise ValueError(f"must hold exactly {', '.join(CODES)}, each with label and text")
        return {code: codes[code] for code in CODES}

    @property
    def values(self) -> tuple[int, ...]:
        """All ratings, ascending."""
        return tuple(value for step in self.steps for value in step.values)

    @property
    def bounds(self) -> tuple[int, int]:
        """Lowest and highest rating."""
        return self.values[0], self.values[-1]

    def as_row(self) -> dict[str, Any]:
        """Return the content of the YAML file."""
        return self.model_dump(by_alias=True, mode="json")


def load_scale(name: str = DEFAULT_SCALE) -> Scale:
    """Return a scale that comes with the package, by name, or one from a YAML file.

    Raises:
        InputError: no such file, or a file that is no scale.
    """
    remedy = f"give a YAML file or one of {', '.join(SHIPPED)}"
    if name not in SHIPPED:
        return validated(Scale, read_yaml(Path(name), "scale", remedy=remedy), name)
    file = importlib.resources.files("long_context_tasks.annotation") / "scales" / f"{name}.yaml"
    with importlib.resources.as_file(file) as path:
        return validated(Scale, read_yaml(path, "scale", remedy=remedy), f"{name}.yaml")
