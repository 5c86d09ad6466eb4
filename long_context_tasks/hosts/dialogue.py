"""The turns of one case as every host asks them; hosts differ only in how they send a prompt, and in how many cases they ask at once."""

from dataclasses import dataclass, field

from long_context_tasks.schema import Case, LoadedTask, Message, prompt_hash
from long_context_tasks.schema.response import Response


@dataclass
class Dialogue:
    """Prompts and responses of a case, turn by turn; a case with a single question has one turn."""

    task: LoadedTask
    case: Case
    responses: list[Response] = field(default_factory=list)  # to the turns so far
    prompt_sha256: list[str] = field(default_factory=list)  # hashes of the prompts so far

    @property
    def answer_budget(self) -> int:
        """Tokens of the answers to all turns."""
        return self.task.answer_budget * len(self.case.turns)

    @property
    def is_over(self) -> bool:
        return len(self.responses) == len(self.case.turns)

    def longest_prompt(self) -> list[Message]:
        """Return a prompt that holds all questions: if it leaves room for ``answer_budget``, every turn fits the window."""
        if self.task.is_conversation:
            return self.task.whole_conversation(self.case)
        return self.task.messages(self.case)

    def next_prompt(self) -> list[Message]:
        """Return the messages of the next turn, with the model's own answers as history."""
        answers = [response.text or "" for response in self.responses]
        messages = self.task.messages(self.case, len(answers), answers)
        self.prompt_sha256.append(prompt_hash(messages))
        return messages

    def add(self, response: Response) -> None:
        """Add the response to the next turn. A failure ends the dialogue: it counts for all later turns, which would lack a history."""
        left = len(self.case.turns) - len(self.responses)
        self.responses += [response] * (1 if response.status is None else left)
