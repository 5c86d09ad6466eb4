"""Rules of prefix caches and prices of models, from a dated table (``prices.yaml``) that users can replace."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import packaged_yaml, read_yaml
from long_context_tasks.schema.validated import Checked, Number, Whole, validated

BLOCK = 16
"""Tokens of a block in vLLM; unique tokens are counted in such blocks."""
_Amount = Annotated[Number, Field(ge=0)]
_Tokens = Annotated[Whole, Field(ge=0)]
_REMEDY = "docs/shared_prefixes.md describes the fields"


@dataclass(frozen=True)
class Rate:
    """Tokens per second over all concurrent requests, both above 0."""

    prompt: float
    answer: float

    def seconds(self, prompt: int, answer: int) -> float:
        return prompt / self.prompt + answer / self.answer


class PrefixCache(Checked):
    """Rule of a prefix cache: when prompts hit it, and what writing and reading cost."""

    step: Annotated[Whole, Field(ge=BLOCK, multiple_of=BLOCK)] = BLOCK  # hits grow in steps of these tokens
    least: _Tokens = 0  # tokens of the shortest hit
    # Where hits end. blocks: after any step of an earlier prompt. checkpoints: after the last step of an
    # earlier prompt, or of its chunks. marks: at a mark of an earlier prompt.
    hits: Literal["blocks", "checkpoints", "marks"] = "blocks"
    chunk: _Tokens = 0  # tokens that an engine reads together; 0 if prompts are read whole
    writes: Literal["prompts", "marks"] = "prompts"  # written: whole prompts, or only what ends in a mark
    write: _Amount = 1.0  # price of a written token, as a factor of the price of a prompt token
    read: _Amount = 1.0  # price of a token that is found, as such a factor
    storage: _Amount = 0.0  # price of keeping a million written tokens for an hour
    lifetime: _Amount | None = None  # minutes after its last use until an entry is lost; None for no limit
    size: _Tokens | None = None  # capacity in tokens; None if unlimited
    source: str = ""


class Price(Checked):
    """Prices per million tokens of a model, and its cache if it differs from that of its provider."""

    prompt: _Amount
    completion: _Amount
    cache: str = ""  # name in the table
    least: _Tokens | None = None
    read: _Amount | None = None
    write: _Amount | None = None
    storage: _Amount | None = None
    above: _Tokens | None = None  # tokens above which a prompt is long
    long_prompt: _Amount = 1.0  # price of a token of a long prompt, cached or not, as a factor
    long_completion: _Amount = 1.0  # price of a token of its answer, as a factor
    source: str = ""


class PriceTable(Checked):
    date: date
    caches: Mapping[str, PrefixCache]
    models: Mapping[str, Price]

    @classmethod
    def read(cls, path: Path | None = None) -> "PriceTable":
        """Return the table in a file, or the packaged one."""
        value = packaged_yaml(__package__, "prices.yaml")
        if path is not None:
            value = read_yaml(path, "price table", remedy=_REMEDY)
        return validated(cls, value, f"price table {path or 'prices.yaml'}", remedy=_REMEDY)

    def cache(self, text: str) -> PrefixCache:
        """Return the cache of a name in the table, of ``NAME:STEP``, or of ``STEP:LEAST`` in tokens."""
        name, _, number = text.partition(":")
        place = f"--prefix-cache {text}"
        rule, model = self.caches.get(name), self.models.get(name)
        if model is not None and (rule := self.caches.get(model.cache)) is not None:
            own = {key: getattr(model, key) for key in ("least", "read", "write", "storage")}
            rule = rule.model_copy(update={key: value for key, value in own.items() if value is not None})
        if rule is not None:
            fields = dict(rule) | ({"step": number} if number else {})
            return validated(PrefixCache, fields, place)
        if name.isdecimal() and number.isdecimal():
            return validated(PrefixCache, {"step": name, "least": number}, place)
        names = ", ".join((*self.caches, *self.models))
        raise InputError(
            f"{place}: give {names}, one of these with a step (hybrid:784), or STEP:LEAST in tokens"
        )
