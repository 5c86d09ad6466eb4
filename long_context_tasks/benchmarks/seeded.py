"""Base class of builders that make cases one by one from a seed."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from random import Random

from long_context_tasks.benchmarks.building import Builder, MadeCases, Settings, TaskReport, Work, write_task
from long_context_tasks.schema import Case, Turn
from long_context_tasks.synthetic.wording import Dice, stream
from long_context_tasks.tokens import CL100K, get_tokenizer
from long_context_tasks.tokens.build_settings import BuildSettings


class SeededBuilder(Builder[Settings]):
    """Base class of a builder whose cases depend only on the settings, the length and the case's number."""

    sharded = True
    n_cases = 200  # cases of each length if the user gives no number
    random_guess = 0.0  # score of guessing, 0 to 1

    @abstractmethod
    def make(self, settings: Settings, length: int, number: int) -> MadeCases:
        """Make the case ``number``, counted from 0."""

    def key(self, settings: BuildSettings, length: int, number: int) -> str:
        return f"{self.task}_{length}_{settings.seed}_{number}"

    def dice(self, settings: BuildSettings, length: int, number: int) -> Dice:
        """Return a case's source of random numbers."""
        return Dice(Random(stream(settings.seed, self.key(settings, length, number))).random)

    def with_text(
        self,
        settings: BuildSettings,
        length: int,
        number: int,
        turn: Turn,
        texts: Mapping[str, str],
        prompt: str,
    ) -> MadeCases:
        """Return a case with one turn and one text.

        ``texts`` maps the name of the input field that holds the text's key to the text; the tokens of the whole
        ``prompt`` are counted.
        """
        key = self.key(settings, length, number)
        [(name, text)] = texts.items()
        tokenizers = (get_tokenizer(CL100K), settings.other_tokenizer)
        # Fresh ones, as shared ones would remember the counts of all prompts.
        tokens = {each.name: each.fresh().count(prompt) for each in tokenizers if each is not None}
        file = self.files(settings)[length]
        return MadeCases((Case(key, file, {name: key}, (turn,), key, tokens, key),), ((key, text),))

    def write(self, source: Path | None, settings: Settings, folder: Path, work: Work) -> list[TaskReport]:
        # The manifest records the number that was written, not that the default was meant.
        settings = replace(settings, n=settings.n or self.n_cases)
        numbers = range(settings.n or 0)
        reports = []
        with work.writer(folder, asdict(settings)) as writer:
            for length, file in self.files(settings).items():
                cases = work.cases(writer, partial(self.make, settings, length), numbers, file)
                reports.append(write_task(writer, file, cases, settings, lambda case: self.random_guess, {}))
        return reports
