"""Judging many items: stored replies first, the rest asked in parallel, one verdict per item and seed in order."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from long_context_tasks.judges.config import JudgeConfig
from long_context_tasks.judges.kinds import Generate, GenerateSettings, kind_of
from long_context_tasks.judges.request import Ask, JudgeRequest, ask_key, raw_prompt
from long_context_tasks.judges.store import Store
from long_context_tasks.judges.verdict import Reply, Rubric, Usage, Verdict
from long_context_tasks.schema import InputError, Message
from long_context_tasks.schema.reasons import ENDPOINT_FAILED, UNPARSABLE

if TYPE_CHECKING:
    from long_context_tasks.judges.client import EndpointClient

_LOG = logging.getLogger(__name__)
# Batches in a row that a local model may fail before the rest is given up.
_FAILED_BATCHES = 3
# Calls in a row that an endpoint may fail, each after all its tries, or as many as are in flight if that is more.
_FAILED_CALLS = 3
_SYNC_SECONDS = 0.25


@dataclass
class _Job:
    """One verdict in the making: an item (or several with one prompt) and a seed."""

    messages: tuple[Message, ...]
    seed: int | None
    key: str = ""
    replies: list[Reply] = field(default_factory=list)
    spent: Usage = field(default_factory=Usage)
    score: float | None = None
    error: str | None = None

    def ask(self) -> Ask:
        return Ask(self.messages, self.seed, len(self.replies))

    def take(self, reply: Reply, rubric: Rubric, config: JudgeConfig, *, new: bool) -> None:
        self.replies.append(reply)
        self.score = rubric.score_reply(reply, weighed=config.logprobs is not None)
        if new:
            self.spent = self.spent + reply.usage

    def verdict(self) -> Verdict:
        reason = None
        if self.score is None:
            reason = ENDPOINT_FAILED if self.error is not None else UNPARSABLE
        texts = tuple(reply.text for reply in self.replies)
        usage = sum((reply.usage for reply in self.replies), Usage())
        return Verdict(
            score=self.score,
            reason=reason,
            feedback=texts[-1] if texts else None,
            replies=texts,
            seed=self.seed,
            key=self.key,
            usage=usage,
            spent=self.spent,
            error=self.error,
            top_logprobs=self.replies[-1].top_logprobs if self.replies else None,
        )


def judge_all(
    requests: Sequence[JudgeRequest],
    config: JudgeConfig,
    rubric: Rubric,
    store: Store,
    generate: Generate | None = None,
    *,
    progress: bool = True,
) -> list[tuple[Verdict, ...]]:
    """Judge items; replies that the store holds are not asked for again.

    A call that finally fails costs that verdict only. When the endpoint fails as many calls in a row as are in flight, it is
    taken for gone and the rest is not asked; another run asks what is missing. Items with equal prompts share their calls.

    Args:
        requests: the items.
        config: the judge.
        rubric: of the benchmark; reads the replies.
        store: of the replies.
        generate: of a model that the caller has loaded; otherwise a judge in this process is loaded when something must be asked.
        progress: show a progress bar on standard error.

    Returns:
        For each request its verdicts, one per seed of the judge, in the order given.

    Raises:
        InputError: no key, a model that cannot be loaded, a prompt that cannot be sent, or a store that cannot be written.
    """
    check_prompts(requests, config)
    jobs: dict[tuple[tuple[Message, ...], int | None], _Job] = {}
    for request in requests:
        for seed in config.seeds:
            jobs.setdefault((request.messages, seed), _Job(request.messages, seed))
    open_jobs = [job for job in jobs.values() if not _from_store(job, config, rubric, store)]
    if open_jobs:
        with _bar(len(jobs), config, progress) as bar:
            bar.update(len(jobs) - len(open_jobs))
            load = kind_of(config).load
            if load is None:
                from long_context_tasks.judges.client import wait_for

                wait_for(_run_endpoint(open_jobs, config, rubric, store, bar))
            else:
                _run_local(open_jobs, config, rubric, store, generate or load(config), bar)
    return [tuple(jobs[request.messages, seed].verdict() for seed in config.seeds) for request in requests]


def check_prompts(requests: Sequence[JudgeRequest], config: JudgeConfig) -> None:
    """Whether the judge takes the prompts of the items.

    Raises:
        InputError: it takes plain text, and a prompt is a chat of several messages.
    """
    plain = config.prompt_template is not None or (config.kind == "openai" and config.api == "completions")
    for request in requests if plain else ():
        raw_prompt(request.messages, config.prompt_template)


def _from_store(job: _Job, config: JudgeConfig, rubric: Rubric, store: Store) -> bool:
    """Take the stored replies of a job; whether it is done with them."""
    while job.score is None and len(job.replies) < config.asks:
        key = ask_key(job.ask(), config)
        job.key = key
        reply = store.get(key)
        if reply is None:
            return False
        job.take(reply, rubric, config, new=False)
    return True


def _bar(total: int, config: JudgeConfig, progress: bool) -> Any:
    from tqdm import tqdm

    return tqdm(total=total, desc=f"judge {config.name}", unit="verdict", disable=not progress)


async def _run_endpoint(
    jobs: Sequence[_Job], config: JudgeConfig, rubric: Rubric, store: Store, bar: Any
) -> None:
    from long_context_tasks.judges.client import EndpointClient

    waiting = iter(jobs)
    # Failures since the last answer, over all workers.
    health = {"failed": 0}
    syncer = _Syncer(store)

    async def work(client: EndpointClient) -> None:
        for job in waiting:
            if health["failed"] >= max(config.concurrency, _FAILED_CALLS):
                job.error = "not asked: the endpoint failed too many calls in a row"
            else:
                await _ask_endpoint(job, client, config, rubric, store, syncer, health)
            bar.update()

    async with EndpointClient(config) as client:
        workers = [asyncio.create_task(work(client)) for _ in range(min(config.concurrency, len(jobs)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            await syncer.close()
    failed = [job.error for job in jobs if job.error is not None]
    if failed:
        _LOG.warning(
            "judge %s: %d calls were not answered (first: %s); run again to ask for them",
            config.name,
            len(failed),
            failed[0],
        )


async def _ask_endpoint(
    job: _Job,
    client: "EndpointClient",
    config: JudgeConfig,
    rubric: Rubric,
    store: Store,
    syncer: "_Syncer",
    health: dict[str, int],
) -> None:
    """Ask until a reply has a score. A reply is in the store before the next call begins in its place."""
    from long_context_tasks.judges.client import EndpointError

    # Another process may have stored the reply since this one looked.
    while not _from_store(job, config, rubric, store):
        try:
            reply = await client.complete(job.ask())
        except EndpointError as error:
            job.error = str(error)
            # A prompt that the endpoint refuses (too long, say) tells nothing about the next one.
            health["failed"] += error.status not in (400, 413, 422)
            return
        health["failed"] = 0
        syncer.put(job.key, reply)
        job.take(reply, rubric, config, new=True)
        if job.score is not None:
            return


class _Syncer:
    """Synchronises the store with the disk from a thread, while the next calls go on."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._dirty = False
        self._task: asyncio.Task[None] | None = None

    def put(self, key: str, reply: Reply) -> None:
        """Store a reply; it is on the disk by the end of :meth:`close`."""
        self._store.append([(key, reply)], sync=False)
        self._dirty = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._sync())

    async def _sync(self) -> None:
        while self._dirty:
            self._dirty = False
            await asyncio.to_thread(self._store.sync)
            await asyncio.sleep(_SYNC_SECONDS)

    async def close(self) -> None:
        """Wait for the disk, also after an interruption."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._store.sync()


def _run_local(
    jobs: Sequence[_Job], config: JudgeConfig, rubric: Rubric, store: Store, generate: Generate, bar: Any
) -> None:
    """Batches of one seed and one attempt; every batch is stored when it is there."""
    failed_batches = 0
    # Greedy replies do not change when they are asked for again.
    asks = config.asks if config.temperature else 1
    for attempt in range(asks):
        for seed in config.seeds:
            group = [
                job
                for job in jobs
                if job.seed == seed
                and job.score is None
                and job.error is None
                and not _from_store(job, config, rubric, store)
                and len(job.replies) == attempt
            ]
            size = kind_of(config).chunk or config.batch_size
            for start in range(0, len(group), size):
                batch = group[start : start + size]
                if failed_batches >= _FAILED_BATCHES:
                    error: str | None = "not asked: the model failed too many batches in a row"
                else:
                    error = _ask_local(batch, config, rubric, store, generate)
                    failed_batches = failed_batches + 1 if error else 0
                for job in batch:
                    job.error = error
                bar.update(
                    sum(job.score is not None or error is not None or attempt == asks - 1 for job in batch)
                )


def _ask_local(
    batch: Sequence[_Job], config: JudgeConfig, rubric: Rubric, store: Store, generate: Generate
) -> str | None:
    """Ask a batch once; why it failed, or None."""
    first = batch[0].ask()
    settings = GenerateSettings(
        temperature=config.temperature,
        top_p=config.top_p,
        max_tokens=config.max_tokens or 1024,
        seed=first.seed,
        attempt=first.attempt,
        prompt_template=config.prompt_template,
        batch_size=config.batch_size,
        logprobs=config.logprobs,
    )
    try:
        replies = generate([job.messages for job in batch], settings)
    except InputError:
        raise
    except Exception as error:
        # Whatever a model's code may raise (out of memory, a prompt over the window): the other verdicts stay.
        _LOG.exception("judge %s: a batch of %d prompts failed", config.name, len(batch))
        return type(error).__name__
    if len(replies) != len(batch):
        raise InputError(
            f"judge {config.name}: {len(replies)} replies to {len(batch)} prompts from the local model"
        )
    store.append(zip((job.key for job in batch), replies, strict=True))
    for job, reply in zip(batch, replies, strict=True):
        job.take(reply, rubric, config, new=True)
    return None
