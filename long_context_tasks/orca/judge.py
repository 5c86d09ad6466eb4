"""ORCA behind the interface of all judges: an answer goes in as a message, a prediction comes back as a reply.

So its predictions lie in the same store, are not made twice, and stand in the same places of results as the verdicts of language models.
"""

import hashlib
import json
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import model_validator

from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.kinds import Draw, Generate, Kind
from long_context_tasks.judges.verdict import Reply, Rubric
from long_context_tasks.orca.checkpoint import find_checkpoint, read_args
from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.orca.inputs import InputFormat
from long_context_tasks.schema import InputError, LoadedTask, Message

if TYPE_CHECKING:
    from long_context_tasks.orca.checkpoint import Checkpoint
    from long_context_tasks.orca.scoring import OrcaScore

_LOG = logging.getLogger(__name__)
_TELLS_APART = ("model/config.yaml", "model/model_minus_lm.pt")
_NEEDED = ("torch", "transformers", "peft")


class OrcaConfig(JudgeConfig):
    """A trained judge, which reads question, reference and response once; ``model`` is the folder of its checkpoint.

    It replies neither by chance nor in words, so it has no sampling settings, prompt template or rubric.

    Attributes:
        base_model: folder or hub id of the model below an adapter, where the adapter's own name for it leads nowhere.
    """

    kind: Literal["orca"] = "orca"  # type: ignore[assignment]
    base_model: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _fixed(cls, row: Any) -> Any:
        return {**row, "seeds": [None], "temperature": 0.0} if isinstance(row, dict) else row

    def _foreign(self) -> tuple[str, ...]:
        return (*super()._foreign(), "prompt_template", "logprobs", "rubric")

    @property
    def transport(self) -> str | None:
        """None: there is one way."""
        return None

    def description(self) -> dict[str, Any]:
        """Return what results say of the judge."""
        return {"name": self.name, "kind": self.kind, "model": self.model, "revision": self.revision}


@dataclass(frozen=True)
class Prediction:
    """What ORCA says of an answer, on 0 ... 1.

    Attributes:
        mean: expected rating.
        std: standard deviation of people's ratings; None from a head that predicts none.
        low, high: where one rating lies with 95 % probability; None likewise.
        dropped_tokens: of the context, to fit the window.
    """

    mean: float
    std: float | None = None
    low: float | None = None
    high: float | None = None
    dropped_tokens: int = 0


def answer_message(item: OrcaItem) -> Message:
    """An answer to judge, as the one message of a request."""
    names = ("question", "reference", "candidate", "rationale", "transcription")
    row = {name: value for name in names if (value := getattr(item, name)) is not None}
    # ASCII, as a response may hold half of a surrogate pair.
    return Message("user", json.dumps(row, ensure_ascii=True))


def read_prediction(reply: str) -> Prediction | None:
    """The prediction in a reply; None in one that has none, as for an answer that does not fit the window.

    >>> read_prediction('{"mean": 0.5, "std": 0.25, "low": 0.1, "high": 0.9, "dropped_tokens": 0}').std
    0.25
    >>> read_prediction('{"reason": "does_not_fit"}')
    """
    try:
        row = json.loads(reply)
        found = Prediction(**row)
        numbers = [value for value in (found.mean, found.std) if value is not None]
        sound = all(math.isfinite(value) and 0 <= value <= 1 for value in numbers)
    except (TypeError, ValueError):
        return None
    return found if sound else None


def _mean(reply: str) -> float | None:
    prediction = read_prediction(reply)
    return None if prediction is None else prediction.mean


RUBRIC = Rubric("orca", 0.0, 1.0, _mean)
"""A verdict's score is the predicted mean."""


def _reply(score: "OrcaScore", spread: bool) -> Reply:
    if score.mean is None:
        return Reply(json.dumps({"reason": score.reason}), 0, 0)
    # Rounding may push a mean beyond its ends.
    row: dict[str, float | None] = {"mean": min(max(score.mean, 0.0), 1.0)}
    row |= {"std": score.std, "low": score.low, "high": score.high} if spread else {}
    return Reply(json.dumps(row | {"dropped_tokens": score.dropped_tokens}), score.tokens, 0)


def input_format(config: JudgeConfig) -> InputFormat:
    """The parts that the judge reads, from the arguments it was trained with; nothing is loaded.

    Raises:
        InputError: there is no checkpoint.
    """
    return InputFormat.of_args(read_args(find_checkpoint(Path(config.model).expanduser())))


def fingerprint(folder: Path, place: str = "") -> str:
    """Twelve digits of the SHA-256 of a checkpoint's head, which no two trainings have in common.

    Args:
        folder: of the checkpoint.
        place: begins messages; who named the folder.

    Raises:
        InputError: there is no checkpoint, or it cannot be read.
    """
    try:
        found = find_checkpoint(folder.expanduser())
    except InputError as error:
        raise InputError(f"{place}{error}") from error
    digest = hashlib.sha256()
    for name in _TELLS_APART:
        try:
            digest.update((found / name).read_bytes())
        except OSError as error:
            raise InputError(f"{found / name}: cannot be read ({error.strerror})") from error
    return digest.hexdigest()[:12]


def check_orca_judge(config: JudgeConfig) -> None:
    """Look for the checkpoint and the libraries before costly work; no weights are read.

    Raises:
        InputError: one of them is missing.
    """
    find_checkpoint(Path(config.model).expanduser())
    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        raise InputError(
            f"judge {config.name}: ORCA needs {', '.join(missing)}: pip install 'long_context_tasks[orca]'"
        )


def load_orca_judge(config: JudgeConfig) -> Generate:
    """Load the checkpoint and return what predicts.

    Raises:
        InputError: see :func:`~long_context_tasks.orca.checkpoint.load_checkpoint`.
    """
    assert isinstance(config, OrcaConfig)
    checkpoint = _loaded(config.model, config.base_model)

    def predict(prompts: Sequence[Sequence[Message]], draw: Draw) -> list[Reply]:
        from long_context_tasks.orca.scoring import score_items

        items = [
            OrcaItem(id=str(number), **json.loads(message.content))
            for number, [message] in enumerate(prompts)
        ]
        scoring = score_items(checkpoint, items)
        if scoring.shortened or scoring.unfit:
            _LOG.warning("judge %s: %s", config.name, scoring)
        spread = checkpoint.model.head.quantiles is not None
        return [_reply(score, spread) for score in scoring.scores]

    return predict


@lru_cache(maxsize=1)
def _loaded(model: str, base_model: str | None) -> "Checkpoint":
    """The checkpoint, once for all tasks of a run."""
    from long_context_tasks.orca.checkpoint import load_checkpoint

    return load_checkpoint(Path(model).expanduser(), base_model=base_model)


def _with_revision(config: JudgeConfig, place: str) -> JudgeConfig:
    if config.revision is not None:
        return config
    return config.changed(revision=fingerprint(Path(config.model), f"{place}: model: "))


def _prepare(task: LoadedTask, config: JudgeConfig) -> LoadedTask:
    from long_context_tasks.orca.open_ended import judged_by_orca

    return judged_by_orca(task, config)


KIND = Kind(
    check=check_orca_judge,
    load=load_orca_judge,
    config=OrcaConfig,
    complete=_with_revision,
    prepare=_prepare,
    reads_prompts=False,
    # Enough responses to make batches of like length.
    chunk=256,
)
"""ORCA among the kinds of judges."""
