"""Names are distinct within a kind, shared between kinds, sufficient for any text and different for each seed."""

import re

from long_context_tasks.synthetic.vocabulary import Vocabulary


def test_names_do_not_run_out_and_say_nothing_of_their_kind() -> None:
    """Draw as many names as a text of some million tokens has."""
    vocabulary = Vocabulary(1)
    kinds = {kind: {vocabulary.name(kind) for _ in range(10_000)} for kind in ("surname", "place", "product")}
    assert {len(names) for names in kinds.values()} == {10_000}
    for kind, names in kinds.items():
        others = set().union(*(other for one, other in kinds.items() if one != kind))
        assert 0.3 < len(names & others) / len(names) < 0.8, kind
    for name in set().union(*kinds.values()):
        assert re.fullmatch(r"[A-Z][a-z]+", name) and not re.search(r"(.)\1\1", name.lower()), name


def test_seeds_decide() -> None:
    """Equal seeds give equal names; of another seed's names, few come again."""
    first, again, other = (Vocabulary(seed) for seed in (1, 1, 2))
    one, same, different = ([words.name("surname") for _ in range(500)] for words in (first, again, other))
    assert one == same
    assert len(set(one) & set(different)) < 50
