"""ORCA: a language model with a small head that reads an answer once and predicts how people would rate it, and how far they would disagree.

Sedláček, Barahona, Yusuf et al., ORCA: Open-ended Response Correctness Assessment for Audio Question Answering. Data, figures, clamping and splits are here;
what needs torch is imported where it is used::

    from long_context_tasks.orca import read_items
    from long_context_tasks.orca.checkpoint import load_checkpoint
    from long_context_tasks.orca.scoring import score_items

    items = read_items(Path("answers.jsonl"))
    scoring = score_items(load_checkpoint(Path("checkpoint")), items)

``pip install 'long_context_tasks[orca]'`` installs it. ``train/`` trains a judge, ``study/`` replicates the paper.
"""

from long_context_tasks.orca.data import (
    HEAD_NAMES,
    OrcaItem,
    check_trainable,
    item_of_row,
    read_items,
)
from long_context_tasks.orca.inputs import InputFormat, input_text
from long_context_tasks.orca.metrics import (
    COMPOSITES,
    agreement,
    clamp,
    clamp_all,
    disagreement,
    find_threshold,
    item_agreement,
    item_intervals,
    weights_of,
)
from long_context_tasks.orca.results import read_results, scored_agreement, write_results
from long_context_tasks.orca.splits import Split, model_splits, unseen_questions

__all__ = [
    "COMPOSITES",
    "HEAD_NAMES",
    "InputFormat",
    "OrcaItem",
    "Split",
    "agreement",
    "check_trainable",
    "clamp",
    "clamp_all",
    "disagreement",
    "find_threshold",
    "input_text",
    "item_agreement",
    "item_intervals",
    "item_of_row",
    "model_splits",
    "read_items",
    "read_results",
    "scored_agreement",
    "unseen_questions",
    "weights_of",
    "write_results",
]
