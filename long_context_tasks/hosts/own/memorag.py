"""MemoRAG as a pipeline (``lct runs memorag``).

A model reads the whole text and writes clues, BM25 retrieves passages for them, and the model answers. Steps
and defaults follow Qian et al. 2024 (https://github.com/qhjqhj00/MemoRAG). Instead of their trained memory,
every n-th token of the model's own KV cache of the text is used.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.own.export import export_rows
from long_context_tasks.hosts.stored import short as in_short
from long_context_tasks.schema import InputError, LoadedTask
from long_context_tasks.schema.extras import require
from long_context_tasks.schema.files import write_whole
from long_context_tasks.schema.response import DOES_NOT_FIT
from long_context_tasks.schema.thinking import without_thinking
from long_context_tasks.tokens import get_tokenizer
from long_context_tasks.tokens.chunks import Text, chunks_of, pieces_of

READ = "Read the following text. You will be asked about it.\n\n"
CLUES = (
    "\n\nThe text ends here. Below is a task about it. Quote from the text the words that are needed to do the task. Write one quotation "
    "on each line, and nothing else.\n\nTask: {query}",
    "\n\nThe text ends here. Below is a task about it. Write short questions whose answers stand in the text and are needed to do the task. "
    "Write one question on each line, and nothing else.\n\nTask: {query}",
)
_FEWEST_WORDS = 4  # minimum number of words in a clue


@dataclass(frozen=True)
class MemoRAGSettings:
    """Settings, with the reference implementation's values as defaults."""

    chunk_tokens: int = 512  # maximum number of tokens in a passage
    hits: int = 3  # passages retrieved per clue
    clue_tokens: int = 128  # maximum number of tokens in each list of clues
    compression: int = 4  # every n-th token is kept in memory; 1 keeps all


@dataclass(frozen=True)
class Reader:
    """A transformers chat model with its tokenizer, on the CPU or the first GPU."""

    path: str  # folder or hub id

    @cached_property
    def tokenizer(self) -> Any:
        from transformers import AutoTokenizer

        return self._loaded(AutoTokenizer)

    @cached_property
    def model(self) -> Any:
        """The model, loaded on first use in the dtype that its folder declares."""
        import torch
        from transformers import AutoModelForCausalLM

        model = self._loaded(AutoModelForCausalLM, dtype="auto")
        return model.to("cuda" if torch.cuda.is_available() else "cpu").eval()

    def _loaded(self, kind: Any, **options: Any) -> Any:
        try:
            return kind.from_pretrained(self.path, **options)
        except (OSError, ValueError) as error:
            raise InputError(
                f"{self.path}: cannot be loaded ({in_short(error)}); check the folder or the hub id"
            ) from error

    def ids(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def prompt(self, messages: Sequence[dict[str, str]]) -> str:
        return str(self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))

    def fits(self, n_tokens: int) -> bool:
        return n_tokens <= int(self.model.config.max_position_embeddings)

    def answer(self, ids: Sequence[int], budget: int, memory: Any = None, begin: int = 0) -> str:
        """Answer greedily after ``memory``, a cache that grows; ``begin`` is the first id's position."""
        import torch

        device, ends, new = self.model.device, self._ends, list(ids)
        written: list[int] = []
        in_cache = memory.get_seq_length() if memory is not None else 0
        with torch.inference_mode():
            while len(written) < budget:
                places = torch.arange(len(new), device=device)
                read = self.model(
                    torch.tensor([new], device=device),
                    past_key_values=memory,
                    position_ids=(begin + places)[None],
                    cache_position=in_cache + places,
                    use_cache=True,
                    logits_to_keep=1,
                )
                memory, begin, in_cache = read.past_key_values, begin + len(new), in_cache + len(new)
                new = [int(read.logits[0, -1].argmax())]
                if new[0] in ends:
                    break
                written += new
        return str(self.tokenizer.decode(written, skip_special_tokens=True))

    @property
    def _ends(self) -> set[int]:
        ends = self.model.generation_config.eos_token_id
        ends = ends if isinstance(ends, list) else [ends]
        return {*ends, self.tokenizer.eos_token_id}

    def remember(self, ids: Sequence[int], compression: int) -> Any:
        """Prefill tokens and return the cache of every ``compression``-th one, starting with the first."""
        import torch
        from transformers import DynamicCache

        with torch.inference_mode():
            read = self.model(torch.tensor([ids], device=self.model.device), use_cache=True, logits_to_keep=1)
        memory: Any = DynamicCache()
        for number, layer in enumerate(read.past_key_values.layers):
            memory.update(layer.keys[:, :, ::compression], layer.values[:, :, ::compression], number)
        return memory


