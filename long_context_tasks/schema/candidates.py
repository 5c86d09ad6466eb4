"""Choose the answer to which a reply commits, by the same rules for every strict metric.

A reply is parsed in four steps. :mod:`.thinking` removes the thinking, and :mod:`.wrappers` the wrappers
around the answer. The task finds all candidates (designations, orders, lists) with their positions. The words
around each candidate (phrases in ``cues.yaml``) determine its :class:`Standing`. :func:`choose` takes the
candidate with the highest standing, or none if candidates conflict.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, NamedTuple

from long_context_tasks.schema.files import packaged_yaml


class Standing(IntEnum):
    """How a reply presents a candidate, from denied to final."""

    DENIED = 0
    """ "rather than A1"."""
    ASIDE = 1
    """In a draft, an explanation or a quotation from the prompt: "Draft: ...", "for example ..."."""
    MENTIONED = 2
    """Inside a sentence about something else."""
    GIVEN = 3
    """Stated as an answer, without any of the following cues."""
    FIRST = 4
    """The reply begins with it."""
    CHOSEN = 5
    """ "I pick A3", "A3 is the best"."""
    ALONE = 6
    """The only words on its line."""
    FINAL = 7
    """ "Answer: A3", "The correct order is [2, 1]"."""


class Found(NamedTuple):
    """An answer that a task finds in a reply: its position, the answer, and its standing by default."""

    start: int
    end: int
    answer: Any
    otherwise: Standing = Standing.GIVEN


@dataclass(frozen=True)
class Candidate:
    """An answer with the standing that a reply gives it."""

    answer: Any  # compared for equality; a tuple for lists, so that truncated repetitions are recognized
    # Position in the reply.
    start: int
    end: int
    standing: Standing  # how the reply presents it
    introduction: str = ""  # the heading above it and the words before it


SENTENCE_END = re.compile(
    r"\n|(?<=[.!?])(?<!e\.g\.)(?<![Nn]o\.)[ \t]+(?=[^a-z\d\s]|\Z)|(?<=[!?])[ \t]+(?=\d)"
)
"""The border between two sentences or lines; replies are split only by this pattern."""
_NEAR = 200
"""Number of characters examined around a candidate."""
_MOST = 200
"""Number of candidates examined at each end of a reply; repetitive replies have thousands."""


def alternatives(package: str, name: str) -> dict[str, str]:
    """Return each list of cues in a package's YAML file as one regular expression of alternatives."""
    found = {}
    for cue, languages in packaged_yaml(package, name).items():
        phrases = [phrase for of_language in languages.values() for phrase in of_language.split(", ")]
        # Scripts without spaces have no word boundaries.
        bounded = (rf"\b{phrase}\b" if phrase[0] < "\u2e80" else phrase for phrase in phrases)
        found[cue] = f"(?:{'|'.join(bounded)})"
    return found


