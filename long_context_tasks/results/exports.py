"""Exports: Every Eval Ever records (evaleval/every_eval_ever, schema 0.3.0), and ``.eval_results`` of the Hugging Face hub.

The records contain the same data as bundles: prompts, questions and gold answers only if the user asks for them and the card allows it,
responses if the card allows them, and neither keys nor local paths.
"""

import hashlib
import json
import logging
import math
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Literal

import polars as pl
import yaml

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.readers import HOST_OF
from long_context_tasks.judges.kinds import stored_kind
from long_context_tasks.results.bundle.format import publishable
from long_context_tasks.results.bundle.pack import bundle_row, file_name
from long_context_tasks.results.case_pages import ShownCase, ShownTurn, may_show
from long_context_tasks.results.cells import Cell, cells_of, held_settings, scale_of
from long_context_tasks.results.models import NO_MODELS, Models
from long_context_tasks.results.tables import printable
from long_context_tasks.results.tidy import Collection, moment
from long_context_tasks.schema import InputError
from long_context_tasks.schema.files import loads, make_folder, write_whole
from long_context_tasks.schema.report import settings_text
from long_context_tasks.schema.response import counted, writable
from long_context_tasks.stats.means import Mean, Scale

logger = logging.getLogger(__name__)

SCHEMA = "0.3.0"
# Beginnings of the names that hosts give to models whose weights they load.
_ENGINES = {"hf": "transformers", "huggingface": "transformers", "vllm": "vllm", "sglang": "sglang"}
_Record = dict[str, Any]
# Metrics with one meaning everywhere: collections join records of different sources by these ids.
_GLOBAL = ("accuracy", "f1", "precision", "recall", "exact_match")
_RULE = re.compile("^(?:official|strict)_")


@dataclass(frozen=True)
class Provider:
    organisation: str = "unknown"
    # Relation of the evaluator to the makers of the models.
    relation: Literal["first_party", "third_party", "collaborative", "other"] = "other"
    developer: str = ""  # developer of models whose names have no organisation (org/model); may be empty
    url: str = ""  # address of the organisation; may be empty
    models: Models = NO_MODELS  # the user's file: whether weights are open, and org/model names of judges


def write_records(
    folder: Path, collection: Collection, cases: Iterable[ShownCase], provider: Provider, now: float
) -> list[Path]:
    """Write ``data/<benchmark>/<developer>/<model>/<uuid>.json`` and ``<uuid>_samples.jsonl`` for each run with a score.

    The schema has no form for a turn without a score, so these appear only in the counts of the aggregate. All cases of a run must
    follow one another; ``now`` is in seconds since 1970. Returns the aggregate files.
    """
    rows = {str(row["run"]): row for row in collection.runs.iter_rows(named=True)}
    scores = collection.scores_by_run()
    for row in rows.values():
        _identity(row["model"], provider)  # reports a missing developer before anything is written
    written: dict[str, Path | None] = {}
    remedy = "choose another place with --eee"
    # Runs whose cases cannot be shown come last and get an aggregate only.
    for run, of_run in chain(groupby(cases, key=lambda case: case.run), ((run, ()) for run in rows)):
        if run in written or run not in rows:
            continue
        row = bundle_row(rows[run])
        frame = pl.DataFrame([{**row, "source": ""}], schema=collection.runs.schema)
        [cell] = cells_of(Collection(frame, scores[run]))
        record = _aggregate(row, cell, provider, now)
        written[run] = None
        if not record["evaluation_results"]:
            continue
        _, developer, model = _identity(row["model"], provider)
        # Derived from the run, so that a second export replaces the first.
        name = str(uuid.UUID(bytes=hashlib.sha256(run.encode()).digest()[:16], version=4))
        place = Path("data", file_name(cell.benchmark), developer, model, name)
        make_folder((folder / place).parent, remedy=remedy)
        samples = place.with_name(f"{name}_samples.jsonl")
        write_whole(folder / samples, _lines(record, cell, of_run, scores[run]), remedy=remedy)
        record |= _companion(folder, samples)
        written[run] = path = folder / place.with_name(f"{name}.json")
        write_whole(path, json.dumps(record, indent=1, allow_nan=False) + "\n", remedy=remedy)
    return [path for path in written.values() if path is not None]


