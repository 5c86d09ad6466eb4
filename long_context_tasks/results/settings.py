"""Settings that runs must share to count as repeats of one another."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from long_context_tasks.benchmarks import catalogue
from long_context_tasks.hosts.stored import StoredRun
from long_context_tasks.results.models import shown_source
from long_context_tasks.results.tidy import moment
from long_context_tasks.schema import InputError, parse_length
from long_context_tasks.schema.files import loads

NOT_SETTINGS = ("lct_data_dir", "lct_carriers", "lct_judge", "lct_seed", "lct_window", "lct_tokenizer")
"""Options that do not change the prompts: where and how a run was made."""
_SEEDS = ("seed", "random_seed")
_SAMPLING = ("do_sample", "temperature", "top_p", "top_k")
"""Arguments that have no effect on greedy decoding."""
_MODEL_ARGUMENTS = {
    **dict.fromkeys(("add_bos_token", "autogptq", "gptqmodel", "load_in_4bit", "load_in_8bit"), False),
    **dict.fromkeys(("chat_template_args", "chat_template_kwargs", "hf_overrides", "system_instruction")),
    **dict.fromkeys(
        ("delta", "gguf_file", "kv_cache_dtype", "peft", "quantization", "subfolder", "think_end_token")
    ),
    "plain_prompts": None,  # True if a model with a chat template got prompts without it
    "enable_thinking": True,
    "revision": "main",
}
"""Arguments of lm-eval's models that change answers, each with its default. Where and how fast a model runs does not count."""
_CASES = "lct_cases"
_PART = r"[^\s/\\,;:=\"'<>|]+"
_PATH = re.compile(
    rf"(?<![\w/\\:.~%-])(?:(?:~|\.\.?)?/(?:{_PART}/)+|(?:~|\.\.?)/|[A-Za-z]:[\\/](?:{_PART}[\\/])*)({_PART})/?"
)
"""A local path inside a text, recognised by two names or more, or by how it begins: ``/a/b``, ``~/b``, ``./b``, ``C:\\b``."""
_WHOLE_PATH = re.compile(r"(?:(?:~|\.\.?)?/[^,;=\n]*/|[A-Za-z]:\\[^,;=\n]*\\)([^/\\,;=\n]+)[/\\]?")


