"""The turns of one case, as all hosts run them.

Hosts differ only in how they send a prompt and how many cases they run at once.
"""

from dataclasses import dataclass, field

from long_context_tasks.schema import Case, LoadedTask, Message, prompt_hash
from long_context_tasks.schema.response import Response


@dataclass
class Dialogue:
    """Prompts and responses of a case, turn by turn; a case with a single question has one turn."""

    task: LoadedTask
    case: Case
    responses: list[Response] = field(default_factory=list)  # for the turns so far
    prompt_sha256: list[str] = field(default_factory=list)  # hashes of the prompts so far

    @property
    def answer_budget(self) -> int:
        """Total answer budget of all turns, in tokens."""
        return self.task.answer_budget * len(self.case.turns)

    @property
    def is_over(self) -> bool:
        return len(self.responses) == len(self.case.turns)

    def longest_prompt(self) -> list[Message]:
        """Return a prompt with all questions; if it and ``answer_budget`` fit the window, every turn fits."""
        if self.task.is_conversation:
            return self.task.whole_conversation(self.case)
        return self.task.messages(self.case)

    def next_prompt(self) -> list[Message]:
        """Return the next turn's messages, with the model's own answers as history."""
        answers = [response.text or "" for response in self.responses]
        messages = self.task.messages(self.case, len(answers), answers)
        self.prompt_sha256.append(prompt_hash(messages))
        return messages

    def add(self, response: Response) -> None:
        """Add the response to the next turn.

        A failure ends the dialogue and counts for all later turns, whose history would be incomplete.
        """
        left = len(self.case.turns) - len(self.responses)
        self.responses += [response] * (1 if response.status is None else left)
