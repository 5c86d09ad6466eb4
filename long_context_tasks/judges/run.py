"""Judge many items: reuse stored replies, make the other calls in parallel, return verdicts in order.

:func:`ask_all` requests text instead of scores (labels, summaries, questions) through the same client and
store, so that an interrupted build pays only for the missing replies.
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
from long_context_tasks.schema.progress import refreshed
from long_context_tasks.schema.response import ENDPOINT_FAILED, UNPARSABLE
from long_context_tasks.schema.thinking import in_known_marks

if TYPE_CHECKING:
    from long_context_tasks.judges.client import EndpointClient

_LOG = logging.getLogger(__name__)
# Consecutive failed batches after which a local model is given up.
_FAILED_BATCHES = 3
# Consecutive failed calls, each after all its retries, after which an endpoint is given up; at least the
# number in flight.
_FAILED_CALLS = 3
_SYNC_SECONDS = 0.25
_SILENT = "two identical empty replies and were not asked again (if the judge thinks up to its token limit, raise max_tokens)"
# Interval between checks for another process's reply.
_CLAIMED_SECONDS = 0.02


@dataclass
class _Job:
    """State of one verdict: an item (or several with the same prompt) and a seed."""

    messages: tuple[Message, ...]
    seed: int | None
    key: str = ""
    replies: list[Reply] = field(default_factory=list)
    paid: list[Reply] = field(default_factory=list)
    score: float | None = None
    error: str | None = None

    @property
    def silent(self) -> bool:
        """Whether the last two replies are identical and empty, so that a third would be a waste."""
        last = [(reply.text, reply.thinking, reply.finish_reason) for reply in self.replies[-2:]]
        return len(last) == 2 and last[0] == last[1] and not last[0][0].strip()

    @property
    def draw(self) -> Draw:
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
    """Judge items, reusing replies in the store.

    A failed call affects only its own verdict. If as many consecutive calls fail as are in flight, the
    endpoint is assumed to be down and the remaining calls are left to another run. Items with the same prompt
    share their calls.

    Args:
        generate: function of a model that the caller has loaded; None loads a local judge if a reply is
            missing.

    Returns:
        The verdicts on each request, one per judge seed, in order.

    Raises:
        InputError: the key is missing, the model cannot be loaded, a prompt cannot be sent, or the store
            cannot be written.
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
        with bar, refreshed(bar):
            bar.update(len(jobs) - len(open_jobs))
            load = kind_of(config).load
            if load is None:
                from long_context_tasks.judges.client import wait_for

                wait_for(run.ask_endpoint(open_jobs, bar.update))
            else:
                run.ask_local(open_jobs, generate or load(config), bar.update)
    return [tuple(jobs[request.messages, seed].verdict() for seed in config.seeds) for request in requests]


def check_prompts(requests: Sequence[JudgeRequest], config: JudgeConfig) -> None:
    plain = config.prompt_template is not None or (config.kind == "openai" and config.api == "completions")
    for request in requests if plain else ():
        config.plain_prompt(request.messages)


