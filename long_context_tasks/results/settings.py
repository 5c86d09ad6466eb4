"""What runs must share to count as repeats of one another."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.stored import StoredRun
from long_context_tasks.results.models import shown_source
from long_context_tasks.results.tidy import Collection, moment
from long_context_tasks.schema import InputError, parse_length
from long_context_tasks.schema.files import loads

OF_THE_PLACE = ("lct_data_dir", "lct_carriers", "lct_judge", "lct_seed", "lct_window", "lct_tokenizer")
"""These tell where and how a run was made, not what was asked."""
DEFAULTS: Mapping[str, Any] = {
    "lct_cut_keep": "front",
    "lct_length_policy": "same_information",
    "lct_prompt_style": "chat",
    "lct_question_markers": False,
    "lct_noise_mode": "exact",
}
_SEEDS = ("seed", "random_seed")
_OF_SAMPLING = ("do_sample", "temperature", "top_p", "top_k")
"""These do nothing where nothing samples."""
_CASES = "lct_cases"
_PART = r"[^\s/\\,;:=\"'<>|]+"
_PATH = re.compile(
    rf"(?<![\w/\\:.~%-])(?:(?:~|\.\.?)?/(?:{_PART}/)+|(?:~|\.\.?)/|[A-Za-z]:[\\/](?:{_PART}[\\/])*)({_PART})/?"
)
"""A local path of two names or more, or one that says that it is one."""
_PATH_ALONE = re.compile(r"(?:(?:~|\.\.?)?/[^,;=\n]*/|[A-Za-z]:\\[^,;=\n]*\\)([^/\\,;=\n]+)[/\\]?")


def in_one_form(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of generation in one form, without seeds: greedy words are what nothing given means in both hosts, and a temperature says
    that there is sampling.

    >>> in_one_form({"do_sample": True, "temperature": 0.6, "top_p": 1.0, "top_k": 20.0, "seed": 1})
    {'temperature': 0.6, 'top_k': 20}
    >>> in_one_form({"do_sample": False, "temperature": 0.0, "until": "x"})
    {'until': 'x'}
    """
    plain = {
        str(key): int(value) if isinstance(value, float) and value.is_integer() else value
        for key, value in given.items()
        if key not in _SEEDS
    }
    warm, samples = plain.get("temperature"), plain.get("do_sample")
    if not (warm if samples is None else samples):
        return {key: value for key, value in plain.items() if key not in _OF_SAMPLING}
    idle = {"top_p": 1, **({"do_sample": samples} if warm else {})}
    return {key: value for key, value in plain.items() if key not in idle or value != idle[key]}


def settings_of(run: StoredRun) -> dict[str, Any]:
    """Options and arguments of generation that runs share when they differ in seed and time alone; sorted by name.

    What the cases are counts, where they lie does not: of ``lct_cases`` the name of the folder stays (see :func:`cases_told_apart`), and
    the seed where cases are made from it, built or synthetic. A length has one form, and is left out where the task's name has it. Of
    other paths the last name stays. Arguments of generation are those that the user gave to lm-eval, a mapping or ``key=value`` with commas
    between, and of OpenCompass those in the config of the model.
    """
    options = {
        key: value
        for key, value in run.options.items()
        if key not in OF_THE_PLACE and value != DEFAULTS.get(key)
    }
    spec = catalogue.parse_task(run.task)
    if (length := options.pop("lct_length", None)) is not None:
        # One host writes down the length of a task that has it in its name, the other does not.
        try:
            tokens: Any = parse_length(length)
        except InputError:
            tokens = length
        if tokens != spec.tokens:
            options["lct_length"] = tokens
    seed = run.options.get("lct_seed")
    if seed not in (None, 0, "0", "") and (_CASES in options or spec.source in ("seed", "recast")):
        options["lct_seed"] = seed
    arguments = run.provenance.get("gen_kwargs")
    if not isinstance(arguments, Mapping):
        parts = (part.partition("=") for part in str(arguments or "").split(","))
        arguments = {key.strip(): _value(value.strip()) for key, equals, value in parts if equals}
    found: dict[str, Any] = without_places({**options, **in_one_form(arguments)})
    if _CASES in options:
        found[_CASES] = last_name(options[_CASES])
    return dict(sorted(found.items()))


def last_name(place: Any) -> str:
    """The last part of a path of any system."""
    return re.split(r"[/\\]", str(place).rstrip("/\\"))[-1]


