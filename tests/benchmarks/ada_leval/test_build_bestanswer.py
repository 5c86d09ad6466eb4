"""Cases of BestAnswer built from posts: which answers, in which places, how many, and bad input."""

import gzip
import hashlib
import itertools
import json
from collections import Counter
from pathlib import Path

import pytest
from case_folders import build
from forum_posts import ENDS, STARTS, make_posts, write_posts
from hypothesis import example, given, settings
from hypothesis import strategies as st
from other_tokenizers import count, other_tokenizer

from long_context_tasks.benchmarks.ada_leval import prompts
from long_context_tasks.benchmarks.ada_leval.build.posts import AnswerCounter
from long_context_tasks.benchmarks.ada_leval.builders import BestAnswerSettings
from long_context_tasks.benchmarks.building import parse_lengths
from long_context_tasks.benchmarks.catalogue import card
from long_context_tasks.schema import CaseSet, InputError, format_length
from long_context_tasks.tokens import get_tokenizer

pytestmark = pytest.mark.slow

FAMILY = "ada_leval_bestanswer"
CARD = card("ada_leval").tasks["bestanswer"]


def built(folder: Path, posts: list[dict], **options) -> dict[int, CaseSet]:
    chosen = BestAnswerSettings(**({"same_as": (), "min_own": 0} | options))
    out = folder / FAMILY
    build(FAMILY, write_posts(folder, posts), chosen, out)
    return {length: CaseSet.read(out, f"{FAMILY}_{format_length(length)}") for length in chosen.lengths}


def test_a_longer_case_shows_what_the_shorter_one_shows_and_more(tmp_path):
    cases = built(
        tmp_path, make_posts(3, 400, tags=8, words=60), lengths=(1000, 2000, 4000, 32000), min_fill=0.5
    )
    assert len({tuple(case.cluster for case in cases[length].cases) for length in (1000, 2000, 4000)}) == 1
    for shorter, longer in itertools.pairwise(cases):
        more = {case.cluster: set(case.inputs["answers"]) for case in cases[longer].cases}
        assert len(more) > 20
        for case in cases[shorter].cases:
            assert case.cluster not in more or set(case.inputs["answers"]) <= more[case.cluster]


def test_the_accepted_answer_stands_anywhere(tmp_path):
    posts = make_posts(8, 1500, tags=3, words=20)
    (made,) = built(tmp_path, posts, lengths=(700,), bounds="round").values()
    shares = Counter(
        (int(case.turns[0].gold[1:]) - 1) * 4 // case.labels["num_answers"] for case in made.cases
    )
    assert len(made) > 300
    # Within four standard deviations of a quarter each.
    assert all(
        abs(shares[i] / len(made) - 0.25) < 4 * (0.1875 / len(made)) ** 0.5 + 0.05 for i in range(4)
    ), shares


def test_seed_n_and_lengths_of_single_builds(tmp_path):
    posts = make_posts(5, 300, tags=4, words=40)
    first = built(tmp_path, posts, lengths=(1000, 2000), seed=1)
    again = built(tmp_path, posts, lengths=(1000, 2000), seed=1)
    other = built(tmp_path, posts, lengths=(1000, 2000), seed=2)
    assert first[2000].cases == again[2000].cases != other[2000].cases
    few = built(tmp_path, posts, lengths=(1000, 2000), seed=1, n=9)
    assert few[1000].cases == first[1000].cases[:9] and few[2000].cases == first[2000].cases[:9]
    alone = built(tmp_path, posts, lengths=(2000,), seed=1, same_as=(1000,))
    assert alone[2000].cases == first[2000].cases


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"lengths": (1000, 4000)},
            [
                "a1b0b566d09991a6b1bc1571f9840f2b65d63186a87149c98acdd76ef42caa53",
                "d0a1d936ce42b11d5d792bccfe33c4d503010575c54f669cf6f5682b8aa33996",
            ],
        ),
        (
            # Every other rule: the union of tags, few questions of each tag, rivals, and one common tag from 32k on.
            {
                "lengths": (1000, 32000),
                "shared_of": "union",
                "shared_tags": 0.5,
                "tags": 3,
                "questions_per_tag": 40,
                "min_own": 1,
                "min_fill": 0.1,
            },
            [
                "b71be9c19bdcd754cb77c8e7f52d50427fcb50270e4f031e81b501deb7065d6c",
                "8aec349b5dbda2511d05f9aaaa08d2bad04c5f1d299314423e086a8508a3314d",
            ],
        ),
    ],
)
def test_golden_bytes(tmp_path, options, expected):
    built(tmp_path, make_posts(1, 200, tags=4), seed=5, **options)
    names = [f"{FAMILY}_{format_length(length)}.jsonl" for length in options["lengths"]]
    digests = [hashlib.sha256((tmp_path / FAMILY / name).read_bytes()).hexdigest() for name in names]
    assert digests == expected


