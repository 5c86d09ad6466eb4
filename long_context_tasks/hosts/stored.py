"""A run of one task on disk, in one format for all hosts, and its task, reloaded with the run's options."""

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BeforeValidator, ConfigDict, PlainValidator, ValidationError, model_validator
from pydantic.dataclasses import dataclass

import long_context_tasks
from long_context_tasks.benchmarks import catalogue
from long_context_tasks.schema import InputError, LoadedTask, Options
from long_context_tasks.schema.case_folder import MANIFEST, NotInCache, read_manifest
from long_context_tasks.schema.response import Response
from long_context_tasks.schema.secrets import known_secrets, without_known

if TYPE_CHECKING:  # most runs have no judge
    from long_context_tasks.judges.task_judge import TaskJudge

LM_EVAL = "lm_eval"
OPENCOMPASS = "opencompass"
INSPECT = "inspect"
OWN = "own"  # the user's own pipeline, with responses scored by lct runs score
# Folder next to a run for later judges' verdicts; it is never searched for runs.
JUDGED_FOLDER = "judged"
RESCORED_FOLDER = "rescored"  # the same for scores by later rules


T = TypeVar("T")
# Maximum number of tokens in synthetic cases generated for a stored run, about ten minutes' work, because a
# run may be untrusted.
MOST_WRITTEN = 400_000_000
Responses = Mapping[str, list[Response]]  # case to one response per turn


def value_of(value: Any) -> float | None:
    """Return a score from a host's file; None for NaN, null and an empty string."""
    if value is None or value == "" or math.isnan(value):
        return None
    if math.isinf(value):
        raise ValueError("an infinite score")
    return float(value)


def number_of(value: Any) -> float:
    """Return a number from a host's file; NaN if :func:`value_of` returns None."""
    return math.nan if (number := value_of(value)) is None else number


def labels_of(value: Any) -> dict[str, Any]:
    """Return a case's or turn's labels from a host's file; empty if it has none."""
    if value and not isinstance(value, dict):
        raise ValueError("not an object")
    return dict(value) if value else {}


def word_of(value: Any) -> str | None:
    """Return a name from a host's file; None if it is empty."""
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{str(value)[:40]} in the place of a name")
    return value or None


def single(value: Any) -> Any:
    """Unwrap an OpenCompass result value: all but numbers are lists with one item per run."""
    return value[0] if isinstance(value, list) and value else value


def short(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{' '.join(map(str, first['loc']))} {first['msg']}".strip()[:200]
    return f"no {error.args[0]}" if isinstance(error, KeyError) else str(error)[:200]


def _if_any(verdicts: Any) -> Any:
    return verdicts if any(verdicts or ()) else ()


# Raised when a file's content is not in its host's format.
DAMAGE = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError)
_Value = Annotated[float | None, PlainValidator(value_of)]
_Number = Annotated[float, PlainValidator(number_of)]
_Word = Annotated[str | None, PlainValidator(word_of)]
_Labels = Annotated[Mapping[str, Any], PlainValidator(labels_of)]
_Verdicts = Annotated[tuple[tuple[_Labels, ...], ...], BeforeValidator(_if_any)]
_FROM_FILES = ConfigDict(hide_input_in_errors=True, coerce_numbers_to_str=True)


@dataclass(frozen=True, config=_FROM_FILES)
class StoredCase:
    """A case in a run with its responses and scores, without prompts."""

    id: str
    responses: tuple[Response, ...]  # one per turn; in likelihood tasks, a single one without text
    # Metric to its value per turn (rates from 0 to 1, points on their scale), None if missing; empty if the
    # run was not evaluated.
    scores: Mapping[str, tuple[_Value, ...]] = field(default_factory=dict)
    # Per turn, why the headline metric has no value or the lowest, None if there is no reason; empty if the
    # run was not evaluated.
    reasons: tuple[_Word, ...] = ()
    verdicts: _Verdicts = ()  # per turn, the judge's rows (see row), one per seed; empty without a judge
    # In nats, per candidate, for likelihood tasks; None if the case did not fit, and in other tasks.
    log_likelihoods: tuple[float, ...] | None = None
    # Token counts of the candidates; None if the host did not write them.
    num_candidate_tokens: tuple[int, ...] | None = None
    repeat: int = 0  # index of the repeat, in a run that answers every case several times
    # Shared by cases on the same book or meeting; None if the host did not write it.
    cluster: str | None = None
    labels: _Labels = field(default_factory=dict)
    turn_labels: tuple[_Labels, ...] = ()
    # Prompt and answer tokens of a single-turn case, as counted by the model's server; None if unknown.
    tokens: tuple[int, int] | None = None

    @model_validator(mode="after")
    def _of_its_turns(self) -> "StoredCase":
        n = len(self.responses)
        for values in (
            *self.scores.values(),
            self.reasons or self.responses,
            self.verdicts or self.responses,
        ):
            if len(values) != n:
                raise ValueError(f"has values for {len(values)} of {n} turns")
        return self


