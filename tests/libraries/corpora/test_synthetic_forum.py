"""The synthetic forum: shape, determinism, and that exactly one answer meets every point of a question."""

import hashlib
import json
from collections import Counter
from datetime import datetime
from statistics import fmean, pstdev

import pytest
from forum_reader import candidates, choose, device, missed, read

from long_context_tasks.corpora.html_text import html_to_text
from long_context_tasks.corpora.synthetic import Thread, post_rows, write_threads
from long_context_tasks.corpora.synthetic.parts import devices, meets
from long_context_tasks.schema import InputError

DEVICES = [known.name for known in devices()]


@pytest.fixture(scope="module")
def threads() -> list[Thread]:
    """Two thousand threads."""
    return write_threads(1, 2000)


def test_same_bytes_for_one_seed(threads: list[Thread]) -> None:
    rows = json.dumps(list(post_rows(write_threads(0, 100))))
    assert (
        hashlib.sha256(rows.encode()).hexdigest()
        == "7080dfd42591b5cc2f2c2b491a4f38ced6c2583251a203ec403f3fc825ec65fd"
    )
    assert write_threads(1, 50) == threads[:50]
    assert write_threads(2, 50) != threads[:50]


def test_shape(threads: list[Thread]) -> None:
    ids = [post for thread in threads for post in (thread.id, *(answer.id for answer in thread.answers))]
    assert len(ids) == len(set(ids))
    assert [thread.date for thread in threads] == sorted(thread.date for thread in threads)
    for thread in threads:
        assert 2 <= len(thread.answers) <= 5
        assert thread.accepted_id in [answer.id for answer in thread.answers]
        assert 2 <= len(thread.tags) == len(set(thread.tags)) <= 5
        dates = [datetime.fromisoformat(answer.date) for answer in thread.answers]
        assert dates == sorted(dates)
        assert datetime.fromisoformat(thread.date) < dates[0]
        for body in (thread.body, *(answer.body for answer in thread.answers)):
            assert body.startswith("\n")
            assert body.endswith("\n")
            assert not set(body) & set("{}[]<>|")


def test_most_other_answers_are_older_than_the_accepted_one(threads: list[Thread]) -> None:
    older = newer = 0
    for thread in threads:
        right = next(answer for answer in thread.answers if answer.id == thread.accepted_id)
        older += sum(answer.date < right.date for answer in thread.answers)
        newer += sum(answer.date > right.date for answer in thread.answers)
    assert older > 3 * newer > 0


def test_only_the_accepted_answer_meets_every_point(threads: list[Thread]) -> None:
    for thread in threads[::5]:
        for other in threads:
            if other.device == thread.device:
                for answer in other.answers:
                    assert meets(thread.points, answer.spec) == (answer.id == thread.accepted_id)


def test_the_text_says_what_is_meant(threads: list[Thread]) -> None:
    for thread in threads[:300]:
        asked = read(thread.body)
        assert sorted(str(value) for _, value in asked.values()) == sorted(
            str(p.value) for p in thread.points
        )
        assert device(thread.body, DEVICES) == thread.device
        for answer in thread.answers:
            said = read(answer.body)
            assert sorted(str(value) for _, value in said.values()) == sorted(map(str, answer.spec.values()))
            assert (missed(asked, said) == 0) == (answer.id == thread.accepted_id)


@pytest.mark.parametrize("number", [5, 60, 400])
def test_a_simple_reader_finds_the_accepted_answer(threads: list[Thread], number: int) -> None:
    right = total = 0
    for at in range(0, len(threads), 10 if number < 100 else 50):
        answers, place = candidates(threads, at, number)
        right += choose(threads[at].body, answers, DEVICES) == [place]
        total += 1
    print(f"reader, {number} candidates: {right}/{total}")
    assert right > 0.95 * total


def test_right_and_wrong_answers_look_alike(threads: list[Thread]) -> None:
    right, wrong = [], []
    for thread in threads:
        for answer in thread.answers:
            (right if answer.id == thread.accepted_id else wrong).append(answer)
    for group in (right, wrong):
        assert {len(answer.spec) for answer in group} == {7}
    for measure in (
        lambda a: len(a.body),
        lambda a: a.body.count("."),
        lambda a: a.body.index("\n", 1),
        lambda a: a.score,
    ):
        values = [measure(answer) for answer in (*right, *wrong)]
        error = pstdev(values) * (1 / len(right) + 1 / len(wrong)) ** 0.5
        assert abs(fmean(map(measure, right)) - fmean(map(measure, wrong))) < 4 * error


def test_agreeing_with_the_others_does_not_pay(threads: list[Thread]) -> None:
    """The accepted answer must not be the one that has most in common with its rivals."""
    hits = chance = 0.0
    for thread in threads:
        if len(thread.answers) < 4:
            continue

        def shared(answer: object, thread: Thread = thread) -> int:
            return sum(
                other.spec.get(name) == value
                for other in thread.answers
                if other is not answer
                for name, value in answer.spec.items()  # type: ignore[attr-defined]
            )

        most = max(map(shared, thread.answers))
        best = [answer.id for answer in thread.answers if shared(answer) == most]
        hits += (thread.accepted_id in best) / len(best)
        chance += 1 / len(thread.answers)
    print(f"consensus: {hits:.0f} right, {chance:.0f} by chance")
    assert hits < 1.25 * chance


def test_every_device_and_tag_has_neighbours(threads: list[Thread]) -> None:
    tags = Counter(tag for thread in threads for tag in thread.tags)
    assert min(tags.values()) > 50
    assert len(Counter(thread.device for thread in threads)) == len(DEVICES)


def test_rows_become_the_same_text(threads: list[Thread]) -> None:
    rows = list(post_rows(threads[:50]))
    plain = [body for thread in threads[:50] for body in (thread.body, *(a.body for a in thread.answers))]
    assert [html_to_text(row["Body"]) for row in rows] == plain
    assert {row["PostTypeId"] for row in rows} == {"1", "2"}
    assert all(int(row["ParentId"]) == threads[0].id for row in rows[1 : 1 + len(threads[0].answers)])


def test_impossible_number() -> None:
    with pytest.raises(InputError, match="0 threads"):
        write_threads(0, 0)
