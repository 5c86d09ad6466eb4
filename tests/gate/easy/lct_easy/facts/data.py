"""Cases, prompt and scoring of Facts."""

import random
from pathlib import Path

from long_context_tasks.schema import (
    Case,
    CaseScores,
    CaseSet,
    Documents,
    LoadedTask,
    Message,
    Options,
    Score,
    Turn,
)

NAMES = [
    "Anna",
    "Boris",
    "Clara",
    "David",
    "Emma",
    "Felix",
    "Greta",
    "Henry",
    "Irene",
    "Jonas",
    "Karen",
    "Louis",
    "Maria",
    "Nora",
    "Oscar",
    "Paula",
]
THINGS = [
    "banana",
    "piano",
    "tiger",
    "violin",
    "lemon",
    "river",
    "rocket",
    "castle",
    "dragon",
    "garden",
    "pepper",
    "mirror",
    "ladder",
    "basket",
]
QUESTIONS = ("What is the favourite thing of {who}?", "Name the favourite thing of {who}.")
CONTINUED = f"{QUESTIONS[0]} The favourite thing of {{who}} is the"  # base models only continue
FILLING = (
    "The weather was mild that day.",
    "Several people walked along the street.",
    "A bus stopped near the old market.",
    "The shop on the corner opened at nine.",
    "Two children played with a ball.",
    "A dog slept in the shade of a tree.",
)
SENTENCES = 8
TOKENS = 8  # of a sentence


def likes(name: str, options: Options) -> list[Case]:
    """Return two questions on each text, which has eight sentences or about the tokens of ``lct_length``."""
    cases = []
    for number in range(-(-(options.n or 20) // 2)):
        draw = random.Random(f"{options.seed} {number}")
        who, thing, key = draw.choice(NAMES), draw.choice(THINGS), f"{options.seed}_{number}"
        sentences = SENTENCES if options.length is None else options.length // TOKENS
        text = [draw.choice(FILLING) for _ in range(sentences)]
        # In a longer text it stands anywhere.
        place = 0 if sentences <= SENTENCES else draw.randrange(sentences)
        text = " ".join([*text[:place], f"The favourite thing of {who} is the {thing}.", *text[place:]])
        for turn, asked in enumerate(QUESTIONS):
            question = asked.format(who=who)
            inputs = {"text": text, "question": question}
            cases.append(Case(f"{key}_{turn}", name, inputs, (Turn(thing, question),), key))
    return cases


def nano(name: str, options: Options) -> list[Case]:
    """Return questions on texts with sixteen facts: as in ``lct_nano``, about each of them, or about one (``alone``)."""
    asked = 1 if name.endswith("alone") else len(NAMES)
    cases = []
    for number in range((options.n or 320) // asked):
        draw = random.Random(f"{options.seed} {number}")
        things = {who: draw.choice(THINGS) for who in draw.sample(NAMES, len(NAMES))}
        facts = [f"The favourite thing of {who} is the {thing}." for who, thing in things.items()]
        text = facts + draw.choices(FILLING, k=(options.length or 500) // TOKENS - len(facts))
        draw.shuffle(text)
        for who, thing in [*things.items()][:asked]:
            question = CONTINUED.format(who=who)
            inputs = {"text": " ".join(text), "question": question}
            key = f"{options.seed}_{number}"
            cases.append(Case(f"{key}_{who}", name, inputs, (Turn(thing, question),), key))
    return cases


def load_task(name: str, options: Options) -> LoadedTask:
    """Load a task."""
    cases = (likes if name.endswith("likes") else nano)(name, options)
    return LoadedTask(
        name=name,
        version=1,
        options=options,
        cases=CaseSet(cases, Documents(Path()), {}),  # all texts are in the cases
        metrics=("found",),
        intervals=("found",),
        answer_budget=12,
        render=lambda case, _: [Message("user", f"{case.inputs['text']}\n\n{case.inputs['question']}")],
        score=score,
    )


def score(case: Case, response: str | None, status: str | None) -> CaseScores:
    """Score a response."""
    if response is None:
        return {"found": Score(None, status)}
    return {"found": Score(float(case.turns[0].gold in response))}
