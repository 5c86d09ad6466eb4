"""The rating scale of a study, with its feedback codes and guidelines, loaded from a small YAML file."""

import importlib.resources
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, Strict, ValidationInfo, field_validator

from long_context_tasks.schema.files import read_yaml
from long_context_tasks.schema.validated import Checked, validated

CODES = "QARUE"
"""The ORCA paper's feedback codes (Appendix A); a scale file sets only their wording.

They are: incomplete question, rationale insufficient, flawed reference, unable to judge (ambiguous), unable
to judge (expertise). The statistics treat them differently.
"""
QUESTION_CODES = "QAR"
"""Codes that request a correction of the question, its rationale or its reference."""
_SCALES = importlib.resources.files("long_context_tasks.annotation") / "scales"
SHIPPED = tuple(sorted(file.name.removesuffix(".yaml") for file in _SCALES.iterdir()))
MAX_RATINGS = 11


class Step(Checked):
    """A row of the scale, which may describe several ratings, such as 3 and 4."""

    model_config = ConfigDict(str_strip_whitespace=True)

    values: tuple[Annotated[int, Strict(), Field(ge=0)], ...]
    label: str = ""
    text: str = ""


class Code(Checked):
    model_config = ConfigDict(str_strip_whitespace=True)

    label: str
    text: str = ""


class Scale(Checked):
    model_config = ConfigDict(str_strip_whitespace=True)

    title: str = "Annotation"
    source: str = "document"  # name shown to annotators for the source, such as document or audio
    # Text that annotators write about a passage, such as Labels; empty if they rate answers instead.
    writes: str = ""
    steps: tuple[Step, ...] = Field(alias="scale")  # rows of the scale, ascending; "scale" in the file
    codes: dict[str, Code]  # one entry for each of CODES, in that order
    guidelines: str = ""

    @field_validator("steps")
    @classmethod
    def _ascending(cls, steps: tuple[Step, ...], info: ValidationInfo) -> tuple[Step, ...]:
        values = [value for step in steps for value in step.values]
        if info.data.get("writes"):
            if values:
                raise ValueError("must be [] if annotators write")
        # Consecutive, because the training data state only the lowest and the highest rating.
        elif not 2 <= len(values) <= MAX_RATINGS or values != list(range(values[0], values[-1] + 1)):
            raise ValueError(
                f"must hold 2 to {MAX_RATINGS} consecutive whole numbers, ascending: "
                "[{values: [1], label: Wrong, text: The answer is wrong.}, ...]"
            )
        return steps

    @field_validator("codes")
    @classmethod
    def _all_five(cls, codes: dict[str, Code]) -> dict[str, Code]:
        if set(codes) != set(CODES):
            raise ValueError(f"must hold exactly {', '.join(CODES)}, each with label and text")
        # In the paper's order, in which POTATO shows them.
        return {code: codes[code] for code in CODES}

    @property
    def values(self) -> tuple[int, ...]:
        return tuple(value for step in self.steps for value in step.values)

    @property
    def bounds(self) -> tuple[int, int]:
        """Lowest and highest rating; zeros if annotators write text instead."""
        return min(self.values, default=0), max(self.values, default=0)

    def as_row(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, mode="json")


def load_scale(name: str = "orca") -> Scale:
    """Load a built-in scale by name, or one from a YAML file."""
    file = _SCALES / f"{name}.yaml"
    with importlib.resources.as_file(file) if name in SHIPPED else nullcontext(Path(name)) as path:
        found = read_yaml(path, "scale", remedy=f"give a YAML file or one of {', '.join(SHIPPED)}")
        return validated(Scale, found, str(name))
