"""Check external data against pydantic models; every error becomes one :class:`InputError` without the value.

A model derives from :class:`Checked`, and its own validators raise ``ValueError("must be ...")``.
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError

from long_context_tasks.schema.files import InputError
from long_context_tasks.schema.secrets import holds_secret, is_secret_name

_T = TypeVar("_T")
# pydantic's wording, and wording for users who do not program.
_WORDS = {
    "Input should be": "must be",
    "Field required": "is missing",
    "Unexpected keyword argument": "is not a known key",
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid string": "text",
    "a valid boolean": "true or false",
    "a valid dictionary": "a mapping",
    "a valid list": "a list",
    "a valid tuple": "a list",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "greater than": "above",
    "less than": "below",
}


class Checked(BaseModel):
    """A frozen record with checked fields: unknown fields are rejected, and numbers are finite."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, allow_inf_nan=False)


def _no_bool(value: Any) -> Any:
    # `seed: true` is a mistake in YAML, which Python would accept as 1.
    if isinstance(value, bool):
        raise ValueError("must be a number")
    return value


Whole = Annotated[int, BeforeValidator(_no_bool)]
"""A whole number, possibly as text; pydantic's own ``int`` accepts ``true`` as 1."""
Number = Annotated[float, BeforeValidator(_no_bool)]
"""A finite number, possibly as text."""


def validated(
    kind: type[_T], value: Any, place: str, *, places: Mapping[str, str] | None = None, remedy: str = ""
) -> _T:
    """Validate a value as a :class:`Checked` model, a dataclass, or any type that pydantic supports.

    Args:
        kind: the type.
        value: content of a file, usually a mapping.
        place: begins the message: ``FILE, row 3``.
        places: fields with their own location, such as an environment variable.
        remedy: ends the message, which has the first error and the expected format but not the value, which
            may be a secret.
    """
    try:
        checked: _T = _adapter(kind).validate_python(value)  # type: ignore[arg-type]
        return checked
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        # A misspelt key explains more than the key that is missing because of it.
        unknown = (each for each in errors if each["type"] == "extra_forbidden")
        first = next(unknown, errors[0]) if errors[0]["type"] == "missing" else errors[0]
        text = _message(kind, first, place, places or {})
    raise InputError(text + (f"; {remedy}" if remedy else ""))


def described_fields(kind: type) -> dict[str, dict[str, Any]]:
    """Return the JSON schema of each field with a description; these fields become a command's options."""
    fields = _adapter(kind).json_schema()["properties"]
    return {name: field for name, field in fields.items() if "description" in field}


def bounds_of(kind: type, name: str) -> dict[str, Any]:
    """Return the JSON schema of a field's values other than None: its type, bounds and choices; empty for several types."""
    schema = _adapter(kind).json_schema()["properties"][name]
    forms = [each for each in schema.get("anyOf", [schema]) if each.get("type") != "null"]
    return forms[0] if len(forms) == 1 else {}


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _message(kind: type, error: Mapping[str, Any], place: str, places: Mapping[str, str]) -> str:
    location: Sequence[str | int] = error["loc"]
    if error["type"] == "extra_forbidden":
        inside = _path(location[:-1])
        known = _keys_at(kind, location[:-1])
        return unknown_key(location[-1], known, place + (f": {inside}" if inside else ""))
    problem = str(error["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    for theirs, ours in _WORDS.items():
        problem = problem.replace(theirs, ours)
    if error["type"] in ("model_type", "model_attributes_type", "dataclass_type"):
        problem = "must be keys and values"
    if not location:
        return f"{place}: {problem}"
    name, rest = str(location[0]), location[1:]
    return f"{places.get(name, f'{place}: {name}')}{f', {_path(rest)}' if rest else ''} {problem}"


def _keys_at(kind: type, location: Sequence[str | int]) -> Sequence[str]:
    """Return the keys of the record at a location; empty if any are allowed or there are several formats."""
    schema = _adapter(kind).json_schema()
    definitions = schema.get("$defs", {})
    for part in (*location, None):
        if "$ref" in schema:
            schema = definitions[schema["$ref"].rpartition("/")[2]]
        if part is not None:
            inner = schema.get("properties", {}).get(part) or schema.get("additionalProperties")
            schema = inner or schema.get("items") or {}
    return list(schema.get("properties", ()))


def _path(location: Sequence[str | int]) -> str:
    return ", ".join(f"item {part + 1}" if isinstance(part, int) else str(part)[:40] for part in location)


def unknown_key(key: object, known: Iterable[str], place: str, *, variable: str = "") -> str:
    """Describe an unknown key and the most similar known one; a key that may be a secret is not quoted.

    ``variable`` is the field that names a key's environment variable, if the record has such a field.
    """
    # An API key pasted on the wrong line must not end up in a log.
    if is_secret_name(key) or holds_secret(str(key)):
        where = f" and name that variable: {variable}: OPENAI_API_KEY" if variable else ""
        return f"{place}: holds a key or token; remove it, put it into an environment variable{where}"
    known = list(known)
    near = difflib.get_close_matches(str(key), known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ";"
    return f"{place}: unknown key {str(key)[:40]!r}" + (
        f"{hint} keys are: {', '.join(known)}" if known else "; remove it"
    )
