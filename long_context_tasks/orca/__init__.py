"""ORCA: a language model with a head that predicts the mean and variance of an answer's human ratings.

Sedláček, Barahona, Yusuf et al., ORCA: Open-ended Response Correctness Assessment for Audio Question
Answering (TACL 2026). ``train/`` trains a judge, ``study/`` replicates the paper's tables. Modules that need
torch are not imported here::

    from long_context_tasks.orca import read_items
    from long_context_tasks.orca.checkpoint import load_checkpoint
    from long_context_tasks.orca.scoring import score_items

    scoring = score_items(load_checkpoint(Path("checkpoint")), read_items(Path("answers.jsonl")))
"""

from long_context_tasks.orca.data import OrcaItem, item_of_row, read_items
from long_context_tasks.orca.inputs import InputFormat, input_text
from long_context_tasks.orca.metrics import COMPOSITES, agreement, clamp, find_threshold, item_agreement
from long_context_tasks.orca.results import read_results
from long_context_tasks.orca.splits import model_splits, unseen_questions

__all__ = [
    "COMPOSITES",
    "InputFormat",
    "OrcaItem",
    "agreement",
    "clamp",
    "find_threshold",
    "input_text",
    "item_agreement",
    "item_of_row",
    "model_splits",
    "read_items",
    "read_results",
    "unseen_questions",
]
