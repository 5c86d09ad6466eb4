"""Load the cases of a task: published data, a folder of built cases, or cases written from a seed.

Messages are stored in a case folder's document table, so that a case itself holds no long text. All cases have the form of the
published ones: ``inputs`` has the keys of the texts under ``system`` (may be empty) and ``user``; the gold of the only turn is a list of
texts (labels; entries with ids; option numbers in order; section markers of the context); the label ``domain`` gives the domain.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from long_context_tasks.benchmarks.catalogue import TaskSpec, card, parse_task
from long_context_tasks.benchmarks.ethic import prompts, scoring
from long_context_tasks.benchmarks.ethic.files import CONFIGURATIONS, NAME, check_local, published
from long_context_tasks.benchmarks.ethic.options import EthicOptions
from long_context_tasks.schema import Case, CaseScores, CaseSet, InputError, LoadedTask, format_length
from long_context_tasks.schema.case_folder import read_manifest
from long_context_tasks.tokens import CL100K, Countable, count_cases, same_tokenizer, tokenizer_identity

COUNTERPARTS = "ethic_recall_counterparts"  # the family that builds the tasks without published data
# Sources of cases that are written from a seed. Only they import the writers, which are large.
_WRITTEN = ("seed", "recast")


def load_task(name: str, options: EthicOptions) -> LoadedTask:
    """Return a task by name, with everything that a host needs."""
    spec = parse_task(name)
    folder = options.cases and _built_folder(spec, options.cases)
    if folder is not None:
        options = options.as_built(read_manifest(folder)["options"], folder, same_tokenizer)
    _check_options(spec, options)
    n_all = None
    known_by = ""  # key of the texts in the store of token counts; without one, texts are their own keys
    if folder is not None:
        cases = _built(spec, options, folder)
    elif spec.source in _WRITTEN:
        from long_context_tasks.benchmarks.ethic.synthetic import cached_synthetic, cases_of
        from long_context_tasks.benchmarks.run_cases import with_length

        options = with_length(options)
        cases = cached_synthetic(spec, options)
        n_all = cases_of(spec.task) if options.prompt_tokens is None else None
    elif spec.task in CONFIGURATIONS:
        # Results record what was run: published contexts have the length that they have.
        options = replace(options, length=None)
        known_by, cases = published(spec, options)
    else:
        raise InputError(
            f"{name}: has no published data; build cases with `lct build {COUNTERPARTS}` and name their folder with lct_cases "
            "(LCT_CASES)"
        )
    cases = cases.selected(
        replace(case, inputs={**case.inputs, "style": options.prompt_style}) for case in cases.cases
    )
    if options.prompt_tokens is not None:
        from long_context_tasks.benchmarks.ethic.prompt_tokens import within

        cases = within(spec, options, cases, known_by)
    n_all = n_all or len(cases)
    metrics = scoring.METRICS[spec.task]
    task = LoadedTask(
        name=name,
        version=card(NAME).version,
        options=options,
        cases=_counted(spec, options, cases, known_by),
        metrics=metrics,
        intervals=metrics[:2],
        answer_budget=options.answer_budget or spec.card.answer_budget,
        render=prompts.messages,
        score=scoring.SCORES.get(spec.task, _score_unjudged),
        # The host must not apply a chat template to such a prompt.
        own_template=str(options.prompt_style) if options.prompt_style in prompts.OWN_TEMPLATE else "",
        # Only counterparts have a question with a single reference answer.
        asked_and_right=_asked_and_right if spec.source == "built" else None,
        n_all=n_all,
    )
    # Only summaries are judged.
    return _judged(task) if spec.task == "summarize" else task


def _judged(task: LoadedTask) -> LoadedTask:
    # Imported here, because the other tasks need no judge.
    from long_context_tasks.benchmarks.ethic.scoring import summaries
    from long_context_tasks.judges.task_judge import Judging

    judging = Judging(
        rubric=summaries.rubric,
        requests=partial(summaries.judge_requests, documents=task.cases.documents),
        score_turn=summaries.score_turn,
        default=summaries.DEFAULT,
        metrics=scoring.SUMMARY_POINTS,
    )
    return replace(task, judging=judging, points=card(NAME).points)


def _score_unjudged(case: Case, response: str | None, status: str | None = None) -> CaseScores:
    from long_context_tasks.benchmarks.ethic.scoring.summaries import score_turn

    return score_turn(case, 0, response, status=status)


def has_data(name: str, options: EthicOptions) -> bool:
    """Return True; an InputError names the data or carriers that are missing and the remedies."""
    spec = parse_task(name)
    if spec.source == "recast":
        from long_context_tasks.benchmarks.ethic.synthetic.recast import CARRIER_KINDS
        from long_context_tasks.recast.carriers import carriers_of

        carriers_of(options, CARRIER_KINDS[spec.split], name)
    else:
        check_local(spec.task, options, name)
    return True


def _asked_and_right(case: Case, turn: int) -> tuple[str, str]:
    asked = case.turns[turn]
    return str(asked.question), str(asked.gold[0])


def _check_options(spec: TaskSpec, options: EthicOptions) -> None:
    """Report wrong options before any data are read."""
    if options.subset is not None:
        raise InputError(
            f"{spec.name}: has no official subsets; leave out lct_subset, lct_n takes the first cases"
        )
    prompts.layout("", "", str(options.prompt_style))
    if options.prompt_tokens is not None and options.tokenizer is None:
        raise InputError(
            f"{spec.name}: lct_prompt_tokens={options.prompt_tokens} counts in the model's tokenizer; give lct_tokenizer as well"
        )
    if options.tokenizer is not None:
        tokenizer_identity(options.tokenizer)


def _built_folder(spec: TaskSpec, root: Path) -> Path:
    """Return the case folder of a task: ``root`` itself, or the one in it that `lct build` made for the task."""
    from long_context_tasks.benchmarks.run_cases import family_folder

    family = spec.family if spec.task in CONFIGURATIONS else COUNTERPARTS
    if spec.source in _WRITTEN:
        from long_context_tasks.benchmarks.ethic.synthetic import EDITIONS, family_of

        family = family_of(spec.task, EDITIONS[spec.source])
    return family_folder(root, family)


def _built(spec: TaskSpec, options: EthicOptions, folder: Path) -> CaseSet:
    cases = CaseSet.read(folder, spec.name)
    there = sorted({case.labels["length"] for case in cases.cases if "length" in case.labels})
    listed = ", ".join(map(format_length, there)) or "none"
    if options.length is None:
        # Cases built from documents may have several lengths in one run; synthetic ones are reported by their length.
        if len(there) > 1 and spec.source in _WRITTEN:
            raise InputError(f"the built cases have the lengths {listed}; choose one with lct_length")
        return cases
    chosen = [case for case in cases.cases if case.labels.get("length") == options.length]
    if not chosen:
        raise InputError(
            f"no built cases of length {format_length(options.length)}; there are: {listed}; correct lct_length"
        )
    return cases.selected(chosen)


def _counted(spec: TaskSpec, options: EthicOptions, cases: CaseSet, known_by: str) -> CaseSet:
    """Return the first ``lct_n`` cases with the tokens of system and user message, a blank line between them."""

    def text_of(case: Case) -> str:
        plain = replace(case, inputs={**case.inputs, "style": prompts.FOLDED})
        return prompts.messages(plain, cases.documents)[0].content

    def countable(case: Case) -> Countable:
        return f"{NAME}\0{known_by}\0{case.document}" if known_by else text_of(case), partial(text_of, case)

    chosen: Sequence[Case] = cases.cases[: options.n]
    for tokenizer in dict.fromkeys((CL100K, options.tokenizer or CL100K)):
        chosen = count_cases(chosen, tokenizer, countable, f"counting {spec.name} in {tokenizer}")
    return cases.selected(chosen)
