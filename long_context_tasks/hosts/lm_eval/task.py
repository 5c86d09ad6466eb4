"""lm-eval's side: one task class for every benchmark.

The YAML of every task names this class. Documents hold ids only: the text of a case is rendered when its request is built. Checked against lm_eval 0.4.13.
"""

import argparse
import json
import logging
import math
import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import datasets
from lm_eval.api.model import hash_args
from lm_eval.api.task import ConfigurableTask

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.benchmarks.loading import load_task
from long_context_tasks.hosts.environment import end_in_one_line, warn_of_misspelt_variables
from long_context_tasks.hosts.hints import NO_JUDGE, left_out, not_judged_hint, unanswered
from long_context_tasks.hosts.lm_eval.paths import is_command
from long_context_tasks.hosts.lm_eval.refusals import CaseInstance, convert_length_refusals, takes_run_seed
from long_context_tasks.hosts.lm_eval.results import REFUSED
from long_context_tasks.hosts.lm_eval.window import RunWindow, find_window, has_chat_template
from long_context_tasks.hosts.rope import describe_rope
from long_context_tasks.hosts.stored import facts_of
from long_context_tasks.judges.task_judge import Verdicts, score_turns, with_judge
from long_context_tasks.schema import (
    Case,
    CaseScores,
    CaseSet,
    Documents,
    InputError,
    Message,
    prompt_hash,
)
from long_context_tasks.schema.case import folded, takes_system
from long_context_tasks.schema.files import loads
from long_context_tasks.schema.response import DOES_NOT_FIT, REASONS, Response, stored_form
from long_context_tasks.schema.secrets import without_secrets
from long_context_tasks.stats import RATES, Scale, interval_of_mean, standard_error
from long_context_tasks.stats.means import result_keys


