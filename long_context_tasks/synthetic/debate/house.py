"""An invented parliament at work: members, amendments, and who speaks next and to what end.

Three amendments of a Bill are before the House at any time. Each is moved, argued over, corrected, answered and decided;
then another takes its place. Numbers of amendments and clauses are drawn at random, as the House takes them in the order
of a list of selections and not in that of the Bill, and the House is at work before the first speech of the text: no
number and no kind of speech says how far the debate has come.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from long_context_tasks.synthetic.people import two_words
from long_context_tasks.synthetic.wording import Dice, records, words

FILE = "debate_names.txt"
SEATS = 84
OPEN_ISSUES = 3
RUN_IN = 120  # speeches before the first of the text
MINISTERS = 6
CHAIRS = 2
UNITS = ("days", "months", "crowns", "miles", "hundredweight", "shillings", "acres", "hours")
TITLED = 0.5  # share of Members who have a title
WITH_FIRST_NAME = ("Sir", "Dame", "Sister")


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody with a name; outside the House without seat and party.

    Attributes:
        office: of a Minister, else empty; "Chair" for a deputy of the Speaker.
    """

    title: str
    name: str
    surname: str
    female: bool
    seat: str = ""
    party: str = ""
    office: str = ""

    @property
    def called(self) -> str:
        """Title and name as in short address, both names without a title; "Sir" and "Dame" go with the first name."""
        if not self.title:
            return self.full
        return f"{self.title} {self.name if self.title in WITH_FIRST_NAME else self.surname}"

    @property
    def full(self) -> str:
        """Both names; "Sir", "Dame" and "Sister" before them, other titles only in short address."""
        title = f"{self.title} " if self.title in WITH_FIRST_NAME else ""
        return f"{title}{self.name} {self.surname}"

    @property
    def listed(self) -> str:
        """As the record has a speaker: title and surname, or both names of those without a title; "Sir Hugh Dale"."""
        return self.full if self.title in WITH_FIRST_NAME else self.called

    @property
    def names(self) -> tuple[str, str]:
        """What a recall task asks for."""
        return self.name, self.surname


@dataclass(frozen=True, slots=True)
class Topic:
    """What an amendment is about; see ``data/debate_topics.txt`` for the fields."""

    subject: str
    single: str
    group: str
    one: str
    unit: str
    aim: str
    harm: str
    office: str


@dataclass(slots=True)
class Issue:
    """An amendment before the House.

    Attributes:
        figure: last number given of ``topic.unit`` and by whom, None while there is none.
        last: who spoke last at length.
        left: speeches until it is decided.
    """

    topic: Topic
    number: int
    clause: int
    page: int
    line: int
    old: str
    new: str
    mover: Member
    minister: Member
    left: int
    figure: tuple[int, Member] | None = None
    last: Member | None = None


@dataclass(frozen=True, slots=True)
class Act:
    """A speech that is to be made: its purpose, its amendment, who makes it and whom it answers.

    Attributes:
        figure, wrong: the number that is given, and the one that it corrects.
        ayes, noes: of a division.
    """

    kind: str
    issue: Issue
    speaker: Member | None
    other: Member
    figure: int = 0
    wrong: int = 0
    ayes: int = 0
    noes: int = 0