def without_places(value: Any) -> Any:
    """A value with the last name in the place of each local path; addresses stay as they are.

    >>> without_places({"a": "/home/me/models/owl", "b": "pretrained=~/models/owl,dtype=auto", "c": "http://host/a/b", "d": "/no_think"})
    {'a': 'owl', 'b': 'pretrained=owl,dtype=auto', 'c': 'http://host/a/b', 'd': '/no_think'}
    """
    if isinstance(value, Mapping):
        return {key: without_places(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_places(each) for each in value]
    if not isinstance(value, str):
        return value
    if match := _PATH_ALONE.fullmatch(value):
        return match[1]
    return _PATH.sub(r"\1", value)


def cases_told_apart(runs: pl.DataFrame, scores: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Change the settings of runs that would count as repeats of one another, and hold different cases.

    Where folders of built cases have one name, four digits of the cases' ids tell their settings apart. Other runs of one model, task and
    settings get a setting ``cases`` with the digits, but for the newest and its repeats: cases were built anew, or parts of a task were run
    one by one. Runs of a part of another's cases are its repeats. Cases that are written from a seed and nothing else are the same
    whenever they are written, so that parts of them belong together.

    Returns:
        The runs, and a note on each model and task that has such runs.
    """
    built = runs.filter(pl.col("settings").str.contains(f'"{_CASES}"', literal=True))
    if built.height > 1:
        ids = _ids_of_cases(built, scores)
        renamed: dict[str, str] = {}
        for group in built.partition_by("task", "settings"):
            whole = _largest(ids[run] for run in group["run"])
            for run, text in group.select("run", "settings").iter_rows() if len(whole) > 1 else ():
                settings = loads(text)
                settings[_CASES] += f" ({_digits(_holding(ids[run], whole))})"
                renamed[run] = json.dumps(settings, sort_keys=True, ensure_ascii=False)
        runs = _with_settings(runs, renamed)
    same = ["model", "task", "version", "settings"]
    from_seed = [task for task in runs["task"].unique() if catalogue.parse_task(task).source == "seed"]
    # Ids as text are costly: only runs whose cases may differ are looked at.
    counted = scores.group_by("run").agg(pl.col("case").to_physical().unique().hash().sum().alias("cases"))
    suspect = runs.join(
        counted.with_columns(pl.col("run").cast(pl.String())), on="run", how="left", maintain_order="left"
    ).filter(
        pl.col("cases").n_unique().over(same) > 1,
        ~pl.col("task").is_in(from_seed) | pl.col("settings").str.contains(f'"{_CASES}"', literal=True),
    )
    groups = suspect.partition_by(same, maintain_order=True)
    return _older_renamed(runs, groups, _ids_of_cases(suspect, scores) if groups else {})


def _older_renamed(
    runs: pl.DataFrame, groups: Iterable[pl.DataFrame], ids: Mapping[str, frozenset[str]]
) -> tuple[pl.DataFrame, list[str]]:
    """Return the runs with settings of their own for those of each group whose cases are not the newest's, and a note on each group."""
    renamed: dict[str, str] = {}
    notes: list[str] = []
    for group in groups:
        whole = _largest(ids[run] for run in group["run"])
        if len(whole) < 2:
            continue
        rows = sorted(
            group.iter_rows(named=True),
            key=lambda row: moment(str(row["made"])),
            reverse=True,
        )
        newest = _holding(ids[rows[0]["run"]], whole)
        by_cases: dict[frozenset[str], str] = {}
        for row in rows:
            cases = ids[row["run"]]
            own = newest if cases <= newest else _holding(cases, whole)
            count = f"{len(cases)} case{'s' * (len(cases) != 1)}"
            by_cases.setdefault(own, f"{row['made']} in {shown_source(str(row['source']))} ({count})")
            if own != newest:
                settings = {**loads(row["settings"]), "cases": _digits(own)}
                renamed[row["run"]] = json.dumps(settings, sort_keys=True, ensure_ascii=False)
        notes.append(
            f"{rows[0]['task']}, {rows[0]['model']}: runs with different cases are not counted as repeats: {', '.join(by_cases.values())}; "
            "the newest keeps its settings, the others are shown with the setting cases"
        )
    return _with_settings(runs, renamed), notes


def _ids_of_cases(runs: pl.DataFrame, scores: pl.DataFrame) -> dict[str, frozenset[str]]:
    own = scores.join(runs.select(pl.col("run").cast(pl.Categorical())), on="run", how="semi")
    rows = own.group_by("run").agg(pl.col("case").unique()).iter_rows()
    return {str(run): frozenset(map(str, cases)) for run, cases in rows}


def _digits(cases: frozenset[str]) -> str:
    return hashlib.sha256("\n".join(sorted(cases)).encode("utf-8", "surrogatepass")).hexdigest()[:4]


def _with_settings(runs: pl.DataFrame, renamed: Mapping[str, str]) -> pl.DataFrame:
    settings = [renamed.get(run, settings) for run, settings in runs.select("run", "settings").iter_rows()]
    return runs.with_columns(pl.Series("settings", settings, pl.String()))


def _largest(sets: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Return those that are in no other."""
    found: list[frozenset[str]] = []
    for one in sorted(set(sets), key=lambda each: (-len(each), sorted(each))):
        if not any(one <= other for other in found):
            found.append(one)
    return found


def _holding(cases: frozenset[str], sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return next(one for one in sets if cases <= one)


def seed_of(run: StoredRun) -> str:
    """The seed that tells a run from its repeats, as far as the host tells; empty when nothing does."""
    arguments = run.provenance.get("gen_kwargs")
    given = dict(arguments) if isinstance(arguments, Mapping) else {}
    candidates = (given.get("seed"), run.provenance.get("random_seed"), run.options.get("lct_seed"))
    return next((str(value) for value in candidates if value is not None), "")


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return float(text)
    except ValueError:
        return text


SEED, CASES, POOLED = "lct_seed", "lct_cases", "pooled"


def is_pooled(settings: str) -> bool:
    """Return whether settings, as JSON, are those of runs of several seeds."""
    return bool(loads(settings).get(SEED) == POOLED)


def pooled_seeds(collection: Collection) -> Collection:
    """Return a collection in which runs on cases of several seeds have the same settings, ``lct_seed`` being ``pooled``, and other cases.

    A case gets its seed in front of its id. So does its cluster where its text is written from the seed. Cases made from real texts, built
    or recast, keep their clusters: a book that two seeds draw from is one cluster. Their folders may differ by name in the seed alone
    (``built_1``, ``built_2``). The task has as many cases as all its seeds together, so that a run of fewer seeds is not ranked.

    Runs on published cases, where a seed makes no cases, stay repeats; a task with a single seed stays as it is.
    """
    rows = list(collection.runs.iter_rows(named=True))
    groups: dict[tuple[str, int | None, str], list[tuple[dict[str, Any], str]]] = {}
    for row in rows:
        settings, seed = loads(row["settings"]), str(loads(row["options"]).get(SEED) or 0)
        if CASES in settings:
            settings[CASES] = re.sub(rf"(?<!\d){re.escape(seed)}(?![\dA-Za-z])", "*", settings[CASES])
        shared = json.dumps({**settings, SEED: POOLED}, sort_keys=True, ensure_ascii=False)
        # Seed 0 is the default: settings do not name it, and neither do those of published cases.
        own = seed if SEED in settings or CASES in settings else "0"
        groups.setdefault((row["task"], row["version"], shared), []).append((row, own))
    counted = collection.scores.group_by("run").agg(pl.col("case").n_unique()).iter_rows()
    n_cases = {str(run): int(n) for run, n in counted}
    seeds: dict[str, str] = {}
    changes: dict[str, tuple[str, int]] = {}
    for (_, _, shared), members in groups.items():
        available: dict[str, int] = {}
        for row, seed in members:
            most = max(row["n_cases_available"] or 0, n_cases.get(row["run"], 0))
            available[seed] = max(available.get(seed, 0), most)
        if len(available) > 1:
            changes |= {row["run"]: (shared, sum(available.values())) for row, _ in members}
            seeds |= {row["run"]: seed for row, seed in members}
    if not seeds:
        return collection
    changed = [
        row
        if row["run"] not in changes
        else row | dict(zip(("settings", "n_cases_available"), changes[row["run"]], strict=True))
        for row in rows
    ]
    written = {
        row["run"]
        for row in rows
        if row["run"] in changes
        and CASES not in loads(row["settings"])
        and catalogue.parse_task(row["task"]).source == "seed"
    }
    run, text = pl.col("run").cast(pl.String()), "seed {}: {}"
    seed_of_run = run.replace_strict(seeds, default=None, return_dtype=pl.String())

    def with_seed(name: str, seed: pl.Expr) -> pl.Expr:
        old = pl.col(name).cast(pl.String())
        return (
            pl.when(seed.is_null())
            .then(old)
            .otherwise(pl.format(text, seed, old))
            .cast(pl.Categorical())
            .alias(name)
        )

    scores = collection.scores.with_columns(
        with_seed("case", seed_of_run),
        with_seed("cluster", pl.when(run.is_in(list(written))).then(seed_of_run)),
    )
    return replace(collection, runs=pl.DataFrame(changed, schema=collection.runs.schema), scores=scores)
