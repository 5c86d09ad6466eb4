"""The options of ELITR-Bench beside the common ones."""

from dataclasses import dataclass
from pathlib import Path

from long_context_tasks.schema.options import Options, one_of, option, path, text, yes_or_no


@dataclass(frozen=True)
class ElitrBenchOptions(Options):
    """See :class:`~long_context_tasks.schema.Options`.

    Attributes:
        prompt_style: how the prompt is laid out.
        question_markers: whether questions and answers are marked as such, as for some of the paper's models.
        noise_mode: exact or official: how noisy transcripts are made.
        noise_rules: a file of noise rules; the package's rules without it.
    """

    prompt_style: str | None = option(text)
    question_markers: bool | None = option(yes_or_no)
    noise_mode: str | None = option(one_of("exact", "official"))
    noise_rules: Path | None = option(path)
