"""All changes to lm-eval 0.4.13 and 0.5.0.dev1, which have no entry points for tasks, tables or weights.

:data:`PATCHES` at the end is the complete list. The start-up hook (``startup/long_context_tasks_hook.py``)
applies it when lm-eval is imported; :class:`~.task.CaseTask` applies it again after lm-eval has created its
model, for modules loaded in the meantime. Every patch fails softly: an unknown version of lm-eval runs
without it, and one warning is logged.
"""

import contextlib
import difflib
import functools
import gc
import inspect
import itertools
import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from long_context_tasks.hosts.names import attributes_of

logger = logging.getLogger(__name__)

# Our models by their --model name; each is imported on use.
MODELS: Mapping[str, str] = {
    "lct_hf": "long_context_tasks.hosts.lm_eval.models.attention:AttentionLM",
    "lct_kvpress": "long_context_tasks.hosts.lm_eval.models.kvpress:KVPressLM",
}
_TASK_CLASS = "long_context_tasks.hosts.lm_eval.task.CaseTask"  # as named in our YAML files
_N_SCORED = "n_scored,none"  # lm-eval's key for the number of scored cases in one of our tasks
_ASKED = "_lct_asked"  # attribute of a model at an endpoint: its server has not refused it
_LOADED = "_lct_loaded"  # TaskManager attribute: our tasks and groups loaded before the model
_Function = Callable[..., Any]


@dataclass(frozen=True)
class Patch:
    module: str  # an lm-eval module, not imported here because most runs need only some of them
    function: str  # in the module: ``TaskManager.__init__``
    change: Callable[[_Function], _Function]  # returns the replacement function
    lost: str  # consequence for users if the patch cannot be applied
    needs: tuple[str, ...] = ()  # other names of the class or module that the change uses


def extend_lm_eval() -> None:
    """Apply all patches and register our models.

    Imports nothing heavy, because it runs in every program that imports lm-eval.
    """
    apply_patches()
    register_models()


def apply_patches() -> None:
    """Apply the patches for all loaded modules, each once."""
    lost: dict[str, str] = {}
    for patch in PATCHES:
        if (module := sys.modules.get(patch.module)) is None:
            continue
        *path, name = patch.function.split(".")
        try:
            owner = functools.reduce(getattr, path, module)
            original = getattr(owner, name)
            if hasattr(original, "lct_original"):
                continue
            changed = patch.change(original)
            _check(patch, module, owner, original, changed)
            changed = functools.wraps(original)(changed)
            changed.lct_original = original  # type: ignore[attr-defined]
            setattr(owner, name, changed)
        except Exception as error:
            lost[patch.lost] = f"{patch.function}: {error}"
    _warn(lost)


def _check(patch: Patch, module: object, owner: object, original: _Function, changed: _Function) -> None:
    """Check that everything is there that a patch uses, because a later error would end runs without our tasks."""
    found = {*dir(module), *dir(owner)}
    if set(patch.needs) - found:  # reading the methods takes a while
        found |= attributes_of(owner)
    if missing := [name for name in patch.needs if name not in found]:
        raise AttributeError(f"no {', '.join(missing)}")
    # lm-eval may give them by name.
    named = [
        each.name
        for each in inspect.signature(changed).parameters.values()
        if each.kind is each.POSITIONAL_OR_KEYWORD
    ]
    if named != list(inspect.signature(original).parameters)[: len(named)]:
        raise TypeError(f"other parameters than {', '.join(named)}")


_warned: set[str] = set()


def _warn(lost: Mapping[str, str]) -> None:
    """Log the losses that have not been logged before, each with its reason, as one warning."""
    if new := [f"{loss} ({reason})" for loss, reason in lost.items() if loss not in _warned]:
        _warned.update(lost)
        logger.warning("long_context_tasks: this version of lm-eval is not known; %s", "; ".join(new))


def register_models() -> None:
    try:
        import lm_eval.models  # noqa: F401 - lm-eval adds its own models only to an empty registry
        from lm_eval.api.registry import model_registry

        for name, target in MODELS.items():
            if name not in model_registry:
                model_registry.register(name, target=target)
    except ModuleNotFoundError:
        return  # our tasks work without the libraries of models
    except Exception as error:
        _warn({f"it does not see the models {', '.join(MODELS)}": str(error)})


def is_command(words: Sequence[str]) -> bool:
    """Return whether a command line runs lm-eval."""
    path = Path(words[0]) if words else Path()
    return path.stem in ("lm_eval", "lm-eval") or path.parts[-2:] == ("lm_eval", "__main__.py")


