"""What a file may hold, and what is said of a value that does not fit: place, field, remedy, never the value."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, field_validator

from long_context_tasks.schema import InputError
from long_context_tasks.schema.validated import Checked, Number, Whole, validated

SECRET = "sk-verysecret0123456789"


class Part(Checked):
    values: list[Annotated[Whole, Field(ge=0)]]


class Row(Checked):
    name: str
    size: Annotated[Number, Field(gt=0, le=2)] = 1.0
    kind: Literal["a", "b"] = "a"
    parts: tuple[Part, ...] = ()

    @field_validator("name")
    @classmethod
    def _check(cls, name: str) -> str:
        if " " in name:
            raise ValueError("must be one word")
        return name


def test_a_row_that_fits() -> None:
    row = validated(Row, {"name": "x", "size": "0.5", "parts": [{"values": [1, "2"]}]}, "f.yaml")
    assert (row.size, row.parts[0].values) == (0.5, [1, 2])


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "f.yaml, row 3: must be keys and values; write it so"),
        ({}, "f.yaml, row 3: name is missing; write it so"),
        ({"name": SECRET + " x"}, "f.yaml, row 3: name must be one word; write it so"),
        ({"name": "x", "size": SECRET}, "variable SIZE must be a number, unable to parse string as a number; write it so"),
        ({"name": "x", "size": 3}, "variable SIZE must be at most 2; write it so"),
        ({"name": "x", "size": float("nan")}, "variable SIZE must be a finite number; write it so"),
        ({"name": "x", "size": True}, "variable SIZE must be a number; write it so"),
        ({"name": "x", "kind": SECRET}, "f.yaml, row 3: kind must be 'a' or 'b'; write it so"),
        ({"name": "x", "nmae": 1}, "f.yaml, row 3: unknown key 'nmae'; did you mean name? keys are: name, size, kind, parts; write it so"),
        ({"name": "x", SECRET: 1}, "f.yaml, row 3: holds a key or token; remove it, put it into an environment variable; write it so"),
        ({"name": "x", "parts": [{"values": [1, -1]}]}, "f.yaml, row 3: parts, item 1, values, item 2 must be at least 0; write it so"),
        ({"name": "x", "parts": [{"values": [], "y": 1}]}, "f.yaml, row 3: parts, item 1: unknown key 'y'; keys are: values; write it so"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named_and_not_repeated(value: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        validated(Row, value, "f.yaml, row 3", places={"size": "variable SIZE"}, remedy="write it so")
    assert str(caught.value) == message
    assert caught.value.__cause__ is caught.value.__context__ is None