def test_bounds_of_the_paper_and_round_ones(tmp_path):
    posts = make_posts(5, 300, tags=4, words=40)
    paper = built(tmp_path, posts, lengths=(1000,))
    assert 1000 < max(case.num_tokens["cl100k"] for case in paper[1000].cases) <= 1128
    rounded = built(tmp_path, posts, lengths=(1000,), bounds="round")
    assert 900 < max(case.num_tokens["cl100k"] for case in rounded[1000].cases) <= 1000


@pytest.mark.parametrize("policy", ["same_information", "same_tokens"])
def test_another_tokenizer(tmp_path, policy):
    words = get_tokenizer(other_tokenizer("plain words", tmp_path / "words"))
    posts = make_posts(5, 300, tags=4, words=40)
    (made,) = built(
        tmp_path, posts, lengths=(1000,), bounds="round", tokenizer=words.name, length_policy=policy
    ).values()
    for case in made.cases:
        prompt = prompts.prompt(case, made.documents)
        assert case.num_tokens == {"cl100k": count(prompt), words.name: words.count(prompt)}
    measured = "cl100k" if policy == "same_information" else words.name
    sizes = [case.num_tokens[measured] for case in made.cases]
    assert max(sizes) <= 1000 and sum(sizes) / len(sizes) > 900


# Pieces that can melt into what stands beside them: newlines and spaces of all kinds, punctuation, contractions, digits, marks.
_CHARACTERS = "\n\r \t\f\v\x1c\x85\xa0\u2028\u200b\u0301.:!?'\"`(){}<>*-_aAzé語0129\U0001f600"
_PIECES = [
    "\r\n",
    "\n\n",
    "  ",
    "'s",
    "'ll",
    "word",
    "A1:",
    "Now",
    " of the story",
    "print(x)\n",
    "```\n",
    "don't go",
]
_PIECE = st.sampled_from([*_CHARACTERS, *_PIECES, "<|endoftext|>", *ENDS, *STARTS])
_TEXTS = st.lists(_PIECE, max_size=40).map("".join)


def _sum_of_parts(counter: AnswerCounter, question: str, answers: list[str]) -> int:
    shown = counter.answers(answers).sum() + counter.designations(len(answers))[-1]
    return int(counter.questions([question])[0] + shown + counter.after_last(answers[-1]))


@settings(max_examples=300, deadline=None)
@given(_TEXTS, st.lists(_TEXTS, min_size=1, max_size=12))
@example("Q?", ["a", "", " ", "\n", "\n\n", " \n \n", "\t\n", "b"])
@example("", ["a", "\n\n"])
def test_counts_of_texts_add_up_to_that_of_the_prompt(question, answers):
    expected = count(prompts.render_bestanswer(question, answers))
    assert _sum_of_parts(AnswerCounter(get_tokenizer("cl100k")), question, answers) == expected


def test_counts_of_the_published_cases_add_up(shared):
    rows = json.loads(gzip.decompress((shared / "data/ada_leval/stackselect_1k.json.gz").read_bytes()))
    counter = AnswerCounter(get_tokenizer("cl100k"))
    failed = [
        row["question_id"]
        for row in rows
        if _sum_of_parts(counter, row["question"], row["all_answers"])
        != count(prompts.render_bestanswer(row["question"], row["all_answers"]))
    ]
    assert not failed


def test_documents_are_the_posts_that_are_shown(tmp_path):
    import sqlite3

    posts = make_posts(5, 300, tags=4, words=40)
    (made,) = built(tmp_path, posts, lengths=(1000,), n=5).values()
    used = {key for case in made.cases for key in (case.inputs["question"], *case.inputs["answers"])}
    table = sqlite3.connect(tmp_path / FAMILY / "documents.sqlite")
    assert {row[0] for row in table.execute("SELECT key FROM documents")} == used