@dataclass(frozen=True, config=_FROM_FILES)
class StoredRun:
    """A run of one task with one model."""

    host: str  # lm_eval, opencompass, inspect or own
    model: str  # its name on the host
    task: str
    options: Mapping[str, Any]  # the run's lct_* options, parsed by resolve_options
    version: int  # version of the task's scores when it ran
    folder: Path  # the host's folder for the run (lm-eval: the model's; OpenCompass: the time stamp's)
    label: str  # distinguishes the runs that share a folder; valid as a file name
    made: str  # time of the run, in the host's format
    # The files with the responses, in order; empty if the host kept none (lm-eval without --log_samples).
    files: tuple[Path, ...]
    read: Callable[["StoredRun"], Iterator[StoredCase]] = field(repr=False)
    result_file: Path | None = None  # the file with the host's numbers; None if the run was not evaluated
    # The host's numbers by key (see result_keys), with rates from 0 to 1 and NaN for missing values; empty if
    # the run was not evaluated.
    numbers: Mapping[str, _Number] = field(default_factory=dict)
    headline: _Word = None  # the task's main metric; None if unknown
    points: tuple[str, ...] | None = None  # metrics in points instead of rates; None if unknown
    judge: _Labels = field(default_factory=dict)  # description of the run's judge; empty without one
    # Other metadata from the host: its version, model arguments, window and so on.
    provenance: Mapping[str, Any] = field(default_factory=dict)
    # Whether the task is the host's own, which only reports read (see hosts/own_tasks.py).
    hosts_own: bool = False

    def cases(self) -> Iterator[StoredCase]:
        """Read the cases one by one, in file order, without known secrets that a server repeated in a response."""
        secrets = known_secrets()
        if not secrets:
            yield from self.read(self)
            return
        for case in self.read(self):
            if not any(secret in (each.text or "") for secret in secrets for each in case.responses):
                yield case
                continue
            shown = (replace(each, text=each.text and without_known(each.text)) for each in case.responses)
            yield replace(case, responses=tuple(shown))

    @property
    def task_key(self) -> str:
        """Key of a task and its options, by which runs with the same task share one loaded task."""
        return repr((self.task, sorted(self.options.items())))

    def __str__(self) -> str:
        return f"{self.task} ({self.host}, {self.model}, {self.made})"


@dataclass(frozen=True)
class OtherTask:
    """A host's task that is neither ours nor on a card: reports name it and skip its results."""

    host: str
    name: str


# A run, a task to skip, or a problem: a file that cannot be used, the reason and a remedy.
Found = StoredRun | OtherTask | str


_DECIDING = ("length", "length_policy", "tokenizer", "n", "subset", "seed")  # options that decide about cases
CASES_SHA256 = "cases_sha256"  # key of cases_digest in the results of all hosts


def cases_digest(task: LoadedTask) -> str:
    """Return 16 hex digits that identify the cases in a user-built folder; empty for other tasks.

    They depend on neither the folder's location nor the number of cases run. Cases made by a benchmark have
    no manifest.
    """
    built = task.options.cases is not None and task.cases.manifest
    return manifest_digest(task.cases.manifest) if built else ""


def manifest_digest(manifest: Mapping[str, Any]) -> str:
    hashes = {name: row["sha256"] for name, row in manifest["tasks"].items()}
    made_from = json.dumps([hashes, manifest["documents_sha256"]], sort_keys=True)
    return hashlib.sha256(made_from.encode()).hexdigest()[:16]


def facts_of(task: LoadedTask, judge: "TaskJudge | None" = None) -> dict[str, Any]:
    """Return the task metadata that a host stores alongside its own results; :func:`run_with` reads them."""
    return {
        **task.description(),
        "task": task.name,  # includes the variant named by lct_variant
        "benchmark": catalogue.parse_task(task.name).benchmark,
        "headline": task.metrics[0],
        "points": sorted(task.points),
        "package": long_context_tasks.__version__,
        "n_cases_available": task.n_available,
        **({"judge": judge.description()} if judge else {}),
        **({CASES_SHA256: digest} if (digest := cases_digest(task)) else {}),
    }


def run_with(
    facts: Mapping[str, Any], *known: str, provenance: Mapping[str, Any], **of_host: Any
) -> StoredRun:
    """Build the run described by a host's result file; ``known`` names metadata to add to provenance."""
    names = ("package", "n_cases_available", CASES_SHA256, *known)
    return StoredRun(
        task=str(facts["task"]),
        options={key: value for key, value in facts.items() if key.startswith("lct_")},
        version=facts["version"],
        headline=facts["headline"],
        points=tuple(facts["points"]),
        judge=facts.get("judge") or {},
        provenance={**provenance, **{name: facts.get(name) or None for name in names}},
        **of_host,
    )