def _companion(folder: Path, samples: Path) -> _Record:
    """Return an aggregate's fields about its file of turns; remove the file if it is empty."""
    rows, digest = 0, hashlib.sha256()
    with (folder / samples).open("rb") as file:
        for rows, line in enumerate(file, start=1):  # noqa: B007
            digest.update(line)
    if not rows:
        (folder / samples).unlink()
        return {}
    about = {"format": "jsonl", "file_path": samples.as_posix(), "hash_algorithm": "sha256"}
    return {"detailed_evaluation_results": {**about, "checksum": digest.hexdigest(), "total_rows": rows}}


def _identity(model: str, provider: Provider) -> tuple[str, str, str]:
    """Return a model's id, and the folder names of its developer and the model."""
    name = str(publishable(model))
    developer, slash, rest = name.partition("/")
    if not (slash and developer and rest):
        developer, rest = provider.developer, name.strip("/")
        if not developer:
            raise InputError(
                f"{name}: the records name each model by its organisation; give --developer NAME for models without one, or names such as "
                "org/model with --models FILE"
            )
    return f"{developer}/{rest}", file_name(developer), file_name(rest)


def _aggregate(row: Mapping[str, Any], cell: Cell, provider: Provider, now: float) -> _Record:
    model, provenance = _identity(row["model"], provider)[0], loads(row["provenance"])
    results = [
        _result(row, cell, name, mean, provider)
        for name, mean in ((cell.metric, cell.mean), *cell.official.items())
        if math.isfinite(mean.value)
    ]
    record = {
        "schema_version": SCHEMA,
        "evaluation_id": f"{cell.task}/{model}/{row['run']}",
        "retrieved_timestamp": f"{now:.0f}",
        "source_metadata": {
            "source_name": "long_context_tasks",
            "source_type": "evaluation_run",
            "source_organization_name": provider.organisation,
            **_texts(source_organization_url=provider.url),
            "evaluator_relationship": provider.relation,
        },
        "eval_library": {
            "name": HOST_OF[row["host"]].library,
            "version": row["host_version"] or "unknown",
            "additional_details": _texts(long_context_tasks=row["package"], commit=row["commit"]),
        },
        "model_info": _model(model, str(row["model"]), provenance, provider),
        "evaluation_results": results,
    }
    when = moment(row["made"])[:14]
    if len(when) == 14:  # local time of the machine; hosts record no time zone
        day, time = (when[:4], when[4:6], when[6:8]), (when[8:10], when[10:12], when[12:])
        record["evaluation_timestamp"] = f"{'-'.join(day)}T{':'.join(time)}"
    return record


def _model(model: str, name: str, provenance: Mapping[str, Any], provider: Provider) -> _Record:
    kind = str(provenance.get("model") or "").lower()
    engine = next((engine for start, engine in _ENGINES.items() if kind.startswith(start)), None)
    details = {
        "deployment_type": "self_deployed" if engine else "unknown",
        "model_availability": _availability(name, provider),
        **_texts(**{key: provenance.get(key) for key in ("model_dtype", "model_revision", "model_args")}),
    }
    record: _Record = {"name": name, "id": model, "developer": model.partition("/")[0]}
    if engine:
        version = provenance.get("transformers_version") if engine == "transformers" else None
        record["inference_engine"] = {"name": engine, **_texts(version=version)}
    return {**record, "additional_details": details}


def _availability(model: str, provider: Provider) -> str:
    """Return whether the weights are open, according to the user's file: a run cannot show this, as private weights load the same way."""
    facts = provider.models.facts.get(model)
    return f"{facts.weights}_weights" if facts and facts.weights else "unknown"


