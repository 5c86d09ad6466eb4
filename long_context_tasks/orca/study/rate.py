"""Answers rated by judges of correctness: every judge, condition and answer, as rows that ``lct judge compare`` joins by id."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.request import Ask, JudgeRequest, ask_key
from long_context_tasks.judges.run import judge_all
from long_context_tasks.judges.store import Store
from long_context_tasks.judges.verdict import Summary, panel, summarize
from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.orca.study.correctness import RUBRIC, Condition, Fields, Wording, judge_prompt
from long_context_tasks.schema import InputError

SCALES = "scales"
BY_SEED = "by_seed"
ROW_KEYS = ("id", "cluster", SCALES, BY_SEED)
"""Keys of a row that are no raters. ``scales`` has lowest and highest score of each rater, ``by_seed`` the scores of a judge with several seeds."""


@dataclass(frozen=True)
class Column:
    """Scores of one rater, in the order of the answers.

    Attributes:
        name: of the rater.
        scores: on its own scale; None where there is none. With several seeds the mean of those that gave one.
        scale: lowest and highest score.
        by_seed: scores of each answer by each seed; empty with a single one.
    """

    name: str
    scores: tuple[float | None, ...]
    scale: tuple[float, float]
    by_seed: tuple[tuple[float | None, ...], ...] = ()


@dataclass(frozen=True)
class Rated:
    """What a judge said under all conditions, and what it cost."""

    columns: tuple[Column, ...]
    summary: Summary


def rater_name(judge: str, condition: Condition, wording: Wording) -> str:
    """Name of a judge under a condition; the paper's wording goes without saying.

    >>> rater_name("qwen", "with_context", "paper"), rater_name("qwen", "without_question", "modified")
    ('qwen:with_context', 'qwen:without_question:modified')
    """
    return f"{judge}:{condition}" + ("" if wording == "paper" else f":{wording}")


def fields_of(item: OrcaItem) -> Fields:
    """The texts of an answer.

    Raises:
        InputError: one is missing.
    """
    if item.question is None or item.reference is None or item.candidate is None:
        raise InputError(f"item {item.id}: question, reference or candidate is missing; write all three")
    return Fields(item.question, item.reference, item.candidate, item.rationale, item.transcription)


def requests_of(
    items: Sequence[OrcaItem], conditions: Sequence[Condition], wording: Wording
) -> list[JudgeRequest]:
    """What a judge is asked: condition by condition all answers.

    Raises:
        InputError: an answer lacks a text.
    """
    return [
        JudgeRequest(item.id, judge_prompt(fields_of(item), condition, wording))
        for condition in conditions
        for item in items
    ]


def anything_to_ask(requests: Sequence[JudgeRequest], config: JudgeConfig, store: Store) -> bool:
    """Whether some request was never answered; if not, a judge need not even be there."""
    return any(
        store.get(ask_key(Ask(request.messages, seed, 0), config)) is None
        for request in requests
        for seed in config.seeds
    )


def rate_answers(
    items: Sequence[OrcaItem],
    config: JudgeConfig,
    conditions: Sequence[Condition],
    wording: Wording,
    store: Store,
    *,
    progress: bool = True,
) -> Rated:
    """Let a judge rate all answers under all conditions; what the store holds is not asked again.

    Args:
        items: the answers; ratings are not looked at.
        config: the judge, with its seeds.
        conditions: what it is shown; see :data:`~long_context_tasks.orca.study.correctness.Condition`.
        wording: of the prompt.
        store: of the replies.
        progress: show a progress bar on standard error.

    Raises:
        InputError: an answer lacks a text; see also :func:`~long_context_tasks.judges.run.judge_all`.
    """
    requests = requests_of(items, conditions, wording)
    verdicts = judge_all(requests, config, RUBRIC, store, progress=progress)
    columns = []
    for number, condition in enumerate(conditions):
        own = verdicts[number * len(items) : (number + 1) * len(items)]
        by_seed = tuple(tuple(verdict.score for verdict in each) for each in own)
        columns.append(
            Column(
                rater_name(config.name, condition, wording),
                tuple(panel(scores).mean for scores in by_seed),
                (RUBRIC.low, RUBRIC.high),
                by_seed if len(config.seeds) > 1 else (),
            )
        )
    return Rated(tuple(columns), summarize(verdicts, config))


def cluster_of(item: OrcaItem) -> str:
    """Names the question of an answer: its ``question_id``, else a digest of its wording apart from case and white space."""
    if item.question_id is not None:
        return item.question_id
    words = " ".join((item.question or "").casefold().split())
    return f"question-{hashlib.sha256(words.encode('utf-8', 'backslashreplace')).hexdigest()[:12]}"


def check_ids(items: Sequence[OrcaItem], source: str) -> None:
    """Refuse answers that could not be told apart.

    Raises:
        InputError: two have one id.
    """
    twice = [name for name, count in Counter(item.id for item in items).items() if count > 1]
    if twice:
        raise InputError(f"{source}: two answers have the id {twice[0]}; give every answer an id of its own")


def rated_rows(keys: Sequence[tuple[str, str]], columns: Sequence[Column]) -> list[dict[str, Any]]:
    """A row for each answer.

    Args:
        keys: id and cluster of each.
        columns: of all raters.

    Raises:
        InputError: two raters have one name, or that of another key of the rows.
    """
    names = Counter(column.name for column in columns)
    if clash := [name for name, count in names.items() if count > 1 or name in ROW_KEYS]:
        raise InputError(f"two columns are called {clash[0]}; give one of the judges another `name`")
    scales: Mapping[str, list[float]] = {column.name: [*map(_plain, column.scale)] for column in columns}
    rows = []
    for place, (name, cluster) in enumerate(keys):
        row: dict[str, Any] = {"id": name, "cluster": cluster}
        for column in columns:
            score = column.scores[place]
            row[column.name] = None if score is None else _plain(score)
        row[SCALES] = scales
        if seeds := {column.name: column.by_seed[place] for column in columns if column.by_seed}:
            row[BY_SEED] = {
                name: [None if one is None else _plain(one) for one in scores]
                for name, scores in seeds.items()
            }
        rows.append(row)
    return rows


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() else float(value)