def _searching_our_tasks(initialise: _Function) -> _Function:
    """Search our task files after lm-eval's own and before ``include_path``, which can override them."""
    signature = inspect.signature(initialise)
    if "include_path" not in signature.parameters:
        raise TypeError("no argument include_path")

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        given = bound.arguments.get("include_path") or []
        theirs = list(given) if isinstance(given, (list, tuple)) else [given]
        # With include_defaults=False the user wants only their own folders.
        if bound.arguments.get("include_defaults", True) is not False:
            bound.arguments["include_path"] = [*_our_folders(theirs), *theirs]
        initialise(*bound.args, **bound.kwargs)

    return __init__


def _our_folders(theirs: Sequence[Any]) -> list[Path]:
    """Return the folder with our task files, unless the user's folders contain it.

    If it cannot be created, lm-eval still runs its own tasks.
    """
    from long_context_tasks.hosts.lm_eval.task_files import task_folder

    try:
        ours = task_folder()
    except Exception as error:
        sys.stderr.write(
            f"long_context_tasks: lm-eval does not see our tasks ({type(error).__name__}: {error})\n"
        )
        return []
    # lm-eval warns about every task that it finds twice.
    above = {ours.resolve(), *ours.resolve().parents}
    return [] if above & {Path(folder).resolve() for folder in theirs} else [ours]


def _loading_before_the_model(match: _Function) -> _Function:
    """Load our tasks when the command line matches their names.

    Missing data are thus reported before a large model is loaded.
    """

    def match_tasks(self: Any, task_list: list[str]) -> list[str]:
        names: list[str] = match(self, task_list)
        # Other programs and `lm_eval validate` may match names only to list them.
        if is_command(sys.argv) and sys.argv[1:2] != ["validate"]:
            # lm-eval 0.5 keeps unknown names, and those followed by @ and the name of a format.
            known = {name.partition("@")[0] for name in names} & set(self.all_tasks)
            if not known:
                _refuse_misspelt_tasks(self, task_list)
            _check_length(self, names)
            loaded = vars(self).setdefault(_LOADED, {})
            loaded |= {name: self._load_spec(name) for name in names if _holds_ours(self._entry, name)}
        return names

    return match_tasks


def _refuse_misspelt_tasks(manager: Any, words: Sequence[str]) -> None:
    """End the run if a word is most similar to one of our names; lm-eval would show a traceback and no hint.

    Raises:
        InputError: the word names no task.
    """
    for word in words:
        near = difflib.get_close_matches(word, getattr(manager, "all_tasks", ()), n=3, cutoff=0.8)
        if near and _holds_ours(manager._entry, near[0]) and not Path(word).is_dir():
            from long_context_tasks.hosts.messages import end_in_one_line
            from long_context_tasks.schema import InputError

            end_in_one_line()
            raise InputError(f"unknown task {word}; did you mean: {', '.join(near)}?")


def _check_length(manager: Any, names: Sequence[str]) -> None:
    if not (length := (getattr(manager, "metadata", None) or {}).get("lct_length")):
        return
    from long_context_tasks.benchmarks.catalogue import members_of
    from long_context_tasks.hosts.lm_eval.task_files import lm_eval_groups
    from long_context_tasks.hosts.messages import check_length, end_in_one_line

    end_in_one_line()
    groups = lm_eval_groups()
    ours = [name for name in names if _holds_ours(manager._entry, name)]
    check_length([task for name in ours for task in members_of(name, groups)], length, "lct_length")


def _taking_loaded_tasks(load: _Function) -> _Function:
    def _load_spec(self: Any, spec: Any, *args: Any, **kwargs: Any) -> Any:
        loaded = vars(self).get(_LOADED, {})
        known = isinstance(spec, str) and spec in loaded
        return loaded.pop(spec) if known else load(self, spec, *args, **kwargs)

    return _load_spec


def _holds_ours(entry: _Function, name: str) -> bool:
    """Return whether a name is one of our tasks or a group that contains one."""
    config = getattr(entry(name), "cfg", None) or {}  # tags have none
    members = config.get("task")
    if isinstance(members, list):
        return any(isinstance(member, str) and _holds_ours(entry, member) for member in members)
    return str(config.get("class")).endswith(_TASK_CLASS)


