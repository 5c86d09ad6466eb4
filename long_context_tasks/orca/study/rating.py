"""Answers rated by judges of correctness under several conditions, and by ROUGE-L and exact match, as rows that ``lct judge compare`` joins by id.

ROUGE-L and exact match lie on 0 to 1. Several references are written in one text with `` / `` between them, as collections of graded answers do; the
best one counts.
"""

import hashlib
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from long_context_tasks.judges.config import Draw, JudgeConfig
from long_context_tasks.judges.kinds import check_judge, kind_of
from long_context_tasks.judges.run import judge_all
from long_context_tasks.judges.store import Store
from long_context_tasks.judges.verdict import JudgeRequest, Summary, panel, summarize
from long_context_tasks.orca.data import OrcaItem
from long_context_tasks.orca.splits import normalised_question
from long_context_tasks.orca.study.correctness import (
    CONDITIONS,
    RUBRIC,
    Condition,
    Fields,
    Wording,
    judge_prompt,
)
from long_context_tasks.schema import InputError

SCALES = "scales"
BY_SEED = "by_seed"
ROW_KEYS = ("id", "cluster", SCALES, BY_SEED)
"""Keys of a row that are no raters. ``scales`` has lowest and highest score of each rater, ``by_seed`` the scores of a judge with several seeds."""
_BETWEEN = " / "
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


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

    @property
    def missing(self) -> int:
        """Number of scores that are missing; with several seeds also where another seed gave one."""
        return ([score for each in self.by_seed for score in each] or list(self.scores)).count(None)


@dataclass(frozen=True)
class Rated:
    """The scores of a judge under all conditions, and their cost."""

    columns: tuple[Column, ...]
    summary: Summary


def chosen_conditions(names: Iterable[str]) -> list[Condition]:
    """Return the named conditions, each once; ``all`` names each of them.

    Raises:
        InputError: an unknown one, or none.
    """
    names = list(names)
    if unknown := [name for name in names if name not in (*CONDITIONS, "all")]:
        raise InputError(f"--condition {', '.join(unknown)}: there are {', '.join(CONDITIONS)}, all")
    if not names:
        raise InputError(f"--condition: names none; there are {', '.join(CONDITIONS)}, all")
    return [name for name in CONDITIONS if name in names or "all" in names]


def without_context(items: Sequence[OrcaItem], conditions: Sequence[Condition]) -> list[str]:
    """Return a note for each context that a condition shows and some answers lack."""
    notes = []
    for context, showing in (
        ("rationale", {"with_context", "without_transcription"}),
        ("transcription", {"with_context"}),
    ):
        without = sum(not (getattr(item, context) or "").strip() for item in items)
        if without and showing & set(conditions):
            notes.append(f"{without} of {len(items)} answers have no {context}; the judge is shown none")
    return notes


def rater_name(judge: str, condition: Condition, wording: Wording) -> str:
    """Name a judge under a condition; the paper's wording is not mentioned.

    >>> rater_name("qwen", "with_context", "paper"), rater_name("qwen", "without_question", "modified")
    ('qwen:with_context', 'qwen:without_question:modified')
    """
    return f"{judge}:{condition}" + ("" if wording == "paper" else f":{wording}")


def fields_of(item: OrcaItem) -> Fields:
    """Return the texts of an answer.

    Raises:
        InputError: one is missing.
    """
    if item.question is None or item.reference is None or item.candidate is None:
        raise InputError(f"item {item.id}: question, reference or candidate is missing; write all three")
    return Fields(item.question, item.reference, item.candidate, item.rationale, item.transcription)


def requests_of(
    items: Sequence[OrcaItem], conditions: Sequence[Condition], wording: Wording
) -> list[JudgeRequest]:
    """Return the requests to a judge: condition by condition all answers.

    Raises:
        InputError: an answer lacks a text.
    """
    return [
        JudgeRequest(item.id, judge_prompt(fields_of(item), condition, wording))
        for condition in conditions
        for item in items
    ]


