"""Write conversations of any length from a seed: requests for short texts, one of them made several times."""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache

from long_context_tasks.benchmarks.building import MadeCases
from long_context_tasks.benchmarks.seeded import SeededBuilder
from long_context_tasks.schema import InputError, Turn
from long_context_tasks.schema.files import packaged_text
from long_context_tasks.synthetic.wording import Dice
from long_context_tasks.tokens.build_settings import BuildSettings

_ORDINALS = ("1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th")


class ConversationBuilder(SeededBuilder[BuildSettings]):
    settings = BuildSettings
    lengths = ("4k", "8k", "16k", "32k", "64k", "128k")
    n_cases = 100  # as in each bin of the published files

    def make(self, settings: BuildSettings, length: int, number: int) -> MadeCases:
        """Write a conversation with room for less than one more exchange, in which one request is made 2, 4 or 8 times."""
        dice = self.dice(settings, length, number)
        count = settings.measure.fresh().count
        needles = int(self.task[0])
        wanted, kind, topic = dice.below(needles), dice.pick(_words()["kinds"]), dice.pick(_words()["topics"])
        prefix = f"{dice.below(16**10):010x}"
        question = packaged_text(__package__, "prompts", "question.txt").strip()
        question = question.format(prefix=prefix, ordinal=_ORDINALS[wanted], request=f"{kind} about {topic}")
        exchanges = [_exchange(dice, kind, topic) for _ in range(needles)]
        answer = exchanges[wanted][1]

        def tokens(exchange: tuple[str, str]) -> int:
            return sum(count(f"{text}\n\n") for text in exchange)

        left = length - count(question) - sum(map(tokens, exchanges))
        others: list[tuple[str, str]] = []
        while (left := left - tokens(other := _other(dice, kind, topic))) >= 0:
            others.append(other)
        if not others:
            raise InputError(f"{needles} equal requests and another one need over {length} tokens")
        # Sentences fill the room that is too small for another exchange.
        budget = left + tokens(other) + tokens(others[-1])
        for sentence in _written(
            dice, dice.shuffled(_words()["sentences"]), others[-1][0].split(" about ")[1]
        ):
            longer = (others[-1][0], f"{others[-1][1]} {sentence}")
            others[-1] = longer if tokens(longer) <= budget else others[-1]
        for place in sorted(dice.sample(range(len(others) + needles), needles)):
            others.insert(place, exchanges.pop(0))
        texts = [text for exchange in others for text in exchange] + [question]
        messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]
        labels = {"place": f"{4 * texts.index(answer) // len(texts) * 25} %"}
        turn = Turn({"answer": prefix + answer, "prefix": prefix}, question, labels)
        texts_by_name = {"conversation": json.dumps(messages, ensure_ascii=False)}
        return self.with_text(settings, length, number, turn, texts_by_name, "\n\n".join(texts))


BUILDERS: Mapping[str, SeededBuilder[BuildSettings]] = {
    f"{n}needle": ConversationBuilder(f"openai_mrcr_{n}needle_synthetic", f"{n}needle") for n in "248"
}


@cache
def _words() -> dict[str, list[str]]:
    """Return lists of words and of sentence forms, by name."""
    lists = packaged_text(__package__, "prompts", "words.txt").strip().split("\n\n")
    return {name: lines for name, *lines in (each.split("\n") for each in lists)}


def _other(dice: Dice, kind: str, topic: str) -> tuple[str, str]:
    """Return an exchange with another kind or topic than the repeated one; 30 % share the other of the two."""
    while True:
        near, other = dice.random(), (dice.pick(_words()["kinds"]), dice.pick(_words()["topics"]))
        other = (kind, other[1]) if near < 0.15 else (other[0], topic) if near < 0.3 else other
        if other != (kind, topic):
            return _exchange(dice, *other)


def _exchange(dice: Dice, kind: str, topic: str) -> tuple[str, str]:
    """Return a request, and a text of a few sentences that begins as its kind does."""
    opening = dict(line.split(": ", 1) for line in _words()["openings"])[kind]
    lines = _written(dice, [opening, *dice.sample(_words()["sentences"], dice.whole(3, 7))], topic)
    return f"write a {kind} about {topic}", ("\n" if kind in ("poem", "song") else " ").join(lines)


def _written(dice: Dice, forms: Sequence[str], topic: str) -> list[str]:
    words = {**_words(), "topic": [topic]}
    lines = (re.sub(r"\{(\w+)\}", lambda match: dice.pick(words[match[1]]), form) for form in forms)
    return [line[:1].upper() + line[1:] for line in lines]
