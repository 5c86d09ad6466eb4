"""A run of one task as a host has left it on disk, in one form for all hosts; and its task, loaded again with the run's options."""

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, ConfigDict, ValidationError, model_validator
from pydantic.dataclasses import dataclass

import long_context_tasks
from long_context_tasks.benchmarks import catalogue, loading
from long_context_tasks.judges.task_judge import TaskJudge
from long_context_tasks.schema import InputError, LoadedTask, Options
from long_context_tasks.schema.case_folder import MANIFEST, cached_only, read_manifest
from long_context_tasks.schema.response import Response

LM_EVAL = "lm_eval"
OPENCOMPASS = "opencompass"
INSPECT = "inspect"
OWN = "own"
"""A pipeline of the user's, whose responses ``lct runs score`` has scored."""
JUDGED_FOLDER = "judged"
"""What later judges said lies under this name beside a run; it is never searched for runs."""
RESCORED_FOLDER = "rescored"
"""Scores by later rules likewise."""


T = TypeVar("T")
MOST_WRITTEN = 400_000_000
"""Tokens of synthetic cases that are written for a stored run, which anybody may have sent: some ten minutes' work."""
_CASES = 200  # of a synthetic run that does not tell their number
Responses = Mapping[str, list[Response]]
"""Case to one response per turn."""


def value_of(value: Any) -> float | None:
    """A score as a host wrote it; not-a-number, null and an empty text are no score.

    Raises:
        ValueError, TypeError: anything else that is no finite number.
    """
    if value is None or value == "" or math.isnan(value):
        return None
    if math.isinf(value):
        raise ValueError("an infinite score")
    return float(value)


def number_of(value: Any) -> float:
    """A number as a host wrote it; not-a-number where :func:`value_of` finds none."""
    return math.nan if (number := value_of(value)) is None else number


def labels_of(value: Any) -> dict[str, Any]:
    """Labels of a case or turn as a host wrote them; none where it wrote none.

    Raises:
        ValueError: something else.
    """
    if not isinstance(value or {}, dict):
        raise ValueError("no object")
    return dict(value or {})


def word_of(value: Any) -> str | None:
    """A name as a host wrote it; None where it wrote none.

    Raises:
        ValueError: something else.
    """
    if not isinstance(value, str | None):
        raise ValueError(f"{str(value)[:40]} in the place of a name")
    return value or None


def single(value: Any) -> Any:
    """A value that is no number as OpenCompass wrote it: in a list with an item for each of several runs."""
    return value[0] if isinstance(value, list) and value else value


