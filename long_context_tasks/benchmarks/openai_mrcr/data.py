"""Load the cases of a task and render them; read the published files."""

import json
from collections import defaultdict
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from pydantic import Json

from long_context_tasks.benchmarks.catalogue import TaskSpec, card
from long_context_tasks.benchmarks.openai_mrcr.scoring import METRICS, score_case
from long_context_tasks.benchmarks.published_files import (
    PublishedRow,
    checked_rows,
    find_file,
    published_length,
)
from long_context_tasks.benchmarks.run_cases import load_published_or_seeded
from long_context_tasks.schema import (
    Case,
    CaseSet,
    CaseWriter,
    Documents,
    InputError,
    LoadedTask,
    Message,
    Options,
    Turn,
    file_sha256,
)
from long_context_tasks.schema.case_folder import cached_folder, text_key
from long_context_tasks.schema.files import loads
from long_context_tasks.tokens import provide_table

NAME = "openai_mrcr"
_SHORTEST = 4_096  # tokens at the lower end of the first bin


class _Row(PublishedRow):
    prompt: Json[list[Message]]
    answer: str
    random_string_to_prepend: str
    desired_msg_index: int


def load_task(name: str, options: Options) -> LoadedTask:
    return load_published_or_seeded(name, options, render, score_case, METRICS, _published)


def render(case: Case, documents: Documents) -> list[Message]:
    """Return the whole conversation; messages of one role in a row are one, as most chat templates demand."""
    messages = groupby(loads(documents[case.inputs["conversation"]]), key=itemgetter("role"))
    return [Message(role, "\n".join(map(itemgetter("content"), group))) for role, group in messages]


def _published(spec: TaskSpec, options: Options) -> CaseSet:
    length = published_length(spec, options, spec.card.bounds)
    files = [f"{spec.task}/{spec.task}_{part}.parquet" for part in (0, 1)]
    paths = [find_file(file, options, NAME, spec.name) for file in files]
    made_from = {**dict(zip(files, map(file_sha256, paths), strict=True)), "card": card(NAME).version}
    folder = cached_folder(spec.family, made_from, lambda folder: convert(spec, paths, folder))
    return CaseSet.read(folder, f"{spec.family}_{length}")


def convert(spec: TaskSpec, paths: list[Path], folder: Path) -> None:
    """Convert the published files of a task to a case folder with one file for each bin of lengths."""
    import tiktoken

    provide_table("o200k_base")  # without a download
    encode = tiktoken.get_encoding("o200k_base").encode_ordinary
    bins: defaultdict[str, list[Case]] = defaultdict(list)
    with CaseWriter(folder, {"source": {"files": [path.name for path in paths]}}) as writer:
        for path in paths:
            for number, (place, row) in enumerate(checked_rows(path, _Row, NAME)):
                # The data set's card bins by the tokens of messages and answer in OpenAI's newer encoding.
                tokens = sum(len(encode(text)) for text in (*(m.content for m in row.prompt), row.answer))
                fitting = (name for name, most in spec.card.bounds.items() if _SHORTEST <= tokens <= most)
                if (name := next(fitting, None)) is None:
                    raise InputError(f"{place}: {tokens:,} tokens are outside the bins of the card")
                conversation = json.dumps([message.chat() for message in row.prompt], ensure_ascii=False)
                key = text_key(conversation)
                writer.add_documents([(key, conversation)])
                gold = {"answer": row.answer, "prefix": row.random_string_to_prepend}
                labels = {"place": f"{4 * row.desired_msg_index // len(row.prompt) * 25} %"}
                turn = Turn(gold, row.prompt[-1].content, labels)
                case_id, task = f"{path.stem}_{number}", f"{spec.family}_{name}"
                bins[name].append(Case(case_id, task, {"conversation": key}, (turn,), key))
        for name in spec.card.bounds:
            writer.add_cases(f"{spec.family}_{name}", bins[name])
