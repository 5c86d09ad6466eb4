"""What paragraphs of court opinions say, as facts: a name or a figure, and the word that decides, with its alternatives.

A faithful summary may say in other words what happened and how it ended, so the groups of a fact are short and have many members. Both
a name and an ordinary word are asked for: a list of names states no fact but those of captions, and other opinions state few.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache

from long_context_tasks.synthetic.document import Fact
from long_context_tasks.synthetic.wording import capital, records, words

CASES = "opinions_cases.txt"
FILE = "opinions_facts.txt"
_MONEY = re.compile(r"\d{1,3}(?:,\d{3})+")
_JUDGE = re.compile(r"Judge (\w+)")

Groups = tuple[tuple[str, ...], ...]
Text = Mapping[str, str]
"""Fields of a case at hand: ``pl``, ``df`` its parties, ``court`` the court below, ``oE``, ``oC`` what happened and what is pleaded."""


def _list(line: str) -> tuple[str, ...]:
    return tuple(line.split(", "))


def alternatives(value: str) -> tuple[str, ...]:
    """Return the words that say a value of a case.

    >>> alternatives("event.fire")[:3]
    ('fire', 'fires', 'flames')
    """
    return _list(words(FILE, value)[0])


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


def caption_fact(title: str, own: Text) -> Fact:
    """Return who is before the court, and where the case comes from."""
    groups = (*((one,) for one in _parties(own)), (_seat(own["court"]),))
    return Fact(f"{title} came on appeal from {own['court']}.", groups)


def found_facts(parts: Sequence[str], own: Text) -> list[Fact]:
    """Return what happened in the case at hand, and what is pleaded, where one of the sentences says so."""
    statements = {
        "oE": f"In the case of {own['pl']} it is found that {own['oE']}.",
        "oC": f"{capital(own['df'])} pleads that {own['oC']}.",
    }
    found = []
    for name, statement in statements.items():
        wording = own[name]
        part = next((one for one in parts if wording.lower() in one.lower()), None)
        if part is None:
            continue
        names = _parties(own)
        # Where the sentences name nobody, the sum at stake stands for the case.
        if not any(name in one for name in names for one in parts):
            names += tuple(_MONEY.findall(part))
        found.append(Fact(statement, (names, alternatives(own[f"{name}_value"]))))
    return found


def cited_fact(title: str, names: tuple[str, ...], case: Text) -> Fact:
    """Return how a cited case ended; any of ``names`` identifies it, ``case`` words its parties (P, D) and its outcome (H)."""
    statement = f"{title}, between {case['P']} and {case['D']}, is cited: {case['H']}."
    return Fact(statement, (names, alternatives(case["H_value"])), 0.5)


@cache
def _said() -> tuple[tuple[tuple[str, ...], tuple[str, ...], str], ...]:
    return tuple((_list(keys), _list(more), statement) for keys, more, statement in records(FILE, "said"))


@cache
def _whole(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b{words}\b")


def said_facts(parts: Sequence[str], acts: Sequence[str]) -> list[Fact]:
    """Return what is said of each statute, by the first of the sentences that names it."""
    found = []
    for act in acts:
        part = next((one for one in parts if act in one), "")
        for keys, more, statement in _said():
            word = next((key for key in keys if key in part and _whole(key).search(part)), None)
            if word is not None:
                told = statement.format(act=act, word=word)
                found.append(Fact(told, ((act,), (*keys, *more)), 0.3))
                break
    return found


def closing_fact(last: str, own: Text) -> Fact | None:
    """Return how the case at hand ends; None where the last sentences leave it open."""
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
        # Some courts come up again and again, so theirs is the last name to tell the case by.
        if not any(name in last for name in names):
            names += (_seat(own["court"]),)
        return Fact(statement, (names, (line, *_list(more))))
    return None
