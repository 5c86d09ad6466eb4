"""What a debate's speeches come down to: plain statements with the words that tell whether a text states them.

Names and figures alone state nothing: every fact has a group of words that say what was done, which a list of the capitalised words and
the numbers of a speech does not have. Such a group holds the words of the speeches, those of the statements, and those that a reader would use.
"""

import hashlib
import re
import zlib
from collections.abc import Mapping, Sequence
from functools import cache

from long_context_tasks.synthetic.debate_house import Act, Member
from long_context_tasks.synthetic.document import Fact
from long_context_tasks.synthetic.story_facts import telling_words
from long_context_tasks.synthetic.wording import lines_of, repair

__all__ = ["MAJOR", "MIDDLE", "MINOR", "detail", "fact_of_act", "summarize"]

MAJOR, MIDDLE, MINOR = 1.0, 0.6, 0.2
MOST_FACTS = 3  # in the summary of a part
Words = tuple[str, ...]


def _said(words: str) -> Words:
    """A group from a list with commas."""
    return tuple(words.split(", "))


# Words that begin sentences ("Take", "Question", "Division") would stand in a list of capitalised words: they come with a neighbour.
_QUOTED = _said(
    "evidence, quoted, quotes, cited, cites, citing, authority, expert, witness, testimony, testified, appealed, invoked, according, "
    "referred, mentioned, view, views, viewed, opinion, argument, argued, argues, arguing, gist, convinced, let fall, thought, believed, "
    "held, papers, memoranda, memorandum, letter, report, reported, pamphlet, note, work, research, study, word, wrote, written, warned, "
    "warning, told, said, says, stated, claimed, observed, noted, concluded, found, finds, finding, findings, shown, shows, showed, proved, "
    "established, demonstrated, allowed, conceded, admitted"
)
_HARDSHIP = _said(
    "hardship, hardships, suffer, suffers, suffered, suffering, badly, wronged, mistreated, treated, treatment, neglected, ignored, "
    "refused, denied, rejected, unfairly, unjust, injustice, failed, plight, ordeal, grievance, complaint, complained, complains, example, "
    "case, victim, trouble, troubles, struggle, struggled, difficulty, difficulties, misfortune, misfortunes, loss, losses, cheated, "
    "evicted, mocked, ridiculed, humiliated, punished, penalised, fine, waiting, delay, delays, debt, cost, charged, story, letter, wrote, "
    "told, described, recounted, heard, experience, experiences, affected, done to, sent"
)
_DEATH = _said(
    "tribute, tributes, late, death, died, dies, dead, deceased, mourned, mourning, remembered, remembrance, memory, buried, burial, "
    "funeral, passing, passed away, obituary, loss, honoured, commemorated, eulogy, praise, praised, sorrow, lamented, condolences"
)
_PETITION = _said(
    "petition, petitions, petitioned, petitioner, petitioners, signed, signing, signature, signatures, signatories, names, prayed, prays, "
    "pray, prayer, appeal, appealed, plea, protest, protested, asked, asking, request, requested"
)
_DIVIDED = _said(
    "divided, vote, votes, voted, voting, a division, the division, division on, carried, lost, agreed, negatived, rejected, defeated, "
    "passed, approved, adopted, fell, failed, in favour, against it, opposed"
)
_CORRECTED = _said(
    "correct, corrects, corrected, correcting, correction, corrections, wrong, wrongly, mistake, mistaken, error, erroneous, inaccurate, "
    "put right, set right, too low, too high, instead of, rather than, revised, amended, misread, misquoted, misled, apologised, actually, "
    "in fact, in truth, true number, true figure, disputed"
)
_CALLED = _said(
    "call, calls, called, move, moves, moved, moving, taken, take it, tabled, proposed, proposes, introduced, presented, come to, came up, "
    "in the name, set down, put forward, selected, reached, considered, begun, began, opened, turned to"
)
_FOR = _said(
    "spoke for, speaks for, speaking for, argued for, argues for, in favour, favour, favoured, favours, support, supports, supported, "
    "supporting, supporter, backed, backs, backing, endorsed, endorses, approved, approves, welcomed, welcomes, defended, defends, "
    "advocated, urged, urges, praised, agreed, agrees, asks, asked, asking, ask for, case, name, voice, vote, votes, want, wants, wanted"
)
_AGAINST = _said(
    "against, oppose, opposes, opposed, opposing, opposition, opponent, objected, objects, objection, objections, criticised, criticises, "
    "criticism, rejected, rejects, resisted, attacked, attacks, disagreed, disagrees, doubted, doubts, questioned, warned, warns, "
    "condemned, disputed, unconvinced, sceptical, harm, harmful, lose, finish, forgets, rests, built on sand, follow, part company, drawn, wreck, "
    "given up, let it, honest friend, bad law"
)
_ASKED = _said(
    "a question, the question, question to, question about, questions, questioned, asked, asks, ask, asking, enquired, inquired, queried, "
    "challenged, challenges, pressed, interrupt, interrupts, interrupted, intervened, wondered, wanted to know, give way, allow me, "
    "very point, listened, aware, understand"
)
_ANSWERED = _said(
    "reply, replies, replied, replying, answer, answers, answered, answering, respond, responds, responded, response, retorted, said, says, "
    "told, explained, agreed, admitted, denied, quite right, a point, fair point, accept, will wait, be patient"
)
_REPLIED = _said(
    "reply, replies, replied, replying, answer, answers, answered, respond, responds, responded, response, spoke, speaks, speaking, said, "
    "says, stated, told, explained, defended, defends, promised, promises, assured, the point, to heart, only say, listened, papers, spent"
)
_ORDER = _said(
    "point of order, points of order, of order, out of order, in order, objected, objection, complained, procedure, procedural, a breach"
)
_RULED = _said("ruling, rulings, ruled, rules, chair, speaker, dismissed, upheld, rejected, decided")


