"""lm-eval's side: one task class for every benchmark.

A benchmark's adapter names its ``load_task``; the YAML of a task names the class. Documents hold ids only: the text of a
case is rendered when its request is built. Checked against lm_eval 0.4.13.
"""

import json
import logging
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

import datasets
from lm_eval.api.instance import Instance
from lm_eval.api.task import ConfigurableTask

from long_context_tasks.hosts.lm_eval_refusals import REFUSED, convert_length_refusals, register_prompt
from long_context_tasks.hosts.lm_eval_window import find_window
from long_context_tasks.hosts.results import REASONS, result_keys
from long_context_tasks.hosts.window import DOES_NOT_FIT, Window
from long_context_tasks.schema import Case, CaseScores, InputError, LoadedTask, Options, resolve_options
from long_context_tasks.stats import interval_of_mean

logger = logging.getLogger(__name__)

FILTER = "none"


class CaseTask(ConfigurableTask):  # type: ignore[misc]
    """A task whose cases, prompts and scores come from a benchmark of this package.

    Subclasses set ``load``. Options are the ``lct_*`` keys of ``--metadata``; the resolved ones, the window and the headline
    metric stand in the ``metadata`` of the task's config in every result file.
    """

    load: ClassVar[Callable[[str, Options], LoadedTask]]

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        """Load the cases and make the host's task of them.

        Raises:
            InputError: bad options or data.
        """
        config = {key: value for key, value in (config or {}).items() if key != "class"}
        self.model_arguments: Mapping[str, Any] = dict(config.get("metadata") or {})
        options = resolve_options(self.model_arguments)
        self.loaded = type(self).load(config["task"], options)
        if not len(self.loaded.cases):
            raise InputError(f"{config['task']}: no cases")
        self.window = Window()
        self._num_prompt_tokens: dict[str, list[int]] = {}
        super().__init__(config={**config, **self._host_config()})
        # The host would look metrics up by name; these are our own.
        self._metric_fn_list = dict.fromkeys(self._keys(), None)
        self._metric_fn_kwargs = {key: {} for key in self._keys()}
        self._aggregation_list = {key: _aggregation(key) for key in self._keys()}
        self._higher_is_better = {key: _higher_is_better(key) for key in self._keys()}
        # Model arguments stay where the host has them; what belongs to the task is told here.
        self._config.metadata = {
            **{key: value for key, value in self.model_arguments.items() if not key.startswith("lct_")},
            **self.loaded.description(),
            "headline": self.loaded.metrics[0],
        }

    def _keys(self) -> tuple[str, ...]:
        return result_keys(self.loaded.metrics, self._intervals())

    def _intervals(self) -> tuple[str, ...]:
        return tuple(name for name in self.loaded.intervals if name in self.loaded.metrics)

    def _host_config(self) -> dict[str, Any]:
        common = {
            "test_split": "test",
            "num_fewshot": 0,
            "fewshot_config": {"samples": []},
            "metric_list": [],
        }
        if self.loaded.by_likelihood:
            return {**common, "output_type": "loglikelihood_rolling"}
        generation = {"until": [], "do_sample": False, "max_gen_toks": self.loaded.answer_budget}
        return {**common, "output_type": "generate_until", "generation_kwargs": generation}

    # --- documents -----------------------------------------------------------------------------------------

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **_: Any) -> None:
        """Make the host's data set: a row per case with its id, cluster, token counts and labels, and no text."""
        rows = [
            {
                "case": case.id,
                "cluster": case.cluster,
                "num_tokens": json.dumps(case.num_tokens),
                "labels": json.dumps(case.labels),
            }
            for case in self.loaded.cases.cases
        ]
        self.dataset = {"test": datasets.Dataset.from_list(rows)}

    def _case(self, doc: Mapping[str, Any]) -> Case:
        return self.loaded.by_id[doc["case"]]

    def doc_to_text(self, doc: Mapping[str, Any], *_: Any, **__: Any) -> str:
        """The prompt without a chat template."""
        return "\n\n".join(message.content for message in self.loaded.messages(self._case(doc)))

    def doc_to_target(self, doc: Mapping[str, Any], *_: Any, **__: Any) -> str:
        """The gold of the case, as JSON."""
        return json.dumps([turn.gold for turn in self._case(doc).turns])

    def fewshot_context(
        self,
        doc: Mapping[str, Any],
        num_fewshot: int = 0,
        system_instruction: str | None = None,
        apply_chat_template: bool = False,
        fewshot_as_multiturn: bool = False,
        chat_template: Callable[..., str] | None = None,
        gen_prefix: str | None = None,
        **_: Any,
    ) -> str:
        """What is sent for a case: its messages through the chat template, or their text.

        Raises:
            InputError: examples are asked for (``--num_fewshot``); these tasks have none.
        """
        if num_fewshot:
            raise InputError(f"{self.loaded.name}: has no few-shot examples; leave --num_fewshot out")
        if self.loaded.by_likelihood:
            return ""
        messages = [asdict(message) for message in self.loaded.messages(self._case(doc))]
        if system_instruction:
            if messages[0]["role"] == "system":
                messages[0]["content"] = f"{system_instruction}\n\n{messages[0]['content']}"
            else:
                messages.insert(0, {"role": "system", "content": system_instruction})
        if chat_template is not None:
            return chat_template(messages, add_generation_prompt=True)
        return "\n\n".join(message["content"] for message in messages)

    # --- requests ------------------------------------------------------------------------------------------

    def build_all_requests(self, **kwargs: Any) -> None:
        """Build the requests, those that do not fit the window apart: they are named, counted and never sent."""
        template = kwargs.get("chat_template")
        self.window = find_window(
            self.loaded.options, self.model_arguments, getattr(template, "__self__", None)
        )
        self._config.metadata["window"] = self.window.describe()
        convert_length_refusals()
        self._unfit: list[str] = []
        super().build_all_requests(**kwargs)
        if self._unfit:
            shown = ", ".join(self._unfit[:5]) + (", ..." if len(self._unfit) > 5 else "")
            logger.warning(
                "%s: %d of %d cases do not fit the window of %s tokens and are left out: %s",
                *(self.loaded.name, len(self._unfit), len(self.loaded.cases), self.window.tokens, shown),
            )

    def construct_requests(self, doc: dict[str, Any], ctx: str, **kwargs: Any) -> list[Instance] | Instance:
        """One request, or one per candidate; with 0 repeats, which the host does not send, when it does not fit."""
        name, doc_id, repeats = kwargs["metadata"]
        case = self._case(doc)
        if not self.loaded.by_likelihood:
            fits = self.window.fits(_plain_text(ctx), self.loaded.answer_budget)
            register_prompt(ctx)
            # The text of a prompt that is not sent is not kept: a thousand of them are gigabytes.
            arguments: list[tuple[Any, ...]] = [(ctx if fits else "", dict(self.config.generation_kwargs))]
        else:
            assert self.loaded.candidates is not None
            # In lexicographic order, so that texts with the same beginning follow one another (prefix caches).
            texts = self.loaded.candidates(case, self.loaded.cases.documents)
            fits = all(self.window.fits(text, 0) for text in texts)
            if self.window.count is not None:
                self._num_prompt_tokens[case.id] = [self.window.count(text) for text in texts]
            arguments = [(text,) for text in texts]
        if not fits:
            self._unfit.append(case.id)
        output_type = "loglikelihood_rolling" if self.loaded.by_likelihood else "generate_until"
        instances = [
            Instance(output_type, doc, argument, place, metadata=(name, doc_id, repeats if fits else 0))
            for place, argument in enumerate(arguments)
        ]
        return instances if self.loaded.by_likelihood else instances[0]

    def apply_filters(self) -> None:
        """Hand every first response on as it is (a padded run may hold more than one); None where none was asked."""
        for instance in self._instances or []:
            instance.filtered_resps[FILTER] = instance.resps[0] if instance.resps else None

    # --- scores --------------------------------------------------------------------------------------------

    def process_results(self, doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
        """Every result key for one case; not-a-number where a metric has no value."""
        case = self._case(doc)
        scores = (
            self._likelihood_scores(case, results)
            if self.loaded.by_likelihood
            else self._scores(case, results[0])
        )
        row: dict[str, Any] = {}
        for name in self.loaded.metrics:
            value = scores[name].value
            row[name] = math.nan if value is None else value
            if name in self._intervals():
                row[f"{name}_low"] = row[f"{name}_high"] = [row[name], case.cluster]
        headline = scores[self.loaded.metrics[0]]
        row["n"] = 1
        row["n_scored"] = row["coverage"] = int(headline.value is not None)
        row["n_truncated"] = 0 if self.window.checked else math.nan
        for reason in REASONS:
            row[f"n_{reason}"] = int(headline.reason == reason)
        return row

    def _scores(self, case: Case, response: str | None) -> CaseScores:
        if response is None or response == REFUSED:
            return self.loaded.score(case, None, DOES_NOT_FIT)
        # What the host puts where a server returned no content; an empty text unless the user set another.
        nothing = os.environ.get("LMEVAL_MODEL_NONE_ANSWER_PLACEHOLDER", "")
        return self.loaded.score(case, None if response == nothing else response, None)

    def _likelihood_scores(self, case: Case, results: Sequence[Any]) -> CaseScores:
        assert self.loaded.score_candidates is not None
        if any(value is None for value in results):
            return self.loaded.score_candidates(case, None, None, DOES_NOT_FIT)
        likelihoods = [float(value[0] if isinstance(value, tuple | list) else value) for value in results]
        return self.loaded.score_candidates(case, likelihoods, self._num_prompt_tokens.get(case.id), None)


def _plain_text(ctx: Any) -> str:
    """The text of a context; for chat servers the host carries messages as JSON in a named tuple."""
    if isinstance(ctx, str):
        return ctx
    return "\n".join(str(message["content"]) for message in json.loads(ctx.prompt))


# --- aggregation -----------------------------------------------------------------------------------------------


def nan_mean(values: Sequence[float]) -> float:
    """Mean of the values that are numbers; not a number when there are none."""
    numbers = [value for value in values if not math.isnan(value)]
    return math.fsum(numbers) / len(numbers) if numbers else math.nan


def total(values: Sequence[float]) -> float:
    """Sum; not a number when any is."""
    return math.fsum(values)


def interval_low(pairs: Sequence[tuple[float, str]]) -> float:
    """Lower end of the 95 % interval of the mean, from pairs of value and cluster."""
    return _interval(pairs)[0]


def interval_high(pairs: Sequence[tuple[float, str]]) -> float:
    """Upper end; see :func:`interval_low`."""
    return _interval(pairs)[1]


def _interval(pairs: Sequence[tuple[float, str]]) -> tuple[float, float]:
    kept = [(value, cluster) for value, cluster in pairs if not math.isnan(value)]
    if not kept:
        return math.nan, math.nan
    ends = interval_of_mean([value for value, _ in kept], [cluster for _, cluster in kept])
    return ends.low, ends.high


def _aggregation(key: str) -> Callable[[Any], float]:
    if key.endswith("_low"):
        return interval_low
    if key.endswith("_high"):
        return interval_high
    return total if key == "n" or key.startswith("n_") else nan_mean


def _higher_is_better(key: str) -> bool:
    return not (key.startswith("n_") and key != "n_scored") and key != "copy_instruction"
