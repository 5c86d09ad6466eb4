"""The later turns of conversations in lm-eval, which itself asks a model once for each case.

They go through the model that the host has made, straight after the host's own pass; what an earlier run with ``--use_cache``
was answered is taken from its cache, which the host only looks into during that pass.
"""

import json
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from lm_eval.api.model import hash_args

from long_context_tasks.hosts.lm_eval.refusals import CaseInstance
from long_context_tasks.hosts.lm_eval.results import REFUSED
from long_context_tasks.schema import Case, LoadedTask, Message, prompt_hash
from long_context_tasks.schema.case import folded, takes_system
from long_context_tasks.schema.response import Response


class Conversation:
    """Asks a model of the host.

    Attributes:
        context: messages to what the model takes.
    """

    def __init__(self, model: Any, context: Callable[[Sequence[Message]], Any]) -> None:
        """Take over the model; its chat template leads to it."""
        self.model = model
        self.context = context

    def play_on(
        self,
        task: LoadedTask,
        first: Sequence[CaseInstance],
        responses: MutableMapping[str, list[Response]],
        read: Callable[[Case, str], list[Response]],
        settings: Mapping[str, Any],
    ) -> dict[str, list[str]]:
        """Ask the later turns, all conversations together, with the model's own answers as history.

        Args:
            task: of the conversations.
            first: the host's requests of the first turns.
            responses: case to the responses so far; those of the later turns are added. A case whose first turn was not sent
                has a response for every turn already.
            read: makes responses of an answer: more than one when the conversation has ended with it.
            settings: the host's generation settings.

        Returns:
            Case to the hash of what was sent for each of its turns.
        """
        by_case = {instance.doc["case"]: task.by_id[instance.doc["case"]] for instance in first}
        hashes = {
            name: [prompt_hash(task.messages(case))]
            for name, case in by_case.items()
            if responses[name][0].status is None
        }
        while going := [
            instance
            for instance in first
            if len(responses[instance.doc["case"]]) < len(by_case[instance.doc["case"]].turns)
        ]:
            requests = []
            for instance in going:
                case = task.by_id[instance.doc["case"]]
                answers = [response.text or "" for response in responses[case.id]]
                sent = task.messages(case, len(answers), answers)
                hashes[case.id].append(prompt_hash(sent))
                requests.append(
                    CaseInstance(
                        "generate_until",
                        instance.doc,
                        (self.context(sent), dict(settings)),
                        0,
                        metadata=(instance.task_name, instance.doc_id, 1),
                        unchecked=instance.unchecked,
                    )
                )
            for instance, text in zip(going, self._answers(requests), strict=True):
                case = task.by_id[instance.doc["case"]]
                left = len(case.turns) - len(responses[case.id])
                responses[case.id] += read(case, text)[:left]
        return hashes

    def _answers(self, requests: Sequence[CaseInstance]) -> list[str]:
        store = getattr(getattr(self.model, "cache_hook", None), "dbdict", None)
        keys = [hash_args("generate_until", request.args) for request in requests]
        known: dict[str, str] = {}
        if store is not None:
            known = {key: text for key in keys if (text := store.get(key)) is not None and text != REFUSED}
        new = [request for key, request in zip(keys, requests, strict=True) if key not in known]
        fresh = iter(self.model.generate_until(new) if new else [])
        return [known[key] if key in known else next(fresh) for key in keys]


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


@lru_cache(maxsize=1)
def _takes_system(chat_template: Callable[..., Any]) -> bool:
    """Asked of a model once: the host drops what a template refuses, and warns each time."""
    return takes_system(lambda messages: plain_text(chat_template(messages, add_generation_prompt=True)))


def plain_text(context: Any) -> str:
    """The text of a context; for chat servers the host carries messages as JSON in a named tuple."""
    if isinstance(context, str):
        return context
    messages = json.loads(context.prompt) if hasattr(context, "prompt") else context
    return "\n".join(str(message["content"]) for message in messages)


def filler(chat_template: Callable[..., Any] | None) -> Any:
    """A prompt of next to nothing, in the form that the model takes."""
    if chat_template is None:
        return _FILLER
    return chat_template([{"role": "user", "content": _FILLER}], add_generation_prompt=True)