class _Run:
    """A run's judge, rubric and store, with its count of consecutive failures."""

    def __init__(self, config: JudgeConfig, rubric: Rubric, store: Store) -> None:
        self._config, self._rubric, self._store = config, rubric, store
        # Failed calls, or batches of a local model, since the last reply.
        self._failed = 0
        self._unsynced = False
        self._syncing: asyncio.Task[None] | None = None

    def _take(self, job: _Job, reply: Reply) -> None:
        if self._config.thinking is not None:
            reply = replace(reply, text=in_known_marks(reply.text, self._config.thinking))
        job.replies.append(reply)
        job.score = self._rubric.score_reply(reply, weighed=self._config.logprobs is not None)

    def from_store(self, job: _Job) -> bool:
        """Load a job's stored replies; return whether they complete it."""
        while job.score is None and len(job.replies) < self._config.asks and not job.silent:
            job.key = self._config.key(job.messages, job.draw)
            reply = self._store.get(job.key)
            if reply is None:
                return False
            self._take(job, reply)
        return True

    def _take_new(self, jobs: Sequence[_Job], replies: Sequence[Reply], *, sync: bool) -> None:
        self._store.append(zip((job.key for job in jobs), replies, strict=True), sync=sync)
        for job, reply in zip(jobs, replies, strict=True):
            job.paid.append(reply)
            self._take(job, reply)

    async def ask_endpoint(self, jobs: Sequence[_Job], done: Callable[[], object]) -> None:
        """Make the calls of all jobs, with as many in flight as configured."""
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
                    # Wait for the disk even after an interruption.
                    self._syncing.cancel()
                    await asyncio.gather(self._syncing, return_exceptions=True)
                    self._store.sync()
        if failed := [job.error for job in jobs if job.error is not None]:
            text = "judge %s: %d calls were not answered (first: %s); run again to ask for them"
            _LOG.warning(text, config.name, len(failed), failed[0])
        if silent := sum(job.score is None and job.silent for job in jobs):
            _LOG.warning("judge %s: %d items got %s", config.name, silent, _SILENT)

    async def _ask(self, job: _Job, client: "EndpointClient") -> bool:
        """Make calls until a reply has a score, storing each reply before the next call.

        Returns:
            False if another process is making the call and will store its reply.
        """
        from long_context_tasks.judges.client import EndpointError

        while True:
            with self._store.claimed(job.key) as ours:
                if not ours:
                    return False
                # Another process may have stored the reply in the meantime.
                if self._store.get(job.key) is None:
                    try:
                        reply = await client.complete(job.messages, job.draw)
                    except EndpointError as error:
                        job.error = str(error)
                        # A rejected prompt (e.g. too long) does not mean that the endpoint is down.
                        self._failed += error.status not in (400, 413, 422)
                        return True
                    self._failed = 0
                    self._take_new([job], [reply], sync=False)
                    self._unsynced = True
                    if self._syncing is None or self._syncing.done():
                        self._syncing = asyncio.create_task(self._sync())
            if self.from_store(job):
                return True

    async def _sync(self) -> None:
        """Sync the store to disk in a thread while calls continue."""
        while self._unsynced:
            self._unsynced = False
            await asyncio.to_thread(self._store.sync)
            await asyncio.sleep(_SYNC_SECONDS)

    def ask_local(self, jobs: Sequence[_Job], generate: Generate, done: Callable[[int], object]) -> None:
        """Generate in batches that share a seed and attempt, and store each batch."""
        config = self._config
        # A greedy reply does not change on retry.
        asks = config.asks if config.temperature else 1
        chunk = kind_of(config).chunk
        size = chunk or config.batch_size
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
                if chunk:
                    # Shortest first, so that most are stored if the longest do not fit into memory.
                    group.sort(key=lambda job: sum(len(message.content) for message in job.messages))
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
        """Generate a batch; return the error's name, or None."""
        config = self._config
        try:
            replies = generate([job.messages for job in batch], batch[0].draw)
        except InputError:
            raise
        except Exception as error:
            # Model code may raise anything (out of memory, prompt longer than the window); the other verdicts
            # must not be lost.
            _LOG.exception("judge %s: a batch of %d prompts failed", config.name, len(batch))
            return type(error).__name__
        if len(replies) != len(batch):
            raise InputError(
                f"judge {config.name}: the local model returned {len(replies)} replies to {len(batch)} prompts"
            )
        self._take_new(batch, replies, sync=True)
        return None


Prompt = tuple[Message, ...]


@dataclass(frozen=True)
class TextReply:
    text: str | None  # None without a usable answer
    reason: str | None = None  # None, unparsable (no answer was usable) or endpoint_failed (no answer)
    cut: bool = False  # the endpoint truncated the answer at max_tokens
    error: str | None = None  # the endpoint's error


@dataclass(frozen=True)
class Asked:
    """Answers to prompts, in order, and their cost."""

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
    """Return a model's answers to prompts, reusing answers in the store. Equal prompts share a call."""
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
