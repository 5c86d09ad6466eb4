"""Generate medical abstracts: reviews with studies to attribute, and counts of people to recall.

Diseases and drugs are invented. A study has five features: illness, drug, age of the people, method of
assignment, and comparison. A review's background requires one value of each, in words that abstracts do not
use; it includes a study if all five match. Every abstract also reports an earlier study by others, which has
the required value exactly for the features that the study itself misses. So included and excluded studies
mention the same values, and only their attribution to one of the two studies differs. Results are drawn so
that all comparisons of a study have the same outcome, from which its conclusion follows.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from math import atanh, ceil, erfc, exp, log, sqrt
from random import Random
from typing import NamedTuple

from long_context_tasks.synthetic.document import Growing, LabelledText, Paragraph
from long_context_tasks.synthetic.numbers import MONTHS, DividedNumbers, in_words
from long_context_tasks.synthetic.vocabulary import Vocabulary
from long_context_tasks.synthetic.wording import PlanWriter, capital, repair, stream, without_gaps, words

WHO = ("child", "teen", "adult", "old")
WAYS = ("random", "calendar", "choice", "records")
VERSUS = ("inert", "wait", "diet", "move", "usual")
_AGES = {"child": (3, 11), "teen": (13, 17), "adult": (28, 55), "old": (66, 91)}
_FEATURES = ("disease", "drug", "who", "way", "versus")
_YEARS = {"yeara": (1948, 1985), "yearb": (1986, 2023)}
_MASS = {"child": (14, 38), "teen": (41, 66), "adult": (62, 84), "old": (57, 78)}
_HEIGHT = {"child": (96, 142), "teen": (152, 174), "adult": (161, 179), "old": (156, 172)}
# Ranges of numbers that are not counts of people; a study adds some.
_RANGES = {"k": (2, 59), "small": (2, 12), "months": (3, 29), "span": (3, 104), "top": (20, 99)}
_OUTCOMES = {1: "better", 0: "same", -1: "worse"}
_CLEAR, _UNCLEAR = 2.7, 1.5  # minimum standard errors of a clear difference, and maximum of an unclear one
# Lowest and highest share of the comparison group who get better or worse, and whether more are better (1) or
# not (-1).
_PAIRS = {"good": (0.2, 0.7, 1), "free": (0.15, 0.6, 1), "back": (0.1, 0.5, -1)}
_LEVELS = {90: 1.645, 95: 1.96, 99: 2.576}
_SECTIONS = (
    ("BACKGROUND: ", "METHODS: ", "RESULTS: ", "CONCLUSION: "),
    ("OBJECTIVE: ", "PATIENTS AND METHODS: ", "RESULTS: ", "CONCLUSIONS: "),
    ("Aims: ", "Design and setting: ", "Findings: ", "Interpretation: "),
)
_FILE = "trials.txt"
_VARIED = ("intro.burden", "intro.aim", "methods.count", "methods.detail", "results.", "aim", "close")


class WrittenStudy(NamedTuple):
    """A study screened for a review; its id consists of digits."""

    id: str
    title: str
    abstract: str
    included: bool


class Features(NamedTuple):
    """The features of a study: illness, drug, and one each of :data:`WHO`, :data:`WAYS`, :data:`VERSUS`."""

    disease: str
    drug: str
    who: str
    way: str
    versus: str


class Topic(NamedTuple):
    """Names in a review's studies, those in its question first; ``std`` is the established remedy."""

    diseases: tuple[str, ...]
    drugs: tuple[str, ...]
    std: str