_CUES = alternatives("long_context_tasks.schema", "cues.yaml")
_CUES["aside"] = f"(?:{_CUES['excluded']}|{_CUES['aside']})"
_HAS = {cue: re.compile(words, re.IGNORECASE) for cue, words in _CUES.items()}
_FILLER = (
    r"(?:\s(?:is|are|the|to|be|it|answer|option|response|designation|former|latter|would)){0,3}[^\w:]*\Z"
)
# "I would not pick A3", "(not: A3"
_DENIES = re.compile(
    rf"{_CUES['denies']}(?:\s{_CUES['chooses']})?{_FILLER}|[(,;]\s?not:[^\w]*\Z", re.IGNORECASE
)
_CHOOSES = re.compile(_CUES["chooses"] + _FILLER, re.IGNORECASE)
OPENS = re.compile(r"\W*" + _CUES["opens"], re.IGNORECASE)
"""For ``match``: a sentence before the answer, such as "Here it is."."""
_ALTERNATES = re.compile(r"\W*" + _CUES["alternates"], re.IGNORECASE)
_INTRODUCES = re.compile(
    r"(?:[:=→]|[-=]>|\b(?:is|are|be|was|as|follows|ist|sind|est|sont|son|es|è|é)(?: (?:therefore|thus|hence|the|an?|la|le|el|l'|die))?|[是为は])\W{0,12}\Z"
)
"""Ends text that leads directly to an answer."""
_PRAISED = re.compile(
    rf"[*_`\"')\]]{{0,4}}(?:(?:\s{_CUES['copulas']}\s|\s?[:=→–—-]\s?)(?:(?!not\b)\w+\s){{0,3}}?{_CUES['praises']}|"
    rf"[ :*(–—-]{{1,5}}{_CUES['passes']}|:[^\n]{{0,120}}, {_CUES['passes']}\W*(?:\n|\Z)|\s(?:wins|takes it|it is)\b|\s?>\s?[*_`]{{0,3}}A\d|:?\s?[→:]?\s?[✓✅✔])",
    re.IGNORECASE,
)
"""Follows a candidate called the best: " is the most helpful one", " > A1", " ✓"."""
_FAILS = re.compile(
    rf"[*_`\"')\]]{{0,4}}(?:[\s:→]{{0,3}}[✗❌✘]|[ :*(→–—-]{{0,5}}(?:(?:each|all|both) )?{_CUES['fails']}|"
    rf":[^\n]{{0,120}}, {_CUES['fails']}\W*(?:\n|\Z)|"
    rf"\s(?:is|are|was|were|should|must|could|can|would)\b[^.;\n]{{0,30}}{_CUES['excluded']})",
    re.IGNORECASE,
)
"""Follows a candidate that the reply rejects: " fails", " were not included"."""
_SPARED = re.compile(r"[*_`\"')\]]{0,4} (?:does not|doesn't)(?=\s?[.,;!]|\s*\Z)")
"""Follows a candidate that is unlike those before it: "A1 and A2 fail, but A3 does not."."""
_EXCEPTED = re.compile(
    r"\b(?:all|every|each|no|none|any)\b[^.\n]{0,80}\b(?:except|but|other than|apart from)(?: for)?[^\w.,;]*\Z",
    re.IGNORECASE,
)
"""Ends right before the only candidate of its kind: "Every answer but A3 fails"."""
_ASKED = re.compile(r"[*_`\"')\]]{0,6}\s?(?:吗)?\?(?=\s*\S)")
"""Follows a candidate that is only considered: "A1? No."."""
_SUBJECT = re.compile(
    r"\W{0,4}(?:[:–—]\s*\w|\s-\s\w|['’]s\b|\s(?:is|was|does|has|would|could|might|may|only|just|lacks|fails|gives|also|seems|comes)\b)"
)
"""Follows a candidate that begins a sentence: "A3, A1 is off topic"."""
_PICKED = re.compile(
    rf"\bthe (?:(first|former)|second|latter)(?: \w+)? (?:is|seems) (?:the )?{_CUES['praises']}|"
    rf"{_CUES['chooses']} the (?:(first|former)|second|latter)\b",
    re.IGNORECASE,
)
"""Follows two answers, of which it names one: "so the second is the right one"."""
_IN_PARENTHESES = re.compile(r"\([^()\n]{0,200}\)")
_APART = re.compile(r"[.!?:>\n–—✗❌✘✓✅✔]|\s-\s")
_WORD = re.compile(r"[^\W_]")


def has(cue: str, text: str) -> bool:
    """Return whether a text contains a cue from ``cues.yaml``.

    >>> has("retracts", "Wait, that is not it."), has("settles", "Final list:"), has("settles", "Study 1:")
    (True, True, False)
    """
    return _HAS[cue].search(text) is not None


def hedged(sentence: str) -> bool:
    """Return whether a sentence asks, or only considers a possibility."""
    return has("hedges", sentence) or sentence.rstrip().endswith("?")


def has_words(text: str) -> bool:
    return _WORD.search(text) is not None


