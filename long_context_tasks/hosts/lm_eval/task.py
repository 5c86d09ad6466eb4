"""The class of all our tasks in lm-eval. Checked against lm_eval 0.4.13 and 0.5.0.dev1.

lm-eval calls it in this order, once per task: ``__init__`` loads the cases, ``build_all_requests`` renders
their prompts and omits those that do not fit, ``apply_filters`` receives the responses, sends later turns and
runs the judge, ``process_results`` scores each case, and the functions from :meth:`CaseTask.aggregation`
compute the means. lm-eval 0.5 leaves filters and scores to ``process_instances``, and the means to ``aggregate``.

Documents contain only ids; a case's text is rendered when its request is built.
"""

import itertools
import json
import logging
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

import datasets
from lm_eval.api.instance import Instance
from lm_eval.api.task import ConfigurableTask

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.hosts.dialogue import Dialogue
from long_context_tasks.hosts.lm_eval.patches import apply_patches, is_command
from long_context_tasks.hosts.lm_eval.results import sample_record
from long_context_tasks.hosts.lm_eval.window import check_hub, find_window, has_chat_template, takes_run_seed
from long_context_tasks.hosts.messages import (
    NO_JUDGE,
    NO_PARTS,
    end_in_one_line,
    hide_secrets_in_logs,
    left_out,
    not_judged_hint,
    warn_of_long_answers,
    warn_of_misspelt_variables,
)
from long_context_tasks.hosts.stored import facts_of
from long_context_tasks.hosts.window import IN_CL100K, REFUSED, Window
from long_context_tasks.schema import Case, CaseScores, InputError, Message
from long_context_tasks.schema.case import SplitMessages, folded, takes_system
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.progress import keep_clocks_going
from long_context_tasks.schema.response import DOES_NOT_FIT, ENDPOINT_FAILED, REASONS, Response
from long_context_tasks.schema.secrets import remember_secrets, without_secrets
from long_context_tasks.stats.means import RATES, Scale, interval_of_mean, result_keys, standard_error

logger = logging.getLogger(__name__)

FILTER = "none"
# Suffix of a metric's standard error. lm-eval computes none for our means, but prints one with this name.
STDERR = "_stderr"
BYPASS = "bypass"  # lm-eval's only metric with --predict_only, and its value
BYPASSED = 999
# Sent if no prompt fits, because most lm-eval models fail on an empty list of requests.
_FILLER = "."
_HAS_SCORERS = hasattr(ConfigurableTask, "process_instances")  # lm-eval 0.5
# A text to be scored follows an empty context in lm-eval 0.5.
_NO_CONTEXT = ("",) if _HAS_SCORERS else ()


