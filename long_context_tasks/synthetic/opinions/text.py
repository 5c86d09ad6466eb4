"""Sentences of court opinions: citations in several forms, described cases, and the case at hand.

Citations have many forms, so that no one pattern finds most of their numbers, and their numbers go as far as such numbers go, so that
a longer text has more of them.

What a paragraph says is kept as facts: a name or a figure, and the word that decides, with its alternatives. A faithful summary may say
in other words what happened and how it ended, so the groups of a fact are short and have many members. Both a name and an ordinary word
are asked for: a list of names states no fact but those of captions, and other opinions state few.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from random import Random

from long_context_tasks.synthetic.document import Fact, Paragraph
from long_context_tasks.synthetic.numbers import MONTHS, Numbers
from long_context_tasks.synthetic.vocabulary import Vocabulary
from long_context_tasks.synthetic.wording import (
    Writer,
    capital,
    clause,
    expand,
    lines_of,
    records,
    repair,
    stream,
    words,
)

FORMS = "opinions_citations.txt"
FIRMS = ("Company", "Mills", "Bank", "Ferry Company", "Guild", "Orphanage", "Brewery", "Canal Trust")
BLANK = "\x00"
"""A blank inside a citation, until sentences have their capitals: "412 Marr. at 118" begins no sentence."""
LEAST = 29
"""Numbers in citations are at least that: days of a month and numbers of paragraphs are below."""
_YEARS = range(1890, 2031)
"""Never in citations: the years of dates."""
# Numbers, as they occur in real ones.
_RANGES = {
    "volume": (LEAST, 999),
    "page": (LEAST, 2_999),
    "section": (LEAST, 29_999),
    "rule": (LEAST, 999),
    "docket": (1_500, 99_999),
}


_STREETS = ("Street", "Quay", "Lane", "Row", "Hill", "Market", "Dock", "Gate")
_WRONG = ((" .", "."), (" ,", ","), (",,", ","), (",.", "."), (",;", ";"), (" ;", ";"), ("..", "."))
"""What empty choices leave, and what it should be."""
_NUMBERING = ("[{}] ", "{}. ", "¶ {} ", "({}) ", "")
_NUMBER = re.compile(r"\d[\d,]*\d|\d")


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


class OpinionWriter(Writer):
    """Writes pages, or paragraphs, one after the other.

    Attributes:
        numbers: divided into those for citations and others.
        labels: numbers in the citations so far, in order.
        acts: statutes named so far, in order.
        cited: titles of cases cited so far, in order, each with the names in it.
        short: a short form of the last citation, which repeats its numbers.
        mark: what stands for the citation of the case that is described; empty where it is cited in full.
        text: the words of fields.
        latest: year of the opinion.
    """

    def __init__(self, seed: int, *, masked: bool) -> None:
        """Begin; the seed also divides the numbers. If ``masked``, citations of cases show only where the case is described, as marks."""
        super().__init__(Random(seed).random, "opinions.txt", varied=("own.", "told.case", "page."))
        self.numbers = Numbers(stream(seed, "numbers"), self.random)
        self.names = Vocabulary(seed)
        self.masked = masked
        self.labels: dict[str, None] = {}
        self.acts: dict[str, None] = {}
        self.cited: list[tuple[str, tuple[str, ...]]] = []
        self.short = ""
        self.mark = ""
        self.text: dict[str, str] = {}
        self.latest = 1990

    def firm(self, opponent: str) -> str:
        """Return the name of a firm, with no word of its opponent's."""
        while (place := self.names.place()) in opponent.split():
            pass
        return f"{place} {self.pick(FIRMS)}"

    def court(self) -> str:
        """Return the name of a court."""
        return self.pick(words(CASES, "courts")).replace("{place}", self.names.place())

    def other(self, draw: Callable[[], int]) -> int:
        """Return the first number drawn that no citation of the text has."""
        while (number := draw()) >= LEAST and self.numbers.is_asked(number):
            pass
        return number

    def large(self, high: int) -> str:
        """Return a number of the size of those in citations."""
        number = self.numbers.draw(61, high, asked=False)
        return f"{number:,}" if self.chance(0.2) else str(number)

    def ordinal(self, high: int) -> str:
        """Return the number of a thing, as digits alone."""
        return str(self.numbers.draw(LEAST, high, asked=False))

    def _number(self, low: int, high: int) -> str:
        """Return a number in a citation, which becomes a label."""
        number = _YEARS.start
        while number in _YEARS:
            number = self.numbers.draw(low, high, asked=True)
        self.labels[str(number)] = None
        return str(number)

    def _written(self, line: str, **fields: str) -> str:

        def fill(field: tuple[str, str]) -> str:
            role = field[0]
            if role in fields:
                return fields[role]
            return self.court() if role == "court" else self._number(*_RANGES[role])

        out: list[str] = []
        expand(clause(line), fill, self.random, out)
        return "".join(out).replace(" ", BLANK)

    def citation(self) -> str:
        """Return a case cited in full; the short form after it names the same numbers."""
        name = self.names.surname()
        other = self.names.surname() if self.chance(0.75) else self.firm(name)
        title = self.pick((f"{name} v. {other}", f"{name} v. {other}", f"In re {name}", f"Estate of {name}"))
        names = (name, other.split()[0]) if " v. " in title else (name,)
        self.cited.append((title, names))
        return self._docket(name, title) if self.chance(0.3) else self._reported(name, title)

    def _form(self, name: str) -> list[str]:
        """Choose one of the forms of a list by their shares."""
        mark = self.random()
        return next(forms for share, *forms in records(FORMS, name) if mark < float(share))

    def _docket(self, name: str, title: str) -> str:
        number = self._number(*_RANGES["docket"])
        self.short = f"{name}, No. {number}."
        [form] = self._form("docket")
        return self._written(form, title=title, number=number)

    def _reported(self, name: str, title: str) -> str:
        short, long = self.pick(records(CASES, "reporters"))
        volume, page = self._number(*_RANGES["volume"]), self._number(*_RANGES["page"])
        pin = self._number(*_RANGES["page"]) if self.chance(0.3) else ""
        at = f" at {pin}" if pin else ""
        self.short = self.pick(
            (f"Id.{at}.", f"{name}, {volume} {short} at {pin or page}.", f"Ibid.{at}.", f"{name}, supra{at}.")
        )
        plain, pinned = self._form("reported")
        fields = {"title": title, "volume": volume, "page": page, "pin": pin, "short": short, "long": long}
        return self._written(pinned if pin else plain, **fields)

    def statute(self) -> str:
        """Return a statute or rule, cited in one of several forms."""
        act, form = self.pick(words(CASES, "acts")), self.pick(words(FORMS, "statute"))
        if "{act}" not in form:
            return self._written(form)
        self.acts[act] = None
        return self._written(form, act=act, number=self._number(*_RANGES["section"]))

    def value(self, feature: str, besides: str = "") -> str:
        """Return a value of a feature other than the one given."""
        values = [name for name in lines_of(CASES) if name.startswith(f"{feature}.")]
        return self.pick([name for name in values if name != besides])

    def holding(self) -> Holding:
        """Return any case."""
        return Holding(*(self.value(field.name) for field in fields(Holding)))

    def _words_of(self, case: Holding) -> dict[str, str]:
        claimant, defendant = self.pick(records(CASES, case.who))
        found = {"P": claimant, "D": defendant}
        for name, value in (("E", case.event), ("C", case.plea), ("H", case.held)):
            found[name] = self.written(clause(self.pick(words(CASES, value)))).strip()
            found[f"{name}_value"] = value
        return found

    def parties(self, case: Holding) -> Parties:
        """Return the names and wording of a case at hand, which is decided some year."""
        self.latest = self.whole(1950, 2019)
        one, two = self.names.surname(), self.names.surname()
        if self.chance(0.3):
            one = f"the {self.firm(two)}"
        if self.chance(0.3):
            two = f"the {self.firm(one)}"
        text = {f"o{name}": wording for name, wording in self._words_of(case).items()}
        text |= {"pl": one, "df": two, "place": self.names.place(), "court": self.court()}
        text |= {name: self.date(before) for name, before in (("oday", 5), ("judged", 2), ("decided", 0))}
        title = f"{one} v. {two}".replace("the ", "The ") if one.startswith("the ") else f"{one} v. {two}"
        return Parties(title, text, self.pick(_NUMBERING))

    def told(self, name: str, case: Holding, mark: str = "") -> str:
        """Return a case described in a wording of its own; ``mark`` stands for its citation, else it is cited in full."""
        self.text |= self._words_of(case)
        self.mark = mark
        text = self.say(f"told.{name}")
        self.mark = ""
        return text if self.text.get("open") else _finish(text)

    def page(self, parties: Parties, cases: Sequence[tuple[Holding, str]]) -> str:
        """Return a page on the case at hand with described cases, each with its mark."""
        self.text = {**parties.text, "open": "yes"}
        parts = self.several("own.open", 0, 1) + self.several("own.facts", 1, 2)
        parts += self.several("own.record", 0, 1) + self.several("page.open", 0, 1)
        reasons = self.several("own.reason", 1, len(cases))
        for case, mark in cases:
            parts.append(self.told("case", case, mark))
            if reasons and self.chance(0.6):
                parts.append(reasons.pop())
        parts += reasons
        if self.chance(0.15):
            parts.append(self.say("own.close"))
        return _finish(" ".join(parts))

    def caption(self, parties: Parties) -> Paragraph:
        """Return the first paragraph of an opinion."""
        self._begin(parties)
        self.text["title"] = parties.title
        text = _finish(self.say("caption"))
        court = self.text["court"]
        # Who is before the court, and where the case comes from.
        groups = (*((party,) for party in _parties(self.text)), (_seat(court),))
        fact = Fact(f"{parties.title} came on appeal from {court}.", groups)
        return Paragraph(text, self._in_order(text), (fact,))

    def _begin(self, parties: Parties) -> None:
        self.text, self.short = {**parties.text, "open": "yes"}, ""
        self.labels, self.acts, self.cited = {}, {}, []

    def paragraph(self, kind: str, parties: Parties, number: int) -> Paragraph:
        """Return a paragraph of the body: ``facts``, ``cited``, ``told``, ``reason`` or ``close``."""
        self._begin(parties)
        if kind == "facts":
            parts = self.several("own.open", int(number == 1), 1) + self.several("own.facts", 1, 3)
            parts += self.several("own.law", 0, 1) if self.chance(0.8) else []
        elif kind == "cited":
            parts = self.shuffled(self.several("own.cited", 1, 1) + self.several("own.reason", 1, 2))
        elif kind == "told":
            parts = [self.told("case", self.holding()), self._short()]
            parts += self.several("own.cited", 0, 1) + self.several("own.reason", 0, 1)
        elif kind == "reason":
            parts = self.shuffled(self.several("own.reason", 2, 3) + self.several("own.facts", 0, 1))
        else:
            parts = self.several("own.reason", 0, 1) + self.several("own.close", 1, 1)
        if kind != "close":
            parts += self.several("own.record", int(self.chance(0.7)), 1 + int(self.chance(0.25)))
        text = parties.numbering.format(number) + _finish(" ".join(filter(None, parts)))
        return Paragraph(text, self._in_order(text), self._facts(parts, kind))

    def footnote(self, parties: Parties) -> Paragraph:
        """Return a note under the text."""
        self._begin(parties)
        number = self.whole(1, LEAST - 1)
        parts = self.several(self.pick(("own.reason", "own.cited", "own.facts")), 1, 1)
        text = f"{self.pick(('Footnote {}: ', 'n. {}: ', '*{} '))}".format(number) + _finish(" ".join(parts))
        return Paragraph(text, self._in_order(text), ())

    def _in_order(self, text: str) -> tuple[str, ...]:
        """Return the labels as they follow one another in the text."""
        return tuple(dict.fromkeys(one for one in _NUMBER.findall(text) if one in self.labels))

    def _facts(self, parts: Sequence[str], kind: str) -> tuple[Fact, ...]:
        """Return what a paragraph says and a summary would; ``parts`` are the sentences of its plans, not yet finished."""
        if kind == "facts":
            return tuple(found_facts(list(map(_finish, parts)), self.text))
        if kind == "told":
            [(title, names), *_], case = self.cited, self.text
            # How a cited case ended; any of its names identifies it.
            statement = f"{title}, between {case['P']} and {case['D']}, is cited: {case['H']}."
            return (Fact(statement, (names, alternatives(case["H_value"])), 0.5),)
        if kind == "close":
            end = closing_fact(_finish(parts[-1]), self.text)
            return (end,) if end else ()
        stating = [
            sentence for sentence in parts if any(act in sentence.replace(BLANK, " ") for act in self.acts)
        ]
        return tuple(said_facts(list(map(_finish, stating)), tuple(self.acts)))

    def fill(self, field: tuple[str, str]) -> str:
        """Return the text of a field."""
        role, form = field
        if role in self.text:
            text = self.text[role]
        elif role == "cite":
            text = self.mark or self.citation()
        elif role == "short":
            text = self._short()
        elif role == "statute":
            text = self.statute()
        else:
            text = _OTHERS[role](self)
        return capital(text) if form == "cap" else text

    def date(self, before: int) -> str:
        """Return a day of a year before the opinion's (after it, below 0); citations have neither such days nor such years."""
        day, month, year = self.whole(1, 28), self.pick(MONTHS), self.latest - before
        return self.pick((f"{month} {day}, {year}", f"{day} {month} {year}"))

    def _short(self) -> str:
        text, self.short = self.short, ""
        return "" if self.masked or self.chance(0.35) else text.replace(" ", BLANK)