def _metric_names(cell: Cell, metric: str) -> tuple[str, str]:
    """Return the id and the family of a metric; of several rules for one global metric, only one has its id."""
    family = _RULE.sub("", metric)
    # Other sources of a benchmark's scores follow the official rule.
    rules = (f"official_{family}", family, metric)
    first = next(name for name in rules if name == cell.metric or name in cell.official)
    own = family in _GLOBAL and metric == first
    return family if own else f"{cell.benchmark}.{metric}", family


def _result(row: Mapping[str, Any], cell: Cell, metric: str, mean: Mean, provider: Provider) -> _Record:
    card = catalogue.card(cell.benchmark)
    settings, points = held_settings(cell.settings), metric in cell.points_metrics
    low, high = _scale(scale_of(cell.benchmark, metric, points=points), mean)
    config: _Record = {
        "evaluation_description": card.metrics.get(metric, metric),
        **dict(zip(("metric_id", "metric_kind"), _metric_names(cell, metric), strict=True)),
        "metric_name": metric,
        "metric_unit": "points" if points else "proportion",
        "lower_is_better": False,
        "score_type": "continuous",
        "min_score": low,
        "max_score": high,
    }
    judge = loads(row["judge_settings"])
    kind = stored_kind(judge)
    if judge and (points or (kind and metric in kind.metrics)):
        # Only these metrics come from the judge; the others are counted from the response.
        config["llm_scoring"] = _judging(judge, cell, metric, provider)
    uncertainty: _Record = {"num_samples": mean.n}
    if math.isfinite(mean.se):
        uncertainty["standard_error"] = {"value": mean.se, "method": "analytic, over clusters of cases"}
    if math.isfinite(mean.low) and math.isfinite(mean.high):
        ends = {"lower": mean.low, "upper": mean.high, "confidence_level": 0.95}
        uncertainty["confidence_interval"] = {**ends, "method": "over clusters of cases"}
    arguments = {
        key: settings[key] for key in ("temperature", "top_p", "top_k") if _is_number(settings.get(key))
    }
    options = {**loads(row["options"]), **settings, "seed": row["seed"], "window": row["window"]}
    return {
        "evaluation_result_id": f"{row['run']}.{metric}",
        "evaluation_name": cell.task,
        "source_data": _source(cell),
        "metric_config": config,
        "score_details": {
            "score": mean.value,
            "details": _texts(
                turns=mean.total, scored=mean.n, reasons=counted(mean.reasons), cases=cell.n_cases
            )
            | _texts(cases_available=cell.n_available, task_version=cell.version, truncated=cell.truncated),
            "uncertainty": uncertainty,
        },
        "generation_config": {"generation_args": arguments, "additional_details": _texts(**options)},
    }


def _scale(scale: Scale | None, mean: Mean) -> tuple[float | str, float | str]:
    # Rounding may push a mean of shares past an end in its last digit, and the schema rejects that.
    return (
        ("-Infinity", "Infinity") if scale is None else (min(scale[0], mean.value), max(scale[1], mean.value))
    )


def _judging(judge: Mapping[str, Any], cell: Cell, metric: str, provider: Provider) -> _Record:
    given = str(judge.get("model") or judge.get("name") or "judge")
    name = provider.models.name_of(given) or given
    about = {"deployment_type": "unknown", "model_availability": _availability(name, provider)}
    model = {"name": given, "id": name if "/" in name else f"unknown/{name}", "additional_details": about}
    config: _Record = {"model_info": model}
    if _is_number(judge.get("temperature")):
        config["temperature"] = judge["temperature"]
    task, rubric = catalogue.parse_task(cell.task), str(judge.get("rubric") or "")
    prompt = f"rubric of long_context_tasks: {rubric or 'the default'}"
    # ORCA has no prompt in words. Templates belong to the prompts that the owners of the data release or keep.
    if stored_kind(judge) is None and may_show(task)["prompts"]:
        try:
            prompt = catalogue.benchmark(cell.benchmark).judge_template(cell.task, rubric) or prompt
        except Exception as error:  # a plug-in may fail; the record is written without it
            logger.warning("%s: no template of its judge's prompt in the records: %s", cell.task, error)
    record: _Record = {"judges": [config], "input_prompt": prompt, "additional_details": _texts(**judge)}
    if task.human is not None and metric == task.headline:
        record["expert_baseline"] = task.human.score
    return record