def kept_in(arguments: Sequence[str]) -> str | None:
    """Return the folder of the sample logs from lm-eval's command line; None when unknown or not kept.

    A file given with ``--config`` is not read.

    >>> kept_in(["run", "--tasks", "x", "--output_path", "out", "--log_samples"])
    'out'
    >>> kept_in(["--tasks", "x", "-o", "out"]) is None
    True
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--output_path", "-o")
    parser.add_argument("--log_samples", "-s", action="store_true")
    parser.add_argument("--predict_only", "-x", action="store_true")
    try:
        given, _ = parser.parse_known_args(list(arguments))
    except (argparse.ArgumentError, SystemExit):
        return None
    if not given.output_path or not (given.log_samples or given.predict_only):
        return None
    path = Path(given.output_path)
    return str(path.parent if path.suffix == ".json" else path)


# Characters kept; a thousand rendered prompts of 128k tokens, which the host keeps, are twenty times as many.
KEPT = 24_000_000
# Of longer texts (a book, a whole context) only the last is kept: cases of one stand together.
LONG = 200_000


def typed_command(words: Sequence[str]) -> list[str]:
    """The command that runs the host, without secrets; empty in another program, which does not say how to run again.

    >>> typed_command(["/bin/lm_eval", "--model_args", "pretrained=a,api_key=sk-0123456789"])
    ['lm_eval', '--model_args', 'pretrained=a,api_key=(not shown)']
    """
    if not is_command(words):
        return []
    return ["lm_eval", *map(str, without_secrets(list(words[1:])))]


class RecentDocuments(Documents):
    """A document table that keeps the texts asked for last, up to :data:`KEPT` characters."""

    def __init__(self, documents: Documents) -> None:
        """Read the same table."""
        super().__init__(documents.path)
        self._recent: OrderedDict[str, str] = OrderedDict()
        self._last_long = ("", "")
        self._size = 0

    def __getitem__(self, key: str) -> str:
        """Text of a document.

        Raises:
            InputError: no such key, or a damaged table.
        """
        if key == self._last_long[0]:
            return self._last_long[1]
        text = self._recent.get(key)
        if text is not None:
            self._recent.move_to_end(key)
            return text
        text = super().__getitem__(key)
        if len(text) > LONG:
            self._last_long = (key, text)
            return text
        self._recent[key] = text
        self._size += len(text)
        while self._size > KEPT:
            self._size -= len(self._recent.popitem(last=False)[1])
        return text

    def __getstate__(self) -> dict[str, object]:
        """Only the path travels to another process."""
        return {**super().__getstate__(), "_recent": OrderedDict(), "_last_long": ("", ""), "_size": 0}


logger = logging.getLogger(__name__)

FILTER = "none"
STDERR = "_stderr"
"""After the name of a metric: its standard error in the host's table, with a plus-minus sign; the host's own is missing for our means."""
BYPASS = "bypass"  # the host's metric of a run with --predict_only, and the value that it writes then
BYPASSED = 999


class CaseTask(ConfigurableTask):  # type: ignore[misc]
    """A task whose cases, prompts and scores come from a benchmark of this package.

    Options are the ``lct_*`` keys of ``--metadata``; the resolved ones, the window and the headline
    metric stand in the ``metadata`` of the task's config in every result file.
    """

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        """Load the cases and make the host's task of them.

        Raises:
            InputError: bad options or data.
        """
        if is_command(sys.argv) and os.environ.get("LMEVAL_LOG_LEVEL", "").upper() != "DEBUG":
            end_in_one_line()
        config = {key: value for key, value in (config or {}).items() if key != "class"}
        self.model_arguments: Mapping[str, Any] = dict(config.get("metadata") or {})
        warn_of_misspelt_variables()
        loaded = load_task(config["task"], self.model_arguments)
        if not len(loaded.cases):
            raise InputError(f"{config['task']}: no cases")
        cases = loaded.cases
        recent = CaseSet(cases.cases, RecentDocuments(cases.documents), cases.manifest)
        self.loaded, self.judge = with_judge(replace(loaded, cases=recent))
        self.run_window = RunWindow()
        self._ask: Callable[[Sequence[Message]], Any] | None = None
        self._model: Any = None
        self._run_seed: int | None = None
        self._verdicts: Verdicts = {}
        self._responses: dict[str, list[Response]] = {}
        self._unfit: dict[str, None] = {}
        self._cut: set[str] = set()
        self._num_candidate_tokens: dict[str, list[int]] = {}
        super().__init__(config={**config, **self._host_config()})
        metrics, points = self.loaded.metrics, self.loaded.points
        self._intervals = tuple(name for name in self.loaded.intervals if name in metrics)
        errors = (f"{name}{STDERR}" for name in self._intervals)
        keys = (*result_keys(metrics, self._intervals), *errors)
        # The host would look metrics up by name; these are our own.
        self._metric_fn_list = dict.fromkeys(keys, None)
        self._metric_fn_kwargs: dict[str, dict[str, Any]] = {key: {} for key in keys}
        self._aggregation_list = {key: _aggregation_of(key, points) for key in keys}
        # No arrow in the host's table beside counts, ends of intervals and what guessing scores.
        self._higher_is_better = dict.fromkeys((metrics[0], *self._intervals), True)
        # Model arguments stay where the host has them; what belongs to the task is added here.
        self._config.metadata = {
            **{key: value for key, value in self.model_arguments.items() if not key.startswith("lct_")},
            **facts_of(self.loaded, self.judge),  # --limit may run fewer cases than there are
            **({"command": command} if (command := typed_command(sys.argv)) else {}),
        }

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

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **_: Any) -> None:
        """Make the host's data set: a row per case with its id, cluster, token counts and labels, and no text."""
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

    def _context(self, case: Case) -> str:
        """The context of a case, as its benchmark takes cases apart."""
        parts = catalogue.benchmark_of(self.loaded.name).split(case, 0, self.loaded.cases.documents)
        if parts is None:
            raise InputError(
                f"{self.loaded.name}: its benchmark does not split cases into context and query (split)"
            )
        return parts.context

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
        **_: Any,
    ) -> Any:
        """What is sent for a case: its messages through the chat template, or their text.

        Raises:
            InputError: examples are asked for (``--num_fewshot``); these tasks have none.
        """
        if num_fewshot:
            raise InputError(f"{self.loaded.name}: has no few-shot examples; leave --num_fewshot out")
        if self.loaded.by_likelihood:
            return ""
        if self.loaded.own_template:
            chat_template = None
        return context_of(self.loaded.messages(self._case(doc)), system_instruction, chat_template)

    def set_fewshot_seed(self, seed: int | None = None) -> None:
        """Keep the seed of ``--seed``, which the host gives to its tasks but not to a server."""
        super().set_fewshot_seed(seed)
        self._run_seed = seed

    def build_all_requests(self, **kwargs: Any) -> None:
        """Build the requests, those that do not fit the window apart: they are named, counted and never sent.

        Raises:
            InputError: a conversation without a chat template, prompts that mark the roles themselves for a server that wants
                messages, or a judge that cannot be reached.
        """
        template = kwargs.get("chat_template")
        if self.loaded.own_template and template is not None and not isinstance(filler(template), str):
            raise InputError(
                f"{self.loaded.name}: prompt style {self.loaded.own_template} is a text that marks the roles itself, and "
                "this model takes chat messages only; use a model that takes text, or another lct_prompt_style"
            )
        if self.loaded.is_conversation:
            if template is None:
                raise InputError(
                    f"{self.loaded.name}: a conversation needs the roles of a chat template; add --apply_chat_template"
                )
            system = kwargs.get("system_instruction")
            # Prompts that mark the roles themselves stay as they are; the template only leads to the model.
            applied = None if self.loaded.own_template else template
            self._ask = partial(context_of, system_instruction=system, chat_template=applied)
            self._model = template.__self__
        plain = template is None and not (self.loaded.by_likelihood or self.loaded.own_template)
        if plain and has_chat_template(self.model_arguments):
            _warn_of_plain_prompts(str(self.model_arguments.get("pretrained") or "the model"))
        if self.judge is not None and BYPASS not in self._metric_fn_list:
            self.judge.check(self.loaded)
        self.run_window = find_window(
            self.loaded.options,
            self.model_arguments,
            getattr(template, "__self__", None),
            # A conversation leaves room for all its answers.
            self.loaded.answer_budget * max(len(case.turns) for case in self.loaded.cases.cases),
        )
        self._config.metadata["window"] = self.run_window.window.describe()
        if rope := describe_rope(getattr(template, "__self__", None)):
            self._config.metadata["rope"] = rope
        if self._run_seed is not None and takes_run_seed(
            getattr(template, "__self__", None), self.model_arguments
        ):
            self.config.generation_kwargs["seed"] = self._run_seed
        convert_length_refusals()
        if kwargs.get("cache_requests"):
            # The host knows a stored prompt by the name of its task; another length or window would get the old ones.
            logger.warning("%s: --cache_requests is left out, it does not know our options", self.loaded.name)
            kwargs = {**kwargs, "cache_requests": False}
        super().build_all_requests(**kwargs)
        instances = self._instances or []
        if not any(instance.repeats for instance in instances):
            instances[0].repeats = 1
            instances[0].arguments = (
                filler(None if self.loaded.by_likelihood else template),
                *instances[0].arguments[1:],
            )
            instances[0].context = None
        self._name_left_out("do not fit the window of the model", list(self._unfit))

    def construct_requests(
        self, doc: dict[str, Any], ctx: str, **kwargs: Any
    ) -> list[CaseInstance] | CaseInstance:
        """One request, or one per candidate; with 0 repeats, which the host does not send, when it does not fit.

        Candidates stand in lexicographic order, so that texts with the same beginning follow one another and a model that
        caches prefixes reads 64 segments of a TSort case instead of 96; ``hf`` reads every text whole.
        """
        name, doc_id, repeats = kwargs["metadata"]
        case = self._case(doc)
        budget = self.loaded.answer_budget
        arguments: list[tuple[Any, ...]]
        if not self.loaded.by_likelihood:
            text = plain_text(ctx)
            if self._ask is not None:
                # The last turn holds all questions and leaves room for an answer to each.
                text = plain_text(self._ask(self.loaded.whole_conversation(case)))
                budget *= len(case.turns)
            fits = self.run_window.window.fits(text, budget)
            if fits and self.run_window.is_cut(text, budget):
                self._cut.add(case.id)
            # The text of a prompt that is not sent is not kept: a thousand of them are gigabytes.
            arguments = [(ctx if fits else "", dict(self.config.generation_kwargs))]
        else:
            assert self.loaded.candidates is not None
            texts = self.loaded.candidates(case, self.loaded.cases.documents)
            fits = self.run_window.fits_whole(texts)
            if self.run_window.count is not None:
                self._num_candidate_tokens[case.id] = [self.run_window.count(text) for text in texts]
            arguments = [(text if fits else "",) for text in texts]
        if not fits:
            self._unfit[case.id] = None
        instances = [
            CaseInstance(
                self.OUTPUT_TYPE,
                doc,
                argument,
                place,
                metadata=(name, doc_id, repeats if fits else 0),
                unchecked=not self.run_window.window.checked,
                context=partial(self._context, case),
            )
            for place, argument in enumerate(arguments)
        ]
        return instances if self.loaded.by_likelihood else instances[0]

    def apply_filters(self) -> None:
        """Hand every first response on as it is (a padded run may hold more than one); None where none was asked."""
        for instance in self._instances or []:
            if instance.doc["case"] in self._unfit:
                instance.resps.clear()
            instance.resps[:] = [
                self.loaded.received(response) if isinstance(response, str) else response
                for response in instance.resps
            ]
            instance.filtered_resps[FILTER] = instance.resps[0] if instance.resps else None
        if self.loaded.by_likelihood:
            return
        for instance in self._instances or []:
            case = self._case(instance.doc)
            self._responses[case.id] = self._first_response(case, instance.filtered_resps[FILTER])
        prompts = self._later_turns() if self._ask is not None else {}
        refused = [
            case
            for case, turns in self._responses.items()
            if case not in self._unfit and any(turn.status == DOES_NOT_FIT for turn in turns)
        ]
        self._name_left_out("were refused by the server for their length", refused)
        self._judge_all()
        if self.loaded.is_conversation or self.loaded.judging is not None:
            for instance in self._instances or []:
                instance.filtered_resps[FILTER] = self._record(instance.doc["case"], prompts)

    def _first_response(self, case: Case, text: str | None) -> list[Response]:
        if case.id in self._unfit or text == REFUSED:
            return [Response(None, DOES_NOT_FIT)] * len(case.turns)
        # What the host puts where a server returned no content; an empty text unless the user set another.
        nothing = os.environ.get("LMEVAL_MODEL_NONE_ANSWER_PLACEHOLDER", "")
        return [Response(None if text is None or text == nothing else self.loaded.received(text))]

    def _later_turns(self) -> dict[str, list[str]]:
        """Ask the later turns, all conversations together, with the model's own answers as history.

        They go through the model that the host has made, straight after the host's own pass, which asks it once for each case.

        Returns:
            Case to the hash of what was sent for each of its turns.
        """
        assert self._ask is not None
        hashes: dict[str, list[str]] = {}
        for instance in self._instances or []:
            case = self._case(instance.doc)
            if self._responses[case.id][0].status is None:
                hashes[case.id] = [prompt_hash(self.loaded.messages(case))]
        while going := [
            (instance, case)
            for instance in self._instances or []
            if len(self._responses[(case := self._case(instance.doc)).id]) < len(case.turns)
        ]:
            requests = []
            for instance, case in going:
                answers = [response.text or "" for response in self._responses[case.id]]
                sent = self.loaded.messages(case, len(answers), answers)
                hashes[case.id].append(prompt_hash(sent))
                requests.append(
                    CaseInstance(
                        "generate_until",
                        instance.doc,
                        (self._ask(sent), dict(self.config.generation_kwargs)),
                        0,
                        metadata=(instance.task_name, instance.doc_id, 1),
                        unchecked=instance.unchecked,
                        context=instance.context,
                    )
                )
            for (_, case), text in zip(going, self._answers(requests), strict=True):
                left = len(case.turns) - len(self._responses[case.id])
                self._responses[case.id] += self._first_response(case, text)[:left]
        return hashes

    def _answers(self, requests: Sequence[CaseInstance]) -> list[str]:
        """Ask the model, but for what the host's cache holds of an earlier run; the host looks into it during its own pass only."""
        store = getattr(getattr(self._model, "cache_hook", None), "dbdict", None)
        keys = [hash_args("generate_until", request.args) for request in requests]
        known: dict[str, str] = {}
        if store is not None:
            known = {key: text for key in keys if (text := store.get(key)) is not None and text != REFUSED}
        new = [request for key, request in zip(keys, requests, strict=True) if key not in known]
        fresh = iter(self._model.generate_until(new) if new else [])
        return [known[key] if key in known else next(fresh) for key in keys]

    def _judge_all(self) -> None:
        if BYPASS in self._metric_fn_list or self.loaded.judging is None:
            return
        why = NO_JUDGE
        if self.judge is not None:
            try:
                self._verdicts, line = self.judge.verdicts(self.loaded, self._responses)
            except Exception as error:
                # The host writes its files at the very end: whatever happens here must not cost the answers.
                logger.exception("%s: judging failed", self.loaded.name)
                why = f"judging failed ({error})"
            else:
                logger.info("%s: %s", self.loaded.name, line)
                failed = unanswered(self._verdicts)
                if not failed:
                    return
                why = f"{failed} responses are without a verdict, as the judge did not answer"
        logger.warning(not_judged_hint(self.loaded.name, kept_in(sys.argv[1:]), why))

    def _record(self, case: str, prompts: Mapping[str, Sequence[str]]) -> str:
        """What the sample log says of a case beside its metrics."""
        text, status = stored_form(self._responses[case], conversation=self.loaded.is_conversation)
        verdicts = self._verdicts.get(case, ())
        record = {
            "response": text,
            "status": status,
            "prompt_sha256": list(prompts.get(case, ())),
            "verdicts": [[verdict.row() for verdict in turn] for turn in verdicts],
        }
        return json.dumps(record, ensure_ascii=False)

    def _name_left_out(self, why: str, ids: Sequence[str]) -> None:
        if ids:
            n = len({instance.doc_id for instance in self._instances or []})
            logger.warning(left_out(self.loaded, ids, n, why, self.run_window.window.describe()))

    def process_results(self, doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:
        """Every result key for one case; not-a-number where a metric has no value."""
        if BYPASS in self._metric_fn_list:
            return {BYPASS: BYPASSED}
        case = self._case(doc)
        turns = [self._likelihood_scores(case, results)] if self.loaded.by_likelihood else self._scores(case)
        rows = [self._row(case, scores) for scores in turns]
        rows[0]["n_truncated"] = int(case.id in self._cut) if self.run_window.window.checked else math.nan
        if not self.loaded.is_conversation:
            return rows[0]
        return {key: [row[key] for row in rows] for key in rows[0]}

    def _row(self, case: Case, scores: CaseScores) -> dict[str, Any]:
        row: dict[str, Any] = {}
        for name in self.loaded.metrics:
            score = scores[name]
            row[name] = math.nan if score.value is None else score.value
            if name in self._intervals:
                value = row[name]
                row[f"{name}_low"] = row[f"{name}_high"] = Scored(value, value, case.cluster, score.std)
                row[f"{name}{STDERR}"] = Scored(score.std, value, case.cluster, score.std)
        headline = scores[self.loaded.metrics[0]]
        row["n"] = 1
        row["n_scored"] = row["coverage"] = int(headline.value is not None)
        row["n_truncated"] = 0
        for reason in REASONS:
            row[f"n_{reason}"] = int(headline.reason == reason)
        return row

    def _scores(self, case: Case) -> list[CaseScores]:
        return score_turns(
            self.loaded,
            case,
            self._responses[case.id],
            self._verdicts.get(case.id, ()),
            self.judge.rubric_name if self.judge and self._verdicts else None,
        )

    def _likelihood_scores(self, case: Case, results: Sequence[Any]) -> CaseScores:
        assert self.loaded.score_candidates is not None
        if case.id in self._unfit:
            return self.loaded.score_candidates(case, None, None, DOES_NOT_FIT)
        likelihoods = [float(value[0] if isinstance(value, tuple | list) else value) for value in results]
        return self.loaded.score_candidates(case, likelihoods, self._num_candidate_tokens.get(case.id), None)


# What is sent when not one prompt fits: most of the host's models fail on an empty list of requests.
_FILLER = "."


def context_of(
    sent: Sequence[Message],
    system_instruction: str | None = None,
    chat_template: Callable[..., Any] | None = None,
) -> Any:
    """Messages through the chat template, or their texts with a blank line between.

    Args:
        sent: the messages of a case.
        system_instruction: of ``--system_instruction``; stands in front of a system message of the case.
        chat_template: of the model, with ``--apply_chat_template``.
    """
    if chat_template is not None and sent[0].role == "system" and not _takes_system(chat_template):
        sent = folded(sent)
    messages = [asdict(message) for message in sent]
    if system_instruction:
        if messages[0]["role"] == "system":
            messages[0]["content"] = f"{system_instruction}\n\n{messages[0]['content']}"
        else:
            messages.insert(0, {"role": "system", "content": system_instruction})
    if chat_template is not None:
        return chat_template(messages, add_generation_prompt=True)
    return "\n\n".join(message["content"] for message in messages)


@cache
def _warn_of_plain_prompts(model: str) -> None:
    logger.warning(
        "%s has a chat template and gets prompts without it, as a base model does: add --apply_chat_template for an instruct model",
        model,
    )


@lru_cache(maxsize=1)
def _takes_system(chat_template: Callable[..., Any]) -> bool:
    """Asked of a model once: the host drops what a template refuses, and warns each time."""
    return takes_system(lambda messages: plain_text(chat_template(messages, add_generation_prompt=True)))


def plain_text(context: Any) -> str:
    """The text of a context; for chat servers the host carries messages as JSON in a named tuple."""
    if isinstance(context, str):
        return context
    messages = loads(context.prompt) if hasattr(context, "prompt") else context
    return "\n".join(str(message["content"]) for message in messages)


def filler(chat_template: Callable[..., Any] | None) -> Any:
    """A prompt of next to nothing, in the form that the model takes."""
    if chat_template is None:
        return _FILLER
    return chat_template([{"role": "user", "content": _FILLER}], add_generation_prompt=True)


class Scored(float):
    """A number of a case as the sample log has it, with what the mean over cases needs beside it.

    A plain number in JSON, so that every reader of tables takes the log; whole on its way between the host's processes.

    Attributes:
        value: score of the case; not-a-number where there is none.
        cluster: of the case.
        std: of the score.
    """

    value: float
    cluster: str
    std: float

    def __new__(cls, number: float, value: float, cluster: str, std: float) -> "Scored":
        """Make the number, with the rest beside it."""
        made = super().__new__(cls, number)
        made.value, made.cluster, made.std = value, cluster, std
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """All parts travel to another process."""
        return Scored, (float(self), self.value, self.cluster, self.std)


def _turns(values: Sequence[Any]) -> list[Any]:
    """Flatten the values of cases to those of turns."""
    return [turn for value in values for turn in (value if isinstance(value, list) else [value])]


def _nan_mean(values: Sequence[float]) -> float:
    numbers = [value for value in _turns(values) if not math.isnan(value)]
    return math.fsum(numbers) / len(numbers) if numbers else math.nan


def _total(values: Sequence[float]) -> float:
    return math.fsum(_turns(values))


def _over_cases(scored: Sequence[Any], figure: Callable[..., float]) -> float:
    """Return a figure of the scores of all turns that have one, from values, clusters and standard deviations."""
    kept = [turn for turn in _turns(scored) if not math.isnan(turn.value)]
    if not kept:
        return math.nan
    return figure(
        [turn.value for turn in kept], [turn.cluster for turn in kept], stds=[turn.std for turn in kept]
    )


def _aggregation_of(key: str, points: Mapping[str, Scale | None]) -> Callable[[Any], float]:
    """Return how the values of a result key over all cases become one number; `points` are metrics that are not rates, with their scales."""
    metric, _, end = key.rpartition("_")
    if end in ("low", "high"):
        interval = partial(interval_of_mean, scale=points.get(metric, RATES))
        return partial(_over_cases, figure=lambda *of, **stds: float(getattr(interval(*of, **stds), end)))
    if key.endswith(STDERR):
        return partial(_over_cases, figure=standard_error)
    return _total if key == "n" or key.startswith("n_") else _nan_mean
