"""Cases, prompt and scoring of Facts."""

import random

from long_context_tasks.schema import Case, CaseScores, CaseSet, LoadedTask, Message, Options, Score, Turn

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
FILLING = (
    "The weather was mild that day.",
    "Several people walked along the street.",
    "A bus stopped near the old market.",
    "The shop on the corner opened at nine.",
    "Two children played with a ball.",
    "A dog slept in the shade of a tree.",
)
SENTENCES = 8


def load_task(name: str, options: Options) -> LoadedTask:
    """Return two questions on each text."""
    cases = []
    for number in range(-(-(options.n or 20) // 2)):
        draw = random.Random(f"{options.seed} {number}")
        who, thing, key = draw.choice(NAMES), draw.choice(THINGS), f"{options.seed}_{number}"
        filling = " ".join(draw.choice(FILLING) for _ in range(SENTENCES))
        text = f"The favourite thing of {who} is the {thing}. {filling}"
        for place, asked in enumerate(QUESTIONS):
            question = asked.format(who=who)
            inputs = {"text": text, "question": question}
            cases.append(Case(f"{key}_{place}", name, inputs, (Turn(thing, question),), key))
    return LoadedTask(
        name=name,
        version=1,
        options=options,
        cases=CaseSet(cases, {}, {}),
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
