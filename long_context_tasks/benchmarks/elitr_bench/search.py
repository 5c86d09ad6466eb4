"""The configuration search of the paper (Appendix B.2): decoding x chat template x markers x repetition penalty.

Names what there is to try; ``configs/search_elitr_bench.py`` tries it in OpenCompass, ``configs/search_elitr_bench.sh`` in
lm-eval. The search is for single-turn tasks, as in the paper: a conversation needs a chat template.
"""

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from long_context_tasks.benchmarks.elitr_bench.names import parse_name
from long_context_tasks.benchmarks.elitr_bench.prompts import CHAT, GPT, STYLES, check_style
from long_context_tasks.schema import InputError

TASK = "elitr_bench_qa_dev"
"""What the paper searched on."""
GREEDY, NUCLEUS = "greedy", "nucleus"
DECODINGS: Mapping[str, Mapping[str, Any]] = {
    GREEDY: {"do_sample": False},
    NUCLEUS: {"do_sample": True, "temperature": 0.6, "top_p": 0.9},
}
DEFAULT_STYLES = (CHAT, "raw")
"""With the model's own chat template, and without any."""
PENALTIES = (1.0, 1.1)

_NAME = re.compile(
    rf"(?P<decoding>{'|'.join(DECODINGS)})_(?P<style>{'|'.join(map(re.escape, STYLES))})_(?P<markers>plain|markers)"
    r"_rp(?P<penalty>\d+\.\d+)",
    re.ASCII,
)


@dataclass(frozen=True)
class SearchCell:
    """A configuration.

    Attributes:
        decoding: greedy, or nucleus (temperature 0.6, top-p 0.9).
        style: one of ``prompts.STYLES``.
        markers: question-answer markers.
        penalty: repetition penalty; 1.0 is none.
    """

    decoding: str
    style: str
    markers: bool
    penalty: float

    @property
    def name(self) -> str:
        """E.g. ``greedy_chat_plain_rp1.0``; :func:`cell_of` is the inverse."""
        marked = "markers" if self.markers else "plain"
        return f"{self.decoding}_{self.style}_{marked}_rp{self.penalty:.1f}"

    @property
    def templated(self) -> bool:
        """Whether the host applies the model's chat template; the other styles are plain text, some with tags by hand."""
        return self.style in (CHAT, GPT)

    @property
    def generation(self) -> dict[str, Any]:
        """Arguments of generation, as Hugging Face, vLLM and both hosts call them; whatever a model's own file says is overruled."""
        return {**DECODINGS[self.decoding], "repetition_penalty": self.penalty}

    @property
    def options(self) -> dict[str, Any]:
        """Options of the task."""
        return {"lct_prompt_style": self.style, "lct_question_markers": self.markers}


def cell_of(name: str) -> SearchCell | None:
    """The cell that a name ends with; None when it ends with none.

    >>> cell_of("my-model_nucleus_raw_markers_rp1.1")
    SearchCell(decoding='nucleus', style='raw', markers=True, penalty=1.1)
    """
    match = re.search(rf"(?:^|_){_NAME.pattern}$", name, re.ASCII)
    if match is None:
        return None
    return SearchCell(
        match["decoding"], match["style"], match["markers"] == "markers", float(match["penalty"])
    )


def search_cells(styles: str = "", only: str = "") -> list[SearchCell]:
    """All cells, or some of them.

    Args:
        styles: prompt styles with commas between; empty: ``chat,raw``.
        only: parts of names that a cell must have, as ``greedy_rp1.0``; several with commas between, of which one must fit.

    >>> [cell.name for cell in search_cells(only="greedy_chat_rp1.0")]
    ['greedy_chat_plain_rp1.0', 'greedy_chat_markers_rp1.0']

    Raises:
        InputError: a style or a part that there is not.
    """
    chosen = _words(styles) or DEFAULT_STYLES
    for style in chosen:
        check_style(style, markers=False)
    cells = [
        SearchCell(decoding, style, markers, penalty)
        for penalty, decoding, style, markers in itertools.product(
            PENALTIES, DECODINGS, chosen, (False, True)
        )
        if not (style == GPT and markers)
    ]
    wanted = _words(only)
    for word in wanted:
        if not any(_fits(cell, word) for cell in cells):
            raise InputError(
                f"LCT_SEARCH_CELLS={only}: no cell has all parts of {word}; there are: {', '.join(cell.name for cell in cells)}"
            )
    return [cell for cell in cells if not wanted or any(_fits(cell, word) for word in wanted)]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").split())


def _fits(cell: SearchCell, word: str) -> bool:
    return set(word.split("_")) <= set(cell.name.split("_"))


def search_tasks(names: str = "") -> list[str]:
    """The tasks to search on, single-turn ones.

    Args:
        names: with commas between; empty: that of the paper.

    Raises:
        InputError: no such task, or a conversation.
    """
    tasks = _words(names) or (TASK,)
    if talks := [name for name in tasks if parse_name(name).multi_turn]:
        raise InputError(
            f"LCT_TASKS: {', '.join(talks)}: the search is for single-turn tasks, such as {TASK}; a conversation cannot do without "
            "a chat template"
        )
    return list(tasks)


def lm_eval_arguments(cell: SearchCell, tasks: Iterable[str], out: str) -> list[str]:
    """Arguments of lm-eval for a cell, without those of the model."""
    settings = ",".join(f"{key}={value}" for key, value in cell.generation.items())
    options = [f"{key}={value}" for key, value in cell.options.items()]
    template = ["--apply_chat_template"] if cell.templated else []
    return [
        *("--tasks", ",".join(tasks), "--gen_kwargs", settings, *template),
        *("--metadata", *options, "--output_path", out, "--log_samples"),
    ]


def decoding_of(settings: Mapping[str, Any]) -> tuple[str, float]:
    """Decoding and repetition penalty from arguments of generation; other decodings than the paper's are spelt out.

    >>> decoding_of({"do_sample": True, "temperature": 0.6, "top_p": 0.9, "repetition_penalty": 1.1}), decoding_of({})
    (('nucleus', 1.1), ('greedy', 1.0))
    """
    penalty = float(settings.get("repetition_penalty", 1.0))
    temperature = float(settings.get("temperature") or 0.0)
    if not settings.get("do_sample", temperature > 0) or temperature == 0:
        return GREEDY, penalty
    top_p = float(settings.get("top_p", 1.0))
    if (temperature, top_p) == (DECODINGS[NUCLEUS]["temperature"], DECODINGS[NUCLEUS]["top_p"]):
        return NUCLEUS, penalty
    return f"temperature {temperature:g}, top-p {top_p:g}", penalty