def clues(reader: Reader, context: str, query: str, settings: MemoRAGSettings) -> list[str] | None:
    """Return the clues that a model writes from its memory of a text; None if the text exceeds its window."""
    import copy

    before, _, after = reader.prompt([{"role": "user", "content": f"{READ}{context}\0"}]).rpartition("\0")
    ids = reader.ids(before)
    asked = [reader.ids(clue.format(query=query) + after) for clue in CLUES]
    if not reader.fits(len(ids) + max(map(len, asked)) + settings.clue_tokens):
        return None
    # The text is prefilled once; each list of clues continues from a copy of the memory.
    memory = reader.remember(ids, settings.compression)
    texts = [
        reader.answer(question, settings.clue_tokens, copy.deepcopy(memory), begin=len(ids))
        for question in asked
    ]
    lines = [line.strip() for text in texts for line in without_thinking(text).text.splitlines()]
    return list(dict.fromkeys(line for line in lines if len(line.split()) >= _FEWEST_WORDS))


def passages(context: str, queries: Sequence[str], settings: MemoRAGSettings) -> list[str]:
    """Return the passages that BM25 retrieves for any query, in text order."""
    require("memorag", "MemoRAG", "bm25s")
    import bm25s

    tokenizer = get_tokenizer("cl100k")
    texts = [Text(part) for part in context.split("\n\n")]
    pieces = pieces_of(texts, settings.chunk_tokens, tokenizer)
    chunks = [chunk.text for chunk in chunks_of(pieces, settings.chunk_tokens)]
    words = bm25s.tokenize(chunks, stopwords="en", show_progress=False)
    if len(chunks) <= settings.hits or not words.vocab:
        return chunks[: settings.hits]
    index = bm25s.BM25()
    index.index(words, show_progress=False)
    asked = bm25s.tokenize(list(queries), stopwords="en", show_progress=False)
    numbers, scores = index.retrieve(asked, k=settings.hits, show_progress=False)
    # A query that shares no word with the text retrieves nothing.
    return [chunks[number] for number in sorted({int(number) for number in numbers[scores > 0]})]


def responses(task: LoadedTask, reader: Reader, settings: MemoRAGSettings) -> Iterator[dict[str, Any]]:
    """Answer each case of a task; yield rows for ``lct runs score`` with the clues and number of passages."""
    benchmark = catalogue.benchmark_of(task.name)
    for row in export_rows(task):
        case = task.by_id[row["id"]]
        parts = benchmark.split(case, 0, task.cases.documents)
        if parts is None or task.by_likelihood or task.own_template or task.is_conversation:
            raise InputError(
                f"{task.name}: MemoRAG answers single questions in chat style, of benchmarks that split cases into context and query"
            )
        context, query = parts
        if not context or sum(context in message["content"] for message in row["messages"]) != 1:
            raise InputError(f"{task.name}, case {case.id}: its prompt does not hold its context as one text")
        clue_texts = clues(reader, context, query, settings)
        response, used = None, []
        if clue_texts is not None:
            used = passages(context, [*clue_texts, query], settings)
            short = [
                {**message, "content": message["content"].replace(context, "\n\n".join(used))}
                for message in row["messages"]
            ]
            ids = reader.ids(reader.prompt(short))
            if reader.fits(len(ids) + row["max_gen_toks"]):
                response = reader.answer(ids, row["max_gen_toks"])
        status = {} if response is not None else {"status": DOES_NOT_FIT}
        yield {"id": case.id, "response": response, **status, "clues": clue_texts, "passages": len(used)}


def write_responses(task: LoadedTask, reader: Reader, settings: MemoRAGSettings, out: Path) -> None:
    write_whole(
        out, (json.dumps(row, ensure_ascii=False) + "\n" for row in responses(task, reader, settings))
    )