def short(error: Exception) -> str:
    """What is wrong with a file, in a few words."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{' '.join(map(str, first['loc']))} {first['msg']}".strip()[:200]
    return f"no {error.args[0]}" if isinstance(error, KeyError) else str(error)[:200]


def _if_any(verdicts: Any) -> Any:
    return verdicts if any(verdicts or ()) else ()


DAMAGE = (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError)
"""What is raised where a file holds something else than its host writes."""
_Value = Annotated[float | None, BeforeValidator(value_of)]
_Number = Annotated[float, BeforeValidator(number_of)]
_Word = Annotated[str | None, BeforeValidator(word_of)]
_Labels = Annotated[Mapping[str, Any], BeforeValidator(labels_of)]
_Verdicts = Annotated[tuple[tuple[_Labels, ...], ...], BeforeValidator(_if_any)]
_FROM_FILES = ConfigDict(hide_input_in_errors=True, coerce_numbers_to_str=True)


@dataclass(frozen=True, config=_FROM_FILES)
class StoredCase:
    """A case of a run: what the model said, and what the host's run made of it. Prompts are not kept.

    Attributes:
        id: of the case.
        responses: one per turn; a single one without text in a task by likelihood.
        scores: metric to its value in each turn (rates from 0 to 1, points as they are), None where there is none; empty when
            the run was not evaluated.
        reasons: why the headline metric of each turn has no value or the lowest, None where there is no reason; empty when
            the run was not evaluated.
        verdicts: of each turn, the judge's rows (see :meth:`long_context_tasks.judges.Verdict.row`), one per seed; empty
            without a judge.
        log_likelihoods: of the candidates, in nats, for a task by likelihood; None when it did not fit, and in other tasks.
        num_candidate_tokens: tokens of the candidates where the host wrote them, else None.
        repeat: 0, or how often the case came before in a run that answers every case several times.
        cluster: what the case shares with others (book, meeting); None where the host's files do not say.
        labels: of the case, where the files have them.
        turn_labels: of its turns, where the files have them.
    """

    id: str
    responses: tuple[Response, ...]
    scores: Mapping[str, tuple[_Value, ...]] = field(default_factory=dict)
    reasons: tuple[_Word, ...] = ()
    verdicts: _Verdicts = ()
    log_likelihoods: tuple[float, ...] | None = None
    num_candidate_tokens: tuple[int, ...] | None = None
    repeat: int = 0
    cluster: str | None = None
    labels: _Labels = field(default_factory=dict)
    turn_labels: tuple[_Labels, ...] = ()

    @model_validator(mode="after")
    def _of_its_turns(self) -> "StoredCase":
        for values in (*filter(None, (self.reasons, self.verdicts)), *self.scores.values()):
            if len(values) != len(self.responses):
                raise ValueError(f"has values for {len(values)} of {len(self.responses)} turns")
        return self


@dataclass(frozen=True, config=_FROM_FILES)
class StoredRun:
    """A run of one task with one model.

    Attributes:
        host: ``lm_eval``, ``opencompass``, ``inspect`` or ``own``.
        model: as the host names it.
        task: task name.
        options: the ``lct_*`` options that the host wrote down; :func:`long_context_tasks.schema.resolve_options` reads them.
        version: of the task's scores when it ran.
        folder: the host's folder of the run (lm-eval: of the model; OpenCompass: of the time stamp).
        label: distinguishes the runs that share a folder; good for a file name.
        made: when the run was made, as the host wrote it in its names.
        files: with the responses, in order; none when the host kept none (lm-eval without ``--log_samples``).
        result_file: with the host's numbers; None when the run was not evaluated.
        numbers: the host's numbers by key (see :func:`long_context_tasks.stats.means.result_keys`), rates from 0 to 1,
            not-a-number where there is none; empty when the run was not evaluated.
        headline: name of the metric that stands for the task; None where unknown.
        points: metrics that are points of a scale and no rates; None where unknown.
        judge: description of the judge of the run; empty without one.
        provenance: further facts from the host: its version, model arguments, window ...
    """

    host: str
    model: str
    task: str
    options: Mapping[str, Any]
    version: int
    folder: Path
    label: str
    made: str
    files: tuple[Path, ...]
    read: Callable[["StoredRun"], Iterator[StoredCase]] = field(repr=False)
    result_file: Path | None = None
    numbers: Mapping[str, _Number] = field(default_factory=dict)
    headline: _Word = None
    points: tuple[str, ...] | None = None
    judge: _Labels = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def cases(self) -> Iterator[StoredCase]:
        """The cases in the order of the files, read as they are asked for.

        Raises:
            InputError: there are none on disk, or a file is damaged (named, with its line where it has lines).
        """
        return self.read(self)

    @property
    def task_key(self) -> str:
        """The same for runs that share a task with its options, so that it is loaded once for all of them."""
        return repr((self.task, sorted(self.options.items())))

    def __str__(self) -> str:
        """For messages."""
        return f"{self.task} ({self.host}, {self.model}, {self.made})"


Found = StoredRun | tuple[Path, str]
"""A run, or a file that cannot be used and why."""


CASES_SHA256 = "cases_sha256"
"""Under this name :func:`cases_digest` stands in the results of all hosts."""


def cases_digest(task: LoadedTask) -> str:
    """Return 16 digits of the hashes that a folder of built cases has of its cases and texts; empty for tasks that were not built.

    The same wherever the folder lies, and however many of its cases run. Cases that a benchmark makes itself have no manifest.
    """
    built = task.options.cases is not None and task.cases.manifest
    return manifest_digest(task.cases.manifest) if built else ""


def manifest_digest(manifest: Mapping[str, Any]) -> str:
    """Return the same for the manifest of a case folder."""
    hashes = {name: row["sha256"] for name, row in manifest["tasks"].items()}
    made_from = json.dumps([hashes, manifest["documents_sha256"]], sort_keys=True)
    return hashlib.sha256(made_from.encode()).hexdigest()[:16]


def facts_of(task: LoadedTask, judge: TaskJudge | None = None) -> dict[str, Any]:
    """Return what a host writes down of a task that it runs, beside its own results; :func:`run_with` reads it."""
    return {
        **task.description(),
        "task": task.name,  # with the variant that lct_variant names
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
    """Return the run that a host's file tells of.

    Args:
        facts: of :func:`facts_of`, and what the host has added.
        known: names of further facts for the provenance.
        provenance: what else the host tells.
        of_host: the other fields of the run.
    """
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
    """The metrics among the keys of a result; see :func:`long_context_tasks.stats.means.result_keys`.

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
    """Where the data of runs lie now, if not where they lay.

    Attributes:
        data_dir: folder of the published files; None: ``LCT_DATA_DIR``, else the runs' own place.
        cases: folder of built cases, for runs on built cases; None: the runs' own place.
    """

    data_dir: Path | None = None
    cases: Path | None = None