def introduction(text: str, start: int, begin: int = 0) -> tuple[str, str]:
    """Return the part of the sentence before a position, and the heading above it; ``begin`` limits both.

    >>> introduction("I looked.\\n**Final answer**\\n\\nThe best is A3", 40)
    ('The best is ', '**Final answer**')
    """
    pieces = SENTENCE_END.split(text[max(begin, start - 2 * _NEAR) : start])
    lead = pieces.pop().rpartition(";")[2]
    above = next((piece for piece in reversed(pieces) if has_words(piece)), "").strip()
    bare = above.rstrip("*_ \"'")
    titled = above.startswith("#") or (above.startswith("**") and above.endswith("**"))
    short = len(above.split()) < 4 and not bare.endswith((".", "!", "?", ",", ";"))
    return lead, above if titled or short or bare.endswith(":") else ""


def settles(words: str, *, leads: bool = True) -> bool:
    """Return whether the last clause introduces a final answer, unlike "Notes on the answer:".

    With ``leads``, the words must lead directly to the candidate, as ":" and "is" do.
    """
    # The last clause only: "Based on the notes, the answer is" introduces a final answer.
    clauses = [clause for clause in re.split("[,.:;()]", words) if has_words(clause)]
    if not clauses or not has("settles", clauses[-1]):
        return False
    if has("discusses", clauses[-1]) or has("aside", clauses[-1]):
        return False
    # "So, A3", but not "Looking at the answers, A3 ..."
    return not leads or _INTRODUCES.search(words[-40:]) is not None or len(words.split()) < 3


def opening_end(text: str) -> int:
    """Return the end of the sentences that precede an answer, such as "Here is the order", in a text.

    >>> opening_end("Sure! I read it.\\nA3 fits."), opening_end("A3 fits.")
    (17, 0)
    """
    end = 0
    for sentence in SENTENCE_END.finditer(text):
        if not OPENS.match(text, end, sentence.start()):
            break
        end = sentence.end()
    return end


def standing(text: str, found: Found, lead: str, heading: str, opening: int) -> Standing:
    """Return how a text presents an answer after a lead and under a heading, by the first matching rule."""
    line_start, line_end = text.rfind("\n", 0, found.start) + 1, text.find("\n", found.end)
    before = text[max(line_start, found.start - _NEAR) : found.start]
    after = text[found.end : found.end + _NEAR if line_end < 0 else min(line_end, found.end + _NEAR)]
    # The prompt's sample is often quoted, before or after the answer.
    quoted = (lead, heading, SENTENCE_END.split(after, maxsplit=1)[0][:60])
    # Ordered rules; a denial comes first: "the answer is not A1".
    rules = (
        (Standing.DENIED, _DENIES.search(lead[-60:])),
        (Standing.ASIDE, any(has("quotes", words) for words in quoted)),
        (Standing.FINAL, settles(lead)),
        (Standing.ASIDE, has("aside", lead)),
        (Standing.FINAL, settles(heading, leads=False)),
        (Standing.ASIDE, has("excluded", heading)),
        (Standing.ALONE, not has_words(before + after)),
        (Standing.CHOSEN, _CHOOSES.search(lead[-60:])),
        (Standing.FIRST, not _WORD.search(text, min(opening, found.start), found.start)),
    )
    return next((level for level, applies in rules if applies), found.otherwise)


def joined(gap: str) -> bool:
    """Return whether the words between two candidates only join them, so that both have the same standing.

    >>> joined(", or possibly "), joined(". But "), joined(" is better than ")
    (True, False, False)
    """
    return len(gap) < _NEAR and not _APART.search(gap) and not has_words(_HAS["joins"].sub("", gap))


