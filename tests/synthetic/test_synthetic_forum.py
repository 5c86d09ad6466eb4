"""The synthetic forum: shape, determinism, and that exactly one answer meets every point of a question."""

from collections import Counter
from datetime import datetime
from statistics import fmean, pstdev

import pytest
from forum_reader import candidates, choose, device, missed, read, wishes

from long_context_tasks.corpora.stack_exchange import html_to_text
from long_context_tasks.schema import InputError
from long_context_tasks.synthetic import Thread, post_rows, write_threads
from long_context_tasks.synthetic.forum.parts import devices, meets

pytestmark = pytest.mark.slow

DEVICES = [known.name for known in devices()]


@pytest.fixture(scope="module")
def threads() -> list[Thread]:
    """Two thousand threads."""
    return write_threads(1, 2000)


def test_shape(threads: list[Thread]) -> None:
    ids = [post for thread in threads for post in (thread.id, *(answer.id for answer in thread.answers))]
    assert len(ids) == len(set(ids))
    assert [thread.date for thread in threads] == sorted(thread.date for thread in threads)
    for thread in threads:
        assert 2 <= len(thread.answers) <= 4
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
        asked = wishes(thread.body)
        assert asked == {
            point.trait: (point.relation, [*point.values][: None if point.relation != "is" else 1])
            for point in thread.points
        }
        assert device(thread.body, DEVICES) == thread.device
        for answer in thread.answers:
            said = read(answer.body)
            assert device(answer.body, DEVICES) == thread.device
            assert said.spec == answer.spec
            assert (missed(asked, said.spec) == 0) == (answer.id == thread.accepted_id)


def test_all_answers_about_a_device_hold_the_same_values(threads: list[Thread]) -> None:
    """Three parts each, and of every trait another value for each of them: that is why words give nothing away."""
    for known in devices():
        held = set()
        for thread in threads:
            if thread.device == known.name:
                for answer in thread.answers:
                    parts = read(answer.body).parts
                    assert len(parts) == 3
                    held.add(
                        tuple(
                            tuple(sorted(str(part[trait.name]) for part in parts.values()))
                            for trait in known.traits
                        )
                    )
        assert len(held) == 1
        assert all(len(set(values)) == 3 for values in held.pop())


def test_a_point_is_met_by_one_value_of_three(threads: list[Thread]) -> None:
    levels: dict[tuple[str, str], set[object]] = {}
    for thread in threads:
        for answer in thread.answers:
            for trait, value in answer.spec.items():
                levels.setdefault((thread.device, trait), set()).add(value)
    relations: Counter[str] = Counter()
    for thread in threads:
        assert len(thread.points) == len({point.trait for point in thread.points}) == 8
        for point in thread.points:
            relations[point.relation] += 1
            values = levels[thread.device, point.trait]
            assert len(values) == 3
            assert sum(map(point.holds, values)) == 1  # type: ignore[arg-type]
    assert set(relations) == {"max", "min", "between", "is", "neither"}
    assert min(relations.values()) > 1000


def test_no_answer_meets_all_points_when_there_are_very_many() -> None:
    """As many threads about each device as a case of a million tokens needs."""
    threads = write_threads(3, 12 * 2000)
    number = 0
    for known in devices()[:2]:
        mine = [thread for thread in threads if thread.device == known.name]
        answers = [answer for thread in mine for answer in thread.answers]
        number += len(answers)
        # Of each trait and value: which answers have it.
        having: dict[tuple[str, object], int] = {}
        for place, answer in enumerate(answers):
            for item in answer.spec.items():
                having[item] = having.get(item, 0) | 1 << place
        for thread in mine:
            left = (1 << len(answers)) - 1
            for point in thread.points:
                (right,) = (
                    bits
                    for (trait, value), bits in having.items()
                    if trait == point.trait and point.holds(value)  # type: ignore[arg-type]
                )
                left &= right
            assert left.bit_count() == 1
            assert answers[left.bit_length() - 1].id == thread.accepted_id
    assert number > 11_000


@pytest.mark.parametrize("number", [5, 60, 400])
def test_a_simple_reader_finds_the_accepted_answer(threads: list[Thread], number: int) -> None:
    right = total = 0
    for at in range(0, len(threads), {5: 10, 60: 40}.get(number, 200)):
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
        assert {len(answer.spec) for answer in group} == {8}
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
        if len(thread.answers) < 3:
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


def test_too_many_threads() -> None:
    with pytest.raises(InputError, match="at most one of 30,000"):
        write_threads(0, 30_001)
