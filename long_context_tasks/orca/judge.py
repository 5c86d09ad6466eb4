"""ORCA as a judge: ``kind: orca`` in a judge file selects a checkpoint for tasks with free-text answers.

An answer is sent as a message and its prediction returned as a reply, so predictions are stored like LLM
verdicts. ``orca_mean`` and ``orca_std``, both on [0, 1], replace another judge's metrics; metrics that need
no judge are kept.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError, model_validator

from long_context_tasks.judges.config import Draw, JudgeConfig
from long_context_tasks.judges.kinds import Generate, Kind, Stored
from long_context_tasks.judges.task_judge import Judging
from long_context_tasks.judges.verdict import JudgeRequest, Reply, Rubric, Verdict
from long_context_tasks.orca.checkpoint import find_checkpoint, fingerprint, read_args, read_config
from long_context_tasks.orca.controls import doubt_of
from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.orca.inputs import InputFormat
from long_context_tasks.orca.metrics import clamp
from long_context_tasks.schema import Case, CaseScores, InputError, LoadedTask, Message, Score
from long_context_tasks.schema.extras import require
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.response import (
    ANSWER_CUT,
    EMPTY,
    ENDPOINT_FAILED,
    JUDGE_FAILED,
    JUDGE_UNPARSABLE,
    NOT_JUDGED,
)
from long_context_tasks.schema.thinking import without_thinking
from long_context_tasks.schema.validated import Checked, Number, Whole

if TYPE_CHECKING:
    from long_context_tasks.orca.checkpoint import Checkpoint
    from long_context_tasks.orca.scoring import OrcaScore

_LOG = logging.getLogger(__name__)
METRICS = ("orca_mean", "orca_std")
"""Predicted mean and standard deviation of the human ratings."""
NOT_PREDICTED = "not_predicted"
_Unit = Annotated[float, Field(ge=0, le=1)]


class OrcaConfig(JudgeConfig):
    """A trained judge of question, reference and response; ``model`` is its checkpoint folder.

    It is deterministic and generates no text, so it has no sampling settings, prompt template or rubric.
    """

    kind: Literal["orca"] = "orca"  # type: ignore[assignment]
    batch_size: Annotated[Whole, Field(ge=1, le=10_000)] = 64  # maximum number of answers at once
    # Folder or hub id of an adapter's base model, if the one named in the adapter does not exist here.
    base_model: str | None = None
    # Maximum variance at which a mean near an endpoint is clamped to it; None for no clamping.
    threshold: Annotated[Number, Field(ge=0, lt=1)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _fixed(cls, row: Any) -> Any:
        # Every judge has seeds and a temperature, but a checkpoint is deterministic.
        return {**row, "seeds": [None], "temperature": 0.0} if isinstance(row, dict) else row

    def _foreign(self) -> tuple[str, ...]:
        return (*super()._foreign(), "prompt_template", "logprobs", "rubric")

    @property
    def transport(self) -> str | None:
        return None

    def description(self) -> dict[str, Any]:
        return {"name": self.name, "kind": self.kind, "model": self.model, "revision": self.revision}


class Prediction(Checked):
    model_config = ConfigDict(strict=True, allow_inf_nan=True)

    mean: _Unit
    std: _Unit | None = None  # standard deviation of human ratings; None if the head predicts none
    # low, high: 95 % interval of a single rating; None in the same case
    low: float | None = None
    high: float | None = None
    dropped_tokens: int = 0  # context tokens cut to fit the window


def read_prediction(reply: str) -> Prediction | None:
    """Read the prediction in a reply; None if the reply has none, as when an answer does not fit the window."""
    try:
        return Prediction.model_validate_json(reply)
    except ValidationError:
        return None


def _stds(reply: str) -> Mapping[str, float]:
    prediction = read_prediction(reply)
    return {METRICS[0]: prediction.std} if prediction is not None and prediction.std else {}


RUBRIC = Rubric("orca", 0.0, 1.0, lambda reply: getattr(read_prediction(reply), "mean", None))
"""A verdict's score is the predicted mean."""