_OTHERS: dict[str, Callable[[OpinionWriter], str]] = {
    # Small numbers, each as likely.
    "k": lambda writer: str(writer.other(lambda: writer.whole(2, 57))),
    "age": lambda writer: str(writer.other(lambda: writer.whole(19, 58))),
    "h": lambda writer: writer.large(1_800),
    "g": lambda writer: writer.large(99_999),
    "i": lambda writer: writer.ordinal(29_999),
    "id": lambda writer: f"{writer.pick(('No. ', 'No. ', ''))}{writer.ordinal(99_999)}",
    "money": lambda writer: f"{writer.other(lambda: 2000 + int(98_000 * writer.random() ** 2)):,}",
    "year": lambda writer: str(writer.latest - 5 - writer.below(40)),
    "month": lambda writer: writer.pick(MONTHS),
    "date": lambda writer: writer.date(4 - writer.below(2)),
    "lately": lambda writer: writer.date(1),
    "later": lambda writer: writer.date(-1),
    "street": lambda writer: f"{writer.names.place()} {writer.pick(_STREETS)}",
    "person": lambda writer: writer.names.person(),
    "judge": lambda writer: writer.names.surname(),
}


def _finish(text: str) -> str:
    text = repair(" ".join(text.split())).replace(BLANK, " ")
    for wrong, right in _WRONG:
        if wrong in text:
            text = text.replace(wrong, right)
    return text


