"""How fast stored runs were: tokens a second, from what the hosts wrote of the time that they took.

lm-eval writes one time for all tasks of a run, from the loading of the model to the last score; OpenCompass one for each process
that asks a model. Neither tells prompts from answers, so that one rate comes out for both; it is good for runs whose prompts and
answers are about as long as those that it was measured on.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from long_context_tasks.hosts.stored import LM_EVAL, StoredRun, load_task
from long_context_tasks.results.plan.cost import Counter, Rate, plan_case
from long_context_tasks.schema import InputError, LoadedTask

_ELAPSED = re.compile(r"time elapsed: *([0-9.]+)s")
_END = 65_536


@dataclass(frozen=True)
class MeasuredRate:
    """A rate with what it was measured on.

    Attributes:
        rate: tokens a second, the same for prompts and answers.
        prompt_tokens, answer_tokens: of the cases that were answered.
        seconds: that they took.
        answers: how many there were.
        runs: how many runs of tasks.
        notes: why the rate may be wrong.
    """

    rate: Rate
    prompt_tokens: int
    answer_tokens: int
    seconds: float
    answers: int
    runs: int
    notes: tuple[str, ...]

    def __str__(self) -> str:
        """One line for the user."""
        return (
            f"{self.rate.prompt:,.1f} tokens a second: {self.prompt_tokens:,} of prompts and {self.answer_tokens:,} of "
            f"{self.answers:,} answers in {self.seconds:,.0f} s, {self.runs} runs of tasks"
        )


def measured_rate(runs: Sequence[StoredRun], counter: Counter, data_dir: Path | None = None) -> MeasuredRate:
    """The rate of some runs of one model.

    Args:
        runs: of one model; those whose host tells no time are passed over, and named in the notes.
        counter: counts texts in the tokenizer that the rate is for.
        data_dir: folder of the published files; None: ``LCT_DATA_DIR``, else the runs' own.

    Raises:
        InputError: no run tells its time and has its data there, or there are several models.
    """
    if len(models := sorted({run.model for run in runs})) > 1:
        raise InputError(
            f"the rate of one model is needed, and these runs are of {', '.join(models)}; name one folder"
        )
    together: dict[tuple[Path, str], list[StoredRun]] = {}
    for run in runs:
        together.setdefault((run.folder, run.made), []).append(run)
    prompt = answer = answers = used = 0
    seconds = 0.0
    notes: list[str] = []
    for group in together.values():
        took, note = _lm_eval_time(group[0]) if group[0].host == LM_EVAL else _opencompass_time(group[0])
        if note:
            notes.append(note)
        if took is None:
            continue
        try:
            sizes = [_tokens(run, load_task(run, data_dir), counter) for run in group]
        except InputError as error:
            notes.append(f"{group[0].folder}: left out of the rate: {error}")
            continue
        prompt += sum(one[0] for one in sizes)
        answer += sum(one[1] for one in sizes)
        answers += sum(one[2] for one in sizes)
        seconds += took
        used += len(group)
    if not used or not seconds or not prompt + answer:
        raise InputError(
            "; ".join(["no run gives a rate", *notes]) + ". Give --rate-prompt and --rate-answer instead"
        )
    rate = (prompt + answer) / seconds
    return MeasuredRate(Rate(rate, rate), prompt, answer, seconds, answers, used, tuple(notes))


def _tokens(run: StoredRun, task: LoadedTask, counter: Counter) -> tuple[int, int, int]:
    """Tokens of prompts (own earlier answers among them) and of answers, and the number of answers."""
    prompts = answers = number = 0
    for stored in run.cases():
        case = task.by_id.get(stored.id)
        sent = [response for response in stored.responses if response.status is None]
        if case is None or not sent:
            continue
        plan = plan_case(task, case, {"": counter})
        sizes = counter([response.text or "" for response in sent])
        prompts += plan.prompt_tokens[""]
        if plan.history_answers:
            prompts += sum(size * (len(sizes) - 1 - place) for place, size in enumerate(sizes))
        if not task.by_likelihood:
            answers += sum(sizes)
            number += len(sizes)
    return prompts, answers, number


def _lm_eval_time(run: StoredRun) -> tuple[float | None, str]:
    """Seconds, or None; and what should be known of them."""
    row = results_of(run)
    try:
        seconds = float(str(row.get("total_evaluation_time_seconds") or ""))
    except ValueError:
        return None, f"{run.folder}, {run.made}: the results file tells no time"
    config = row.get("config")
    cached = isinstance(config, Mapping) and config.get("use_cache")
    note = "ran with --use_cache: if answers came from the cache, the rate is too high" if cached else ""
    return seconds, f"{run.folder}, {run.made}: {note}" if note else ""


def results_of(run: StoredRun) -> Mapping[str, object]:
    """What lm-eval's results file of a run holds; empty when it cannot be read."""
    for path in sorted(run.folder.glob(f"*results_{run.made}.json")):
        try:
            row = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(row, dict):
            return row
    return {}


def _opencompass_time(run: StoredRun) -> tuple[float | None, str]:
    """Seconds of all processes that asked the model, or None; and what should be known of them."""
    if len(list((run.folder / "configs").glob("*.py"))) > 1:
        return None, f"{run.folder}: was continued (-r), and its logs tell the time of the last part only"
    logs = sorted((run.folder / "logs" / "infer" / run.model).glob("*.out"))
    if not logs:
        return None, f"{run.folder}: there are no logs (the host keeps none with --debug)"
    seconds = 0.0
    for path in logs:
        found = _ELAPSED.findall(_end_of(path))
        if not found:
            return None, f"{path}: tells no time, the process did not come to its end"
        seconds += float(found[-1])
    several = (
        f"{len(logs)} processes ran, perhaps side by side; the rate is that of one" if len(logs) > 1 else ""
    )
    return seconds, f"{run.folder}: {several}" if several else ""


def _end_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(path.stat().st_size - _END, 0))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
