"""Reads a finished meeting as a person would: finds where a question comes up, who brings up what, and what is taken.

It knows the English language and the form of a transcript, nothing of the writer: no list of sentence plans and no bookkeeping.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

PAUSES = re.compile(r"\b(?:uh|um|ehm|er|uhm|eh),?(?= |$)|<[a-z_]+/>")
# What each question asks (in the question) and how it comes up in the talk; the first that fits counts.
KINDS = (
    (r"phone|call partners", r"partners about"),
    (r"\bcheck|double-check", r"\bwho\b.*(?:check|look.? through|go through)"),
    (r"travel", r"\bwho\b.*(?:travel|goes|drive|go to)"),
    (r"chair|moderat", r"\bwho\b.*(?:chair|moderat|lead)"),
    (r"^who|in charge|prepar|take care", r"\bwho\b.*(?:write|prepare|put|take|work)"),
    (r"\bdue\b|deadline|by when", r"due|deadline|by when|hand in|deliver|finish"),
    (r"time of day|what time", r"time .*(?:start|begin)|time we"),
    (r"restarted|switched|online", r"restarted|switch|online"),
    (r"how many pages", r"how many pages"),
    (r"euros|how much money", r"euros|how much money"),
    (r"machines", r"machines"),
    (r"how many people|people are expected", r"how many people"),
    (r"^where|what place", r"where|which place|which room"),
    (r"called|which name", r"called|\bname\b"),
    (r"theme|mainly", r"main theme|mainly about"),
    (r"tool|kept|edited", r"tool|program|(?:edit|keep)"),
    (r"why|reason|cause|brought", r"why|brought|wrong|fail"),
    (r"^when|which day", r"when|what day|\bdate\b"),
)
AGAIN = re.compile(r"\bback\b(?! online)|return to|problem|\bmail\b(?! folder)|message, and|need to change")
STAYS = re.compile(r"\bdiscuss\b.* again|still clear")
TAKEN = re.compile(
    r"said|suggested|wanted|brought up|proposed|\bgo with|convinced|has point|idea|suggestion|version|(?:is|was) right|got it"
    r"|without|one that is left|remaining"
)
BY_REASON = re.compile(r"point about|argument about|go by|after all")
BY_PLACE = re.compile(r"(?:\b(first|second|third|last)\b (?:thing|one|idea|of four))")
REJECTED = re.compile(
    r"\b(?:old|outdated|out of date|last month|before|forget|do not look|no longer|today counts)\b"
)
REASON = r"(?:because of|thinking of|given) "
PLACES = ("first", "second", "third", "last")


@dataclass(frozen=True)
class Turn:
    """A turn as it is understood: tags in lower case, no articles, no hesitations."""

    speaker: str
    text: str


def plain(text: str) -> str:
    """Lower case without hesitations, false starts, repeated words and articles."""
    text = PAUSES.sub(" ", re.sub(r"\b(\w+) (?=\1\b)", "", text.lower()))
    kept: list[str] = []
    for word in text.split():
        if word.endswith("-") and len(word) > 1:
            continue
        if word in ("the", "a", "an") or (kept and word.strip(",") == kept[-1].strip(",")):
            continue
        kept.append(word)
    return " ".join(kept).replace(" ,", ",")


def read_turns(transcript: str) -> list[Turn]:
    """The turns of a transcript."""
    turns: list[Turn] = []
    for line in transcript.split("\n"):
        match = re.match(r"\((PERSON\d+)\) (.*)", line)
        if match:
            turns.append(Turn(f"[{match[1].lower()}]", plain(match[2])))
        else:
            turns[-1] = Turn(turns[-1].speaker, f"{turns[-1].text} {plain(line)}")
    return turns


SUBJECT = re.compile(r"the (?:(?!the ).)*? (?:of|for|on|about) (?:\[PROJECT\d+\]|[A-Z][a-z]+)")


def subject_of(question: str) -> str:
    """What a question is about: the words up to the name of its project, from the last "the" before it."""
    return plain(SUBJECT.findall(question)[0])


def answer(transcript: str, question: str, options: Sequence[str]) -> str | None:
    """The option that the meeting comes to in the end; None where that is unclear."""
    turns = read_turns(transcript)
    subject = subject_of(question)
    asked = plain(question).replace(subject, "it")
    cue = next(re.compile(cue) for sign, cue in KINDS if re.search(sign, asked))
    said: dict[str, tuple[str, str]] = {}
    taken: str | None = None
    for place, turn in enumerate(turns):
        about = turn.text.find(subject)
        if about < 0 or not cue.search(turn.text.replace(subject, "")) or STAYS.search(turn.text):
            continue
        if not said:
            said, place = _brought_up(turns, place, options)
        elif not AGAIN.search(turn.text.replace(subject, "")):
            continue
        taken = _taken(turns, place, said) or taken
    return taken


def _brought_up(
    turns: Sequence[Turn], start: int, options: Sequence[str]
) -> tuple[dict[str, tuple[str, str]], int]:
    """Option to who brings it up and in which sentence; and the place of the last such turn."""
    said: dict[str, tuple[str, str]] = {}
    for place in range(start + 1, min(start + 40, len(turns))):
        # Without the reason, which may name another option: "the blue room, because of the gym class".
        text = re.sub(f", {REASON}.*", "", turns[place].text)
        for option in options:
            if option not in said and re.search(rf"(?<!\w){re.escape(plain(option))}(?!\w)", text):
                said[option] = (turns[place].speaker, turns[place].text)
                if len(said) == len(options):
                    return said, place
    return said, start


def _taken(turns: Sequence[Turn], start: int, said: dict[str, tuple[str, str]]) -> str | None:
    """What the turns after a place settle on."""
    speakers = {speaker: option for option, (speaker, _) in said.items()}
    reasons = {
        re.sub(f"^{REASON}", "", text.rsplit(", ", 1)[-1]).strip(".?"): option
        for option, (_, text) in said.items()
        if ", " in text
    }
    for turn in turns[start : start + 25]:
        text = turn.text
        named = [
            speakers[tag] for tag in dict.fromkeys(re.findall(r"\[person\d+\]", text)) if tag in speakers
        ]
        if named and TAKEN.search(text) and turn.speaker not in speakers:
            if len(named) == 1:
                return named[0]
            if len(named) == 3:
                return next(option for option in said if option not in named)
        given = [option for reason, option in reasons.items() if re.search(rf"\b{re.escape(reason)}\b", text)]
        if len(given) == 1 and BY_REASON.search(text) and turn.speaker not in speakers:
            return given[0]
        if (found := BY_PLACE.search(text)) and len(said) == 4 and turn.speaker not in speakers:
            return list(said)[PLACES.index(found[1])]
    return None


def rejects(transcript: str, question: str, value: str) -> bool:
    """Whether somebody names a value for the subject of a question and the next one calls it out of date."""
    turns, subject = read_turns(transcript), subject_of(question)
    named = re.compile(rf"(?<!\w){re.escape(plain(value))}(?!\w)")
    return any(
        subject in one.text and named.search(one.text.replace(subject, "")) and REJECTED.search(after.text)
        for one, after in pairwise(turns)
    )
