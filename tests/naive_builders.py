"""The rules of BestAnswer, written as plainly as possible, as an oracle: every prompt is counted whole."""

from math import ceil

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.benchmarks.ada_leval.build.bestanswer import shuffled
from long_context_tasks.corpora.stack_exchange import html_to_text, is_text_only


def naive_bestanswer(
    posts,
    bounds,
    relaxed_from,
    seed,
    count,
    *,
    tags=23,
    per_tag=2500,
    share=0.4,
    min_fill=0.8,
    union=False,
    min_own=0,
):
    """Cases of every length: {length: [(question id, answer ids as shown, gold, tokens)]}, from posts as dicts."""
    questions = {post["Id"]: post for post in posts if post["PostTypeId"] == 1}
    frequency = {}
    for post in questions.values():
        for tag in post["Tags"]:
            frequency[tag] = frequency.get(tag, 0) + 1
    top = sorted(frequency, key=lambda tag: (-frequency[tag], tag))[:tags]
    pool = set()
    for tag in top:
        having = [post for post in questions.values() if tag in post["Tags"]]
        pool.update(
            post["Id"] for post in sorted(having, key=lambda post: (-post["Score"], post["Id"]))[:per_tag]
        )
    answers = sorted(
        (post for post in posts if post["PostTypeId"] == 2 and post["ParentId"] in pool),
        key=lambda post: (post["ParentId"], post["Id"]),
    )
    text = {post["Id"]: html_to_text(post["Body"]) for post in posts}
    usable = [post for post in answers if is_text_only(post["Body"]) and text[post["Id"]].strip()]
    firsts, seen = set(), set()
    for post in answers:
        words = text[post["Id"]].strip()
        if words not in seen:
            seen.add(words)
            firsts.add(post["Id"])

    def size(question, shown):
        return count(prompts.render_bestanswer(text[question], [text[answer] for answer in shown]))

    targets = sorted(
        question
        for question in pool
        if text[question].strip()
        and questions[question]["AcceptedAnswerId"] in {post["Id"] for post in usable}
    )
    import numpy as np

    targets = [targets[i] for i in shuffled(np.array(targets, dtype=np.int64), seed)]
    same = [length for length in bounds if length < relaxed_from]
    made = {length: [] for length in bounds}
    by_id = {post["Id"]: post for post in usable}
    for question in targets:
        gold = questions[question]["AcceptedAnswerId"]
        fixed, fixed_texts = [gold], [text[gold].strip()]
        for post in usable:
            words = text[post["Id"]].strip()
            older = post["CreationDate"] < by_id[gold]["CreationDate"]
            if post["ParentId"] == question and older and words not in fixed_texts:
                fixed.append(post["Id"])
                fixed_texts.append(words)
        if len(fixed) <= min_own:
            continue
        near, far = [], []
        for post in usable:
            other = questions[post["ParentId"]]
            mine, theirs = set(questions[question]["Tags"]), set(other["Tags"])
            shared = len(mine & theirs)
            words = text[post["Id"]].strip()
            if other["Id"] == question or not shared or text[other["Id"]].strip() == text[question].strip():
                continue
            if post["Id"] not in firsts or words in fixed_texts:
                continue
            whole = len(mine | theirs) if union else min(len(mine), len(theirs))
            (near if shared >= ceil(round(share * whole, 9)) else far).append(post["Id"])
        near, far = (
            [ids[i] for i in shuffled(np.array(ids, dtype=np.int64), seed, question)] for ids in (near, far)
        )
        if len(fixed) == 1:
            for i, answer in enumerate(near):
                if size(question, [answer, gold]) <= min(bounds.values()):
                    near.insert(0, near.pop(i))
                    break
        sequences = {length: fixed + near + (far if length >= relaxed_from else []) for length in bounds}

        def shown(length, sequences=sequences, question=question, gold=gold):
            """How many answers fit, with the accepted one standing last."""
            answers = sequences[length]
            number = 0
            while number < len(answers):
                if size(question, [*answers[1 : number + 1], gold]) > bounds[length]:
                    break
                number += 1
            return number

        fits = {length: shown(length) for length in bounds}
        sizes = {length: size(question, [*sequences[length][1 : fits[length]], gold]) for length in bounds}

        def good(length, fill, fixed=fixed, fits=fits, sizes=sizes):
            return fits[length] >= max(2, len(fixed)) and (
                not fill or sizes[length] >= min_fill * bounds[length]
            )

        if same and not (good(same[0], False) and good(same[-1], True)):
            continue
        for length in bounds:
            if length in same or good(length, True):
                number = fits[length]
                while True:
                    ids = sequences[length][:number]
                    order = [ids[i] for i in shuffled(np.array(ids, dtype=np.int64), seed, question, length)]
                    total = size(question, order)
                    if total <= bounds[length] or number <= max(2, len(fixed)):
                        break
                    number -= 1
                # Tokens hang on the order too: the one that is shown may be over the bound by a token.
                if total <= bounds[length]:
                    made[length].append((question, order, f"A{order.index(gold) + 1}", total))
    return made