def _choose(*options: str) -> str:
    """One of several ways to say the same, the same each time."""
    return options[zlib.crc32(options[0].encode()) % len(options)]


def _fact(weight: float, statement: str, *groups: Words) -> Fact:
    return Fact(repair(statement), groups, weight)


def fact_of_act(act: Act, people: Mapping[str, Member], text: Mapping[str, str], said: str) -> Fact:
    """The fact of a speech's purpose.

    Args:
        act: the speech.
        people: who "Q" is, the person outside the House.
        text: the fields of the speech.
        said: the words of the speech to this purpose.
    """
    if act.kind in ("petition", "tribute"):
        return _of_person(act.kind, people["Q"], text["place"], text["big"])
    return _DECISIVE[act.kind](act) if act.kind in _DECISIVE else _of_talk(act, text["place"], said)


def _of_person(kind: str, person: Member, place: str, number: str) -> Fact:
    name = " ".join(person.names)
    if kind == "petition":
        told = _choose(
            f"A petition from {place} with {number} names was presented; {name} stood behind it.",
            f"{number} people of {place}, {name} among them, petitioned the House.",
        )
        return _fact(MAJOR, told, (place,), (number,), person.names, _PETITION)
    told = _choose(
        f"The late {name} was remembered in the House.",
        f"A tribute was paid to {name}.",
        f"A Member spoke of the death of {name}.",
    )
    return _fact(MAJOR, told, (person.name,), (person.surname,), _DEATH)


def _move(act: Act) -> Fact:
    issue, aim = act.issue, act.issue.topic.aim
    told = _choose(
        f"An amendment by {issue.mover.called} would {aim}, with “{issue.new}” in the place of “{issue.old}”.",
        f"{issue.mover.called} proposed to {aim}: “{issue.new}” was to stand for “{issue.old}”.",
        f"It was moved by {issue.mover.called} that “{issue.old}” become “{issue.new}”, to {aim}.",
    )
    return _fact(MAJOR, told, (issue.new,), (issue.old,), issue.mover.names)


def _divide(act: Act) -> Fact:
    number, carried = act.issue.number, "carried" if act.ayes > act.noes else "lost"
    told = _choose(
        f"A vote on amendment {number} was {carried} by {act.ayes} to {act.noes}.",
        f"There was a division: {act.ayes} for amendment {number}, {act.noes} against it.",
        f"Amendment {number} was {carried}, with {act.ayes} in favour and {act.noes} opposed.",
    )
    return _fact(MAJOR, told, (str(number),), (str(act.ayes),), (str(act.noes),), _DIVIDED)


def _accept(act: Act) -> Fact:
    number, subject = act.issue.number, act.issue.topic.subject
    told = _choose(
        f"The Government took over amendment {number}, on {subject}, and it was agreed to.",
        f"Amendment {number} was agreed to without a vote, the Minister being content to accept it; it concerned {subject}.",
    )
    return _fact(MIDDLE, told, (str(number),), ("agreed", "accept", "accepted", "accepts"))


def _withdraw(act: Act) -> Fact:
    number = act.issue.number
    told = _choose(
        f"Amendment {number}, on {act.issue.topic.subject}, was withdrawn.",
        f"Leave was given for amendment {number} to be withdrawn.",
    )
    return _fact(MIDDLE, told, (str(number),), ("withdrawn", "withdraw", "withdrew"))


def _figure(act: Act) -> Fact:
    unit = act.issue.topic.unit
    told = _choose(
        f"The number of {unit} was put at {act.figure:,}.",
        f"A figure of {act.figure:,} was quoted for {unit}.",
        f"There were said to be {act.figure:,} {unit}.",
    )
    return _fact(MAJOR, told, (f"{act.figure:,}",), telling_words(unit) or (unit,))