def _judged_by_orca(task: LoadedTask, config: JudgeConfig) -> LoadedTask:
    """Return the task with ORCA as its judge and ``orca_mean`` as headline.

    A task without a judge and without free-text answers is returned unchanged.
    """
    if task.asked_and_right is None:
        if task.judging is None:
            return task
        raise InputError(
            f"{task.name}: its judge does not read a question and a reference answer, so ORCA ({config.name}) cannot judge it; "
            "name a language model as judge, or leave the task out"
        )
    # Only the checkpoint's arguments are read here; the model is loaded with the first answer.
    checkpoint = find_checkpoint(Path(config.model).expanduser())
    form = InputFormat.of_args(read_args(checkpoint))
    if doubt := doubt_of(checkpoint):
        _LOG.warning("judge %s: %s", config.name, doubt)
    if form.rationale:
        _LOG.warning(
            "judge %s: trained with rationales, which tasks do not have; it reads %r in their place",
            config.name,
            "None",
        )
    return _with_predictions(task, form)


def _judged_before(task: LoadedTask) -> LoadedTask:
    if task.asked_and_right is None:
        raise InputError("ORCA judged it, but the task no longer has anything for ORCA to judge")
    return _with_predictions(task, None)


def _with_predictions(task: LoadedTask, form: InputFormat | None) -> LoadedTask:
    assert task.asked_and_right is not None
    own = tuple(name for name in task.metrics if task.judging is None or name not in task.judging.metrics)
    asked_and_right = task.asked_and_right

    def requests(case: Case, responses: Sequence[str | None], _: str) -> list[JudgeRequest]:
        found = []
        for turn, response in enumerate(responses):
            answer = without_thinking(response or "").text
            # An empty answer needs no judge: it scores 0.
            if response is None or not answer.strip():
                continue
            question, reference = asked_and_right(case, turn)
            # Only a checkpoint trained on transcripts reads the document.
            shown = form is not None and form.transcript and case.document
            document = task.cases.documents[str(case.document)] if shown else None
            row = {"question": question, "reference": reference, "candidate": answer}
            row |= {} if document is None else {"transcription": document}
            # ASCII, because a response may contain a lone surrogate.
            message = Message("user", json.dumps(row, ensure_ascii=True))
            found.append(JudgeRequest(f"{case.id}_{turn}", (message,), {"case": case.id, "turn": turn}))
        return found

    def score_turn(
        case: Case, turn: int, response: str | None, verdicts: Sequence[Verdict], _: str, status: str | None
    ) -> CaseScores:
        if isinstance(task.judging, Judging):
            judging = task.judging
            # The task itself computes metrics that need no judge, so it gets no verdicts.
            scores = judging.score_turn(case, turn, response, (), judging.default, status)
        else:
            scores = task.score(case.only(turn), response, status)
        kept = {name: scores[name] for name in own}
        return {**_orca_scores(response, verdicts, status), **kept}

    return replace(
        task,
        metrics=(*METRICS, *own),
        intervals=(METRICS[0], *(name for name in task.intervals if name in own)),
        points={name: scale for name, scale in task.points.items() if name in own},
        judging=Judging(
            rubric=_rubric, requests=requests, score_turn=score_turn, default=RUBRIC.name, metrics=METRICS
        ),
    )


def _rubric(name: str) -> Rubric:
    if name != RUBRIC.name:
        raise InputError(f"rubric {name!r}: ORCA has no rubrics; leave `rubric` out of the judge file")
    return RUBRIC