def _weighing_by_scored_cases(aggregate: _Function) -> _Function:
    """Weight the tasks in one of our pooled groups by scored cases, so that its mean covers all scored cases.

    lm-eval weights by all cases, and a task without scored cases would leave the group without a mean.
    """

    def aggregate_scored(self: Any, task_metrics: Mapping[str, Mapping[str, Any]]) -> Any:
        if not any(_N_SCORED in numbers for numbers in task_metrics.values()):  # no task of ours
            return aggregate(self, task_metrics)
        pooled = any(config.weight_by_size for config in self.aggregate_metric_list or ())
        # lm-eval 0.5 names a task in a group group::task.
        names = {getattr(task, "_qualified_name", task.task_name) for task in self.get_all_tasks()}
        tasks = names & task_metrics.keys()
        scored = {
            name: {**numbers, "sample_len": int(numbers[_N_SCORED])}
            for name, numbers in task_metrics.items()
            if name in tasks and numbers.get(_N_SCORED)
        }
        if not pooled or not scored or not all(_N_SCORED in task_metrics[name] for name in tasks):
            return aggregate(self, task_metrics)
        if all(numbers["sample_len"] == 1 for numbers in scored.values()):
            # lm-eval's standard error would divide by zero, and the run would lose its answers.
            scored = {
                name: {key: "N/A" if "_stderr," in key else value for key, value in numbers.items()}
                for name, numbers in scored.items()
            }
        numbers = aggregate(self, scored)
        return {**numbers, "sample_len": sum(task_metrics[name]["sample_len"] for name in tasks)}

    return aggregate_scored


def _with_our_tables(make: _Function) -> _Function:
    """Shorten the table for our tasks, which have some 25 numbers each, and add one by length."""

    def make_table(result_dict: Any, column: str = "results", *args: Any, **kwargs: Any) -> str:
        shown, by_length = result_dict, ""
        if has_ours(result_dict):
            from long_context_tasks.hosts.lm_eval.table import by_length_table, with_main_metrics

            try:
                shown = with_main_metrics(result_dict, column)
                by_length = by_length_table(result_dict, column)
            except Exception:  # the results are written; a table error must not end the run
                logger.exception("lm-eval's own table follows, with all metrics")
        return f"{make(shown, column, *args, **kwargs)}{by_length}"

    return make_table


def has_ours(results: Mapping[str, Any]) -> bool:
    return any("headline" in (config.get("metadata") or {}) for config in results.get("configs", {}).values())


def _without_secrets_in_results(add: _Function) -> _Function:
    """Hide keys in the arguments and settings that lm-eval writes, prints and uploads with results of our tasks.

    lm-eval adds a description of the machine when everything else is in the results.
    """

    def add_env_info(storage: dict[str, Any]) -> None:
        add(storage)
        if has_ours(storage):
            try:
                _hide_secrets(storage)
            except Exception:  # an error here would lose the run
                logger.exception("keys in the arguments of lm-eval are not hidden")

    return add_env_info


def _hide_secrets(results: dict[str, Any]) -> None:
    from long_context_tasks.schema.secrets import without_secrets

    config = results["config"]
    if is_command(sys.argv):  # lm-eval prints these two at the end
        for name in ("model_args", "gen_kwargs"):
            if isinstance(config.get(name), dict):
                config[name].update(without_secrets(config[name]))
    results["config"] = without_secrets(config)
    for settings in results["configs"].values():
        for name in {"metadata", "generation_kwargs"} & settings.keys():
            settings[name] = without_secrets(settings[name])
    for sample in itertools.chain(*results.get("samples", {}).values()):
        sample["arguments"] = [
            tuple(without_secrets(each) if isinstance(each, Mapping) else each for each in sent)
            for sent in sample["arguments"]
        ]


def is_ours(request: object) -> bool:
    return hasattr(request, "window_is_unchecked")


def is_api_model(model: object) -> bool:
    # No such model can exist unless its module is loaded; importing it would load HTTP clients for local
    # models.
    module = sys.modules.get("lm_eval.models.api_models")
    return isinstance(model, getattr(module, "TemplateAPI", ()))