def weigh(text: str, found: Sequence[Found]) -> list[Candidate]:
    """Turn the answers found in a text into candidates, with standings from the surrounding words."""
    opening = opening_end(text)
    # A sentence that contains a candidate is not an opening.
    if found and opening > found[0].start:
        opening = 0
    weighed: list[Candidate] = []
    chain = 0  # index of the first candidate joined to the current answer
    for answer in found if len(found) < 2 * _MOST else [*found[:_MOST], *found[-_MOST:]]:
        last = weighed[-1] if weighed else None
        begin = last.end if last else 0
        gap, tail = text[begin : answer.start], text[answer.end : answer.end + _NEAR]
        after_denied = last is not None and last.standing is Standing.DENIED
        lead, heading = introduction(text, answer.start, begin)
        own_sentence = _SUBJECT.match(tail) and not re.search(r"\b(?:and|or|nor|means)\b|&", gap[-_NEAR:])
        # "Not A1 but A3", "A1 (no), A3 (yes)"
        opposed = after_denied and (
            "but" in gap[-_NEAR:].lower().split() or (")" in gap and _PRAISED.match(tail))
        )
        # "We dismiss A1 (too heavy) and A2"
        if (
            last
            and joined(_IN_PARENTHESES.sub("", gap) if after_denied else gap)
            and not own_sentence
            and not opposed
        ):
            level = last.standing
        else:
            level = standing(text, answer, lead, heading, opening)
            chain = len(weighed)
        if last and gap[:9].strip(" *_`") == ">":
            level = Standing.DENIED
        elif (after_denied and _SPARED.match(tail)) or _EXCEPTED.search(lead):
            level = Standing.CHOSEN
        elif _FAILS.match(tail):
            # "A1 and A2 are ruled out"
            weighed[chain:] = [replace(each, standing=Standing.DENIED) for each in weighed[chain:]]
            level = Standing.DENIED
        elif _ASKED.match(tail):
            level = min(level, Standing.ASIDE)
        elif Standing.ASIDE < level < Standing.CHOSEN and _PRAISED.match(tail):
            level = Standing.CHOSEN
        weighed.append(Candidate(answer.answer, answer.start, answer.end, level, f"{heading} {lead}".strip()))
    return weighed


def choose(text: str, candidates: Sequence[Candidate]) -> Candidate | None:
    """Return the candidate to which a text commits, by the first rule that applies, or None.

    0. Of two answers, the one that the text calls right counts ("the second is better").
    1. Denied candidates never count; mentioned ones, and asides after them, count only if there is nothing
    else.
    2. If candidates introduced as alternatives ("Strict reading: ...") differ, none is chosen.
    3. After words that retract a candidate ("wait", "correction"), the last candidate counts.
    4. The highest standing counts if all its candidates agree; if those on separate lines disagree, a chosen
    candidate counts.

    >>> given, final = Candidate("A1", 0, 2, Standing.FIRST), Candidate("A3", 12, 14, Standing.FINAL)
    >>> choose("A1? Answer: A3", [given, final]).answer
    'A3'
    """
    candidates = _picked(text, candidates)
    # All claims from GIVEN upwards compete; below it, only the best level present.
    levels = {min(candidate.standing, Standing.GIVEN) for candidate in candidates} - {Standing.DENIED}
    claims = _without_cut_repetition(
        [candidate for candidate in candidates if levels and candidate.standing >= max(levels)]
    )
    rivals = [candidate for candidate in claims if candidate.answer != claims[-1].answer]
    if not rivals:
        return max(claims, key=lambda candidate: candidate.standing, default=None)
    if any(_ALTERNATES.match(candidate.introduction) for candidate in claims):
        return None
    if has("retracts", text[rivals[-1].end : claims[-1].start]):
        return claims[-1]
    for highest in (max(candidate.standing for candidate in claims), Standing.CHOSEN):
        best = [candidate for candidate in claims if candidate.standing is highest]
        if best and all(candidate.answer == best[0].answer for candidate in best):
            return best[0]
        if highest is not Standing.ALONE:
            return None
    return None


def _without_cut_repetition(candidates: list[Candidate]) -> list[Candidate]:
    """Drop a last list that only begins one given twice before: a repetitive reply gets truncated."""
    if not candidates or not isinstance(candidates[-1].answer, tuple):
        return candidates
    # As texts, because the last number may be truncated, too.
    cut, *texts = (" ".join(map(str, candidate.answer)) for candidate in reversed(candidates))
    whole = [text for text in texts if text.startswith(cut) and text != cut]
    return candidates[:-1] if len(whole) > 1 else candidates


def _picked(text: str, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return those of two answers that the text calls "the second one" or similar, or all candidates."""
    if len({each.answer for each in candidates}) != 2 or not (picked := _PICKED.search(text)):
        return candidates
    first = bool(picked[1] or picked[2])
    named = (each for each in candidates if (each.answer == candidates[0].answer) == first)
    return [replace(each, standing=Standing.FINAL) for each in named]
