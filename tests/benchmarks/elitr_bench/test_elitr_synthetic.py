"""The synthetic tasks: cases of the length asked for, the same however they are made, noise, and the score without a judge."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from long_context_tasks.benchmarks.catalogue import load_task
from long_context_tasks.benchmarks.elitr_bench import prompts
from long_context_tasks.benchmarks.elitr_bench.answers import INPUT, is_found, states, words_of
from long_context_tasks.judges.task_judge import with_headline, with_judge
from long_context_tasks.schema import InputError, Options, Score
from long_context_tasks.synthetic.numbers import in_words

QA, CONV = "elitr_bench_qa_synthetic", "elitr_bench_conv_synthetic"


pytestmark = pytest.mark.usefixtures("own_cache")


def test_qa_and_conversations_ask_about_the_same_points() -> None:
    single, talk = load_task(QA, Options(length=4000, n=4)), load_task(CONV, Options(length=4000, n=1))
    turns = talk.cases.cases[0].turns
    assert [case.turns[0].gold for case in single.cases.cases] == [turn.gold for turn in turns]
    differs = [turn.labels["qa_conv_differs"] for turn in turns]
    assert differs == [False, True, False, True]
    same = [
        case.turns[0].question == turn.question for case, turn in zip(single.cases.cases, turns, strict=True)
    ]
    assert same == [not one for one in differs]


@pytest.mark.parametrize("length", [999, 500])
def test_a_length_that_has_no_room_is_refused(length: int) -> None:
    with pytest.raises(InputError, match=f"^{QA}: length {length} .lct_length, --length. is too short"):
        load_task(QA, Options(length=length))


def test_noise_reaches_its_rate_and_leaves_questions_and_answers() -> None:
    plain, noisy = (load_task(name, Options(length=1000, n=3)) for name in (QA, f"{QA}_wer40"))
    for one, other in zip(plain.cases.cases, noisy.cases.cases, strict=True):
        assert one.turns == other.turns and one.inputs[INPUT] == other.inputs[INPUT]
        assert abs(other.labels["measured_wer"] - 0.4) < 0.02
        text = noisy.cases.documents[str(other.document)]
        assert text != plain.cases.documents[str(one.document)]
        assert prompts.instruction(text) in noisy.messages(other)[0].content
        assert other.num_tokens != one.num_tokens


def test_without_a_judge_the_rule_is_the_headline_and_with_one_the_judge(tmp_path: Path) -> None:
    alone = load_task(QA, Options(length=1000, n=1))
    assert alone.metrics[0] == alone.intervals[0] == "answer_found"
    file = tmp_path / "judge.yaml"
    file.write_text("model: m\nbase_url: http://127.0.0.1:9/v1\n", encoding="utf-8")
    judged, judge = with_judge(load_task(QA, Options(length=1000, n=1, judge=file)))
    assert judge is not None
    assert judged.metrics[0] == "judge_score" and set(judged.metrics) == set(alone.metrics)
    # It has an interval, even if the benchmark names none.
    assert with_headline(replace(alone, intervals=())).intervals == ("judge_score",)
    assert alone.points == {"judge_score": (0, 10), "official_judge_score": None}
    case = alone.cases.cases[0]
    assert set(alone.score(case, "x", None)) == set(alone.metrics)
    assert set(alone.score(case, None, "does_not_fit").values()) == {Score(None, "does_not_fit")}
    assert alone.score(case, " ", None)["answer_found"] == Score(0.0, "empty")
    assert alone.score(case, f"<think>{case.turns[0].gold}</think>no", None)["answer_found"] == Score(0.0)


def test_gold_answers_are_right_and_the_others_are_wrong() -> None:
    for case in load_task(CONV, Options(length=8000, n=4)).cases.cases:
        for turn, stated in zip(case.turns, case.inputs[INPUT], strict=True):
            assert is_found(str(turn.gold), stated)
            assert len(stated["wrong"]) == 3
            for forms in stated["wrong"]:
                assert not is_found(forms[0], stated)
                assert not is_found(f"{turn.gold}, or {forms[0]}", stated)


GROUPS = yaml.safe_load(
    (Path(__file__).parent / "golden" / "stated_answers.yaml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize(
    ("response", "stated", "found"),
    [
        (response, group, kind == "found")
        for group in GROUPS
        for kind in ("found", "not_found")
        for response in group[kind] or []
    ],
)
def test_what_a_response_states(response: str, stated: dict[str, list[str]], found: bool) -> None:
    assert is_found(response, stated) is found


@given(st.integers(1, 9999), st.integers(1, 9999))
def test_numbers_in_words_are_read(number: int, other: int) -> None:
    said, also = (in_words(one, link=" ", dash=" ") for one in (number, other))
    assert (
        words_of(f"{said} people")
        == words_of(f"{said.replace('ty ', 'ty-')} people")
        == [str(number), "people"]
    )
    assert words_of(f"{said} or {also}") == [str(number), "or", str(other)]


@given(st.text(), st.text())
def test_any_text_is_read(response: str, form: str) -> None:
    is_found(response, {"right": [form], "wrong": []})
    if words_of(form):
        assert states(words_of(form), [form])