def _keeping_answers(generate: _Function) -> _Function:
    """Make a run continue after a context-length rejection, and pass on thinking that has no answer.

    lm-eval retries every HTTP error and then ends the run without its answers. For requests from our tasks, a
    context-length rejection becomes the response ``REFUSED`` (see :mod:`~long_context_tasks.hosts.window`),
    which is scored as ``does_not_fit``. All other errors and all other tasks are left to lm-eval.
    """

    def generate_until(self: Any, requests: Sequence[Any], *args: Any, **kwargs: Any) -> list[str]:
        # lm-eval sends the requests of all tasks in one call.
        ours = [request for request in requests if is_ours(request)]
        theirs = [request for request in requests if not is_ours(request)]
        answers: list[str] = []
        if ours:
            answers = _answers_of(self, generate, ours, *args, **kwargs)
        mine, others = iter(answers), iter(generate(self, theirs, *args, **kwargs) if theirs else [])
        return [next(mine if is_ours(request) else others) for request in requests]

    return generate_until


def _answers_of(
    model: Any, generate: _Function, requests: Sequence[Any], *args: Any, **kwargs: Any
) -> list[str]:
    """Return the answers of a model at an endpoint to requests from our tasks.

    Raises:
        InputError: each request would fail, or the server went on failing.
    """
    from lm_eval.models.openai_completions import LocalChatCompletion

    from long_context_tasks.hosts.server import (
        announce_silence,
        check_listening,
        check_served,
        lasting_failure,
        lost_answer,
    )
    from long_context_tasks.schema import InputError

    _refuse_silent_cut(model, requests)
    url, chat = str(model.base_url), isinstance(model, LocalChatCompletion)
    if chat and isinstance(requests[0].args[0], str):
        raise InputError(f"{requests[0].task_name}: this --model sends only chats; add --apply_chat_template")
    check_listening(url)
    # Once for a model, because conversations send their turns in several calls.
    if first := not vars(model).get(_ASKED):
        check_served(url, str(model.model), model.header, chat=chat)
        setattr(model, _ASKED, True)
    answered = Event()
    replaced = {
        "parse_generations": _with_thinking(model.parse_generations),
        "_create_payload": _sendable(model._create_payload),
        "model_call": _converting(model, answered),
        "amodel_call": _converting_async(model, answered),
    }
    if is_command(sys.argv):
        logging.getLogger("asyncio").addFilter(_is_not_left_over)
    # Set on the instance, not its class, so that they are removed after this call.
    vars(model).update(replaced)
    try:
        if first:
            announce_silence(url, str(model.model), getattr(model, "timeout", None), answered)
        answers: list[str] = generate(model, requests, *args, **kwargs)
        return answers
    except Exception as error:
        status, body = _refusal_in(error)
        if status >= 400:
            failure = lasting_failure(url, status, body)
        elif _is_of_connection(error):
            failure = lost_answer(url, error)
        else:
            raise
    finally:
        answered.set()
        for name in replaced:
            delattr(model, name)
    gc.collect()  # ends lm-eval's bar, which would otherwise follow the message
    raise failure


def _is_not_left_over(record: logging.LogRecord) -> bool:
    """Return False for asyncio's tracebacks of requests that fail after the one whose error ends the run."""
    return "exception was never retrieved" not in record.getMessage()


def _refusal_in(error: Exception) -> tuple[int, str]:
    """Return the status and the body of a server's answer that lm-eval raised as an error; 0 if it is none."""
    import aiohttp
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return error.response.status_code, error.response.text
    return (error.status, error.message) if isinstance(error, aiohttp.ClientResponseError) else (0, "")


def _is_of_connection(error: Exception) -> bool:
    import asyncio

    import aiohttp
    import requests

    lost = (TimeoutError, asyncio.TimeoutError, aiohttp.ClientConnectionError)
    return isinstance(error, (*lost, requests.Timeout, requests.ConnectionError))


def _refuse_silent_cut(model: Any, requests: Sequence[Any]) -> None:
    """Reject prompts that lm-eval would silently truncate from the left because it sends them as tokens."""
    from long_context_tasks.schema import InputError

    if not model.tokenized_requests:
        return
    for request in requests:
        prompt, settings = request.args
        room = model.max_length - settings["max_gen_toks"]
        # A token has at least one byte, so most prompts need not be encoded.
        if not request.window_is_unchecked or len(prompt.encode("utf-8", "surrogatepass")) <= room:
            continue
        if len(model.tok_encode(prompt)) > room:
            raise InputError(
                f"lm-eval would cut prompts of {request.task_name} to {room} tokens without a message: add "
                "max_length=WINDOW or tokenized_requests=False to --model_args"
            )


