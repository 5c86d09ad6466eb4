"""Judging many items: stored replies first, the rest asked in parallel, one verdict per item and seed in order.

A model can also be asked for texts instead of scores (labels, summaries, questions): with the same client and store, so that a
build that was killed asks only for what it has not paid yet.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from long_context_tasks.judges.config import Draw, JudgeConfig
from long_context_tasks.judges.kinds import Generate, check_reads_prompts, kind_of
from long_context_tasks.judges.store import Store
from long_context_tasks.judges.verdict import JudgeRequest, Reply, Rubric, Summary, Usage, Verdict, summarize
from long_context_tasks.schema import InputError, Message
from long_context_tasks.schema.response import ENDPOINT_FAILED, UNPARSABLE
from long_context_tasks.schema.thinking import in_known_marks

if TYPE_CHECKING:
    from long_context_tasks.judges.client import EndpointClient

_LOG = logging.getLogger(__name__)
# Batches in a row that a local model may fail before the rest is given up.
_FAILED_BATCHES = 3
# Calls in a row that an endpoint may fail, each after all its tries, or as many as are in flight if that is more.
_FAILED_CALLS = 3
_SYNC_SECONDS = 0.25
_SILENT = "two empty replies that are the same; not asked again (does the judge think to its token limit? raise max_tokens)"
# Before looking again whether another process has its reply.
_CLAIMED_SECONDS = 0.02


@dataclass
class _Job:
    """One verdict in the making: an item (or several with one prompt) and a seed."""

    messages: tuple[Message, ...]
    seed: int | None
    key: str = ""
    replies: list[Reply] = field(default_factory=list)
    paid: list[Reply] = field(default_factory=list)
    score: float | None = None
    error: str | None = None

    @property
    def silent(self) -> bool:
        """Whether the last two replies are the same empty one: a third would be paid for and be the same."""
        last = [(reply.text, reply.thinking, reply.finish_reason) for reply in self.replies[-2:]]
        return len(last) == 2 and last[0] == last[1] and not last[0][0].strip()

    @property
    def draw(self) -> Draw:
        """What is asked for next."""
        return Draw(self.seed, len(self.replies))

    def verdict(self) -> Verdict:
        reason = None
        if self.score is None:
            reason = ENDPOINT_FAILED if self.error is not None else UNPARSABLE
        last = self.replies[-1] if self.replies else None
        return Verdict(
            score=self.score,
            reason=reason,
            feedback=last.text if last else None,
            replies=tuple(reply.text for reply in self.replies),
            seed=self.seed,
            key=self.key,
            usage=Usage.total(reply.usage for reply in self.replies),
            spent=Usage.total(reply.usage for reply in self.paid),
            error=self.error or (_SILENT if self.score is None and self.silent else None),
            top_logprobs=last.top_logprobs if last else None,
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
    run = _Run(config, rubric, store)
    open_jobs = [job for job in jobs.values() if not run.from_store(job)]
    if open_jobs:
        from tqdm import tqdm

        bar = tqdm(total=len(jobs), desc=f"judge {config.name}", unit="verdict", disable=not progress)
        with bar:
            bar.update(len(jobs) - len(open_jobs))
            load = kind_of(config).load
            if load is None:
                from long_context_tasks.judges.client import wait_for

                wait_for(run.ask_endpoint(open_jobs, bar.update))
            else:
                run.ask_local(open_jobs, generate or load(config), bar.update)
    return [tuple(jobs[request.messages, seed].verdict() for seed in config.seeds) for request in requests]


def check_prompts(requests: Sequence[JudgeRequest], config: JudgeConfig) -> None:
    """Check whether the judge takes the prompts of the items.

    Raises:
        InputError: it takes plain text, and a prompt is a chat of several messages.
    """
    plain = config.prompt_template is not None or (config.kind == "openai" and config.api == "completions")
    for request in requests if plain else ():
        config.plain_prompt(request.messages)


class _Run:
    """What all jobs of a run share: the judge, its rubric and the store, and how the endpoint fares."""

    def __init__(self, config: JudgeConfig, rubric: Rubric, store: Store) -> None:
        self._config, self._rubric, self._store = config, rubric, store
        # Failed calls, or batches of a local model, since the last reply.
        self._failed = 0
        self._unsynced = False
        self._syncing: asyncio.Task[None] | None = None

    def _take(self, job: _Job, reply: Reply) -> None:
        reply = replace(reply, text=in_known_marks(reply.text, self._config.thinking))
        job.replies.append(reply)
        job.score = self._rubric.score_reply(reply, weighed=self._config.logprobs is not None)

    def from_store(self, job: _Job) -> bool:
        """Take the stored replies of a job; whether it is done with them."""
        while job.score is None and len(job.replies) < self._config.asks and not job.silent:
            job.key = self._config.key(job.messages, job.draw)
            reply = self._store.get(job.key)
            if reply is None:
                return False
            self._take(job, reply)
        return True

    def _take_new(self, jobs: Sequence[_Job], replies: Sequence[Reply], *, sync: bool) -> None:
        """Store replies, then read them."""
        self._store.append(zip((job.key for job in jobs), replies, strict=True), sync=sync)
        for job, reply in zip(jobs, replies, strict=True):
            job.paid.append(reply)
            self._take(job, reply)

    async def ask_endpoint(self, jobs: Sequence[_Job], done: Callable[[], object]) -> None:
        """Ask for all jobs, as many at a time as the judge file allows."""
        from long_context_tasks.judges.client import EndpointClient

        config = self._config
        waiting = deque(jobs)

        async def work(client: EndpointClient) -> None:
            while waiting:
                job = waiting.popleft()
                if self._failed >= max(config.concurrency, _FAILED_CALLS):
                    job.error = "not asked: the endpoint failed too many calls in a row"
                elif not await self._ask(job, client):
                    waiting.append(job)
                    await asyncio.sleep(_CLAIMED_SECONDS)
                    continue
                done()

        async with EndpointClient(config) as client:
            workers = [asyncio.create_task(work(client)) for _ in range(min(config.concurrency, len(jobs)))]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
                if self._syncing is not None:
                    # Wait for the disk, also after an interruption.
                    self._syncing.cancel()
                    await asyncio.gather(self._syncing, return_exceptions=True)
                    self._store.sync()
        if failed := [job.error for job in jobs if job.error is not None]:
            text = "judge %s: %d calls were not answered (first: %s); run again to ask for them"
            _LOG.warning(text, config.name, len(failed), failed[0])
        if silent := sum(job.score is None and job.silent for job in jobs):
            _LOG.warning("judge %s: %d items got %s", config.name, silent, _SILENT)

    async def _ask(self, job: _Job, client: "EndpointClient") -> bool:
        """Ask until a reply has a score. A reply is in the store before the next call begins in its place.

        Returns:
            Whether that is done; otherwise another process is making the call, and will store its reply.
        """
        from long_context_tasks.judges.client import EndpointError

        # Another process may have stored the reply since this process looked.
        while job.score is None and not self.from_store(job):
            with self._store.claimed(key := job.key) as ours:
                if not ours:
                    return False
                if self._store.get(key) is not None:
                    continue
                try:
                    reply = await client.complete(job.messages, job.draw)
                except EndpointError as error:
                    job.error = str(error)
                    # A prompt that the endpoint refuses (too long, say) says nothing about the next.
                    self._failed += error.status not in (400, 413, 422)
                    return True
                self._failed = 0
                self._take_new([job], [reply], sync=False)
            self._unsynced = True
            if self._syncing is None or self._syncing.done():
                self._syncing = asyncio.create_task(self._sync())
        return True

    async def _sync(self) -> None:
        """Synchronise the store with the disk from a thread, while the next calls go on."""
        while self._unsynced:
            self._unsynced = False
            await asyncio.to_thread(self._store.sync)
            await asyncio.sleep(_SYNC_SECONDS)

    def ask_local(self, jobs: Sequence[_Job], generate: Generate, done: Callable[[int], object]) -> None:
        """Ask in batches with a common seed and attempt, and store each."""
        config = self._config
        # Greedy replies do not change when they are asked for again.
        asks = config.asks if config.temperature else 1
        size = kind_of(config).chunk or config.batch_size
        for attempt in range(asks):
            for seed in config.seeds:
                group = [
                    job
                    for job in jobs
                    if job.seed == seed
                    and job.score is None
                    and job.error is None
                    and not self.from_store(job)
                    and len(job.replies) == attempt
                ]
                for start in range(0, len(group), size):
                    batch = group[start : start + size]
                    error: str | None = "not asked: the model failed too many batches in a row"
                    if self._failed < _FAILED_BATCHES:
                        error = self._ask_batch(batch, generate)
                        self._failed = self._failed + 1 if error else 0
                    for job in batch:
                        job.error = error
                    last = attempt == asks - 1
                    done(sum(job.score is not None or error is not None or last for job in batch))

    def _ask_batch(self, batch: Sequence[_Job], generate: Generate) -> str | None:
        """Ask a batch once; return why it failed, or None."""
        config = self._config
        try:
            replies = generate([job.messages for job in batch], batch[0].draw)
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
        self._take_new(batch, replies, sync=True)
        return None


Prompt = tuple[Message, ...]


@dataclass(frozen=True)
class TextReply:
    """What a model replied to a prompt.

    Attributes:
        text: None when no usable answer came.
        reason: None, ``unparsable`` (no answer was usable) or ``endpoint_failed`` (never answered).
        cut: the endpoint stopped the answer at ``max_tokens``.
        error: what went wrong at the endpoint.
    """

    text: str | None
    reason: str | None = None
    cut: bool = False
    error: str | None = None


@dataclass(frozen=True)
class Asked:
    """The answers to some prompts, in their order, and what they cost."""

    answers: tuple[TextReply, ...]
    summary: Summary


def ask_all(
    prompts: Sequence[Prompt],
    config: JudgeConfig,
    store: Store,
    *,
    usable: Callable[[str], object] = str.strip,
    progress: bool = True,
) -> Asked:
    """Ask every prompt once; what the store holds is not asked again, and equal prompts share a call.

    Args:
        prompts: in any number.
        config: the model; of its seeds the first counts, log-probabilities are not asked for.
        store: of the replies.
        usable: whether an answer can be used, by default any that is not blank; otherwise it is asked for again, up to ``asks`` times.
        progress: show a progress bar on standard error.
    """
    check_reads_prompts(config)
    config = config.changed(seeds=config.seeds[:1], logprobs=None)
    rubric = Rubric("text", 0.0, 1.0, lambda reply: 1.0 if usable(reply) else None)
    requests = [JudgeRequest(str(number), prompt) for number, prompt in enumerate(prompts)]
    verdicts = judge_all(requests, config, rubric, store, progress=progress)
    answers = []
    for (verdict,) in verdicts:
        reply = store.get(verdict.key) if verdict.score is not None else None
        cut = reply is not None and reply.finish_reason == "length"
        text = verdict.feedback if verdict.score is not None else None
        answers.append(TextReply(text, verdict.reason, cut, verdict.error))
    return Asked(tuple(answers), summarize(verdicts, config))