class TrialWriter(PlanWriter):
    def __init__(self, seed: int) -> None:
        super().__init__(Random(seed).random, _FILE, varied=_VARIED)
        self.numbers = DividedNumbers(seed, self.random)
        self._levels = [level for level in _LEVELS if not self.numbers.is_asked(level)]
        self.names = Vocabulary(seed)
        self.people: dict[str, int] = {}
        self.asked: dict[str, tuple[int, int]] = {}
        self.ranges = dict(_RANGES)
        self.results: dict[str, Callable[[], str]] = {}
        self.labels: dict[str, None] = {}

    def _distinct(self, number: int, *lists: str) -> tuple[str, ...]:
        """Return different names, each from one word per list; no two share their first word."""
        names: dict[str, str] = {}
        while len(names) < number:
            parts = [self.pick(_words(name)) for name in lists]
            names.setdefault(parts[0], "".join(parts))
        return tuple(names.values())

    def topic(self) -> Topic:
        kinds = self._distinct(4, "disease_kind")
        diseases = tuple(f"{kind} {self.pick(_words('disease_name'))}" for kind in kinds)
        drugs = tuple(map(str.lower, self._distinct(5, "drug_first", "drug_middle", "drug_last")))
        return Topic(diseases, drugs[:4], drugs[4])

    def criteria(self, topic: Topic) -> Features:
        return Features(topic.diseases[0], topic.drugs[0], self.pick(WHO), self.pick(WAYS), self.pick(VERSUS))

    def features(self, topic: Topic, wanted: Features, *, included: bool) -> tuple[Features, Features]:
        """Return the features of a study and of its earlier one; an excluded study lacks one or two of ``wanted``."""
        missed: set[str] = set()
        if not included:
            number = 1 if self.chance(0.75) else 2
            while len(missed) < number:
                missed.add(self.pick(_FEATURES))
        # The earlier study has the required value where the study itself lacks it, so every abstract
        # mentions all five.
        own, earlier = [], []
        for name, value, every in zip(_FEATURES, wanted, (*topic[:2], WHO, WAYS, VERSUS), strict=True):
            other = self.pick([each for each in every if each != value])
            own.append(other if name in missed else value)
            earlier.append(value if name in missed else other)
        return Features(*own), Features(*earlier)

    def fill(self, role: str, form: str) -> str:
        if role in self.people:
            return self._count(self.people[role], form)
        if role in self.asked:
            return self._count(self.numbers.draw(*self.asked[role], asked=True), form)
        if role in self.results:
            return self.results[role]()
        return self._other(role, form)

    def _count(self, number: int, form: str) -> str:
        """Return a count of people, in words for form "w", in digits for "d"."""
        self.labels[str(number)] = None
        # Papers write small counts in words, and a system that lists counts must find these too.
        if number < 1000 and form != "d" and (form or self.chance(0.2 if number < 100 else 0.05)):
            return in_words(number)
        return f"{number:,}" if self.chance(0.8) else str(number)

    def _other(self, role: str, form: str) -> str:
        """Return a name, or a number that is not a count of people."""
        if role in self.ranges:
            number = self.numbers.draw(*self.ranges[role], asked=False)
            return in_words(number) if form == "w" or (number < 60 and self.chance(0.2)) else f"{number:,}"
        if role in _YEARS:
            return str(self.numbers.within(*_YEARS[role], asked=False) or "that year")
        drawn = _DRAWN.get(role)
        return self._name(role) if drawn is None else drawn(self)

    def large(self) -> str:
        """Return a larger number that is not a count of people."""
        number = self.numbers.draw(60, 16_000, asked=False)
        return f"{number:,}" if self.chance(0.6) else str(number)

    def percentage(self) -> str:
        if self.chance(0.6):
            return f"{self.numbers.draw(3, 96, asked=False)}{self.pick(('%', '%', ' per cent', ' percent'))}"
        return f"{self.decimal(3, 93)}%"

    def _interval(self, between: Callable[[float], float], digits: int) -> Callable[[], str]:
        """Draw a confidence interval's level; ``between`` maps a number of standard errors to a bound."""
        level = self.pick(self._levels) if self._levels else 95
        z = _LEVELS[level]
        named = f"{level}% " if self._levels else ""
        return lambda: (
            f"{named}confidence interval {_rounded(between(-z), digits):.{digits}f} to {_rounded(between(z), digits):.{digits}f}"
        )

    def _effect(self) -> float:
        """Return the drug's effect in standard errors, consistent with the study's outcome."""
        size = self.random()
        return self.outcome * (0.3 + _CLEAR + 3 * size) if self.outcome else 2.6 * size - 1.3

    def _fits(self, effect: float) -> bool:
        return self.outcome * effect >= _CLEAR if self.outcome else abs(effect) <= _UNCLEAR

    def _set_results(self) -> None:
        """Draw consistent results: estimates are inside their intervals, and p-values follow from them.

        They are worded once a sentence reports them, because most abstracts report few.
        """
        people, random = self.people, self.random
        error, base = 0.5 + 2 * random(), round(17 + 17 * random(), 1)
        diff = _rounded(error * self._effect(), 1)
        adjusted = _rounded(diff + 0.2 * error * (random() - 0.5), 1)
        arms = people["arma"], people["armb"]
        log_ratio, ratio_error = _log_ratio((people["back"], people["backb"]), arms)
        rates = [self.numbers.draw(60, 96, asked=False) for _ in arms]
        linked = (2 + self.below(5)) / 10 + (1 + self.below(9)) / 100
        diff_ci = self._interval(lambda z: diff + z * error, 1)
        adjusted_ci = self._interval(lambda z: adjusted + z * error, 1)
        ratio_ci = self._interval(lambda z: exp(log_ratio + z * ratio_error), 2)
        apart = self._effect()
        self.results = {
            "mean": lambda: f"{base + diff:.1f}",
            "meanb": lambda: f"{base:.1f}",
            "diff": lambda: f"{diff:.1f}",
            "diff_ci": diff_ci,
            "diff_p": lambda: _p(diff / error),
            "adjusted": lambda: f"{adjusted:.1f}",
            "adjusted_ci": adjusted_ci,
            "ratio": lambda: f"{exp(log_ratio):.2f}",
            "ratio_ci": ratio_ci,
            "apart": lambda: f"{'remained apart' if self.outcome else 'met again later'} ({_p(apart)})",
            "rate": lambda: f"{rates[0]}%",
            "rateb": lambda: f"{rates[1]}%",
            "rate_p": lambda: _p(_contrast(rates[0] / 100, rates[1] / 100, arms)),
            "linked": lambda: f"{linked:.2f}",
            "linked_p": lambda: _p(atanh(linked) * sqrt(people["kept"] - 3)),
            "variance": lambda: f"{100 * linked**2:.1f}%",
            "share": lambda: f"{100 * people['kept'] / people['total']:.1f}%",
            "good_p": lambda: _p(_contrast(people["good"] / arms[0], people["goodb"] / arms[1], arms)),
            "free_p": lambda: _p(_contrast(people["free"] / arms[0], people["freeb"] / arms[1], arms)),
            "days_p": self._set_times("days"),
            "spells_p": self._set_times("spells"),
        }

    def _set_times(self, name: str) -> Callable[[], str]:
        """Draw a pair of times or numbers of which lower ones are better; return a function that words the p-value."""
        more = self.numbers.draw(30, 59, asked=False)
        after = next(number for number in count(more + 1) if not self.numbers.is_asked(number))
        fewer = self.numbers.draw(5, 19, asked=False) if self.outcome else after
        pair = (more, fewer) if self.outcome < 0 else (fewer, more)
        self.fields |= {name: str(pair[0]), f"{name}b": str(pair[1])}
        effect = self._effect()
        return lambda: _p(effect)

    def _name(self, role: str) -> str:
        if role == "month":
            return self.pick(MONTHS)
        if role == "kindname":
            return self.pick(_words("disease_kind"))
        name = self.names.name("surname" if role == "surname" else "place")
        return name if role in ("place", "surname") else f"the {name} {self.pick(_words(role))}"

    def decimal(self, low: int, high: int) -> str:
        return f"{self.whole(low, high - 1)}.{self.whole(1, 9)}"

    def _group(self, who: str) -> str:
        low, high = _AGES[who]
        first = self.numbers.within(low, (low + high) // 2, asked=False)
        last = self.numbers.within((low + high) // 2 + 1, high, asked=False)
        if first is None or last is None or self.chance(0.55):
            return self.say(f"who.{who}")
        noun = self.pick(("patients", "participants", "persons", "people", "subjects", "outpatients"))
        return noun + self.pick(
            (f" aged {first} to {last} years", f" between {first} and {last} years of age")
        )

    def _sizes(self) -> None:
        """Draw the outcome and the numbers of people; parts and totals may all be answers."""
        # A few large trials prevent a number's length from revealing whether it counts people.
        largest = 16_000 if self.chance(0.16) else 420
        self.outcome = self.pick((1, 1, 0, 0, -1))
        while True:
            arms = [self.numbers.draw(22, largest, asked=True)]
            arms.append(self.numbers.draw(arms[0] * 4 // 5, arms[0] * 6 // 5 + 1, asked=True))
            total = sum(arms)
            losses = self._losses(total) if self.numbers.is_asked(total) else None
            if losses is None:
                continue
            self.people = {"arma": arms[0], "armb": arms[1], "total": total, **losses}
            if all(self._pair(name, *shares) for name, shares in _PAIRS.items()):
                break
        smaller = min(arms)
        self.asked = {
            "n": (13, max(14, smaller)),
            "few": (2, 12),
            "big": (total * 6 // 5, total * 7),
        }
        self.ranges = _RANGES | {
            "sites": (2, max(5, min(59, total // 12))),
            "some": (2, max(12, total // 4)),
            "many": (total, 6 * total),
        }

    def _pair(self, name: str, low: float, high: float, sign: int) -> bool:
        """Draw how many in each group get better (sign 1) or worse (-1); return whether they fit the outcome."""
        arms = self.people["arma"], self.people["armb"]
        for _ in range(9):
            control = self.numbers.draw(ceil(low * arms[1]), ceil(high * arms[1]), asked=True)
            share = control / arms[1]
            error = sqrt(share * abs(1 - share) * (1 / arms[0] + 1 / arms[1]))
            treated = max(2, round(arms[0] * (share + sign * self._effect() * error)))
            while not self.numbers.is_asked(treated):
                treated += 1
            fits = (
                treated < arms[0]
                and control < arms[1]
                and self._fits(sign * _contrast(treated / arms[0], share, arms))
            )
            if fits and sign < 0:
                ratio, ratio_error = _log_ratio((treated, control), arms)
                fits = self._fits(-ratio / ratio_error)
            if fits:
                self.people |= {name: treated, f"{name}b": control}
                return True
        return False

    def _losses(self, total: int) -> dict[str, int] | None:
        """Return how many people stay and how many leave for each of two reasons, or None if no numbers fit."""
        for _ in range(20):
            losses = [self.numbers.draw(2, max(14, total // 7), asked=True) for _ in range(2)]
            kept = total - sum(losses)
            if kept > total // 2 and self.numbers.is_asked(kept):
                return {"kept": kept, "losta": losses[0], "lostb": losses[1]}
        return None

    def _set_names(self, topic: Topic, own: Features, earlier: Features) -> None:
        self.fields = {"std": topic.std}
        self.fields |= {name: self._name(name.rstrip("b")) for name in ("place", "surname", "surnameb")}
        hospital = self.pick(_words("hospital"))
        self.fields["hospital"] = f"the {self._name('place')} {hospital}"
        noun, kind = self.pick(_words("scale_noun")), self.pick(_words("scale_kind"))
        self.fields["scale"] = f"{self._name('surname')} {noun} {kind}"
        self.fields["form"] = self.pick(("tablets", "capsules"))
        names = {"disease": own.disease, "diseaseb": earlier.disease}
        names |= {"drug": own.drug, "drugb": earlier.drug}
        # If a sentence mentions both, their order does not reveal which is which.
        for kind, one, two in (("d", own.disease, earlier.disease), ("r", own.drug, earlier.drug)):
            first, second = (one, two) if self.chance(0.5) else (two, one)
            names |= {f"{kind}a": first, f"{kind}b": second}
        for end, study in (("", own), ("b", earlier)):
            names[f"pop{end}"] = self._group(study.who)
            names[f"comp{end}"] = self.say(f"versus.{study.versus}")
            names[f"assign{end}"] = self.say(f"way.{study.way}")
        self.fields |= names

    def _set_facts(self, own: Features) -> None:
        """Draw the values that an abstract repeats."""
        draw = self.numbers.draw
        weeks = draw(6, 104, asked=False)
        self.ranges["week"] = (2, weeks)
        self.fields |= {"weeks": str(weeks), "dose": str(draw(5, 900, asked=False)), "price": self.large()}
        self.fields |= {"score": str(draw(60, 80, asked=False)), "points": str(draw(100, 200, asked=False))}
        self.fields |= {"mass": self.decimal(*_MASS[own.who]), "height": self.decimal(*_HEIGHT[own.who])}

    def abstract(self, topic: Topic, own: Features, earlier: Features) -> tuple[str, Paragraph]:
        """Return title and abstract of a study that reports an ``earlier`` one by others."""
        self.labels = {}
        self._sizes()
        self._set_names(topic, own, earlier)
        self._set_facts(own)
        self._set_results()
        title = _tidy(self.say("title.main"))
        before = [*self.several("intro.burden", 0, 2), self.say("intro.earlier")]
        aim = self.several("aim", 0, 1)
        order = ("methods.main", "methods.count")
        study = [self.say(name) for name in (order if self.chance(0.7) else order[::-1])]
        methods = [*study, *self.several("methods.detail", 1, 3)]
        flow = "results.flow"
        if own.way != "records":
            methods += self.several("methods.visit", 0, 2)
            flow = self.pick((flow, "results.visit", "results.visit"))
        results = [
            *self.several(flow, 0, 1),
            *self.several("results.base", 0, 1),
            *self.several("results.main", 1, 2),
            *self.several("results.harm", 0, 2),
            *self.several("results.extra", 0, 2),
        ]
        heads = ("",) * 4 if self.chance(0.45) else self.pick(_SECTIONS)
        parts = (aim, methods, results, [self.say(f"close.{_OUTCOMES[self.outcome]}")])
        reported = heads[0] + _tidy(" ".join(before))
        rest = [
            head + capital(" ".join(sentences))
            for head, sentences in zip(("", *heads[1:]), parts, strict=True)
            if sentences
        ]
        text = f"{reported} {_tidy(' '.join(rest))}"
        self.results = {}  # they refer to this writer, which would stay in memory until garbage is collected
        return title, Paragraph(text, tuple(self.labels), len(reported))

    def background(self, topic: Topic, wanted: Features) -> str:
        """Return the paragraph with the question of a review."""
        self.people, self.asked, self.results = {}, {}, {}
        other = Features(topic.diseases[1], topic.drugs[1], wanted.who, wanted.way, wanted.versus)
        self._set_names(topic, wanted, other)
        for name, value in (("who", wanted.who), ("way", wanted.way), ("versus", wanted.versus)):
            self.fields[f"ask_{name}"] = self.say(f"ask.{value}")
        parts = [*self.several("review.open", 1, 2), self.say("review.ask"), self.say("review.close")]
        return _tidy(" ".join(parts))


def _words(name: str) -> tuple[str, ...]:
    return words(_FILE, name)


# Names in a plan of numbers that are not counts of people.
_DRAWN: Mapping[str, Callable[[TrialWriter], str]] = {
    "h": TrialWriter.large,
    "pct": TrialWriter.percentage,
    "dec": lambda writer: writer.decimal(1, 9),
    "tenth": lambda writer: f"0.{1 + writer.below(9)}",
    "lowpct": lambda writer: f"{writer.decimal(1, 15)}%",
    "kappa": lambda writer: f"0.{2 + writer.below(7)}{1 + writer.below(9)}",
    "p": lambda writer: f"0.0{1 + writer.below(9)}",
}


def _contrast(one: float, two: float, sizes: tuple[int, int]) -> float:
    both = (one * sizes[0] + two * sizes[1]) / sum(sizes)
    return (one - two) / sqrt(max(both * (1 - both), 1e-9) * (1 / sizes[0] + 1 / sizes[1]))


def _log_ratio(counts: tuple[int, int], sizes: tuple[int, int]) -> tuple[float, float]:
    """Return the log ratio of two proportions, and its standard error."""
    ratio = counts[0] / sizes[0] / (counts[1] / sizes[1])
    return log(ratio), sqrt(1 / counts[0] + 1 / counts[1])


def _rounded(number: float, digits: int) -> float:
    return round(number, digits) + 0.0  # never -0.0


def _p(z: float) -> str:
    """Return a normal deviate's two-sided p-value, worded as in a paper."""
    value = erfc(abs(z) / sqrt(2))
    return f"p = {min(value, 0.99):.2f}" if value >= 0.01 else "p < 0.01" if value >= 0.001 else "p < 0.001"


def _tidy(text: str) -> str:
    return without_gaps(repair(text), ".,;:")


CHARACTERS_PER_TOKEN = 4.18  # mean over many texts, in cl100k tokens
INCLUDED = 0.4  # fraction of studies that match the question of their topic
_LEAST_INCLUDED, _MOST_INCLUDED = 0.3, 0.45  # fraction of studies that a review includes


def _ids(random: Random) -> Iterator[str]:
    seen: set[int] = set()
    while True:
        number = 10_000_000 + int(random.random() * 80_000_000)
        if number not in seen:
            seen.add(number)
            yield str(number)


class Review:
    """An endless systematic review generated from a seed: title, background, and the studies screened for it.

    A share of its own of the studies is included. Every place is as likely as any other to have an included
    study, and four studies in a row are never all alike.
    """

    def __init__(self, seed: int) -> None:
        writer = TrialWriter(stream(seed, "review"))
        topic = writer.topic()
        wanted = writer.criteria(topic)
        self.background = writer.background(topic, wanted)
        self.title = f"{topic.drugs[0].capitalize()} for {topic.diseases[0]}: a systematic review"
        self.studies = Growing(_studies(seed, writer, topic, wanted))


def _studies(seed: int, writer: TrialWriter, topic: Topic, wanted: Features) -> Iterator[WrittenStudy]:
    ids = _ids(Random(stream(seed, "review ids")))
    # The share varies from review to review; otherwise the number of included studies could be guessed.
    share = _LEAST_INCLUDED + (_MOST_INCLUDED - _LEAST_INCLUDED) * writer.random()
    # Systematic sampling: the included are spread evenly, from a random start.
    reached = writer.random()
    while True:
        included = reached + share >= 1
        reached = (reached + share) % 1
        title, abstract = writer.abstract(topic, *writer.features(topic, wanted, included=included))
        yield WrittenStudy(next(ids), title, abstract.text, included)


class Abstracts:
    """An endless text generated from a seed, one abstract per paragraph.

    Labels are the counts of people in digits without commas.
    """

    def __init__(self, seed: int) -> None:
        self._paragraphs = Growing(_abstracts(seed))

    def __call__(self, tokens: int, size: Callable[[Paragraph], int] | None = None) -> LabelledText:
        """Return the fewest abstracts that reach a given token count; a longer text extends a shorter one.

        ``size`` counts the tokens of an abstract and the empty line after it; by default, they are estimated.
        """
        total: float = tokens
        if size is None:
            size, total = (lambda paragraph: len(paragraph.text) + 2), tokens * CHARACTERS_PER_TOKEN
        return LabelledText("Abstracts of clinical studies", self._paragraphs.first(total, size))


def _abstracts(seed: int) -> Iterator[Paragraph]:
    """Yield abstracts endlessly, five to twelve per topic."""
    writer = TrialWriter(stream(seed, "abstracts"))
    ids = _ids(Random(stream(seed, "abstract ids")))
    while True:
        topic = writer.topic()
        wanted = writer.criteria(topic)
        for _ in range(writer.whole(5, 12)):
            features = writer.features(topic, wanted, included=writer.chance(INCLUDED))
            title, abstract = writer.abstract(topic, *features)
            before = f"ID: {next(ids)} Title: {title} Abstract: "
            yield Paragraph(before + abstract.text, abstract.labels, len(before) + abstract.reported)