def changed_options(spec: catalogue.TaskSpec, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that affect prompts and differ from the defaults of the benchmark's options class and the task."""
    defaults = catalogue.benchmark(spec.benchmark).options(answer_budget=spec.answer_budget).resolved()
    return {
        name: value
        for name, value in options.items()
        if name not in NOT_SETTINGS and value != defaults.get(name)
    }


def settings_of(run: StoredRun) -> dict[str, Any]:
    """Return the options and generation arguments that repeats share, sorted by name: everything but seed and time.

    Built cases count by the name of their folder, not by its place (:func:`separate_case_sets` tells folders of one name apart), and
    the seed counts if cases are made from it. The length is left out if the task's name contains it. Generation arguments are those
    that the user gave to lm-eval (a mapping, or ``key=value`` with commas), and those in the model's config in OpenCompass.
    """
    spec = catalogue.parse_task(run.task)
    options = changed_options(spec, run.options)
    if (length := options.pop("lct_length", None)) is not None:
        # Only one of the hosts writes down the length of a task that has it in its name.
        try:
            tokens: Any = parse_length(length)
        except InputError:
            tokens = length
        if tokens != spec.tokens:
            options["lct_length"] = tokens
    # Seed 0 is the default, and published cases do not depend on a seed.
    seed = run.options.get("lct_seed")
    if seed not in (None, 0, "0", "") and (_CASES in options or spec.source in ("seed", "recast")):
        options["lct_seed"] = seed
    arguments = normal_arguments(_arguments(run.provenance.get("gen_kwargs")))
    settings: dict[str, Any] = without_places({**options, **arguments, **_of_model(run.provenance)})
    if _CASES in options:
        # Relative paths are still whole: without_places leaves them alone.
        settings[_CASES] = last_name(options[_CASES])
    return dict(sorted(settings.items()))


def _arguments(given: Any) -> Mapping[str, Any]:
    """Return arguments that a host wrote as a mapping or as ``key=value`` with commas."""
    if isinstance(given, Mapping):
        return given
    parts = (part.partition("=") for part in str(given or "").split(","))
    return {key.strip(): _value(value.strip()) for key, equals, value in parts if equals}


def _of_model(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a user told the host about the model besides its name, if it makes the model answer differently."""
    given = {
        **_arguments(provenance.get("model_args")),
        "plain_prompts": provenance.get("plain_prompts"),
        "system_instruction": provenance.get("system_instruction"),
    }
    return {
        name: value
        for name, value in given.items()
        if name in _MODEL_ARGUMENTS and value not in (None, "", {}, _MODEL_ARGUMENTS[name])
    }


def normal_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Normalise generation arguments, without seeds.

    Both hosts decode greedily if nothing is given, so arguments that state greedy decoding are dropped; a temperature implies sampling.

    >>> normal_arguments({"do_sample": True, "temperature": 0.6, "top_p": 1.0, "top_k": 20.0, "seed": 1})
    {'temperature': 0.6, 'top_k': 20}
    >>> normal_arguments({"do_sample": False, "temperature": 0.0, "until": "x"})
    {'until': 'x'}
    """
    # Hosts write 20 and 20.0 for the same argument.
    plain = {
        str(key): int(value) if isinstance(value, float) and value.is_integer() else value
        for key, value in given.items()
        if key not in _SEEDS
    }
    warm, samples = plain.get("temperature"), plain.get("do_sample")
    if not (warm if samples is None else samples):
        return {key: value for key, value in plain.items() if key not in _SAMPLING}
    idle = {"top_p": 1, **({"do_sample": samples} if warm else {})}
    return {key: value for key, value in plain.items() if key not in idle or value != idle[key]}


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return float(text)
    except ValueError:
        return text


def seed_of(run: StoredRun) -> str:
    """Return the seed that distinguishes a run from its repeats; empty if the host recorded none."""
    arguments = run.provenance.get("gen_kwargs")
    known = dict(arguments) if isinstance(arguments, Mapping) else {}
    candidates = (known.get("seed"), run.provenance.get("random_seed"), run.options.get("lct_seed"))
    return next((str(value) for value in candidates if value is not None), "")


def last_name(place: Any) -> str:
    return re.split(r"[/\\]", str(place).rstrip("/\\"))[-1]


def without_places(value: Any) -> Any:
    """Replace each local path in a value by its last name; web addresses stay as they are.

    >>> without_places({"a": "/home/me/models/owl", "b": "pretrained=~/models/owl,dtype=auto", "c": "http://host/a/b", "d": "/no_think"})
    {'a': 'owl', 'b': 'pretrained=owl,dtype=auto', 'c': 'http://host/a/b', 'd': '/no_think'}
    """
    if isinstance(value, Mapping):
        return {key: without_places(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_places(each) for each in value]
    if not isinstance(value, str):
        return value
    if match := _WHOLE_PATH.fullmatch(value):
        return match[1]
    return _PATH.sub(r"\1", value)


def separate_case_sets(runs: pl.DataFrame, scores: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Change the settings of runs that look like repeats of one another but hold different cases.

    - Folders of built cases with one name get four digits of a hash of their case ids in ``lct_cases``.
    - Other runs of one model, task and settings get a setting ``cases`` with these digits, unless their cases are those of the newest
      run: cases were built a second time, or parts of a task were run separately.
    - A run of a subset of another run's cases stays its repeat. So do parts of cases that are written only from a seed, because the
      seed gives the same cases each time.

    Returns:
        The runs, and a note on each model and task whose runs were separated.
    """
    built = runs.filter(pl.col("settings").str.contains(f'"{_CASES}"', literal=True))
    if built.height > 1:
        ids = _case_ids(built, scores)
        renamed: dict[str, str] = {}
        for group in built.partition_by("task", "settings"):
            whole = _maximal(ids[run] for run in group["run"])
            for run, text in group.select("run", "settings").iter_rows() if len(whole) > 1 else ():
                settings = loads(text)
                settings[_CASES] += f" ({_digits(_containing(ids[run], whole))})"
                renamed[run] = json.dumps(settings, sort_keys=True, ensure_ascii=False)
        runs = _with_settings(runs, renamed)
    same = ["model", "task", "version", "settings"]
    from_seed = [task for task in runs["task"].unique() if catalogue.parse_task(task).source == "seed"]
    # Reading ids as text is slow, so a hash first finds the runs whose cases may differ.
    counted = scores.group_by("run").agg(pl.col("case").to_physical().unique().hash().sum().alias("cases"))
    suspect = runs.join(
        counted.with_columns(pl.col("run").cast(pl.String())), on="run", how="left", maintain_order="left"
    ).filter(
        pl.col("cases").n_unique().over(same) > 1,
        ~pl.col("task").is_in(from_seed) | pl.col("settings").str.contains(f'"{_CASES}"', literal=True),
    )
    groups = suspect.partition_by(same, maintain_order=True)
    return _separate_older(runs, groups, _case_ids(suspect, scores) if groups else {})


def _separate_older(
    runs: pl.DataFrame, groups: Iterable[pl.DataFrame], ids: Mapping[str, frozenset[str]]
) -> tuple[pl.DataFrame, list[str]]:
    """Give the runs of each group whose cases differ from the newest run's a setting ``cases``, and write a note on each group."""
    renamed: dict[str, str] = {}
    notes: list[str] = []
    for group in groups:
        whole = _maximal(ids[run] for run in group["run"])
        if len(whole) < 2:
            continue
        # The newest run is what a user expects under the plain settings.
        rows = sorted(group.iter_rows(named=True), key=lambda row: moment(str(row["made"])), reverse=True)
        newest = _containing(ids[rows[0]["run"]], whole)
        by_cases: dict[frozenset[str], str] = {}
        for row in rows:
            cases = ids[row["run"]]
            containing = newest if cases <= newest else _containing(cases, whole)
            count = f"{len(cases)} case{'s' * (len(cases) != 1)}"
            by_cases.setdefault(containing, f"{row['made']} in {shown_source(str(row['source']))} ({count})")
            if containing != newest:
                settings = {**loads(row["settings"]), "cases": _digits(containing)}
                renamed[row["run"]] = json.dumps(settings, sort_keys=True, ensure_ascii=False)
        notes.append(
            f"{rows[0]['task']}, {rows[0]['model']}: runs with different cases are not counted as repeats: {', '.join(by_cases.values())}; "
            "the newest keeps its settings, the others are shown with the setting cases"
        )
    return _with_settings(runs, renamed), notes


def _case_ids(runs: pl.DataFrame, scores: pl.DataFrame) -> dict[str, frozenset[str]]:
    of_runs = scores.join(runs.select(pl.col("run").cast(pl.Categorical())), on="run", how="semi")
    rows = of_runs.group_by("run").agg(pl.col("case").unique()).iter_rows()
    return {str(run): frozenset(map(str, cases)) for run, cases in rows}


def _digits(cases: frozenset[str]) -> str:
    return hashlib.sha256("\n".join(sorted(cases)).encode("utf-8", "surrogatepass")).hexdigest()[:4]


def _with_settings(runs: pl.DataFrame, renamed: Mapping[str, str]) -> pl.DataFrame:
    settings = [renamed.get(run, settings) for run, settings in runs.select("run", "settings").iter_rows()]
    return runs.with_columns(pl.Series("settings", settings, pl.String()))


def _maximal(sets: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Return the sets that are not subsets of another."""
    maximal: list[frozenset[str]] = []
    for cases in sorted(set(sets), key=lambda item: (-len(item), sorted(item))):
        if not any(cases <= other for other in maximal):
            maximal.append(cases)
    return maximal


def _containing(cases: frozenset[str], sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return next(larger for larger in sets if cases <= larger)