def _source(cell: Cell) -> _Record:
    card = catalogue.card(cell.benchmark)
    source, hub = catalogue.parse_task(cell.task).source, card.data.get("hub") or {}
    source = "built" if "lct_cases" in held_settings(cell.settings) else source
    record: _Record = {"dataset_name": card.title, "additional_details": _texts(cases=source, task=cell.task)}
    if source == "published" and hub.get("id"):
        where = _texts(hf_repo=hub["id"], hf_split=hub.get("split"))
        return {**record, "source_type": "hf_dataset", **where, "samples_number": cell.n_cases}
    if source == "published" and card.paper.get("code"):
        return {**record, "source_type": "url", "url": [card.paper["code"]]}
    return {**record, "source_type": "other"}


def _lines(aggregate: _Record, cell: Cell, cases: Iterable[ShownCase], scores: pl.DataFrame) -> Iterator[str]:
    # The labels of the tables are short words and numbers; those of a case may hold texts of the data.
    labels = {
        (str(case), turn): text
        for case, turn, text in scores.select("case", "turn", "labels").unique().iter_rows()
        if text
    }
    results = {result["metric_config"]["metric_name"]: result for result in aggregate["evaluation_results"]}
    for case in cases:
        for place, turn in enumerate(case.turns):
            for metric, value in turn.scores.items():
                if value is None or metric not in results:
                    continue
                known = loads(labels.get((writable(case.case), place)) or "{}")
                record = _sample(aggregate, results[metric], case, place, known)
                # As ASCII, because the collection's own reader splits lines at any line break of Unicode.
                yield json.dumps(record, ensure_ascii=True, allow_nan=False) + "\n"


def _sample(
    aggregate: _Record, result: _Record, case: ShownCase, place: int, labels: Mapping[str, Any]
) -> _Record:
    turn, top = case.turns[place], result["metric_config"]["max_score"]
    value = turn.scores[result["metric_config"]["metric_name"]]
    several = f"/turn{place}" if len(case.turns) > 1 else ""
    repeat = case.labels.get("repeat", "")
    # The prompt of a conversation is that of its last turn, so it would show later questions and the model's own answers.
    prompt = "" if several else "\n\n".join(writable(text) for _, text in case.prompt or ())
    raw = writable(turn.question or prompt)
    left_out = {"input": not raw, "reference": turn.gold is None, "response": turn.response is None}
    record: _Record = {
        "schema_version": SCHEMA,
        "evaluation_id": aggregate["evaluation_id"],
        "model_id": aggregate["model_info"]["id"],
        "evaluation_name": result["evaluation_name"],
        "evaluation_result_id": result["evaluation_result_id"],
        "sample_id": f"{writable(case.case)}{several}{repeat and f'/repeat{repeat}'}",
        "interaction_type": "multi_turn" if several else "single_turn",
        "input": {"raw": raw, "reference": [] if turn.gold is None else [writable(turn.gold)]},
        "answer_attribution": [],
        "evaluation": {"score": value, "is_correct": value == top},
        "metadata": _texts(**labels)
        | _texts(reason=turn.reason, left_out=", ".join(name for name, out in left_out.items() if out)),
    }
    if prompt:
        record["input"]["formatted"] = prompt
    if case.tokens is not None:
        sent, got = case.tokens
        record["token_usage"] = {"input_tokens": sent, "output_tokens": got, "total_tokens": sent + got}
    if several:
        record["messages"] = list(_messages(case.turns[: place + 1]))
        record["evaluation"]["num_turns"] = place + 1
    else:
        record["output"] = {"raw": [] if turn.response is None else [writable(turn.response)]}
    return record


def _messages(turns: Sequence[ShownTurn]) -> Iterator[_Record]:
    for place, turn in enumerate(turns):
        for number, role, text in ((0, "user", turn.question), (1, "assistant", turn.response)):
            yield {
                "turn_idx": 2 * place + number,
                "role": role,
                **({} if text is None else {"content": writable(text)}),
            }