AS_IN_THE_RUN = Places()


def options_of(
    run: StoredRun, places: Places = AS_IN_THE_RUN, environ: Mapping[str, str] | None = None
) -> Options:
    """The options of a run, without its judge; other options in today's environment do not count.

    Raises:
        InputError: an option that this version does not know.
    """
    environ = os.environ if environ is None else environ
    options = {key: value for key, value in run.options.items() if key != "lct_judge"}
    if place := places.data_dir or environ.get("LCT_DATA_DIR"):
        options["lct_data_dir"] = str(place)
    if places.cases is not None and "lct_cases" in options:
        options["lct_cases"] = str(places.cases)
    return catalogue.resolve_options(options, {})


def load_task(run: StoredRun, places: Places = AS_IN_THE_RUN, most: int = MOST_WRITTEN) -> LoadedTask:
    """The task of a run, with the run's options; synthetic cases are written again where they are not in the cache.

    Raises:
        NotInCache: more than ``most`` tokens of synthetic cases would have to be written.
        InputError: an unknown task or option, data that are not there any more, or built cases with another hash than those of
            the run.
    """
    spec = catalogue.parse_task(run.task)
    options = options_of(run, places)
    if options.cases is not None:
        _check_cases(run, options.cases)
    tokens = (spec.tokens or options.length or 0) * (options.n or _CASES)
    refusal = ""
    if spec.source in ("seed", "recast") and options.cases is None and tokens > most:
        refusal = (
            f"{run}: its {tokens:,} tokens of synthetic cases are not in the cache, and at most {most:,} are written here; "
            "`lct runs export` with its options writes them"
        )
    with cached_only(refusal):
        return loading.load_task(run.task, options)


def _check_cases(run: StoredRun, root: Path) -> None:
    """Check that a folder of built cases, or one in it, holds those of a run."""
    if not root.is_dir():
        raise InputError(
            f"{run}: its built cases are not in {root}; name the folder where they lie now with --cases"
        )
    folders = [path for path in (root, *sorted(root.iterdir())) if (path / MANIFEST).is_file()]
    there = [manifest_digest(read_manifest(folder)) for folder in folders]
    then = run.provenance.get(CASES_SHA256)
    if then and there and then not in there:
        raise InputError(
            f"{run}: ran on built cases with the hash {then}, and {root} holds cases with {', '.join(there)}; name the folder of the "
            "run's cases with --cases"
        )


def responses_to(run: StoredRun, task: LoadedTask) -> list[Responses]:
    """All responses of a run, one mapping for each repeat of the cases (one, unless the host repeats cases).

    Raises:
        InputError: a damaged file, or responses to cases or turns that the task does not have.
    """
    return list(in_repeats((case, list(case.responses)) for case in cases_of(run, task)))


def in_repeats(values: Iterable[tuple[StoredCase, T]]) -> list[dict[str, T]]:
    """What belongs to cases, by case, one mapping for each repeat of the cases."""
    repeats: list[dict[str, T]] = []
    for case, value in values:
        while len(repeats) <= case.repeat:
            repeats.append({})
        repeats[case.repeat][case.id] = value
    return repeats


def cases_of(run: StoredRun, task: LoadedTask) -> Iterator[StoredCase]:
    """The cases of a run, read as they are asked for; they are cases of the task, with the turns that they have there.

    Raises:
        InputError: a damaged file; at the end, responses to cases or turns that the task does not have, or none at all.
    """
    foreign: list[str] = []
    number = 0
    for case in run.cases():
        known = task.by_id.get(case.id)
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