@dataclass
class CaseInstance(Instance):  # type: ignore[misc]
    """A request from one of our tasks.

    lm-eval keeps all requests until it ends. Python needs two bytes per character for a text with a single
    typographic quote, so texts are stored as UTF-8 and decoded on access.
    """

    window_is_unchecked: bool = False  # whether the window was unknown when the request was built
    # Returns the case's context, for models that prefill it separately from the question; None for a prompt
    # without one.
    context: Callable[[], str] | None = None
    target: str | None = None  # the case's gold answer, which lm-eval 0.5 logs
    # Both are set from the metadata; lm-eval 0.5 itself requires them.
    task_name: str | None = None
    doc_id: int | None = None

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Text (or a chat in lm-eval's format) and generation settings."""
        return tuple(
            kept.decode("utf-8", "surrogatepass") if isinstance(kept, bytes) else kept for kept in self._kept
        )

    @arguments.setter
    def arguments(self, value: tuple[Any, ...]) -> None:
        self._kept = tuple(
            given.encode("utf-8", "surrogatepass") if type(given) is str else given for given in value
        )


class CaseTask(ConfigurableTask):  # type: ignore[misc]
    """A task whose cases, prompts and scores come from one of this package's benchmarks.

    Options are the ``lct_*`` keys in ``--metadata``. The resolved options, the window and the headline metric
    are stored in the ``metadata`` of the task's config in every result file.
    """

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        if is_command(sys.argv) and os.environ.get("LMEVAL_LOG_LEVEL", "").upper() != "DEBUG":
            end_in_one_line()
        # lm-eval passes on the key of our class, but its own constructor rejects it.
        config = {key: value for key, value in (config or {}).items() if key != "class"}
        # lm-eval merges the model arguments and --metadata.
        self.model_arguments: Mapping[str, Any] = dict(config.get("metadata") or {})
        remember_secrets([self.model_arguments, sys.argv if is_command(sys.argv) else ()])
        hide_secrets_in_logs(logging.getLogger("lm_eval"))
        check_hub(self.model_arguments)
        warn_of_misspelt_variables()
        self.loaded = load_task(config["task"], self.model_arguments)
        if not len(self.loaded.cases):
            raise InputError(f"{config['task']}: no cases")
        self.judge: Any = None
        if self.loaded.judging is not None or self.loaded.asked_and_right is not None:
            from long_context_tasks.judges.task_judge import with_judge

            self.loaded, self.judge = with_judge(self.loaded)
        self.window = Window()
        self._ask: Callable[[Sequence[Message]], Any] | None = None
        self._model: Any = None
        self._run_seed: int | None = None
        self._verdicts: Mapping[str, Sequence[Sequence[Any]]] = {}
        self._dialogues: dict[str, Dialogue] = {}
        self._unfit: dict[str, None] = {}
        self._num_candidate_tokens: dict[str, list[int]] = {}
        super().__init__(config={**config, **self._host_config()})
        self._set_metrics()
        others = {key: value for key, value in self.model_arguments.items() if not key.startswith("lct_")}
        command = typed_command(sys.argv)
        self._config.metadata = {
            **without_secrets(others),
            **facts_of(self.loaded, self.judge),  # --limit may run fewer cases
            **({"command": command} if command else {}),
        }

    def _host_config(self) -> dict[str, Any]:
        common = {
            "test_split": "test",
            "num_fewshot": 0,
            # lm-eval's default, a blank, would stand between a prompt and its answer.
            "target_delimiter": "",
            # Otherwise lm-eval converts all documents to Python objects to draw few-shot examples, which we
            # do not have.
            "fewshot_config": {"samples": []},
            "metric_list": [],
        }
        if self.loaded.by_likelihood:
            return {**common, "output_type": "loglikelihood_rolling"}
        warn_of_long_answers(self.loaded.name, self.loaded.answer_budget)
        # By default, lm-eval ends an answer at the first blank line.
        generation = {"until": [], "do_sample": False, "max_gen_toks": self.loaded.answer_budget}
        return {**common, "output_type": "generate_until", "generation_kwargs": generation}

    def _set_metrics(self) -> None:
        """Set the result keys with their aggregations; lm-eval would look up metrics by name."""
        metrics = self.loaded.metrics
        self._intervals = tuple(name for name in self.loaded.intervals if name in metrics)
        keys = (
            *result_keys(metrics, self._intervals),
            *(f"{name}{STDERR}" for name in self._intervals),
        )
        self._aggregations = {key: _aggregation_of(key, self.loaded.points) for key in keys}
        # No arrow in lm-eval's table next to counts, interval bounds and the random-guess score.
        self._better = dict.fromkeys((metrics[0], *self._intervals), True)
        for scorer in self.scorers if _HAS_SCORERS else ():
            scorer.metrics = []  # its default ones would take the place of ours with the same name

    def aggregation(self) -> dict[str, Callable[[Any], float]]:
        return self._aggregations

    def higher_is_better(self) -> dict[str, bool]:
        return self._better

    def override_metric(self, metric_name: str) -> None:
        """Leave out our metrics; lm-eval calls this for ``--predict_only``."""
        super().override_metric(metric_name)
        self._aggregations, self._better = super().aggregation(), super().higher_is_better()

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **_: Any) -> None:
        """Create lm-eval's data set: one row per case with id, cluster, token counts and labels, no texts."""
        # Labels differ between cases; serialized, they fit the columns of a data set.
        rows = [
            {
                "case": case.id,
                "cluster": case.cluster,
                "num_tokens": json.dumps(case.num_tokens),
                "labels": json.dumps(case.labels),
                "turn_labels": json.dumps([turn.labels for turn in case.turns]),
            }
            for case in self.loaded.cases.cases
        ]
        self.dataset = {"test": datasets.Dataset.from_list(rows)}

    def _case(self, doc: Mapping[str, Any]) -> Case:
        return self.loaded.by_id[doc["case"]]

    def doc_to_text(self, doc: Mapping[str, Any], *_: Any, **__: Any) -> str:
        return "\n\n".join(message.content for message in self.loaded.messages(self._case(doc)))

    def doc_to_target(self, doc: Mapping[str, Any], *_: Any, **__: Any) -> str:
        return json.dumps([turn.gold for turn in self._case(doc).turns])

    def fewshot_context(
        self,
        doc: Mapping[str, Any],
        num_fewshot: int = 0,
        system_instruction: str | None = None,
        chat_template: Callable[..., str] | None = None,
        **_: Any,
    ) -> Any:
        if num_fewshot:
            raise InputError(f"{self.loaded.name}: has no few-shot examples; leave --num_fewshot out")
        if self.loaded.by_likelihood:
            return ""
        template = None if self.loaded.own_template else chat_template
        split = self.loaded.options.split_messages
        return context_of(self.loaded.messages(self._case(doc)), system_instruction, template, split)

    def set_fewshot_seed(self, seed: int | None = None) -> None:
        """Store the seed from ``--seed``, which lm-eval passes to tasks but not to a server."""
        super().set_fewshot_seed(seed)
        self._run_seed = seed

    def build_all_requests(self, **kwargs: Any) -> None:
        """Build the requests; cases that do not fit the window are reported, counted and never sent."""
        template = kwargs.get("chat_template")
        if "chat_template" in kwargs:  # lm-eval's evaluator gives it, its tests of tasks do not
            self._check_template(template, kwargs.get("system_instruction"))
        self._describe_model(template)
        if self.judge is not None and BYPASS not in self._aggregations:
            self.judge.check(self.loaded)
        apply_patches()  # again, because the model may have loaded more lm-eval modules
        if kwargs.get("cache_requests"):
            # lm-eval looks up a stored prompt by the task's name, so another length or window would get the
            # old prompts.
            logger.warning("%s: --cache_requests is left out, it ignores our options", self.loaded.name)
            kwargs = {**kwargs, "cache_requests": False}
        super().build_all_requests(**kwargs)
        instances = self._instances or []
        if not any(instance.repeats for instance in instances):
            # No prompt fits. The response is dropped in apply_filters.
            first = instances[0]
            first.repeats, first.context = 1, None
            first.arguments = (
                (*_NO_CONTEXT, _FILLER)
                if self.loaded.by_likelihood
                else (filler(template), {**first.arguments[1], "max_gen_toks": 1})
            )
        self._name_left_out("do not fit the window of the model", list(self._unfit))
        # A local model on a CPU takes a minute per prompt of 16k, and its bar moves only then.
        keep_clocks_going()

    def _check_template(self, template: Callable[..., Any] | None, system: str | None) -> None:
        """Check that the task can run with or without a chat template.

        For a dialogue, also store the model, which is accessible through the template.
        """
        name, style, split = self.loaded.name, self.loaded.own_template, self.loaded.options.split_messages
        # Only the classes for chat servers keep messages as they are, until they send them.
        if split and (template is None or style or not hasattr(filler(template), "prompt")):
            raise InputError(f"{name}: {NO_PARTS}")
        if style and template is not None and not isinstance(filler(template), str):
            raise InputError(
                f"{name}: prompt style {style} is a text that marks the roles itself, and this model takes chat messages only; "
                "use a model that takes text, or another lct_prompt_style"
            )
        if self.loaded.is_conversation:
            if template is None:
                raise InputError(
                    f"{name}: a conversation needs the roles of a chat template; add --apply_chat_template"
                )
            applied = None if style else template
            self._ask = partial(context_of, system_instruction=system, chat_template=applied, split=split)
            self._model = template.__self__  # type: ignore[attr-defined]

    def _describe_model(self, template: Callable[..., Any] | None) -> None:
        """Find the window and record it with the model's RoPE settings; pass the run's seed to a server."""
        # The model is accessible only through the chat template, which is one of its methods.
        model = getattr(template, "__self__", None)
        self.window = find_window(self.loaded.options, self.model_arguments, model)
        plain = template is None and not (self.loaded.by_likelihood or self.loaded.own_template)
        if plain and has_chat_template(self.model_arguments):
            _warn_of_plain_prompts(str(self.model_arguments.get("pretrained") or "the model"))
            # lm-eval does not record whether a model that gets plain prompts has a template.
            self._config.metadata["plain_prompts"] = True
        if self._run_seed is not None and takes_run_seed(model, self.model_arguments):
            self.config.generation_kwargs["seed"] = self._run_seed
        self._config.metadata["window"] = self.window.describe()
        if model is not None:
            from long_context_tasks.hosts.rope import describe_rope

            if rope := describe_rope(model):
                self._config.metadata["rope"] = rope

    def construct_requests(
        self, doc: dict[str, Any], ctx: Any, **kwargs: Any
    ) -> list[CaseInstance] | CaseInstance:
        """Return one request, or one per candidate; requests that do not fit get 0 repeats and are not sent.

        Candidates are in lexicographic order, so that texts with a common prefix are adjacent and a model
        that caches prefixes processes 64 segments of a TSort case instead of 96; ``hf`` processes every text
        in full.
        """
        case = self._case(doc)
        if self.loaded.by_likelihood:
            texts = self.loaded.candidates(case, self.loaded.cases.documents)  # type: ignore[misc]
            count = self.window.count or (lambda _: None)
            counts = [n for text in texts if (n := count(text)) is not None]
            counted = len(counts) == len(texts)
            fits = not counted or self.window.fits_candidates(counts)
            if counted and self.window.source != IN_CL100K:
                self._num_candidate_tokens[case.id] = counts
            arguments: list[tuple[Any, ...]] = [(*_NO_CONTEXT, text if fits else "") for text in texts]
        else:
            fits = self._fits(case, ctx)
            # The text of a prompt that is not sent is not kept: a thousand of them take gigabytes.
            arguments = [(ctx if fits else "", dict(self.config.generation_kwargs))]
        if not fits:
            self._unfit[case.id] = None
        # lm-eval 0.5 passes only the document's number; lm-eval's tests of tasks pass nothing.
        known = (self.config.task, kwargs.get("doc_id"), self.config.repeats)
        name, doc_id, repeats = kwargs.get("metadata") or known
        instances = [
            CaseInstance(
                self.OUTPUT_TYPE,
                doc,
                argument,
                idx=index,
                metadata=(name, doc_id, repeats if fits else 0),
                window_is_unchecked=not self.window.checked,
                context=partial(self._context, case),
                target=self.doc_to_target(doc),
            )
            for index, argument in enumerate(arguments)
        ]
        return instances if self.loaded.by_likelihood else instances[0]

    def _fits(self, case: Case, ctx: Any) -> bool:
        dialogue = Dialogue(self.loaded, case)
        text, budget = plain_text(ctx), dialogue.answer_budget
        if self._ask is not None:
            text = plain_text(self._ask(dialogue.longest_prompt()))
        return self.window.fits(text, budget)

    def _context(self, case: Case) -> str:
        parts = catalogue.benchmark_of(self.loaded.name).split(case, 0, self.loaded.cases.documents)
        if parts is None:
            raise InputError(
                f"{self.loaded.name}: its benchmark does not split cases into context and query (split)"
            )
        return parts.context

    def apply_filters(self) -> None:
        """Keep the first response to each request, send later turns, and run the judge.

        A case that was not sent gets ``REFUSED``.
        """
        for instance in self._instances or []:
            if instance.doc["case"] in self._unfit:
                instance.resps[:] = [REFUSED]
            instance.resps[:] = [
                self.loaded.received(response) if isinstance(response, str) else response
                for response in instance.resps
            ]
            # A run on several processes pads its requests and may have more than one response.
            instance.filtered_resps[FILTER] = instance.resps[0]
        if self.loaded.by_likelihood:
            return
        for instance in self._instances or []:
            case_id = instance.doc["case"]
            dialogue = self._dialogues[case_id] = Dialogue(self.loaded, self._case(instance.doc))
            if self.loaded.is_conversation and case_id not in self._unfit:
                dialogue.next_prompt()  # already sent by lm-eval
            dialogue.add(self._response(instance.filtered_resps[FILTER]))
        self._ask_later_turns()
        refused = [
            case_id
            for case_id, dialogue in self._dialogues.items()
            if case_id not in self._unfit and any(turn.status == DOES_NOT_FIT for turn in dialogue.responses)
        ]
        self._name_left_out("were refused by the server for their length", refused)
        self._judge_all()
        if self.loaded.is_conversation or self.loaded.judging is not None:
            for instance in self._instances or []:
                case_id = instance.doc["case"]
                instance.filtered_resps[FILTER] = sample_record(
                    self._dialogues[case_id], self._verdicts.get(case_id, ())
                )

    def _response(self, text: str | None) -> Response:
        if text == REFUSED:
            return Response(None, DOES_NOT_FIT)
        # lm-eval's text for a response without content; empty unless the user set another.
        nothing = os.environ.get("LMEVAL_MODEL_NONE_ANSWER_PLACEHOLDER", "")
        return Response("" if text is None or text == nothing else self.loaded.received(text))

    def _ask_later_turns(self) -> None:
        """Send the turns after the first for all dialogues together; lm-eval sends the first turns itself."""
        while going := [
            (instance, dialogue)
            for instance in self._instances or []
            if not (dialogue := self._dialogues[instance.doc["case"]]).is_over
        ]:
            assert self._ask is not None
            requests = [
                CaseInstance(
                    "generate_until",
                    instance.doc,
                    (self._ask(dialogue.next_prompt()), dict(self.config.generation_kwargs)),
                    idx=0,
                    metadata=(instance.task_name, instance.doc_id, 1),
                    window_is_unchecked=instance.window_is_unchecked,
                    context=instance.context,
                )
                for instance, dialogue in going
            ]
            for (_, dialogue), text in zip(going, self._answers(requests), strict=True):
                dialogue.add(self._response(text))

    def _answers(self, requests: Sequence[CaseInstance]) -> list[str]:
        """Query the model, except for responses cached by ``--use_cache``.

        lm-eval reads that cache only during its own pass.
        """
        store = getattr(getattr(self._model, "cache_hook", None), "dbdict", None)
        if store is None:
            return list(self._model.generate_until(requests))
        from lm_eval.api.model import hash_args

        keys = [hash_args("generate_until", request.args) for request in requests]
        known = {key: text for key in keys if (text := store.get(key)) is not None and text != REFUSED}
        new = [request for key, request in zip(keys, requests, strict=True) if key not in known]
        fresh = iter(self._model.generate_until(new) if new else [])
        return [known[key] if key in known else next(fresh) for key in keys]

    def _judge_all(self) -> None:
        if BYPASS in self._aggregations or self.loaded.judging is None:
            return
        why = NO_JUDGE
        if self.judge is not None:
            try:
                responses = {case_id: dialogue.responses for case_id, dialogue in self._dialogues.items()}
                self._verdicts, line = self.judge.verdicts(self.loaded, responses)
            except Exception as error:
                # lm-eval writes its files only at the very end, so a judge error must not cost the answers.
                logger.exception("%s: judging failed", self.loaded.name)
                why = f"judging failed ({error})"
            else:
                logger.info("%s: %s", self.loaded.name, line)
                failed = sum(
                    any(verdict.reason == ENDPOINT_FAILED for verdict in turn)
                    for turns in self._verdicts.values()
                    for turn in turns
                )
                if not failed:
                    return
                why = f"{failed} responses are without a verdict, as the judge did not answer"
        # A task has no access to the results folder, nor to whether responses are stored in it.
        needed = "if this run has --output_path RESULTS --log_samples"
        logger.warning("%s, %s", not_judged_hint(self.loaded.name, "RESULTS", why), needed)

    def _name_left_out(self, why: str, ids: Sequence[str]) -> None:
        if ids:
            n = len({instance.doc_id for instance in self._instances or []})
            logger.warning(left_out(self.loaded, ids, n, why, self.window.describe()))

    def process_instances(self) -> None:
        """Score all cases for lm-eval 0.5, whose own method takes a list for the scores of repeats."""
        from lm_eval.scorers import ScoredDoc

        self.apply_filters()
        scored = {}
        for doc_id, of_case in itertools.groupby(self.instances, key=lambda instance: instance.doc_id):
            instances = list(of_case)
            results = [instance.filtered_resps[FILTER] for instance in instances]
            row = self.process_results(instances[0].doc, results)
            scores = {key: [value] for key, value in row.items()}
            scored[doc_id] = ScoredDoc(doc_id, instances[0].target, scores)
        self.scorers[0].set_results(scored)

    def aggregate(self, bootstrap_iters: int | None = None) -> tuple[dict[str, Any], int]:
        """Compute the means in lm-eval 0.5, without its 100,000 resamples of every metric."""
        return super().aggregate(bootstrap_iters=0)  # type: ignore[no-any-return]

    def process_results(self, doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
        """Return every result key for one case; NaN marks a missing value, and dialogues have lists."""
        if BYPASS in self._aggregations:
            return {BYPASS: BYPASSED}
        case = self._case(doc)
        turns = [self._likelihood_scores(case, results)] if self.loaded.by_likelihood else self._scores(case)
        rows = [self._row(case, scores) for scores in turns]
        rows[0]["n_truncated"] = 0 if self.window.checked else math.nan
        if not self.loaded.is_conversation:
            return rows[0]
        return {key: [row[key] for row in rows] for key in rows[0]}

    def _row(self, case: Case, scores: CaseScores) -> dict[str, Any]:
        row: dict[str, Any] = {}
        for name in self.loaded.metrics:
            score = scores[name]
            row[name] = math.nan if score.value is None else score.value
            if name in self._intervals:
                # An interval needs more than the score, but lm-eval passes an aggregation only the values of
                # its own key. JSON Lines readers parse a dictionary as a table column; a list of mixed types
                # they do not.
                scored = {"value": row[name], "cluster": case.cluster, "std": score.std}
                row |= dict.fromkeys((f"{name}_low", f"{name}_high", f"{name}{STDERR}"), scored)
        headline = scores[self.loaded.metrics[0]]
        # Every key for every case, because on several processes lm-eval fails if one of them has no value for
        # a key.
        row["n"] = 1
        row["n_scored"] = row["coverage"] = int(headline.value is not None)
        row["n_truncated"] = 0
        for reason in REASONS:
            row[f"n_{reason}"] = int(headline.reason == reason)
        return row

    def _scores(self, case: Case) -> list[CaseScores]:
        from long_context_tasks.judges.task_judge import score_turns

        rubric = self.judge.rubric_name if self.judge and self._verdicts else None
        responses = self._dialogues[case.id].responses
        return score_turns(self.loaded, case, responses, self._verdicts.get(case.id, ()), rubric)

    def _likelihood_scores(self, case: Case, results: Sequence[Any]) -> CaseScores:
        assert self.loaded.score_candidates is not None
        if case.id in self._unfit:
            return self.loaded.score_candidates(case, None, None, DOES_NOT_FIT)
        likelihoods = [float(value[0] if isinstance(value, tuple | list) else value) for value in results]
        return self.loaded.score_candidates(case, likelihoods, self._num_candidate_tokens.get(case.id), None)


def context_of(
    sent: Sequence[Message],
    system_instruction: str | None = None,
    chat_template: Callable[..., Any] | None = None,
    split: SplitMessages | None = None,
) -> Any:
    """Return messages rendered with the chat template, or their texts separated by blank lines."""
    if chat_template is not None and sent[0].role == "system" and not _takes_system(chat_template):
        sent = folded(sent)
    if system_instruction:
        first, *rest = sent
        if first.role == "system":
            before = f"{system_instruction}\n\n"
            shared = first.shared and len(before) + first.shared
            sent = [Message("system", before + first.content, shared), *rest]
        else:
            sent = [Message("system", system_instruction), *sent]
    messages = [message.chat(split) for message in sent]
    if chat_template is not None:
        return chat_template(messages, add_generation_prompt=True)
    return "\n\n".join(message["content"] for message in messages)


@lru_cache(maxsize=1)
def _takes_system(chat_template: Callable[..., Any]) -> bool:
    # lm-eval drops messages that a template rejects and warns each time, so the template is tried once.
    return takes_system(lambda messages: plain_text(chat_template(messages, add_generation_prompt=True)))


@cache
def _warn_of_plain_prompts(model: str) -> None:
    logger.warning(
        "%s has a chat template and gets prompts without it, as a base model does: add --apply_chat_template for an instruct model",
        model,
    )


def plain_text(context: Any) -> str:
    """Return a prompt's text; for chat servers, lm-eval stores messages as JSON in a named tuple."""
    if isinstance(context, str):
        return context
    messages = loads(context.prompt) if hasattr(context, "prompt") else context
    contents = [message["content"] for message in messages]
    return "\n".join(
        "".join(part["text"] for part in content) if isinstance(content, list) else str(content)
        for content in contents
    )


def filler(chat_template: Callable[..., Any] | None) -> Any:
    """Return the shortest prompt in the format that the model accepts."""
    if chat_template is None:
        return _FILLER
    return chat_template([{"role": "user", "content": _FILLER}], add_generation_prompt=True)


def typed_command(words: Sequence[str]) -> list[str]:
    """Return the command that started lm-eval, without secrets; empty in other programs.

    >>> typed_command(["/bin/lm_eval", "--model_args", "pretrained=a,api_key=sk-0123456789"])
    ['lm_eval', '--model_args', 'pretrained=a,api_key=(not shown)']
    """
    if not is_command(words):
        return []
    return ["lm_eval", *map(str, without_secrets(list(words[1:])))]


def _aggregation_of(key: str, points: Mapping[str, Scale | None]) -> Callable[[Any], float]:
    """Return the function that aggregates a result key's values over all cases."""
    metric, _, end = key.rpartition("_")
    if key.endswith(STDERR):
        return partial(_over_cases, figure=standard_error)
    if end in ("low", "high"):
        interval = partial(interval_of_mean, scale=points.get(metric, RATES))
        return partial(_over_cases, figure=lambda *of, **stds: float(getattr(interval(*of, **stds), end)))
    return _total if key == "n" or key.startswith("n_") else _mean


def _turns(values: Sequence[Any]) -> list[Any]:
    return [turn for value in values for turn in (value if isinstance(value, list) else [value])]


def _mean(values: Sequence[Any]) -> float:
    numbers = [value for value in _turns(values) if not math.isnan(value)]
    return math.fsum(numbers) / len(numbers) if numbers else math.nan


def _total(values: Sequence[Any]) -> float:
    return math.fsum(_turns(values))


def _over_cases(scored: Sequence[Any], figure: Callable[..., float]) -> float:
    """Compute an aggregate metric over all scored turns; see :meth:`CaseTask._row` for the format."""
    turns = [turn for turn in _turns(scored) if not math.isnan(turn["value"])]
    if not turns:
        return math.nan
    return figure(
        [turn["value"] for turn in turns],
        [turn["cluster"] for turn in turns],
        stds=[turn["std"] for turn in turns],
    )