def _with_thinking(parse: _Function) -> _Function:
    """Mark the thinking in a response without content as unfinished, use it as the content, and hide known secrets.

    lm-eval reads only the content. Servers that separate the thinking send such responses if the answer
    budget is used up too early.
    """
    from long_context_tasks.schema.completion import thinking_of
    from long_context_tasks.schema.secrets import without_known
    from long_context_tasks.schema.thinking import OPEN

    def parse_generations(outputs: Any, **kwargs: Any) -> Any:
        checked = [_checked(output) for output in (outputs if isinstance(outputs, list) else [outputs])]
        for choice in (choice for output in checked for choice in output.get("choices", ())):
            message = choice.get("message") or {}
            if not message.get("content") and (thinking := thinking_of(message)):
                message["content"] = OPEN + thinking
        # lm-eval's cache stores what this returns.
        return [text and without_known(text) for text in parse(outputs=checked, **kwargs)]

    return parse_generations


def _sendable(create: _Function) -> _Function:
    """Repair the payloads of ``anthropic-chat``: it nests parts of a message, and sends null as a stop text."""

    def _create_payload(messages: Any, **kwargs: Any) -> dict[str, Any]:
        payload: dict[str, Any] = create(messages, **kwargs)
        if "stop_sequences" in payload:
            payload["stop_sequences"] = [text for text in payload["stop_sequences"] if text]
            for message in payload["messages"]:
                if isinstance(parts := message["content"][0]["text"], list):
                    message["content"] = parts
        return payload

    return _create_payload


def _checked(output: Any) -> dict[str, Any]:
    # lm-eval would score a body without a completion as an empty response. The error makes it retry, and ends
    # the run after the last try.
    from long_context_tasks.schema.completion import NoCompletion, mended
    from long_context_tasks.schema.thinking import OPEN

    if isinstance(output, dict) and output.get("type") == "message":
        # lm-eval takes every block of an Anthropic answer for a response, and fails on thinking.
        blocks = output.get("content") or []
        text = "".join(block["text"] for block in blocks if block.get("type") == "text")
        thinking = "".join(block["thinking"] for block in blocks if block.get("type") == "thinking")
        text = text or (OPEN + thinking if thinking else "")
        return {**output, "content": [{"type": "text", "text": text}]}
    try:
        return mended(output)
    except NoCompletion as error:
        hint = "look at the server's log, and check that base_url is the address of its completions"
        raise NoCompletion(f"{error}; {hint}", error.code) from None


def _converting(model: Any, answered: Event) -> _Function:
    """Return ``model_call`` with context-length rejections converted to responses."""
    import requests

    from long_context_tasks.hosts.window import REFUSED, is_length_refusal

    call = model.model_call

    def model_call(messages: Sequence[Any], *, generate: bool = True, **kwargs: Any) -> Any:
        try:
            outputs = call(messages, generate=generate, **kwargs)
            answered.set()
        except requests.HTTPError as error:
            answered.set()
            response = error.response
            if response is None or not is_length_refusal(response.status_code, response.text):
                raise
            if len(messages) == 1:
                return _completion([REFUSED])
            # One prompt in a batch is too long, so each is sent separately.
            each = [model_call([message], generate=generate, **kwargs) for message in messages]
            return _completion(
                [text for outputs in each for text in model.parse_generations(outputs=outputs)]
            )
        return _checked(outputs)  # checked here, so that lm-eval retries

    return model_call


def _completion(texts: Sequence[str | None]) -> dict[str, Any]:
    """Return one body that works as a chat completion, a text completion and an Anthropic answer."""
    choices = [{"index": i, "text": text, "message": {"content": text}} for i, text in enumerate(texts)]
    return {"choices": choices, "content": [{"type": "text", "text": text} for text in texts]}


def _converting_async(model: Any, answered: Event) -> _Function:
    """Return ``amodel_call`` with context-length rejections converted to responses."""
    import aiohttp

    from long_context_tasks.hosts.window import REFUSED, is_length_refusal

    call = model.amodel_call

    async def amodel_call(
        session: Any, sem: Any, messages: Sequence[Any], *, cache_keys: list[Any] | None = None, **kwargs: Any
    ) -> Any:
        # lm-eval's exception lacks the body, which distinguishes a context-length rejection from other
        # errors.
        watched = _WatchedSession(session, answered)
        try:
            return await call(watched, sem, messages, cache_keys=cache_keys, **kwargs)
        except aiohttp.ClientResponseError as error:
            if not is_length_refusal(watched.status, watched.body):
                error.message = watched.body or error.message
                raise
            if len(messages) == 1:
                return [REFUSED]
            answers = []
            for number, message in enumerate(messages):
                keys = cache_keys[number : number + 1] if cache_keys else None
                answers += await amodel_call(session, sem, [message], cache_keys=keys, **kwargs)
            return answers

    return amodel_call


