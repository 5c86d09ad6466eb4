"""The builders' rules once more, written as plainly as possible: an oracle for the tests, a yardstick for their speed."""

import random
from itertools import pairwise
from math import ceil

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.benchmarks.ada_leval.build.bestanswer import shuffled
from long_context_tasks.corpora.stack_exchange import html_to_text, is_text_only
from long_context_tasks.schema.case_folder import stable_seed


def _fill(tokens, start, cap, step):
    """Index up to which paragraphs fit into a cap, going forward or backward."""
    total, place = 0, start
    while 0 <= (place if step > 0 else place - 1) < len(tokens):
        total += tokens[place if step > 0 else place - 1]
        if total > cap:
            break
        place += step
    return place


def naive_tsort(books, caps, segments, seed, task, count):
    """Cases of one length: (id, gold, texts before, parts as shown, after, tokens), one book after the other's turn."""
    by_book = []
    for book_id, paragraphs in books:
        tokens = [count(text + "\n\n") for text in paragraphs]
        first = 1
        while first < len(tokens) and sum(tokens[:first]) < caps.before:
            first += 1
        # No part ends where a sentence goes on.
        breaks = [
            0,
            *(
                i
                for i in range(1, len(tokens))
                if not paragraphs[i - 1].rstrip("_*").endswith(tuple(",:;-–—"))
            ),
            len(tokens),
        ]
        cases = []
        for start in dict.fromkeys(
            min(i for i in breaks if i >= place) for place in range(first, len(tokens), caps.stride)
        ):
            edges = [start]
            for _ in range(segments):
                full = _fill(tokens, edges[-1], caps.segment, 1)
                edges.append(max(i for i in breaks if i <= full))
            before, after = _fill(tokens, start, caps.before, -1), _fill(tokens, edges[-1], caps.after, 1)
            if (
                edges[-1] >= len(tokens)
                or len(set(edges)) <= segments
                or before == start
                or after == edges[-1]
            ):
                continue
            case_id = "_".join(map(str, [book_id, *edges]))
            shown = list(range(segments))
            random.Random(stable_seed(seed, task, case_id)).shuffle(shown)
            texts = ["\n\n".join(paragraphs[a:b]) for a, b in pairwise(edges)]
            gold = [shown.index(i) + 1 for i in range(segments)]
            parts = [texts[i] for i in shown]
            hints = "\n\n".join(paragraphs[before:start]), "\n\n".join(paragraphs[edges[-1] : after])
            size = count(prompts.render_tsort(hints[0], parts, hints[1]))
            cases.append((case_id, gold, hints[0], parts, hints[1], size))
        random.Random(stable_seed(seed, task, book_id)).shuffle(cases)
        by_book.append(cases)
    turns = [
        cases[i] for i in range(max(map(len, by_book), default=0)) for cases in by_book if i < len(cases)
    ]
    return [case for case in turns if case[-1] <= caps.bound]


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
