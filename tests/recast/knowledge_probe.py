"""What a small model gains from knowing a carrier: it orders two options of organize without the context, with new names and with the real ones.

``LCT_CARRIERS=carriers python tests/recast/knowledge_probe.py [cases [model]]`` prints the figures of docs/recast.md. Two options that
follow one another are read as "first second" and as "second first"; right is where the text in its order is the likelier one. Who
knows nothing is right in half of the pairs. Without a model it is that of the demo.
"""

import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from long_context_tasks.benchmarks.ethic.settings import SyntheticSettings
from long_context_tasks.benchmarks.ethic.synthetic import make_cases, tokenizers_of
from long_context_tasks.benchmarks.ethic.synthetic.maker import Genre, Writings
from long_context_tasks.benchmarks.ethic.synthetic.organize import taken
from long_context_tasks.hosts.demo_model import demo_model_path
from long_context_tasks.recast.carriers import CARRIER_KINDS
from long_context_tasks.recast.renaming import rename
from long_context_tasks.stats.intervals import cluster_t
from long_context_tasks.synthetic.document import LabelledText, Paragraph

LENGTH = 2000
_OPTION = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_WORD = re.compile(r"[^\W\d_]+")


def options_of(folder: Path, domain: str, number: int) -> tuple[list[str], list[str]]:
    """Return the options of a case in their right order, with new names and with the real ones."""
    real: dict[str, str] = {}

    def write(seed: int, tokens: int) -> LabelledText:
        real.clear()
        paragraphs: list[Paragraph] = []
        for unit, own in taken(folder, domain, seed, tokens):
            renamed = rename(own, unit.names, seed, unit.id)
            words = (_WORD.findall("\n".join(texts)) for texts in (renamed, own))
            real.update(zip(*words, strict=True))
            paragraphs += map(Paragraph, renamed)
        return LabelledText("", tuple(paragraphs))

    tokenizers = tokenizers_of(SyntheticSettings(lengths=(LENGTH,)))
    writings = Writings(Genre(lambda seed: partial(write, seed), ()))
    [made] = make_cases("organize", domain, LENGTH, 901, tokenizers, number, writings)
    shown = dict(_OPTION.findall(made.draft.slots["options"]))
    new = [shown[number] for number in made.draft.gold]
    return new, [_WORD.sub(lambda word: real.get(word[0], word[0]), one) for one in new]


def likelihood(model: str) -> Callable[[Sequence[str]], list[float]]:
    """Return texts to their log probabilities under a model in a folder."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(model)
    network: Any = AutoModelForCausalLM.from_pretrained(model).eval()

    @torch.inference_mode()
    def of(texts: Sequence[str]) -> list[float]:
        found = []
        for text in texts:
            ids = tokenizer(text, return_tensors="pt").input_ids
            rows = network(ids).logits[0, :-1].log_softmax(-1)
            found.append(float(rows.gather(1, ids[0, 1:, None]).sum()))
        return found

    return of


def main(cases: int = 60, model: str = "") -> None:
    """Print the share of pairs in the right order, and what the real names add."""
    score = likelihood(model or str(demo_model_path()))
    print(
        "| domain | cases | pairs | new names | real names | real less new |\n| --- | --- | --- | --- | --- | --- |"
    )
    for domain in ("books", "debates"):
        folder = Path(os.environ["LCT_CARRIERS"]) / CARRIER_KINDS[domain]
        rights: list[list[list[float]]] = [[], []]
        for number in range(cases):
            for own, options in zip(rights, options_of(folder, domain, number), strict=True):
                pairs = list(pairwise(options))
                ahead, back = (
                    score([f"{one} {two}" for one, two in each])
                    for each in (pairs, [(b, a) for a, b in pairs])
                )
                own.append([float(a > b) for a, b in zip(ahead, back, strict=True)])
        gains = [[b - a for a, b in zip(*each, strict=True)] for each in zip(*rights, strict=True)]
        cells = " | ".join(_interval(each) for each in (*rights, gains))
        print(f"| {domain} | {cases} | {sum(map(len, rights[0]))} | {cells} |", flush=True)


def _interval(values: Sequence[Sequence[float]]) -> str:
    """Mean and 95 % interval over cases, in percent."""
    every = [100 * one for own in values for one in own]
    clusters = [str(place) for place, own in enumerate(values) for _ in own]
    ends = cluster_t(every, clusters)
    return f"{fmean(every):.1f} [{ends.low:.1f}, {ends.high:.1f}]"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:3])