class _WatchedSession:
    """Forwards requests to an aiohttp session; records the body of an error without exposing keys."""

    def __init__(self, session: Any, answered: Event) -> None:
        self._session = session
        self._answered = answered  # set at the first answer
        self.status = 0
        self.body = ""

    @contextlib.asynccontextmanager
    async def post(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        async with self._session.post(*args, **kwargs) as response:
            self._answered.set()
            if not response.ok:
                self.status, self.body = response.status, await response.text()
            yield _WithoutKey(response)


class _WithoutKey:
    """A response whose errors omit the request headers, because lm-eval logs them, API key included."""

    def __init__(self, response: Any) -> None:
        self._response = response

    def __getattr__(self, name: str) -> Any:
        return getattr(self._response, name)

    def raise_for_status(self) -> None:
        with _error_without_keys():
            self._response.raise_for_status()

    async def json(self, **kwargs: Any) -> Any:
        with _error_without_keys():  # raised for an unexpected content type
            return await self._response.json(**kwargs)


@contextlib.contextmanager
def _error_without_keys() -> Iterator[None]:
    import aiohttp
    from multidict import CIMultiDict, CIMultiDictProxy

    try:
        yield
    except aiohttp.ClientResponseError as error:
        asked = error.request_info
        url, real = asked.url.with_query(None), asked.real_url.with_query(None)
        sent = asked._replace(url=url, headers=CIMultiDictProxy(CIMultiDict()), real_url=real)
        raise type(error)(
            sent, (), status=error.status, message=error.message, headers=error.headers
        ) from None


def _without_refusals(get: _Function) -> _Function:
    """Keep rejections out of lm-eval's cache, because the next run may use a server with a larger window."""

    def forget(store: Any, requests: Sequence[Any]) -> None:
        from lm_eval.api.model import hash_args

        from long_context_tasks.hosts.window import REFUSED

        for key in (hash_args("generate_until", request.args) for request in requests):
            if store.get(key) == REFUSED:
                del store[key]

    def __getattr__(self: Any, attr: str) -> Any:
        method = get(self, attr)
        if attr != "generate_until":
            return method

        def generate_until(requests: Sequence[Any]) -> Any:
            if not (ours := [request for request in requests if is_ours(request)]):
                return method(requests)
            forget(self.dbdict, ours)  # a killed run leaves rejections in the cache
            answers = method(requests)
            forget(self.dbdict, ours)
            return answers

        return generate_until

    return __getattr__


PATCHES = (
    Patch(
        "lm_eval.tasks.manager",
        "TaskManager.__init__",
        _searching_our_tasks,
        "lm-eval does not see our tasks: use --include_path",
    ),
    Patch(
        "lm_eval.tasks.manager",
        "TaskManager.match_tasks",
        _loading_before_the_model,
        "missing data show only after the model has been loaded",
        ("_load_spec", "_entry", "all_tasks"),
    ),
    Patch(
        "lm_eval.tasks.manager",
        "TaskManager._load_spec",
        _taking_loaded_tasks,
        "our tasks are loaded twice",
    ),
    Patch(
        "lm_eval.api.group",
        "Group.aggregate",
        _weighing_by_scored_cases,
        "the mean of a group weighs cases without a score",
        ("get_all_tasks", "aggregate_metric_list"),
    ),
    Patch(
        "lm_eval.utils",
        "make_table",
        _with_our_tables,
        "tables have all metrics, and none has scores by length",
    ),
    Patch(
        "lm_eval.evaluator",
        "add_env_info",
        _without_secrets_in_results,
        "keys in --model_args, --gen_kwargs and --metadata are in the results",
    ),
    Patch(
        "lm_eval.models.api_models",
        "TemplateAPI.generate_until",
        _keeping_answers,
        "a prompt that a server refuses for its length ends the run",
        (
            *("model_call", "amodel_call", "parse_generations", "_create_payload"),
            *("tokenized_requests", "tok_encode", "max_length"),
        ),
    ),
    Patch(
        "lm_eval.api.model",
        "CachingLM.__getattr__",
        _without_refusals,
        "--use_cache keeps refusals for length, also for a server with a larger window",
        ("dbdict", "hash_args"),
    ),
)
