"""Position methods on the small model against its own attention, by likelihoods (docs/attention.md).

``python docs/figures/long_windows_table.py FOLDER`` reads what the folder does not hold yet and prints the table. Stop at any time and
type the same again. A text of 2,000 tokens takes 10 to 16 seconds of one core for each method.
"""

import argparse
import gc
import json
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, DynamicCache

from long_context_tasks.attention.models import use_attention
from long_context_tasks.hosts.demo_model import demo_model_path
from long_context_tasks.schema import parse_length
from long_context_tasks.stats.comparison import compare_paired
from long_context_tasks.stats.intervals import cluster_t

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "gate" / "easy"))
from lct_easy.facts.data import FILLING, NAMES, THINGS

OWN = "own attention"
FACTOR = 2
"""By which the window of 8,192 tokens is stretched."""
METHODS: dict[str, dict[str, Any]] = {
    OWN: {},
    "linear": {"rope_type": "linear"},
    "dynamic": {"rope_type": "dynamic"},
    "ntk": {"attention": "ntk", "factor": FACTOR},
    "yarn": {"rope_type": "yarn", "original_max_position_embeddings": 8192},
    "rerope": {"attention": "rerope", "window": 512},
    "leaky_rerope": {"attention": "leaky_rerope", "window": 512},
    "infllm": {"attention": "infllm", "n_local": 512, "block_size": 64, "topk": 8},
}
"""Settings of RoPE in the config, or an attention of the package with its settings."""
PIECE = 512  # tokens that are read at a time


@dataclass(frozen=True)
class Text:
    """Facts among filling, then all of them once more.

    Attributes:
        ids: of the tokens.
        asked: places whose token is the thing that somebody likes, in the second part.
    """

    ids: list[int]
    asked: list[int]


def make_text(tokenizer: Any, length: int, seed: int) -> Text:
    """Return a text of about ``length`` tokens with a fact on everybody, anywhere in it."""
    draw = random.Random(seed)
    facts = [(who, draw.choice(THINGS)) for who in NAMES]
    said = [f"The favourite thing of {who} is the {thing}." for who, thing in facts]
    sentences = [draw.choice(FILLING) for _ in range(length // 8 - 2 * len(facts))]
    for sentence in said:
        sentences.insert(draw.randrange(len(sentences) + 1), sentence)
    ids = tokenizer.encode(" ".join([*sentences, "To sum up:"]))
    asked = []
    for who, thing in draw.sample(facts, len(facts)):
        ids += tokenizer.encode(f" The favourite thing of {who} is the")
        asked.append(len(ids))
        ids += tokenizer.encode(f" {thing}.")
    return Text(ids, asked)


def load(method: str) -> Any:
    """Return the small model that attends as a method does."""
    path, settings = demo_model_path(), dict(METHODS[method])
    config = AutoConfig.from_pretrained(path)
    if "rope_type" in settings:
        config.rope_scaling = {"factor": float(FACTOR), "rope_theta": config.rope_theta, **settings}
        if settings["rope_type"] != "dynamic":  # which grows beyond this number
            config.max_position_embeddings *= FACTOR
    model = AutoModelForCausalLM.from_pretrained(path, config=config, dtype=torch.float32).eval()
    if name := settings.pop("attention", ""):
        use_attention(model, name, settings)
    return model


def read(model: Any, text: Text, things: list[int]) -> dict[str, list[float]]:
    """Return for each fact whether its thing is the likeliest of all things, and the nats of its token."""
    cache, states = DynamicCache(), []
    ids = torch.tensor([text.ids])
    first = text.asked[0] - 1
    with torch.inference_mode():
        for start in range(0, len(text.ids), PIECE):
            piece = model.model(ids[:, start : start + PIECE], past_key_values=cache).last_hidden_state[0]
            states.append(piece[max(0, first - start) :])
        likely = model.lm_head(torch.cat(states)).log_softmax(-1)
    found: dict[str, list[float]] = {"right": [], "nats": []}
    for place in text.asked:
        row = likely[place - 1 - first]
        found["right"].append(float(things[int(row[things].argmax())] == text.ids[place]))
        found["nats"].append(-float(row[text.ids[place]]))
    return found


def rows(folder: Path, length: str) -> list[str]:
    """Return rows of the table: each method against the model's own attention, on the texts that both have read."""
    read_by = {
        name: {path.name: path for path in (folder / length / name).glob("*.json")} for name in METHODS
    }
    made = []
    for name in METHODS:
        common = sorted(read_by[name].keys() & read_by[OWN].keys())
        if not common:
            continue
        values: dict[str, list[list[float]]] = {"right": [], "nats": []}
        clusters: list[str] = []
        for who in (name, OWN):
            texts = [json.loads(read_by[who][text].read_text(encoding="utf-8")) for text in common]
            for key in values:
                values[key].append([one for text in texts for one in text[key]])
            clusters = [label for label, text in zip(common, texts, strict=True) for _ in text["nats"]]
        own, other = values["right"], values["nats"]
        pair = compare_paired((name, own[0]), (OWN, own[1]), clusters)
        more = [a - b for a, b in zip(*other, strict=True)]
        cells = [
            name,
            length,
            f"{pair.n} on {len(common)}",
            f"{100 * pair.mean_first:.1f}",
            "",
            f"{sum(other[0]) / pair.n:.2f}",
            "",
        ]
        if name != OWN:
            cells[4], cells[6] = f"{100 * pair.difference:+.1f}", f"{sum(more) / pair.n:+.2f}"
            if len(common) > 1:
                ends, of_nats = pair.interval, cluster_t(more, clusters)
                cells[4] += f" ({100 * ends.low:+.1f} to {100 * ends.high:+.1f})"
                cells[6] += f" ({of_nats.low:+.2f} to {of_nats.high:+.2f})"
        made.append(f"| {' | '.join(cells)} |")
    return made


def main() -> None:
    """Read and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--length", action="append", help="of the texts; may be given again (2k)")
    parser.add_argument("--texts", type=int, default=6)
    parser.add_argument("--only", action="append", help="a method; may be given again (all)")
    given = parser.parse_args()
    lengths = given.length or ["2k"]
    tokenizer = AutoTokenizer.from_pretrained(demo_model_path())
    things = [tokenizer.encode(f" {thing}")[0] for thing in THINGS]
    for length in lengths:
        for name in given.only or METHODS:
            model = None
            for seed in range(given.texts):
                path = given.folder / length / name / f"{seed}.json"
                if path.is_file():
                    continue
                model = model or load(name)
                found = read(model, make_text(tokenizer, parse_length(length), seed), things)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(found), encoding="utf-8")
            del model
            gc.collect()
    print("| method | length | facts on texts | right, % | difference (95 %) | nats | difference (95 %) |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for length in lengths:
        print(*rows(given.folder, length), sep="\n")


if __name__ == "__main__":
    main()