CASES = "opinions_cases.txt"
FILE = "opinions_facts.txt"
_MONEY = re.compile(r"\d{1,3}(?:,\d{3})+")
_JUDGE = re.compile(r"Judge (\w+)")

Text = Mapping[str, str]
"""Fields of a case at hand: ``pl``, ``df`` its parties, ``court`` the court below, ``oE``, ``oC`` what happened and what is pleaded."""


def alternatives(value: str) -> tuple[str, ...]:
    """Return the words that say a value of a case.

    >>> alternatives("event.fire")[:3]
    ('fire', 'fires', 'flames')
    """
    return next(tuple(line.split(", ")) for name, line in records(FILE, "alternatives") if name == value)


def _short(party: str) -> str:
    """Return the name of a party: of a firm its town, which a summary may have without the kind of firm."""
    return party.split()[1] if party.startswith("the ") else party


def _seat(court: str) -> str:
    """Return the words of a court's name that no other court has."""
    if "Osterlin" in court:
        return "Osterlin"
    return re.split(r" at | of ", court)[-1].removeprefix("the ")


def _parties(own: Text) -> tuple[str, ...]:
    return _short(own["pl"]), _short(own["df"])


def found_facts(parts: Sequence[str], own: Text) -> list[Fact]:
    """Return what happened in the case at hand, and what is pleaded, where one of the sentences says so."""
    statements = {
        "oE": f"In the case of {own['pl']} it is found that {own['oE']}.",
        "oC": f"{capital(own['df'])} pleads that {own['oC']}.",
    }
    found = []
    for name, statement in statements.items():
        wording = own[name]
        part = next((sentence for sentence in parts if wording.lower() in sentence.lower()), None)
        if part is None:
            continue
        names = _parties(own)
        # Where the sentences name no person, the sum at stake stands for the case.
        if not any(name in sentence for name in names for sentence in parts):
            names += tuple(_MONEY.findall(part))
        found.append(Fact(statement, (names, alternatives(own[f"{name}_value"]))))
    return found


