"""The input text of an ORCA model, identical to the released code's, and its truncation.

The released models read prompt, context, question, correct answer and candidate answer on one line;
``prompts/`` has the parts. Omitting the question or the rationale, or adding the transcript, reproduces the
ablations in section 6.3 of the paper.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import packaged_text
from long_context_tasks.schema.response import writable

_AT_ONCE = 256
"""Number of items tokenized together."""


@dataclass(frozen=True)
class InputFormat:
    """Which parts the model reads; scoring uses the same parts as training."""

    # question, rationale: omitted by the released --skip_question and --skip_rationale
    question: bool = True
    rationale: bool = True
    # Whether an item's transcription, even an empty one, precedes the rationale (--add_transcript). It is
    # part of the context section, which the rationale opens, so it needs the rationale.
    transcript: bool = False
    prompt: str = ""  # text before everything else; empty in the released models

    def args(self) -> dict[str, Any]:
        return {
            "skip_question": not self.question,
            "skip_rationale": not self.rationale,
            "add_transcript": self.transcript,
            "prompt": self.prompt,
        }

    @classmethod
    def of_args(cls, args: Mapping[str, Any]) -> "InputFormat":
        """Read the format from training arguments; missing ones default to the released models' values."""
        return cls(
            question=not args.get("skip_question", False),
            rationale=not args.get("skip_rationale", False),
            transcript=bool(args.get("add_transcript", False)),
            prompt=str(args.get("prompt") or ""),
        )

    def ablated(self, *, no_question: bool, no_rationale: bool, transcript: bool) -> "InputFormat":
        changed = replace(
            self,
            question=self.question and not no_question,
            rationale=self.rationale and not no_rationale,
            transcript=self.transcript or transcript,
        )
        if transcript and not changed.rationale:
            raise InputError(
                "--transcript without the rationale: the transcript is part of the context, which would not be read; "
                "leave --transcript out, or keep the rationale"
            )
        return changed

    def lacking(self, items: Sequence[OrcaItem]) -> str | None:
        """Return a warning if the model reads the rationale but some answers have none."""
        lacking = sum(not item.rationale for item in items) if self.rationale else 0
        if not lacking:
            return None
        return (
            f"{lacking} of {len(items)} answers have no rationale, and the model reads 'context: None' for it; "
            "--no-rationale leaves the context out, but a judge that was trained with rationales scores worse then"
        )


RELEASED_FORMAT = InputFormat()
_SHORTENED = (1, 3)
"""Pieces of the text that may be truncated: first the transcript, then the rationale."""


@dataclass(frozen=True)
class Encoded:
    ids: Sequence[int]  # tokens without special tokens; empty if the item does not fit
    dropped: int = 0  # context tokens cut to fit the window
    fits: bool = True  # False if the item is too long even without context


def _template(name: str) -> tuple[str, str]:
    text = packaged_text(__package__, "prompts", f"{name}.txt")
    before, _, after = text.partition(f"{{{name}}}")
    return before, after


def _filled(name: str, value: str | None) -> str:
    before, after = _template(name)
    return f"{before}{value}{after}"


def _pieces(item: OrcaItem, form: InputFormat) -> list[str]:
    """Return an item's text in five pieces: before, transcript, between, rationale, after."""
    after = _filled("question", item.question) if form.question else ""
    after += _filled("reference", item.reference) + _filled("candidate", item.candidate)
    if not form.rationale:
        return [form.prompt, "", "", "", after]
    opening, closing = _template("context")
    rationale = str(item.rationale)  # "None" if missing, as in the released code
    if not form.transcript or item.transcription is None:
        return [form.prompt + opening, "", "", rationale, closing + after]
    before, between = _template("transcription")
    return [form.prompt + opening + before, item.transcription, between, rationale, closing + after]


def input_text(item: OrcaItem, form: InputFormat = RELEASED_FORMAT) -> str:
    """Return an item's input text.

    >>> input_text(OrcaItem("1", "Who?", "Anna", "Ann", "Two people."))
    ' |context: Two people. |question: Who? |correct answer: Anna |candidate answer: Ann'
    """
    return "".join(_pieces(item, form))


def encode_items(
    items: Sequence[OrcaItem], tokenizer: Any, form: InputFormat, window: int | None = None
) -> list[Encoded]:
    """Encode every item, in order.

    A text longer than the window first loses the end of its transcription, then the end of its rationale.
    Question, correct answer and candidate answer are never truncated; an item that is too long even without
    context does not fit.
    """
    encoded: list[Encoded] = []
    for start in range(0, len(items), _AT_ONCE):
        batch = items[start : start + _AT_ONCE]
        # Tokenizers reject lone surrogates, which responses may contain.
        pieces = [[writable(piece) for piece in _pieces(item, form)] for item in batch]
        texts = ["".join(each) for each in pieces]
        rows = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
        for each, ids, item in zip(pieces, rows, batch, strict=True):
            if not ids:
                raise InputError(
                    f"item {item.id}: the tokenizer makes no token of its text; use the model's own tokenizer"
                )
            long = window is not None and len(ids) > window
            encoded.append(_shortened(each, tokenizer, window or 0) if long else Encoded(ids))
    return encoded


def _shortened(pieces: list[str], tokenizer: Any, window: int) -> Encoded:
    """Cut the context until the text fits.

    A cut can change the tokens around it, so the text is re-encoded after each.
    """
    if not tokenizer.is_fast:
        raise InputError(
            f"an item is longer than the window of {window} tokens, and only a fast tokenizer can shorten it; "
            "shorten the contexts in the data, or use a fast tokenizer"
        )
    full = None
    for index in _SHORTENED:
        while True:
            text = "".join(pieces)
            row = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
            ids = row["input_ids"]
            full = len(ids) if full is None else full
            if len(ids) <= window:
                return Encoded(ids, dropped=full - len(ids))
            piece = pieces[index]
            if not piece:
                break
            start = sum(map(len, pieces[:index]))
            # Tokens that overlap the piece; cutting starts with the last.
            begins = [a for a, b in row["offset_mapping"] if a < start + len(piece) and b > start]
            kept = len(begins) - (len(ids) - window)
            # A token that begins before the piece may also contain the piece's first characters.
            cut = max(begins[kept] - start, 0) if kept > 0 else 0
            pieces[index] = piece[:cut]
    return Encoded((), fits=False)
