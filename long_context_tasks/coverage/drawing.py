"""Draw chunks of cases at random, for people to label (Table B of Lee et al., NAACL 2025)."""

import random
from collections.abc import Sequence
from typing import Any

from long_context_tasks.coverage.items import ItemSource
from long_context_tasks.coverage.measure import split_context
from long_context_tasks.schema.case_folder import stable_seed, text_key
from long_context_tasks.tokens import Tokenizer


def draw_chunks(
    sources: Sequence[ItemSource], n: int, seed: int, tokenizer: Tokenizer, cap: int
) -> list[dict[str, Any]]:
    """Return chunks of each task and domain as questions of an annotation study; each text once, whatever contexts hold it.

    The question is the case's own query, the reference the chunk; the only candidate is empty, as there is nothing to rate.

    Args:
        sources: cases of any lengths.
        n: chunks of each task and domain; all when there are fewer.
        seed: of the choice.
        tokenizer: counts tokens.
        cap: most tokens of a chunk.

    Raises:
        InputError: the context of a case cannot be separated from its query.
    """
    found: dict[tuple[str, str], dict[str, str]] = {}
    for source in sources:
        own = found.setdefault((source.task, source.domain), {})
        for place in range(len(source)):
            item = source.read(place)
            for chunk in split_context(item.context, tokenizer, cap):
                own.setdefault(chunk, item.query)
    rows = []
    for (task, domain), chunks in found.items():
        rng = random.Random(stable_seed(seed, "label", task, domain))
        for chunk in rng.sample(list(chunks), min(n, len(chunks))):
            row = {"id": f"{task}_{domain}_{text_key(chunk)}", "question": chunks[chunk], "reference": chunk}
            rows.append(
                row | {"domain": domain, "source": task, "candidates": [{"model": "none", "text": ""}]}
            )
    return rows
