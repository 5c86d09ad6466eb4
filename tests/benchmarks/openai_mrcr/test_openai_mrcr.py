"""OpenAI MRCR against the rule on the data set's card, written here a second time, and the form of seeded conversations."""

import difflib
import re
from pathlib import Path

import pytest
from both_hosts import write_published_files
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.benchmarks.catalogue import card, load_task
from long_context_tasks.benchmarks.openai_mrcr.scoring import score_case
from long_context_tasks.schema import Case, InputError, Options, Turn

TEXT = st.text("ab \n", max_size=300) | st.text(max_size=40)


def scores_of(prefix: str, answer: str, response: str) -> dict[str, float | None]:
    case = Case("1", "openai_mrcr", {}, (Turn({"answer": answer, "prefix": prefix}),), "1")
    return {name: score.value for name, score in score_case(case, response, None).items()}


@given(TEXT, TEXT, st.sampled_from(["", "aB3dE", " aB3dE", "ab3de"]))
def test_the_official_ratio_is_the_rule_of_the_card(answer: str, response: str, start: str) -> None:
    """0 without the random word at the beginning; else the ratio of the rests, in this order of arguments."""
    prefix = "aB3dE"
    expected = 0.0
    if (start + response)[:5] == prefix:
        expected = difflib.SequenceMatcher(None, (start + response)[5:], answer).ratio()
    assert scores_of(prefix, prefix + answer, start + response)["official_ratio"] == expected


@pytest.mark.parametrize(
    ("response", "strict", "official"),
    [
        ("aB3a poem", 1, 1),
        ("\n aB3a poem\n", 1, 0),
        ("<think>aB3nothing</think>\n\naB3a poem", 1, 0),
        ("<think>aB3a poem", 0, 0),
        ("a poem", 0, 0),
        ("", 0, 0),
    ],
)
def test_white_space_and_thinking_are_not_part_of_a_response(
    response: str, strict: float, official: float
) -> None:
    assert scores_of("aB3", "aB3a poem", response) == {"strict_ratio": strict, "official_ratio": official}


@pytest.mark.parametrize("needles", [2, 4, 8])
@pytest.mark.parametrize("length", ["4k", "16k"])
def test_seeded_conversations_ask_for_one_of_equal_requests(needles: int, length: str) -> None:
    task = load_task(f"openai_mrcr_{needles}needle_any_synthetic", {"lct_length": length, "lct_n": 12})
    places = set()
    for case in task.cases.cases:
        messages = task.messages(case)
        assert [message.role for message in messages] == ["user", "assistant"] * (len(messages) // 2) + [
            "user"
        ]
        asked = re.fullmatch(
            r"Prepend (\w{10}) to the (\d)\w\w \(1 indexed\) (.+) about (\w+)\. Do not include any other text in your response\.",
            messages[-1].content,
        )
        assert asked is not None
        prefix, number, kind, topic = asked.groups()
        answers = [
            reply.content
            for request, reply in zip(messages[::2], messages[1::2], strict=False)
            if request.content == f"write a {kind} about {topic}"
        ]
        assert len(answers) == len(set(answers)) == needles
        assert case.turns[0].gold["answer"] == prefix + answers[int(number) - 1]
        assert 0.9 * (task.options.length or 0) <= case.num_tokens["cl100k"] <= (task.options.length or 0)
        places.add(case.turns[0].labels["place"])
    assert len(places) > 1


def test_published_conversations_are_binned_and_sent_as_they_are(tmp_path: Path) -> None:
    write_published_files("openai_mrcr", tmp_path, 2)
    task = load_task("openai_mrcr_4needle_8k", Options(data_dir=tmp_path))
    [first, second] = task.cases.cases
    messages = task.messages(first)
    assert [message.role for message in messages] == [*["user", "assistant"] * 4, "user"]
    assert messages[0].content.endswith(" word\nwrite a poem about tapirs")
    assert messages[2].content == messages[4].content == "write a poem about tapirs"
    assert score_case(first, "aB3Tapir 0, poem 1", None)["official_ratio"].value == 1
    assert first.cluster != second.cluster
    assert len(load_task("openai_mrcr_4needle_1m", Options(data_dir=tmp_path)).cases) == 2
    with pytest.raises(InputError, match="published lengths are 8k, 16k"):
        load_task("openai_mrcr_4needle_any", Options(data_dir=tmp_path, length=9_000))


def test_the_bins_are_those_of_the_card() -> None:
    assert list(card("openai_mrcr").tasks["2needle"].bounds.values()) == [2**power for power in range(13, 21)]
