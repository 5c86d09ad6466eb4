"""Write the cases of Needle from a seed, render and score them."""

import re

from long_context_tasks.benchmarks.building import MadeCases
from long_context_tasks.benchmarks.run_cases import load_published_or_seeded
from long_context_tasks.benchmarks.seeded import SeededBuilder
from long_context_tasks.schema import (
    Case,
    CaseScores,
    Documents,
    InputError,
    LoadedTask,
    Message,
    Options,
    Score,
    Turn,
)
from long_context_tasks.schema.response import ANSWER_CUT, UNPARSED
from long_context_tasks.schema.thinking import without_thinking
from long_context_tasks.synthetic.wording import Dice
from long_context_tasks.tokens.build_settings import BuildSettings

_LISTS = {
    "person": (
        "Anna, Boris, Clara, David, Emma, Felix, Greta, Henry, Irene, Jonas, Karen, Louis, Maria, Nora, Oscar, Paula, Quentin, "
        "Rosa, Simon, Tara, Ursula, Victor, Wendy, Yvonne"
    ),
    "thing": (
        "banana, piano, tiger, violin, lemon, river, rocket, castle, dragon, garden, pepper, mirror, ladder, basket, candle, "
        "engine, pillow, window, hammer, bridge, ticket, pencil, blanket, helmet, carpet, statue, anchor, wallet, orange, umbrella"
    ),
    # Parts of the sentences around the fact. They differ, because small models go on with a repeated sentence.
    "who": (
        "a baker, a farmer, the teacher, our neighbour, the captain, a tourist, the gardener, my cousin, a driver, the nurse"
    ),
    "did": (
        "carried a box to, waited in front of, walked slowly to, looked for a seat in, met a friend near, "
        "cleaned the door of, took a photo of, forgot a coat in, drew a map of, asked the way to, parked a car behind, "
        "read a letter in"
    ),
    "where": (
        "the station, the museum, the harbour, the school, the library, the market, the hotel, the theatre, the park, "
        "the hospital, the church, the old mill"
    ),
    "when": (
        "on Monday, on Tuesday, in the morning, before lunch, after the rain, last winter, late at night, in spring, "
        "at noon"
    ),
}
WORDS = {name: words.split(", ") for name, words in _LISTS.items()}
_THING = re.compile(rf"\b(?:{'|'.join(WORDS['thing'])})\b", re.IGNORECASE)


class NeedleBuilder(SeededBuilder[BuildSettings]):
    settings = BuildSettings
    lengths = ("500", "1k", "2k", "4k", "8k", "16k", "32k", "64k", "128k")

    def make(self, settings: BuildSettings, length: int, number: int) -> MadeCases:
        """Put a fact at a random place between sentences that fill the length, with room for less than one more."""
        dice = self.dice(settings, length, number)
        count = settings.measure.fresh().count
        person, thing = dice.pick(WORDS["person"]), dice.pick(WORDS["thing"])
        sentences = [f"The favourite thing of {person} is the {thing}."]
        question = f"Question: What is the favourite thing of {person}?\nAnswer: The favourite thing of {person} is the"
        left = length - count(f"{sentences[0]}\n\n{question}")
        while (left := left - count(f" {(sentence := _filling(dice))}")) >= 0:
            sentences.append(sentence)
        if len(sentences) == 1:
            raise InputError(f"the question alone needs more than {length} tokens")
        fact, place = sentences.pop(0), dice.below(len(sentences))
        sentences.insert(place, fact)
        text = " ".join(sentences)
        turn = Turn(thing, question, {"place": f"{4 * place // len(sentences) * 25} %"})
        return self.with_text(settings, length, number, turn, {"text": text}, f"{text}\n\n{question}")


BUILDER = NeedleBuilder("needle_plain", "plain")


def _filling(dice: Dice) -> str:
    sentence = " ".join(dice.pick(WORDS[part]) for part in ("who", "did", "where", "when"))
    return f"{sentence[:1].upper()}{sentence[1:]}."


def load_task(name: str, options: Options) -> LoadedTask:
    return load_published_or_seeded(name, options, _render, _score, ("accuracy",))


def _render(case: Case, documents: Documents) -> list[Message]:
    text = documents[case.inputs["text"]]
    return [Message("user", f"{text}\n\n{case.turns[0].question}", len(text) + 2)]


def _score(case: Case, response: str | None, status: str | None) -> CaseScores:
    if status is not None:
        return {"accuracy": Score(None, status)}
    visible = without_thinking(response)
    if visible.unclosed:
        return {"accuracy": Score(0.0, ANSWER_CUT)}
    if (named := _THING.search(visible.text)) is None:
        return {"accuracy": Score(0.0, UNPARSED)}
    return {"accuracy": Score(float(named[0].lower() == case.turns[0].gold))}
