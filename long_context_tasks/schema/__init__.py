"""The terms shared by every part of the package: cases, messages, scores, options, cards."""

from long_context_tasks.schema.case import Case, CaseScores, Message, Score, Turn, prompt_hash
from long_context_tasks.schema.case_folder import CaseSet, CaseWriter, Documents, file_sha256
from long_context_tasks.schema.files import InputError
from long_context_tasks.schema.options import Options, format_length, parse_length, resolve_options
from long_context_tasks.schema.task import LoadedTask

__all__ = [
    "Case",
    "CaseScores",
    "CaseSet",
    "CaseWriter",
    "Documents",
    "InputError",
    "LoadedTask",
    "Message",
    "Options",
    "Score",
    "Turn",
    "file_sha256",
    "format_length",
    "parse_length",
    "prompt_hash",
    "resolve_options",
]
