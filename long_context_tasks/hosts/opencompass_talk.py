"""Cases with one turn and conversations through a model of OpenCompass, a batch of cases at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from long_context_tasks.hosts.opencompass_send import Answer, Sender
from long_context_tasks.hosts.window import DOES_NOT_FIT
from long_context_tasks.schema import LoadedTask, Message
from long_context_tasks.schema.response import Response


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
    # By place: the host repeats cases when it is told to run them several times.
    done: list[list[Asked]] = [[] for _ in cases]
    for place, case in enumerate(cases):
        turns = len(task.by_id[case].turns)
        # The last turn holds all questions and leaves room for an answer to each.
        whole = task.whole_conversation(task.by_id[case])
        fits, tokens = sender.fits(whole, turns)
        if not fits:
            done[place] = [Asked(whole, Answer("", DOES_NOT_FIT, tokens))] * turns
    wanted = [len(task.by_id[case].turns) for case in cases]
    while going := [place for place in range(len(cases)) if len(done[place]) < wanted[place]]:
        messages = [
            task.messages(
                task.by_id[cases[place]], len(done[place]), [asked.answer.text for asked in done[place]]
            )
            for place in going
        ]
        for place, sent, answer in zip(going, messages, sender.answers(messages), strict=True):
            left = wanted[place] - len(done[place])
            # A conversation that has grown too long for the server ends there.
            done[place] += [Asked(sent, answer)] * (1 if answer.status is None else left)
    return done
