"""Forum posts made by rule, for the tests of the builder of BestAnswer."""

import json
import random
from pathlib import Path

_WORDS = "list index error loop sort hash query table fast slow value thread class static try catch 3.5 0x1F naïve — résumé"
WORDS = _WORDS.split(" ")
ENDS = ["", ".", ".)", ".)", "?", "!", ");", "```", " 42", "…", " é", "\n", " $x$."]
STARTS = ["", "\n", "(", "“", "1. ", "\n\n ", "$$"]


def make_posts(seed: int, questions: int, tags: int = 6, words: int = 30) -> list[dict]:
    """A forum with everything that can happen: no accepted answer, images, repeated texts, newer answers, ties."""
    pick = random.Random(seed)
    posts, next_id = [], 100

    def text():
        if posts and pick.random() < 0.08:
            return pick.choice(posts)["Body"]
        body = (
            pick.choice(STARTS) + " ".join(pick.choices(WORDS, k=pick.randint(1, words))) + pick.choice(ENDS)
        )
        image = '<img src="x.png">' if pick.random() < 0.1 else ""
        return "" if pick.random() < 0.03 else f"<p>{body}{image}</p>" if pick.random() < 0.8 else body

    def day():
        return f"2015-{pick.randint(1, 12):02}-{pick.randint(1, 28):02}T00:00:00.000"

    for _ in range(questions):
        question = {"Id": next_id, "PostTypeId": 1, "CreationDate": day(), "Score": pick.randint(-2, 5)}
        question["Body"] = text()
        question["Tags"] = pick.sample([f"t{i}" for i in range(tags)], k=pick.randint(1, min(5, tags)))
        posts.append(question)
        next_id += 1
        answers = []
        for _ in range(pick.randint(0, 5)):
            answer = {"Id": next_id, "PostTypeId": 2, "ParentId": question["Id"], "CreationDate": day()}
            answers.append({**answer, "Score": pick.randint(-1, 9), "Body": text()})
            next_id += pick.randint(1, 3)
        posts += answers
        question["AcceptedAnswerId"] = 0
        if answers and pick.random() < 0.8:
            question["AcceptedAnswerId"] = pick.choice(answers)["Id"] if pick.random() < 0.95 else 9
    return posts


def write_posts(folder: Path, posts: list[dict]) -> Path:
    path = folder / "Posts.jsonl"
    path.write_text("\n".join(map(json.dumps, posts)), encoding="utf-8")
    return path