def _texts(**values: Any) -> dict[str, str]:
    return {
        key: writable(value) if isinstance(value, str) else json.dumps(value, sort_keys=True)
        for key, value in values.items()
        if value not in (None, "", [], {})
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def write_eval_results(
    folder: Path, cells: Sequence[Cell], datasets: Mapping[str, str], source: Mapping[str, str]
) -> tuple[list[Path], list[str]]:
    """Write ``<model>/.eval_results/<task>.yaml`` for each ranked score, with digits in the name for other settings and judges.

    ``<dataset>/eval.yaml`` lists the tasks for the dataset's repository, without which the hub takes no score.

    ``datasets`` has for each benchmark the hub's dataset with its leaderboard, ``org/name`` or ``org/name@revision``, and ``source`` the
    url, name, user and org of the scores' source, if there is one. Returns the files, and a line for each score that is left out.
    """
    files: dict[Path, Any] = {}
    left_out = []
    for cell in cells:
        name = f"{printable(cell.task)} of {printable(cell.model)}"
        if cell.benchmark not in datasets:
            left_out.append(
                f"{name}: no dataset of the hub given for its benchmark (--dataset {cell.benchmark}=ORG/NAME)"
            )
        elif not cell.ranked:
            left_out.append(f"{name}: not ranked: {cell.why_unranked}")
        else:
            plain = cell.judge is None and not held_settings(cell.settings)
            # Several settings of a task need different file names.
            digits = hashlib.sha256(f"{cell.judge} {cell.settings}".encode()).hexdigest()[:8]
            place = folder / file_name(str(publishable(cell.model))) / ".eval_results"
            path = place / (f"{cell.task}.yaml" if plain else f"{cell.task}_{digits}.yaml")
            files[path] = [entry(cell, datasets[cell.benchmark], source)]
    for benchmark, dataset in datasets.items():
        tasks = {cell.task for cell in cells if cell.benchmark == benchmark}
        path = folder / file_name(dataset.partition("@")[0]) / "eval.yaml"
        files[path] = _benchmark_file(benchmark, tasks)
    remedy = "choose another place with --eval-results"
    for path, content in files.items():
        make_folder(path.parent, remedy=remedy)
        write_whole(path, yaml.safe_dump(content, sort_keys=False, width=1_000), remedy=remedy)
    return list(files), left_out


def _benchmark_file(benchmark: str, ran: Set[str]) -> dict[str, Any]:
    """Return the ``eval.yaml`` of a benchmark's dataset: its published tasks, and others that were run."""
    card = catalogue.card(benchmark)
    data = {"config": "default", "split": (card.data.get("hub") or {}).get("split", "test")}
    tasks = [
        {"id": spec.name, **data}
        for spec in catalogue.task_specs()
        if spec.benchmark == benchmark
        and (spec.name in ran or (spec.listed and spec.source == "published" and not spec.variant))
    ]
    # Our own name: a file for inspect-ai can only name inspect's generic scorers, which score differently.
    about = {"name": card.title, "description": card.about, "evaluation_framework": "long_context_tasks"}
    return {**about, "tasks": tasks}


def entry(cell: Cell, dataset: str, source: Mapping[str, str]) -> dict[str, Any]:
    """Return a score in the hub's form: rates in percent, points as they are; the notes name the judge and settings that are not the defaults."""
    scale = 1 if cell.points else 100
    name, _, revision = dataset.partition("@")
    result: dict[str, Any] = {
        "dataset": {"id": name, "task_id": cell.task, **_texts(revision=revision)},
        "value": round(scale * cell.mean.value, 4),
    }
    if day := re.match(r"(\d{4})-?(\d\d)-?(\d\d)", cell.made):
        result["date"] = "-".join(day.groups())
    if source:
        result["source"] = _texts(**source)
    settings = settings_text(publishable(held_settings(cell.settings)))
    notes = [f"judge {cell.judge}" if cell.judge else "", settings]
    return {**result, **_texts(notes=printable("; ".join(filter(None, notes))))}