def _correct(act: Act) -> Fact:
    told = _choose(
        f"A figure was put right: {act.figure:,} {act.issue.topic.unit}, not {act.wrong:,}.",
        f"It was {act.figure:,} and not {act.wrong:,}, the Committee heard in correction.",
        f"{act.wrong:,} turned out to be wrong, and {act.figure:,} was given in its place.",
    )
    figure, wrong = f"{act.figure:,}", f"{act.wrong:,}"
    right = (
        *_CORRECTED,
        f"not {wrong}",
        f"from {wrong}",
        f"{wrong} to",
        *telling_words(act.issue.topic.unit),
    )
    return _fact(MAJOR, told, (figure,), (wrong,), right)


_DECISIVE = {
    "move": _move,
    "divide": _divide,
    "accept": _accept,
    "withdraw": _withdraw,
    "figure": _figure,
    "correct": _correct,
}


def _of_talk(act: Act, place: str, said: str) -> Fact:
    """The fact of a speech that decides nothing: who spoke to what end, and of which place, as one may speak more than once."""
    assert act.speaker is not None
    issue, topic, other = act.issue, act.issue.topic, act.other.called
    number, names = (str(issue.number),), act.speaker.names
    matter = (*number, issue.new, *telling_words(f"{topic.subject} {topic.single} {topic.aim}"))
    groups: dict[str, tuple[Words, ...]] = {
        "call": (number, issue.mover.names, _CALLED),
        "support": (names, matter, _FOR),
        "oppose": (names, matter, _AGAINST),
        "ask": (names, _ASKED),
        "answer": (names, _ANSWERED),
        "order_raise": (names, _ORDER),
        "order_rule": (_ORDER, (*_RULED, *names)),
        "reply": (names, _REPLIED),
    }
    also, about = (f", and of {place}", f" about {place}") if place in said else ("", "")
    told = {
        "call": f"Amendment {issue.number} was called, in the name of {issue.mover.called}.",
        "support": f"{act.speaker.listed} spoke for what was proposed on {topic.subject}{also}.",
        "oppose": f"{act.speaker.listed} spoke against what was proposed on {topic.subject}{also}.",
        "ask": f"{act.speaker.listed} put a question to {other}{about}.",
        "answer": f"{act.speaker.listed} replied to a question of {other}{about}.",
        "order_raise": f"{act.speaker.listed} raised a point of order against {other}.",
        "order_rule": f"The Chair gave a ruling on a point of order of {other}.",
        "reply": f"{act.speaker.listed} spoke for the Government on {topic.subject}{also}.",
    }[act.kind]
    return _fact(MINOR, told, *groups[act.kind])


@cache
def _plights() -> frozenset[str]:
    """The telling words of what people suffer."""
    plans = [*lines_of("debate.txt")["plight"], *lines_of("debate.txt")["plight_i"]]
    return frozenset(telling_words(re.sub(r"[\[\]|]", " ", " ".join(plans))))


def detail(kind: str, people: Mapping[str, Member], text: Mapping[str, str], said: str) -> Fact:
    """The fact of a case that was told or of evidence that was quoted.

    Args:
        kind: "case" or "witness".
        people: who "Q" (of the case) and "W" (the witness) are.
        text: the fields of the speech.
        said: the words of the speech about it.
    """
    # Without titles: the speech may have left them out.
    if kind == "case":
        person, place = people["Q"], text["place"]
        name = " ".join(person.names)
        suffered = (*_HARDSHIP, *(word for word in telling_words(said) if word in _plights()))
        if place not in said:
            told = _choose(
                f"The hardship of {name} was put before the House.",
                f"The House heard what {name} had suffered.",
            )
            return _fact(MAJOR, told, (person.name,), (person.surname,), suffered)
        told = _choose(
            f"The hardship of {name} of {place} was put before the House.",
            f"The House heard of {name} of {place}, who had been badly served.",
            f"A Member told what had been done to {name} of {place}.",
            f"{name}, of {place}, was held up as an example of those who suffer.",
        )
        return _fact(MAJOR, told, (person.surname,), (place,), suffered)
    name = " ".join(people["W"].names)
    told = _choose(
        f"The evidence of {name} was quoted.",
        f"{name} was cited as an authority.",
        f"Somebody appealed to what {name} had found.",
        f"The views of {name} were brought up in the argument.",
    )
    return _fact(MAJOR, told, (people["W"].name,), (people["W"].surname,), _QUOTED)


def summarize(facts: Sequence[Fact]) -> str:
    """The three weightiest facts, chosen and arranged by chance that is always the same."""
    ranked = sorted(facts, key=lambda fact: (-fact.weight, hashlib.sha256(fact.statement.encode()).digest()))
    return " ".join(dict.fromkeys(fact.statement for fact in ranked[:MOST_FACTS]))
