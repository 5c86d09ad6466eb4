"""Write graphs of any length from a seed; the right nodes follow from the edges."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from long_context_tasks.benchmarks.building import MadeCases, least_tokens
from long_context_tasks.benchmarks.seeded import SeededBuilder
from long_context_tasks.schema import InputError, Turn
from long_context_tasks.schema.files import packaged_text
from long_context_tasks.synthetic.wording import Dice
from long_context_tasks.tokens.build_settings import BuildSettings, option

_TRIES = 100  # a few at most for long graphs; the names of short ones vary by more than their last edge
_INSTRUCTION = 450  # tokens in cl100k


@dataclass(frozen=True)
class GraphSettings(BuildSettings):
    INSTRUCTION = "some 450"

    branching: Annotated[int, option("Edges that leave a node. Default: 2", "GraphWalks", ge=1, le=20)] = 2
    hops: Annotated[
        int, option("Greatest depth of a breadth-first search. Default: 3", "GraphWalks", ge=1, le=20)
    ] = 3


class GraphBuilder(SeededBuilder[GraphSettings]):
    settings = GraphSettings
    lengths = ("1k", "2k", "4k", "8k", "16k", "32k", "64k", "128k")

    def make(self, settings: GraphSettings, length: int, number: int) -> MadeCases:
        """Draw a graph whose prompt fills 98 % to 100 % of the length, and a question about one of its nodes."""
        dice = self.dice(settings, length, number)
        wanted, tokens, per_edge = 0, _INSTRUCTION, 14.0
        for _ in range(_TRIES):
            wanted += round((0.99 * length - tokens) / per_edge)
            edges = _drawn(dice, -(-wanted // settings.branching), settings.branching)[:wanted]
            operation, gold, depth = _question(self.task, dice, edges, settings.hops)
            lines = "".join(f"{start} -> {end}\n" for start, end in edges)
            graph = packaged_text(__package__, "prompts", "graph.txt") + lines
            question = packaged_text(__package__, "prompts", "question.txt").replace("{operation}", operation)
            tokens = settings.measure.fresh().count(graph + question)
            per_edge = (tokens - _INSTRUCTION) / len(edges)
            if least_tokens(length) <= tokens <= length:
                break
        else:
            raise InputError(f"no graph with {settings.branching} edges for each node has {length} tokens")
        turn = Turn(sorted(gold), question, {"depth": depth, "nodes_to_find": len(gold)})
        return self.with_text(settings, length, number, turn, {"graph": graph}, graph + question)


BUILDERS: Mapping[str, SeededBuilder] = {
    task: GraphBuilder(f"graph_walks_{task}_synthetic", task) for task in ("bfs", "parents")
}


def _drawn(dice: Dice, nodes: int, branching: int) -> list[tuple[str, str]]:
    names = list({f"{dice.below(16**10):010x}": None for _ in range(max(4, nodes))})
    edges = {(name, dice.pick(names)): None for name in names for _ in range(branching)}
    # In the order of their nodes, all edges of a node would be found in one place.
    return dice.shuffled(list(edges))


def _question(task: str, dice: Dice, edges: list[tuple[str, str]], hops: int) -> tuple[str, set[str], int]:
    """Return the operation, the nodes that it gives (at least one), and its depth."""
    children, parents = defaultdict(set), defaultdict(set)
    for start, end in edges:
        children[start].add(end)
        parents[end].add(start)
    depth = dice.whole(1, hops) if task == "bfs" else 1
    for node in dice.shuffled(sorted(parents)):
        if task == "parents":
            gold, operation = parents[node] - {node}, f"Find the parents of node {node}."
        else:
            gold = nodes_at(children, node, depth)
            operation = f"Perform a BFS from node {node} with depth {depth}."
        if gold:
            return operation, gold, depth
    raise InputError(f"no node of a graph with {len(parents)} nodes is {depth} edges away; give fewer --hops")


def nodes_at(children: Mapping[str, set[str]], start: str, depth: int) -> set[str]:
    """Return the nodes whose shortest path from a node has a number of edges."""
    seen, level = {start}, {start}
    for _ in range(depth):
        level = {child for node in level for child in children.get(node, ())} - seen
        seen |= level
    return level