def said_facts(parts: Sequence[str], acts: Sequence[str]) -> list[Fact]:
    """Return what is said of each statute, by the first of the sentences that names it."""
    found = []
    for act in acts:
        part = next((sentence for sentence in parts if act in sentence), "")
        for keys, more, statement in records(FILE, "said"):
            every = keys.split(", ")
            word = next((key for key in every if key in part and re.search(rf"\b{key}\b", part)), None)
            if word is not None:
                told = statement.format(act=act, word=word)
                found.append(Fact(told, ((act,), (*every, *more.split(", "))), 0.3))
                break
    return found


def closing_fact(last: str, own: Text) -> Fact | None:
    """Return how the case at hand ends; None where the last sentences leave it open, or name nothing of the case alone."""
    for line, more in records(FILE, "outcomes"):
        if line not in last:
            continue
        between = f"between {own['pl']} and {own['df']}"
        judges = tuple(_JUDGE.findall(last))
        told = {
            "back to": f"The matter {between} is sent back.",
            "concurring": f"Judge {judges[0] if judges else ''} is concurring in the case {between}.",
        }
        statement = told.get(line, f"The decision or appeal {between} is {line}.")
        names = (*_parties(own), *_MONEY.findall(last), *judges)
        # A court of a town tells the case by its name; others come up again and again.
        if not any(name in last for name in names):
            if own["court"] in words(CASES, "courts"):
                return None
            names += (_seat(own["court"]),)
        return Fact(statement, (names, (line, *more.split(", "))))
    return None