class Names(Dice):
    """Makes names of people and of everything else; what is drawn is new nearly every time."""

    def __init__(self, random: Callable[[], float]) -> None:
        """Draw with ``random``."""
        super().__init__(random)
        self.used: deque[int] = deque(maxlen=24)  # places that were named of late

    def draw(self, name: str) -> str:
        """Draw a line of a list."""
        return self.pick(words(FILE, name))

    def place(self) -> str:
        """Return the name of a town that was not named of late; many have two words, as people do."""
        return two_words(self.plain_place(), self)

    def plain_place(self) -> str:
        """Return a name of one word."""
        firsts, lasts = words("names.txt", "place_first"), words("names.txt", "place_last")
        while True:
            code = self.below(len(firsts) * len(lasts))
            first, last = firsts[code // len(lasts)], lasts[code % len(lasts)]
            if code not in self.used and first[-1] != last[0] and first.lower() not in last:
                self.used.append(code)
                return first + last

    def surname(self) -> str:
        """Return the surname of a person; none is the name of a place."""
        while True:
            first, last = self.draw("surname_first"), self.draw("surname_last")
            if first[-1] != last[0] and last not in first.lower():
                return first + last

    def person(self) -> Member:
        """Make somebody outside the House."""
        female = self.random() < 0.5
        title = self.draw("titles_outside_women" if female else "titles_outside_men")
        return Member(title, self.draw("women" if female else "men"), self.surname(), female)

    def seat(self) -> str:
        """Return the name of a constituency."""
        mark, place = self.random(), self.plain_place()
        if mark < 0.3:
            return place
        return f"{place} and {self.plain_place()}" if mark < 0.75 else f"{place} {self.draw('seat_side')}"

    def amount(self) -> str:
        """Return a sum of money."""
        mark = self.random()
        if mark < 0.6:
            return f"{self.whole(11, 989)},000 crowns"
        return f"{self.whole(11, 98)}.{self.whole(1, 9)} million crowns"


class House(Dice):
    """The members and what is before them; `step` has the next speech."""

    def __init__(self, seed: int) -> None:
        """Elect the House; the same House for the same seed on every machine."""
        super().__init__(Random(seed).random)
        self.names = Names(self.random)
        self.topics = tuple(Topic(*row) for row in records("debate_topics.txt", "topics"))
        parties: list[str] = []
        while len(parties) < 3:
            if (party := self.names.draw("parties")) not in parties:
                parties.append(party)
        self.members: list[Member] = []
        taken: set[str] = set()
        portfolios = [self.names.draw("portfolios") for _ in range(MINISTERS)]
        while len(self.members) < SEATS:
            surname, at = self.names.surname(), len(self.members)
            if surname in taken:
                continue
            taken.add(surname)
            office = f"Minister for {portfolios[at]}" if at < MINISTERS else ""
            office = "Chair" if MINISTERS <= at < MINISTERS + CHAIRS else office
            party = parties[
                0 if at < MINISTERS + CHAIRS or self.random() < 0.5 else 1 + int(self.random() * 2)
            ]
            female = self.random() < 0.45
            title = self.names.draw("titles_women" if female else "titles_men")
            title = title if self.chance(TITLED) else ""
            name = self.names.draw("women" if female else "men")
            self.members.append(Member(title, name, surname, female, self.names.seat(), party, office))
        self.chairs = self.members[MINISTERS : MINISTERS + CHAIRS]
        self.chair = self.chairs[0]
        self.recent: deque[Member] = deque(maxlen=10)
        self.used: deque[str] = deque(maxlen=12)
        self.waiting: deque[Act] = deque()
        self.issues = [self._issue() for _ in range(OPEN_ISSUES)]
        for issue in self.issues:
            issue.last = issue.mover
        self.at = 0

    def _issue(self) -> Issue:
        while (topic := self.pick(self.topics)).subject in self.used:
            pass
        self.used.append(topic.subject)
        whole = self.whole
        old, new = whole(2, 59), whole(2, 59)
        unit = self.pick(UNITS)
        return Issue(
            topic=topic,
            number=whole(2, 498),
            clause=whole(2, 97),
            page=whole(2, 140),
            line=whole(1, 43),
            old=f"{old} {unit}",
            new=f"{new + (new == old)} {unit}",
            mover=self._member(),
            minister=self.members[self.below(MINISTERS)],
            left=whole(7, 15),
        )

    def _member(self, *without: Member | None) -> Member:
        while True:
            member = self.members[self.whole(MINISTERS + CHAIRS, SEATS - 1)]
            if member not in self.recent and member not in without:
                self.recent.append(member)
                return member

    def step(self) -> Act:
        """Return the next speech and change what is before the House accordingly."""
        if self.chance(0.01):
            self.chair = self.pick(self.chairs)
        if self.waiting:
            return self.waiting.popleft()
        if self.chance(0.35):
            self.at = self.below(OPEN_ISSUES)
        issue = self.issues[self.at]
        last = issue.last or issue.mover
        issue.left -= 1
        if issue.left <= 0:
            return self._decide(issue)
        return self._argue(issue, last)

    def _argue(self, issue: Issue, last: Member) -> Act:
        mark = self.random()
        if mark < 0.22:
            asker = self._member(last)
            if mark < 0.17:
                self.waiting.append(Act("answer", issue, last, asker))
                return Act("ask", issue, asker, last)
            self.waiting.append(Act("order_rule", issue, self.chair, asker))
            return Act("order_raise", issue, asker, last)
        if mark < 0.36:
            kind = self.pick(("petition", "tribute")) if mark < 0.28 else "reply"
            return Act(kind, issue, issue.minister if kind == "reply" else self._member(last), last)
        speaker = self._member(last, issue.mover, issue.figure[1] if issue.figure else None)
        issue.last = speaker
        if issue.figure is not None and mark < 0.5:
            (wrong, giver), issue.figure = issue.figure, None
            return Act("correct", issue, speaker, giver, figure=self._figure(wrong), wrong=wrong)
        if issue.figure is None and mark < 0.55:
            issue.figure = self._figure(0), speaker
            return Act("figure", issue, speaker, last, figure=issue.figure[0])
        return Act(self.pick(("support", "oppose")), issue, speaker, last)

    def _figure(self, near: int) -> int:
        while (number := self.whole(1001, 29_989)) % 10 == 0 or number == near:
            pass
        return number

    def _decide(self, issue: Issue) -> Act:
        new = self._issue()
        self.issues[self.at] = new
        new.last = new.mover
        self.waiting.append(Act("call", new, self.chair, new.mover))
        self.waiting.append(Act("move", new, new.mover, issue.mover))
        mark = self.random()
        if mark < 0.33:
            return Act("accept", issue, issue.minister, issue.mover)
        if mark < 0.66:
            return Act("withdraw", issue, issue.mover, issue.minister)
        ayes, noes = self.whole(21, 239), self.whole(21, 239)
        return Act("divide", issue, None, self._member(issue.mover), ayes=ayes, noes=noes + (ayes == noes))


def sit(seed: int) -> Iterator[Act]:
    """Yield one speech after the other for ever."""
    house = House(seed)
    for _ in range(RUN_IN):
        house.step()
    while True:
        yield house.step()
