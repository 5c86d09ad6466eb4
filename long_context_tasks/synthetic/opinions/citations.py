"""Numbers of court opinions: those in citations of cases, statutes and rules, and those that stand beside them and are something else.

Citations have many forms, so that no one pattern finds most of their numbers, and their numbers go as far as such numbers go, so that a
longer text has more of them.
"""

from collections.abc import Callable
from random import Random

from long_context_tasks.synthetic.numbers import Numbers
from long_context_tasks.synthetic.wording import Writer, clause, expand, records, stream, words

__all__ = ["BLANK", "CASES", "FIRMS", "LEAST", "CitationWriter"]

CASES = "opinions_cases.txt"
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


class CitationWriter(Writer):
    """Chooses, and writes names, citations and other numbers.

    Attributes:
        numbers: divided into those for citations and others.
        masked: whether citations of cases are written elsewhere, as marks.
        labels: numbers in the citations so far, in order.
        acts: statutes named so far, in order.
        cited: titles of cases cited so far, in order, each with the names in it.
        short: a short form of the last citation, which repeats its numbers.
    """

    def __init__(self, seed: int, *, masked: bool) -> None:
        """Begin; the seed also divides the numbers."""
        super().__init__(Random(seed).random, "opinions.txt")
        self.numbers = Numbers(stream(seed, "numbers"), self.random)
        self.masked = masked
        self.labels: dict[str, None] = {}
        self.acts: dict[str, None] = {}
        self.cited: list[tuple[str, tuple[str, ...]]] = []
        self.short = ""

    # --- names ---------------------------------------------------------------------------------------------------

    def person(self) -> str:
        """First name and surname."""
        return f"{self.pick(words('names.txt', self.pick(('women', 'men'))))} {self.surname()}"

    def surname(self) -> str:
        """A surname."""
        return self.made_up("surname")

    def place(self) -> str:
        """Name of a place."""
        return self.made_up("place")

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
        return str(self.other(lambda: self.whole(low, high)))

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

    def _number(self, low: int, high: int) -> str:
        """A number in a citation, which becomes a label."""
        number = _YEARS.start
        while number in _YEARS:
            number = self.numbers.draw(low, high, asked=True)
        self.labels[str(number)] = None
        return str(number)

    def _written(self, line: str, **fields: str) -> str:
        """Fill a form of citation; numbers that are not given are drawn."""

        def fill(field: tuple[str, str], _: list[str]) -> str:
            role = field[0]
            if role in fields:
                return fields[role]
            return self.court() if role == "court" else self._number(*_RANGES[role])

        out: list[str] = []
        expand(clause(line), fill, self.random, out)
        return "".join(out).replace(" ", BLANK)

    def citation(self) -> str:
        """A case cited in full; the short form after it names the same numbers."""
        name = self.surname()
        other = self.surname() if self.chance(0.75) else f"{self.place()} {self.pick(FIRMS)}"
        title = self.pick((f"{name} v. {other}", f"{name} v. {other}", f"In re {name}", f"Estate of {name}"))
        names = (name, other.split()[0]) if " v. " in title else (name,)
        self.cited.append((title, names))
        return self._docket(name, title) if self.chance(0.3) else self._reported(name, title)

    def _form(self, name: str) -> list[str]:
        """Choose one of the forms of a list by their shares."""
        mark = self.random()
        return next(forms for share, *forms in records(FORMS, name) if mark < float(share))

    def _docket(self, name: str, title: str) -> str:
        """By the number of the case."""
        number = self._number(*_RANGES["docket"])
        self.short = f"{name}, No. {number}."
        [form] = self._form("docket")
        return self._written(form, title=title, number=number)

    def _reported(self, name: str, title: str) -> str:
        """By volume and page of a reporter, and maybe another page."""
        short, long = self.pick(tuple(records(CASES, "reporters")))
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
        """A statute or rule, cited in one of several forms."""
        act, form = self.pick(words(CASES, "acts")), self.pick(words(FORMS, "statute"))
        if "{act}" not in form:
            return self._written(form)
        self.acts[act] = None
        return self._written(form, act=act, number=self._number(*_RANGES["section"]))