def test_real_dump(shared, tmp_path):
    source = shared / "data" / "stack_exchange" / "quantumcomputing.stackexchange.com.Posts.xml.gz"
    lengths = parse_lengths("1k,...,128k", CARD.lengths)
    reports = build(FAMILY, source, BestAnswerSettings(lengths, min_own=0), tmp_path / FAMILY)
    for length, report in zip(lengths, reports, strict=True):
        made = CaseSet.read(tmp_path / FAMILY, report.task)
        assert len(made) >= 20 and max(report.tokens) <= CARD.bounds[format_length(length)]
        for case in made.cases[:: max(1, len(made) // 5)]:
            assert count(prompts.prompt(case, made.documents)) == case.num_tokens["cl100k"]
    assert len({len(report.tokens) for report in reports[:7]}) == 1


def test_every_question_has_a_rival_of_its_own(tmp_path):
    posts = make_posts(5, 300, tags=4, words=40)
    loose = built(tmp_path, posts, lengths=(1000,))[1000]
    strict = built(tmp_path, posts, lengths=(1000,), min_own=1)[1000]
    assert 0 < len(strict) < len(loose)
    assert {case.labels["own_distractors"] > 0 for case in loose.cases} == {False, True}
    assert all(case.labels["own_distractors"] >= 1 for case in strict.cases)


def test_single_builds_ask_the_same_questions(tmp_path):
    """The default: what is asked at 1k does not depend on whether 16k is built too."""
    source = write_posts(tmp_path, make_posts(5, 1500, tags=3, words=60))
    asked = []
    for lengths in ((1000,), (4000, 16000), (1000, 16000)):
        build(FAMILY, source, BestAnswerSettings(lengths), tmp_path / FAMILY)
        made = [CaseSet.read(tmp_path / FAMILY, f"{FAMILY}_{format_length(length)}") for length in lengths]
        asked += [[case.cluster for case in cases.cases] for cases in made]
    assert len(asked[0]) > 20 and all(questions == asked[0] for questions in asked)


def test_figures_say_how_far_shared_words_lead(tmp_path):
    posts = make_posts(5, 300, tags=4, words=40)
    by_id = {post["Id"]: post for post in posts}
    settings = BestAnswerSettings((1000,), n=30, same_as=(), min_own=0)
    (unled,) = build(FAMILY, write_posts(tmp_path, posts), settings, tmp_path / FAMILY)
    for question in posts:
        if (accepted := by_id.get(question.get("AcceptedAnswerId"))) is not None:
            words = " ".join(f"clue{question['Id']}x{number}" for number in range(60))
            question["Body"] = accepted["Body"] = f"<p>{words}</p>"
    (led,) = build(FAMILY, write_posts(tmp_path, posts), settings, tmp_path / FAMILY)
    assert unled.figures["word overlap %"] < 70 < 99 < led.figures["word overlap %"]
    assert 0 < led.figures["own rival %"] < 100
    manifest = json.loads((tmp_path / FAMILY / "manifest.json").read_text())
    assert manifest["tasks"][led.task]["figures"] == led.figures


def without(name: str) -> list[dict]:
    return [{key: value for key, value in post.items() if key != name} for post in make_posts(5, 30)]


ROW = '<row Id="{}" PostTypeId="1" Tags="&lt;a&gt;" Body="x" CreationDate="2015-01-01T00:00:00.000" />\n'


UNUSABLE = {
    "no accepted answers": (
        without("AcceptedAnswerId"),
        {},
        "Posts.jsonl.*AcceptedAnswerId.*Use a whole dump",
    ),
    "too small": (
        make_posts(5, 40),
        {"lengths": (1000, 16000)},
        "Posts.jsonl.* 1k, 16k .*tokens in all: .*too few answers.*Leave out",
    ),
    "unknown tag": (make_posts(5, 40), {"tags": ("t1", "t11")}, "'t11'; near it: .*Correct --tags"),
    "no tags": (without("Tags"), {}, "tags"),
    "truncated": ("<posts>\n" + ROW.format(1) + ROW.format(2)[:40], {}, "Posts.xml, line 3"),
    "missing": (None, {}, "no such file"),
}


@pytest.mark.parametrize(("posts", "options", "message"), UNUSABLE.values(), ids=UNUSABLE)
def test_posts_that_cannot_be_used(tmp_path, posts, options, message):
    source = tmp_path / "Posts.xml"
    if isinstance(posts, list):
        source = write_posts(tmp_path, posts)
    elif posts:
        source.write_text(posts, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        settings = BestAnswerSettings(**{"lengths": (1000,), **options})
        build(FAMILY, source, settings, tmp_path / "out" / FAMILY)
    assert not list((tmp_path / "out").glob("*"))