def metric_names(keys: list[str]) -> list[str]:
    """Return the metrics among a result's keys; see :func:`long_context_tasks.stats.means.result_keys`.

    >>> metric_names(["score", "score_low", "score_high", "n", "n_scored", "coverage", "n_empty"])
    ['score']
    """
    known = set(keys)
    return [
        key
        for key in keys
        if key not in ("n", "coverage")
        and not key.startswith("n_")
        and not any(
            key.endswith(end) and key.removesuffix(end) in known for end in ("_low", "_high", "_stderr")
        )
    ]


@dataclass(frozen=True)
class Places:
    """Folders of runs' data, if they have moved."""

    # Folder of the published files; if None, LCT_DATA_DIR or the folder in the run's options.
    data_dir: Path | None = None
    # Folder of built cases, for runs on them; if None, the folder in the run's options.
    cases: Path | None = None


AS_IN_THE_RUN = Places()


def options_of(
    run: StoredRun, places: Places = AS_IN_THE_RUN, environ: Mapping[str, str] | None = None
) -> Options:
    """Return a run's options without its judge; the current environment is ignored, except LCT_DATA_DIR."""
    environ = os.environ if environ is None else environ
    options = {key: value for key, value in run.options.items() if key != "lct_judge"}
    if place := places.data_dir or environ.get("LCT_DATA_DIR"):
        options["lct_data_dir"] = str(place)
    if places.cases is not None and "lct_cases" in options:
        options["lct_cases"] = str(places.cases)
    return catalogue.resolve_options(options, {})


def load_task(run: StoredRun, places: Places = AS_IN_THE_RUN, most: int = MOST_WRITTEN) -> LoadedTask:
    """Load a run's task with the run's options; synthetic cases that are not cached are generated again.

    Raises:
        NotInCache: more than ``most`` tokens of synthetic cases would have to be generated.
    """
    options = replace(options_of(run, places), most_written=most)
    # Another folder at the same path would give scores for the wrong cases.
    if options.cases is not None:
        _check_cases(run, options.cases)
    try:
        return catalogue.load_task(run.task, options)
    except NotInCache as error:
        given = [name for name in _DECIDING if getattr(options, name) != getattr(Options, name)]
        flags = "".join(f" --{name.replace('_', '-')} {getattr(options, name)}" for name in given)
        raise NotInCache(f"{run}: {error}; `lct runs export {run.task}{flags}` writes them") from None


def _check_cases(run: StoredRun, root: Path) -> None:
    """Check that a folder of built cases, or one of its subfolders, contains a run's cases."""
    if not root.is_dir():
        raise InputError(f"{run}: its built cases are not in {root}; name their folder with --cases")
    folders = [path for path in (root, *sorted(root.iterdir())) if (path / MANIFEST).is_file()]
    hashes = [manifest_digest(read_manifest(folder)) for folder in folders]
    expected = run.provenance.get(CASES_SHA256)
    if expected and hashes and expected not in hashes:
        raise InputError(
            f"{run}: ran on built cases with the hash {expected}, and {root} holds cases with {', '.join(hashes)}; name the folder of the "
            "run's cases with --cases"
        )


def responses_to(run: StoredRun, task: LoadedTask) -> list[Responses]:
    """Return all responses in a run, one mapping per repeat of the cases."""
    return list(in_repeats((case, list(case.responses)) for case in cases_of(run, task)))


def in_repeats(values: Iterable[tuple[StoredCase, T]]) -> list[dict[str, T]]:
    """Return values by case id, one mapping per repeat of the cases."""
    repeats: list[dict[str, T]] = []
    for case, value in values:
        while len(repeats) <= case.repeat:
            repeats.append({})
        repeats[case.repeat][case.id] = value
    return repeats


def cases_of(run: StoredRun, task: LoadedTask) -> Iterator[StoredCase]:
    """Read a run's cases one by one, checking that the task has them with the same turns."""
    foreign: list[str] = []
    number = 0
    for case in run.cases():
        known = task.by_id.get(case.id)
        # All are counted before the error, because their number shows whether the data or one file is wrong.
        if known is None or len(known.turns) != len(case.responses):
            foreign.append(case.id)
            continue
        number += 1
        yield case
    if foreign:
        shown = ", ".join(dict.fromkeys(foreign[:5])) + (", ..." if len(foreign) > 5 else "")
        raise InputError(
            f"{run}: {len(foreign)} responses are to cases that the task does not have, or that have other turns there: {shown}. "
            "They were made with other data; give the folder of those data (--data-dir)"
        )
    if not number:
        raise InputError(f"{run}: holds no responses; run again")
