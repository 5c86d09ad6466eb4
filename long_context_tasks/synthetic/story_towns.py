"""Names of towns in two words, which have the look of the names of people: for stories and debates."""

from collections.abc import Callable

from long_context_tasks.synthetic.people import pick
from long_context_tasks.synthetic.wording import words

__all__ = ["two_words"]

BEFORE, AFTER = 0.35, 0.42  # shares of towns that have a second word before or after the name


def two_words(place: str, random: Callable[[], float]) -> str:
    """Give most names of towns a second word: "Great Otterwold", "Otterwold Cross"."""
    mark = random()
    if mark < BEFORE:
        return f"{pick(words('story_names.txt', 'town_first'), random)} {place}"
    return (
        f"{place} {pick(words('story_names.txt', 'town_last'), random)}" if mark < BEFORE + AFTER else place
    )
