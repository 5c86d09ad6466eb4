"""Numbers of court opinions: those in citations of cases, statutes and rules, and those that stand beside them and are something else.

Citations have many forms, so that no one pattern finds most of their numbers, and their numbers go as far as such numbers go, so that a
longer text has more of them.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from long_context_tasks.synthetic.trials_numbers import Numbers
from long_context_tasks.synthetic.wording import records, stream, words

__all__ = ["BLANK", "CASES", "FIRMS", "CitationWriter"]

T = TypeVar("T")
CASES = "opinions_cases.txt"
FIRMS = ("Company", "Mills", "Bank", "Ferry Company", "Guild", "Orphanage", "Brewery", "Canal Trust")
BLANK = "\x00"
"""A blank inside a citation, until sentences have their capitals: "412 Marr. at 118" begins no sentence."""
LEAST = 29
"""Numbers in citations are at least that: days of a month and numbers of paragraphs are below."""
_YEARS = range(1890, 2031)
"""Never in citations: the years of dates."""
# Largest numbers, as they occur in real ones.
_VOLUMES, _PAGES, _SECTIONS, _RULES = 999, 2_999, 29_999, 999
_DOCKETS = (1_500, 99_999)


class CitationWriter:
    """Chooses, and writes names, citations and other numbers.

    Attributes:
        random: numbers from 0 to 1.
        numbers: divided into those for citations and others.
        masked: whether citations of cases are written elsewhere, as marks.
        labels: numbers in the citations so far, in order.
        acts: statutes named so far, in order.
        cited: titles of cases cited so far, in order, each with the names in it.
        short: a short form of the last citation, which repeats its numbers.
    """

    def __init__(self, seed: int, *, masked: bool) -> None:
        """Begin; the seed also divides the numbers."""
        self.random = Random(seed).random
        self.numbers = Numbers(stream(seed, "numbers"), self.random)
        self.masked = masked
        self.labels: dict[str, None] = {}
        self.acts: dict[str, None] = {}
        self.cited: list[tuple[str, tuple[str, ...]]] = []
        self.short = ""

    # --- choices and names ---------------------------------------------------------------------------------------

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

    def person(self) -> str:
        """First name and surname."""
        return f"{self.pick(words('names.txt', self.pick(('women', 'men'))))} {self.surname()}"

    def surname(self) -> str:
        """A surname."""
        return self.pick(words("names.txt", "surname_first")) + self.pick(words("names.txt", "surname_last"))

    def place(self) -> str:
        """Name of a place."""
        return self.pick(words("names.txt", "place_first")) + self.pick(words("names.txt", "place_last"))

    def court(self) -> str:
        """Name of a court."""
        return self.pick(words(CASES, "courts")).replace("{place}", self.place())

    # --- numbers that stand in no citation -----------------------------------------------------------------------

    def other(self, draw: Callable[[], int]) -> int:
        """The first number drawn that no citation of the text has."""
        while (number := draw()) >= LEAST and self.numbers.is_asked(number):
            pass
        return number

    def small(self, low: int, high: int) -> str:
        """A small number, each as likely."""
        return str(self.other(lambda: low + int(self.random() * (high - low + 1))))

    def large(self, high: int) -> str:
        """A number of the size of those in citations."""
        number = self.numbers.draw(61, high, asked=False)
        return f"{number:,}" if self.chance(0.2) else str(number)

    def ordinal(self, high: int) -> str:
        """The number of a thing, as digits alone."""
        return str(self.numbers.draw(LEAST, high, asked=False))

    def money(self) -> str:
        """A sum."""
        return f"{self.other(lambda: 2000 + int(98_000 * self.random() ** 2)):,}"

    # --- citations -----------------------------------------------------------------------------------------------

    def _number(self, high: int, low: int = LEAST) -> str:
        """A number in a citation, which becomes a label."""
        number = _YEARS.start
        while number in _YEARS:
            number = self.numbers.draw(low, high, asked=True)
        self.labels[str(number)] = None
        return str(number)

    def citation(self) -> str:
        """A case cited in full; the short form after it names the same numbers."""
        name = self.surname()
        other = self.surname() if self.chance(0.75) else f"{self.place()} {self.pick(FIRMS)}"
        title = self.pick((f"{name} v. {other}", f"{name} v. {other}", f"In re {name}", f"Estate of {name}"))
        names = (name, other.split()[0]) if " v. " in title else (name,)
        self.cited.append((title, names))
        text = self._docket(name, title) if self.chance(0.3) else self._reported(name, title)
        return text.replace(" ", BLANK)

    def _docket(self, name: str, title: str) -> str:
        """By the number of the case."""
        number = self._number(_DOCKETS[1], _DOCKETS[0])
        self.short = f"{name}, No. {number}."
        form = self.random()
        if form < 0.4:
            return f"{title}, No. {number} of {self.court()}"
        if form < 0.65:
            return f"{title}, {self.pick(('docket', 'cause', 'roll'))} {number} of {self.court()}"
        if form < 0.85:
            return f"{title} ({self.court()}, {self.pick(('case', 'suit', 'docket'))} {number})"
        return f"{title}, No. {number}, joined with No. {self._number(_DOCKETS[1], _DOCKETS[0])}, of {self.court()}"

    def _reported(self, name: str, title: str) -> str:
        """By volume and page of a reporter, and maybe another page."""
        short, long = self.pick(tuple(records(CASES, "reporters")))
        volume, page = self._number(_VOLUMES), self._number(_PAGES)
        pin = self._number(_PAGES) if self.chance(0.3) else ""
        at = f" at {pin}" if pin else ""
        self.short = self.pick(
            (f"Id.{at}.", f"{name}, {volume} {short} at {pin or page}.", f"Ibid.{at}.", f"{name}, supra{at}.")
        )
        form = self.random()
        if form < 0.32:
            return f"{title}, {volume} {short} {page}" + (f", {pin}" if pin else "")
        if form < 0.52:
            where = (
                f"{self.pick(('volume', 'vol.'))} {volume} of the {long}, {self.pick(('page', 'p.'))} {page}"
            )
            return f"{title}, {where}" + (f" (and {pin})" if pin else "")
        if form < 0.65:
            return f"{title} ({short}, book {volume}, folio {page}" + (f", at {pin})" if pin else ")")
        if form < 0.76:
            return f"{title}, {short} {volume}:{page}" + (f", {pin}" if pin else "")
        if form < 0.88:
            return f"{title}, reported on page {page} of volume {volume} of the {long}" + (
                f", note to {pin}" if pin else ""
            )
        return f"{title} ({long} {volume}, {page}" + (f"; {pin})" if pin else ")")

    def statute(self) -> str:
        """A statute or rule, cited in one of several forms."""
        act = self.pick(words(CASES, "acts"))
        form = int(self.random() * 15)
        if form == 0:
            return f"Rule {self._number(_RULES)} of the Rules of Process".replace(" ", BLANK)
        if form == 1:
            return f"chapter {self._number(_RULES)} of the Revised Ordinances".replace(" ", BLANK)
        self.acts[act] = None
        number = self._number(_SECTIONS)
        if form < 4:
            text = f"section {number} of the {act}"
        elif form == 4:
            text = f"section {number}, with section {self._number(_SECTIONS)}, of the {act}"
        elif form == 5:
            text = f"the {act}, s. {number},"
        elif form == 6:
            text = f"the {act}, ss. {number}, {self._number(_SECTIONS)},"
        elif form == 7:
            text = f"article {number} of the {act}"
        elif form == 8:
            text = f"the {act} ({self.pick(('§', 'art.', 'sec.'))} {number})"
        elif form == 9:
            text = f"part {self._number(_RULES)}, section {number}, of the {act}"
        elif form == 10:
            text = f"the {act} in its section {number}"
        else:
            text = f"{act} {number}"
        return text.replace(" ", BLANK)
