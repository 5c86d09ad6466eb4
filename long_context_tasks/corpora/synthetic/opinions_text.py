"""Sentences of court opinions: citations in several forms, described cases, and the case at hand."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from random import Random
from typing import TypeVar

from long_context_tasks.corpora.synthetic.document import Fact, Paragraph
from long_context_tasks.corpora.synthetic.trials_numbers import Numbers
from long_context_tasks.corpora.synthetic.wording import (
    expand,
    lines_of,
    plans,
    records,
    repair,
    stream,
    words,
)

__all__ = ["Holding", "OpinionWriter", "Parties"]

T = TypeVar("T")
CASES = "opinions_cases.txt"
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_STREETS = ("Street", "Quay", "Lane", "Row", "Hill", "Market", "Dock", "Gate")
_FIRMS = ("Company", "Mills", "Bank", "Ferry Company", "Guild", "Orphanage", "Brewery", "Canal Trust")
_NUMBERING = ("[{}] ", "{}. ", "¶ {} ", "({}) ", "")
# A blank inside a citation, until sentences have their capitals: "412 Marr. at 118" begins no sentence.
_BLANK = "\x00"
_NUMBER = re.compile(r"\d[\d,]*\d|\d")
_OUTCOMES = ("affirmed", "reversed", "set aside in part", "back to", "allowed", "dismissed", "concurring")


@dataclass(frozen=True)
class Holding:
    """The features of a case: names of lists ``who.*``, ``event.*``, ``plea.*`` and ``held.*``."""

    who: str
    event: str
    plea: str
    held: str


@dataclass(frozen=True)
class Parties:
    """A case at hand.

    Attributes:
        title: of the case.
        text: field to words, the same in the whole opinion.
        numbering: how its paragraphs are numbered.
    """

    title: str
    text: dict[str, str]
    numbering: str


class OpinionWriter:
    """Writes pages, or paragraphs, one after the other."""

    def __init__(self, seed: int, *, masked: bool) -> None:
        """Begin; the seed also divides the numbers.

        Args:
            seed: of all random choices.
            masked: whether citations of cases show only when they are described, as marks.
        """
        self.random = Random(seed).random
        self.numbers = Numbers(stream(seed, "numbers"), self.random)
        self.plans = plans("opinions.txt")
        self.masked = masked
        self.mark = ""
        self.text: dict[str, str] = {}
        self.labels: dict[str, None] = {}
        self.short = ""
        self.latest = 1990  # year of the opinion

    def pick(self, options: Sequence[T]) -> T:
        """Choose one of the options."""
        return options[int(self.random() * len(options))]

    def chance(self, probability: float) -> bool:
        """Answer yes with the given probability."""
        return self.random() < probability

    def shuffled(self, values: Sequence[T]) -> list[T]:
        """The values in random order, the same on every Python version."""
        left = list(values)
        return [left.pop(int(self.random() * len(left))) for _ in values]

    # --- cases ---------------------------------------------------------------------------------------------------

    def value(self, feature: str, besides: str = "") -> str:
        """A value of a feature other than the one given."""
        names = [name for name in lines_of(CASES) if name.startswith(f"{feature}.") and name != besides]
        return self.pick(names)

    def holding(self) -> Holding:
        """Any case."""
        return Holding(*(self.value(field.name) for field in fields(Holding)))

    def _words_of(self, case: Holding) -> dict[str, str]:
        """One wording of a case."""
        claimant, defendant = self.pick(tuple(records(CASES, case.who)))
        event, plea, held = (self.pick(words(CASES, name)) for name in (case.event, case.plea, case.held))
        return {"P": claimant, "D": defendant, "E": event, "C": plea, "H": held}

    def parties(self, case: Holding) -> Parties:
        """Names and wording of a case at hand, which is decided some year."""
        self.latest = 1950 + int(self.random() * 70)
        one, two = self.surname(), self.surname()
        if self.chance(0.3):
            one = f"the {self.place()} {self.pick(_FIRMS)}"
        if self.chance(0.3):
            two = f"the {self.place()} {self.pick(_FIRMS)}"
        text = {f"o{name}": wording for name, wording in self._words_of(case).items()}
        text |= {"pl": one, "df": two, "place": self.place(), "court": ""}
        text["court"] = self.pick(words(CASES, "courts")).replace("{place}", self.place())
        title = f"{one} v. {two}".replace("the ", "The ") if one.startswith("the ") else f"{one} v. {two}"
        return Parties(title, text, self.pick(_NUMBERING))

    def told(self, name: str, case: Holding, mark: str = "") -> str:
        """A case described in a wording of its own; ``mark`` stands for its citation, else it is cited in full."""
        self.text |= self._words_of(case)
        self.mark = mark
        text = self._say(f"told.{name}")
        self.mark = ""
        return text if self.text.get("open") else _finish(text)

    # --- sentences -----------------------------------------------------------------------------------------------

    def _say(self, name: str) -> str:
        out: list[str] = []
        expand(self.pick(self.plans[name]), self.fill, self.random, out)
        return "".join(out)

    def _several(self, name: str, low: int, high: int) -> list[str]:
        """Fill from ``low`` to ``high`` different plans of a list."""
        left = list(self.plans[name])
        found = []
        for _ in range(low + int(self.random() * (high - low + 1))):
            out: list[str] = []
            expand(left.pop(int(self.random() * len(left))), self.fill, self.random, out)
            found.append("".join(out))
        return found

    def page(self, parties: Parties, cases: Sequence[tuple[Holding, str]]) -> str:
        """A page on the case at hand with described cases, each with its mark."""
        self.text = {**parties.text, "open": "yes"}
        parts = self._several("own.open", 0, 1) + self._several("own.facts", 1, 2)
        parts += self._several("own.record", 0, 1) + self._several("page.open", 0, 1)
        reasons = self._several("own.reason", 1, len(cases))
        for case, mark in cases:
            parts.append(self.told("case", case, mark))
            if reasons and self.chance(0.6):
                parts.append(reasons.pop())
        parts += reasons
        if self.chance(0.15):
            parts.append(self._say("own.close"))
        return _finish(" ".join(parts))

    def caption(self, parties: Parties) -> Paragraph:
        """The first paragraph of an opinion."""
        self.text, self.labels = dict(parties.text), {}
        judges = ", ".join(self.surname() for _ in range(2))
        text = self.pick(
            (
                f"{parties.title}. Appeal from {self.text['court']}. Decided {self.date()}. "
                f"Before Judges {judges} and {self.surname()}.",
                f"In the matter of {parties.title}, on appeal from {self.text['court']}. Judge {self.surname()} delivered "
                f"the opinion on {self.date()}; Judges {judges} joined.",
                f"{parties.title}. Heard at {self.text['place']}, {self.date()}. Opinion by Judge {self.surname()}, with whom "
                f"{judges} sat. From {self.text['court']}.",
            )
        )
        fact = Fact(
            f"{parties.title} came on appeal from {self.text['court']}.",
            ((self.text["pl"], _capital(self.text["pl"])), (self.text["df"], _capital(self.text["df"]))),
        )
        return Paragraph(_finish(text), (), (fact,))

    def paragraph(self, kind: str, parties: Parties, number: int) -> Paragraph:
        """A paragraph of the body: ``facts``, ``cited``, ``told``, ``reason`` or ``close``."""
        self.text, self.labels, self.short = {**parties.text, "open": "yes"}, {}, ""
        if kind == "facts":
            parts = self._several("own.open", int(number == 1), 1) + self._several("own.facts", 2, 3)
        elif kind == "cited":
            parts = self.shuffled(self._several("own.cited", 1, 2) + self._several("own.reason", 1, 2))
        elif kind == "told":
            parts = [self.told("case", self.holding()), self._short()]
            parts += self._several("own.cited", 0, 1) + self._several("own.reason", 0, 1)
        elif kind == "reason":
            parts = self.shuffled(self._several("own.reason", 2, 3) + self._several("own.facts", 0, 1))
        else:
            parts = self._several("own.reason", 0, 1) + self._several("own.close", 1, 1)
        if kind != "close" and self.chance(0.6):
            parts.append(self._say("own.record"))
        text = parties.numbering.format(number) + _finish(" ".join(filter(None, parts)))
        return Paragraph(text, self._in_order(text), tuple(self._facts(text, kind)))

    def footnote(self, parties: Parties) -> Paragraph:
        """A note under the text."""
        self.text, self.labels, self.short = {**parties.text, "open": "yes"}, {}, ""
        number = 1 + int(self.random() * 40)
        parts = self._several(self.pick(("own.reason", "own.cited", "own.facts")), 1, 1)
        text = f"{self.pick(('Footnote {}: ', 'n. {}: ', '*{} '))}".format(number) + _finish(" ".join(parts))
        return Paragraph(text, self._in_order(text), ())

    def _in_order(self, text: str) -> tuple[str, ...]:
        """The labels as they follow one another in the text."""
        return tuple(dict.fromkeys(one for one in _NUMBER.findall(text) if one in self.labels))

    def _facts(self, text: str, kind: str) -> list[Fact]:
        """What a paragraph says and a summary would."""
        found = []
        lowered = text.lower()
        own = self.text
        if own["oE"].lower() in lowered and kind == "facts":
            found.append(Fact(f"It is found that {own['oE']}.", ((own["oE"],),)))
        if own["oC"].lower() in lowered and kind == "facts":
            found.append(Fact(f"{_capital(own['df'])} pleads that {own['oC']}.", ((own["oC"],),)))
        if kind == "told":
            found.append(
                Fact(
                    f"In a cited case between {own['P']} and {own['D']}, {own['H']}.",
                    ((own["E"], own["C"]), (own["H"],)),
                    0.5,
                )
            )
        if kind == "close" and (outcome := next((one for one in _OUTCOMES if one in lowered), None)):
            told = {"back to": "The matter is sent back.", "concurring": "Judgment is given."}
            found.append(
                Fact(told.get(outcome, f"The decision below or the appeal is {outcome}."), ((outcome,),))
            )
        return found

    # --- fields --------------------------------------------------------------------------------------------------

    def fill(self, field: tuple[str, str], out: list[str]) -> str:
        """Return the text of a field."""
        role, form = field
        if role in self.text:
            text = self.text[role]
        elif role == "cite":
            text = self.mark or self._citation()
        elif role == "short":
            text = self._short()
        elif role == "statute":
            text = self._statute()
        else:
            text = self._other(role)
        return _capital(text) if form == "cap" else text

    def _other(self, role: str) -> str:
        """A number that stands in no citation, or a name."""
        return _OTHERS[role](self)

    def large(self) -> str:
        """A number of the size of those in citations."""
        number = self.numbers.draw(61, 1800, asked=False)
        return f"{number:,}" if self.chance(0.5) else str(number)

    def digit(self, number: int) -> int:
        """One of so many, from 0."""
        return int(self.random() * number)

    def person(self) -> str:
        """First name and surname."""
        return f"{self.pick(words('names.txt', self.pick(('women', 'men'))))} {self.surname()}"

    def surname(self) -> str:
        """A surname."""
        return self.pick(words("names.txt", "surname_first")) + self.pick(words("names.txt", "surname_last"))

    def place(self) -> str:
        """Name of a place."""
        return self.pick(words("names.txt", "place_first")) + self.pick(words("names.txt", "place_last"))

    def date(self) -> str:
        """A day of the years before the opinion, below all numbers in citations but for its year, which is above."""
        day, month = 1 + int(self.random() * 28), self.pick(_MONTHS)
        year = self.latest - int(self.random() * 4)
        return self.pick((f"{month} {day}, {year}", f"{day} {month} {year}"))

    # --- citations -----------------------------------------------------------------------------------------------

    def _number(self, high: int) -> str:
        """A number in a citation, which becomes a label."""
        number = str(self.numbers.draw(61, high, asked=True))
        self.labels[number] = None
        return number

    def _citation(self) -> str:
        """A case cited in full; the short form after it names the same numbers."""
        name = self.surname()
        other = self.surname() if self.chance(0.75) else f"{self.place()} {self.pick(_FIRMS)}"
        title = self.pick((f"{name} v. {other}", f"{name} v. {other}", f"In re {name}", f"Estate of {name}"))
        if self.chance(0.22):
            number = self._number(1699)
            where = self.pick(words(CASES, "courts")).replace("{place}", self.place())
            self.short = f"{name}, No. {number}."
            return f"{title}, No. {number} of {where}".replace(" ", _BLANK)
        short, long = self.pick(tuple(records(CASES, "reporters")))
        volume, page = self._number(480), self._number(1699)
        pin = self._number(1699) if self.chance(0.4) else ""
        at = f" at {pin}" if pin else ""
        self.short = self.pick(
            (f"Id.{at}.", f"{name}, {volume} {short} at {pin or page}.", f"Ibid.{at}.", f"{name}, supra{at}.")
        )
        form = self.random()
        if form < 0.45:
            text = f"{title}, {volume} {short} {page}" + (f", {pin}" if pin else "")
        elif form < 0.75:
            text = f"{title}, {self.pick(('volume', 'vol.'))} {volume} of the {long}, {self.pick(('page', 'p.'))} {page}"
            text += f" (and {pin})" if pin else ""
        elif form < 0.9:
            text = f"{title} ({short}, book {volume}, folio {page}" + (f", at {pin})" if pin else ")")
        else:
            text = f"{title}, {short} {volume}:{page}" + (f", {pin}" if pin else "")
        return text.replace(" ", _BLANK)

    def _short(self) -> str:
        """The last citation once more, or nothing."""
        text, self.short = self.short, ""
        return "" if self.masked or self.chance(0.35) else text.replace(" ", _BLANK)

    def _statute(self) -> str:
        """A statute or rule, cited in one of several forms."""
        act = self.pick(words(CASES, "acts"))
        number = self._number(900)
        form = int(self.random() * 9)
        if form < 2:
            text = f"section {number} of the {act}"
        elif form == 2:
            text = f"sections {number} and {self._number(900)} of the {act}"
        elif form == 3:
            text = f"the {act}, s. {number},"
        elif form == 4:
            text = f"the {act}, ss. {number} and {self._number(900)},"
        elif form == 5:
            text = f"article {number} of the {act}"
        elif form == 6:
            text = f"chapter {number} of the Revised Ordinances"
        elif form == 7:
            text = f"Rule {number} of the Rules of Process"
        else:
            text = f"the {act} (§ {number})"
        return text.replace(" ", _BLANK)


# "k" is below all numbers in citations.
_OTHERS: dict[str, Callable[[OpinionWriter], str]] = {
    "k": lambda writer: str(2 + writer.digit(56)),
    "age": lambda writer: str(19 + writer.digit(40)),
    "h": OpinionWriter.large,
    "money": lambda writer: f"{2000 + int(98_000 * writer.random() ** 2):,}",
    "year": lambda writer: str(writer.latest - 5 - writer.digit(40)),
    "month": lambda writer: writer.pick(_MONTHS),
    "date": OpinionWriter.date,
    "street": lambda writer: f"{writer.place()} {writer.pick(_STREETS)}",
    "person": OpinionWriter.person,
    "judge": OpinionWriter.surname,
}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _finish(text: str) -> str:
    """Sentences with their capitals, without blanks that stand for nothing."""
    text = " ".join(repair(text).replace(_BLANK, " ").split())
    for wrong, right in (
        (" .", "."),
        (" ,", ","),
        (",,", ","),
        (",.", "."),
        (",;", ";"),
        (" ;", ";"),
        ("..", "."),
    ):
        text = text.replace(wrong, right)
    return text