def anything_to_ask(requests: Sequence[JudgeRequest], config: JudgeConfig, store: Store) -> bool:
    """Return whether some request is still unanswered; if not, the judge need not be reachable."""
    return any(
        store.get(config.key(request.messages, Draw(seed))) is None
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
    """Let a judge rate all answers under all conditions; stored replies are not asked for again.

    Args:
        items: the answers; their ratings are ignored.
        config: the judge, with its seeds.
        conditions: the texts it is shown; see :data:`~long_context_tasks.orca.study.correctness.Condition`.
        wording: of the prompt.
        store: of the replies.
        progress: show a progress bar on standard error.

    Raises:
        InputError: an answer lacks a text, or the judge cannot be used; see also :func:`~long_context_tasks.judges.run.judge_all`.
    """
    requests = requests_of(items, conditions, wording)
    if not config.in_process and anything_to_ask(requests, config, store):
        check_judge(config)
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


def check_raters(configs: Sequence[JudgeConfig]) -> None:
    """Check judges as far as that costs nothing.

    Raises:
        InputError: a judge that reads no prompt, two with the same name, or one in this process whose model is missing.
    """
    names = Counter(config.name for config in configs)
    for config in configs:
        if not kind_of(config).reads_prompts:
            raise InputError(
                f"judge {config.name}: is of kind {config.kind}, which reads no prompt; use `lct orca score` for it"
            )
        if names[config.name] > 1:
            raise InputError(f"two judges are called {config.name}; give one of them another `name`")
        if config.in_process:
            check_judge(config)


def cluster_of(item: OrcaItem) -> str:
    """Name the question of an answer: its ``question_id``, else a digest of its wording apart from case and white space."""
    if item.question_id is not None:
        return item.question_id
    words = normalised_question(item.question or "")
    return f"question-{hashlib.sha256(words.encode('utf-8', 'backslashreplace')).hexdigest()[:12]}"


def rated_rows(keys: Sequence[tuple[str, str]], columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Return a row for each answer.

    Args:
        keys: id and cluster of each.
        columns: of all raters.

    Raises:
        InputError: two raters have the same name, or that of another key of the rows.
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
                name: [None if score is None else _plain(score) for score in scores]
                for name, scores in seeds.items()
            }
        rows.append(row)
    return rows


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() else float(value)


def squad_normalised(text: str) -> str:
    """Normalise a text as SQuAD's evaluation does: lower case, without ASCII punctuation and articles, single spaces.

    >>> squad_normalised("The  U.S.,  a country")
    'us country'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def references_of(text: str) -> list[str]:
    """Return the references in one text.

    >>> references_of("Ana / Ana Silva"), references_of("and/or")
    (['Ana', 'Ana Silva'], ['and/or'])
    """
    return [part for part in text.split(_BETWEEN) if part.strip()] or [text]


def exact_match(reference: str, candidate: str) -> float:
    """Return 1 if the candidate is a reference after SQuAD's normalisation, else 0.

    >>> exact_match("Ana / the owl", "An owl."), exact_match("Ana", "It is Ana.")
    (1.0, 0.0)
    """
    said = squad_normalised(candidate)
    return float(any(said == squad_normalised(each) for each in references_of(reference)))


def rouge_l(reference: str, candidate: str) -> float | None:
    """Return the F-measure of ROUGE-L (Lin, 2004) by the package rouge-score, without stemming; of several references the best.

    Its words are runs of a-z and 0-9, so a reference in another script has none: None, as nothing was measured.

    Raises:
        InputError: rouge-score is not installed.
    """
    scorer, words = _rouge()
    counting = [each for each in references_of(reference) if words(each)]
    if not counting:
        return None
    return max(scorer(each, candidate) for each in counting)


@cache
def _rouge() -> tuple[Callable[[str, str], float], Callable[[str], list[str]]]:
    try:
        from rouge_score.rouge_scorer import RougeScorer
        from rouge_score.tokenizers import DefaultTokenizer
    except ImportError as error:
        raise InputError(
            "ROUGE-L needs rouge-score; install it with: pip install 'long_context_tasks[agreement]'"
        ) from error
    scorer, tokenizer = RougeScorer(["rougeL"], use_stemmer=False), DefaultTokenizer(use_stemmer=False)

    def score(reference: str, candidate: str) -> float:
        return float(scorer.score(reference, candidate)["rougeL"].fmeasure)

    def words(text: str) -> list[str]:
        return list(tokenizer.tokenize(text))

    return score, words


BASELINES: dict[str, Callable[[str, str], float | None]] = {"rouge_l": rouge_l, "exact_match": exact_match}
"""Name of each baseline to the function of reference and candidate."""


def baseline_columns(items: Sequence[OrcaItem]) -> list[Column]:
    """Measure all answers with every baseline."""
    texts = [fields_of(item) for item in items]
    return [
        Column(name, tuple(measure(each.reference, each.candidate) for each in texts), (0.0, 1.0))
        for name, measure in BASELINES.items()
    ]