def _orca_scores(response: str | None, verdicts: Sequence[Verdict], status: str | None) -> dict[str, Score]:
    """Score an answer; an empty one gets the lowest mean and zero spread."""
    answer = without_thinking(response or "")
    value, reason = None, NOT_JUDGED
    # The request failed, so the model is not penalised.
    if status is not None:
        reason = status
    elif not answer.text.strip():
        value, reason = 0.0, ANSWER_CUT if answer.unclosed else EMPTY
    elif verdicts:
        [verdict] = verdicts
        prediction = None if verdict.feedback is None else read_prediction(verdict.feedback)
        if verdict.score is not None and prediction is not None:
            std = prediction.std
            spread = Score(None, NOT_PREDICTED) if std is None else Score(std)
            return {METRICS[0]: Score(prediction.mean, std=std or 0.0), METRICS[1]: spread}
        reason = JUDGE_FAILED if verdict.reason == ENDPOINT_FAILED else JUDGE_UNPARSABLE
    return dict.fromkeys(METRICS, Score(value, reason))


def _check(config: JudgeConfig) -> None:
    assert isinstance(config, OrcaConfig)
    folder = find_checkpoint(Path(config.model).expanduser())
    if config.threshold is not None and read_config(folder)["score_type"] == "bernoulli":
        raise InputError(
            f"judge {config.name}: its bernoulli head predicts no variance to clamp by; leave threshold out"
        )
    # Loading would also detect this, but only after the evaluated model has answered.
    require("orca", f"judge {config.name}: ORCA", "torch", "transformers", "peft")


def _load(config: JudgeConfig) -> Generate:
    assert isinstance(config, OrcaConfig)
    checkpoint = _loaded(config.model, config.base_model)

    def predict(prompts: Sequence[Sequence[Message]], draw: Draw) -> list[Reply]:
        from long_context_tasks.orca.scoring import score_items

        items = [
            OrcaItem(id=str(number), **loads(message.content)) for number, [message] in enumerate(prompts)
        ]
        scoring = score_items(checkpoint, items, batch_size=config.batch_size)
        if scoring.shortened or scoring.unfit:
            _LOG.warning("judge %s: %s", config.name, scoring)
        spread = checkpoint.model.head.quantiles is not None
        return [_reply(score, spread, config.threshold) for score in scoring.scores]

    return predict


# One, because a run has one judge and a checkpoint takes up much of the memory.
@lru_cache(maxsize=1)
def _loaded(model: str, base_model: str | None) -> "Checkpoint":
    from long_context_tasks.orca.checkpoint import load_checkpoint

    return load_checkpoint(Path(model).expanduser(), base_model=base_model)


def _reply(score: "OrcaScore", spread: bool, threshold: float | None) -> Reply:
    if score.mean is None or score.variance is None:
        return Reply(json.dumps({"reason": score.reason}), 0, 0)
    # Rounding may push a mean slightly outside [0, 1].
    mean = min(max(score.mean, 0.0), 1.0)
    row: dict[str, float | None] = {
        "mean": mean if threshold is None else clamp(mean, score.variance, threshold)
    }
    row |= {"std": score.std, "low": score.low, "high": score.high} if spread else {}
    return Reply(json.dumps(row | {"dropped_tokens": score.dropped_tokens}), score.tokens, 0)


def _with_revision(config: JudgeConfig, place: str) -> JudgeConfig:
    """Add the revision used as storage key.

    It consists of the judge file's revision or the checkpoint's fingerprint, and the threshold.
    """
    assert isinstance(config, OrcaConfig)
    try:
        revision = config.revision or fingerprint(Path(config.model).expanduser(), config.base_model)
    except InputError as error:
        raise InputError(f"{place}: model: {error}") from error
    if config.threshold is not None:
        revision += f" clamped at {config.threshold:g}"
    return config.changed(revision=revision)


KIND = Kind(
    check=_check,
    load=_load,
    config=OrcaConfig,
    complete=_with_revision,
    prepare=_judged_by_orca,
    reads_prompts=False,
    # Enough answers for full batches, and few enough to lose little when a run is stopped.
    chunk=256,
    stored=Stored(_judged_before, _stds, METRICS),
)
"""Entry in :mod:`long_context_tasks.judges.kinds`."""
