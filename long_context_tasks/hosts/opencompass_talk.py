"""Cases with one turn and conversations through a model of OpenCompass, a batch of cases at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from long_context_tasks.hosts.opencompass_send import Answer, Sender
from long_context_tasks.hosts.turns import Response
from long_context_tasks.hosts.window import DOES_NOT_FIT
from long_context_tasks.schema import LoadedTask, Message


@dataclass(frozen=True)
class Asked:
    """One turn: what was sent, and what came.

    Attributes:
        messages: as sent, or as they would have been.
        answer: of the host.
    """

    messages: Sequence[Message]
    answer: Answer

    @property
    def response(self) -> Response:
        """What both hosts score."""
        return Response(self.answer.text if self.answer.status is None else None, self.answer.status)


def talks(task: LoadedTask, cases: Sequence[str], sender: Sender) -> Iterator[list[Asked]]:
    """The turns of each case, in order. Conversations advance together, turn by turn.

    Args:
        task: of the cases.
        cases: ids, a batch of them.
        sender: sends to the model.
    """
    if task.is_conversation:
        yield from _conversations(task, cases, sender)
        return
    messages = [task.messages(task.by_id[case]) for case in cases]
    for sent, answer in zip(messages, sender.answers(messages), strict=True):
        yield [Asked(sent, answer)]


def _conversations(task: LoadedTask, cases: Sequence[str], sender: Sender) -> list[list[Asked]]:
    done: dict[str, list[Asked]] = {case: [] for case in cases}
    for case in cases:
        turns = len(task.by_id[case].turns)
        # The last turn holds all questions and leaves room for an answer to each.
        whole = task.messages(task.by_id[case], turns - 1, [""] * (turns - 1))
        fits, tokens = sender.fits(whole, turns)
        if not fits:
            done[case] = [Asked(whole, Answer("", DOES_NOT_FIT, tokens))] * turns
    while going := [case for case in cases if len(done[case]) < len(task.by_id[case].turns)]:
        messages = [
            task.messages(task.by_id[case], len(done[case]), [asked.answer.text for asked in done[case]])
            for case in going
        ]
        for case, sent, answer in zip(going, messages, sender.answers(messages), strict=True):
            left = len(task.by_id[case].turns) - len(done[case])
            # A conversation that has grown too long for the server ends there.
            done[case] += [Asked(sent, answer)] * (1 if answer.status is None else left)
    return list(done.values())
