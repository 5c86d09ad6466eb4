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

from long_context_tasks.orca.data import OrcaItem, read_items
from long_context_tasks.orca.inputs import InputFormat
from long_context_tasks.orca.metrics import disagreement, item_agreement, item_intervals
from long_context_tasks.orca.results import write_results

__all__ = [
    "InputFormat",
    "OrcaItem",
    "disagreement",
    "item_agreement",
    "item_intervals",
    "read_items",
    "write_results",
]
