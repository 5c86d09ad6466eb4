"""Gates on made-up hits: how often the verdict is wrong, and how many documents it takes. As a program it prints the tables of docs/simulations.md."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from long_context_tasks.stats.sequential import log_evidence, shares_of

KINDS = np.array([-1.0, 0.0, 1.0])


@dataclass(frozen=True)
class Gates:
    """What came of many gates.

    Attributes:
        passed, failed: shares of the verdicts.
        misnamed: share of gates that name a length at which A is as good.
        documents: mean number asked, with those of gates without a verdict.
        half, most: documents at which half and nine tenths of the gates had a verdict; 0 if never.
    """

    passed: float
    failed: float
    misnamed: float
    documents: float
    half: int
    most: int


def chances(accuracy: float, loss: float, correlation: float) -> tuple[float, float]:
    """Probabilities of a case that only B and only A gets right; B has the accuracy, A the loss less, their hits are correlated."""
    a, b = accuracy - loss, accuracy
    both = a * b + correlation * np.sqrt(a * (1 - a) * b * (1 - b))
    both = min(both, a, b)
    return b - both, a - both


def gates(
    losses: Sequence[float], documents: Sequence[int], accuracy: float, correlation: float, margin: float, *,
    together: bool = False, repeats: int = 1_000, batch: int = 16, alpha: float = 0.05, seed: int = 0,
) -> Gates:  # fmt: skip
    """Run gates over lengths, each with a loss of A and a number of documents.

    With ``together`` a single test takes the documents of all lengths, each as much as any other.
    """
    random = np.random.default_rng(seed)
    each = -(-batch // len(losses))
    looks = -(-max(documents) // each)
    counts, seen = [], []
    for loss, most in zip(losses, documents, strict=True):
        only_b, only_a = chances(accuracy, loss, correlation)
        sizes = np.diff(np.minimum(each * np.arange(looks + 1), most))
        drawn = random.multinomial(sizes, [only_a, 1 - only_a - only_b, only_b], (repeats, looks))
        counts.append(drawn.cumsum(1))
        seen.append(sizes.cumsum())
    if together:
        counts, seen = [np.sum(counts, axis=0)], [np.sum(seen, axis=0)]
    shares, never = shares_of(margin), looks + 1
    firsts = []
    for own in counts:
        flat = own.reshape(-1, 3).T
        fails = log_evidence((1 + KINDS) / 2, flat, 0.5, shares) >= -np.log(alpha / len(counts))
        passes = log_evidence((1 - KINDS) / 2, flat, (1 - margin) / 2, shares) >= -np.log(alpha)
        found = [one.reshape(repeats, looks) for one in (passes, fails)]
        firsts.append([np.where(one.any(1), one.argmax(1), never) for one in found])
    passed_at, failed_at = np.array(firsts).transpose(1, 0, 2)
    failed_at = np.where(passed_at <= failed_at, never, failed_at)
    end = np.minimum(failed_at.min(0), passed_at.max(0))
    failed = failed_at.min(0) < never
    named = (failed_at == failed_at.min(0)) & failed
    good = np.zeros(len(counts), bool) if together else np.array(losses) <= 0
    asked = [own[np.minimum(np.minimum(end, at), looks - 1)] for own, at in zip(seen, passed_at, strict=True)]
    asked_by_gate = np.sum(asked, axis=0)
    verdict_at = np.where(end < never, asked_by_gate, np.inf)
    half, most = (np.quantile(verdict_at, part, method="higher") for part in (0.5, 0.9))
    return Gates(
        passed=float(((passed_at.max(0) < never) & ~failed).mean()),
        failed=float(failed.mean()),
        misnamed=float(named[good].any(0).mean()),
        documents=float(asked_by_gate.mean()),
        half=0 if np.isinf(half) else int(half),
        most=0 if np.isinf(most) else int(most),
    )


LENGTHS = (
    # losses of A at each length, documents
    *(((0.0,) * n, (800,) * n) for n in (1, 2, 4)),
    ((0.0, 0.0, 0.05), (800, 800, 800)),
    ((0.27, 0.0, 0.0, 0.0), (200, 200, 200, 200)),
    ((0.0, 0.0, 0.0, 0.27), (200, 200, 100, 50)),
    ((0.0, 0.0, 0.0, 0.27), (200, 200, 100, 25)),
    ((0.0, 0.0, 0.0, 0.1), (200, 200, 100, 50)),
    ((-0.02, -0.02, -0.02, 0.05), (800, 800, 800, 800)),
)


def by_length() -> None:
    print(
        "| A loses at each length, points | documents | B's accuracy | together: PASS | FAIL | documents | each: PASS | FAIL | names a good length | documents |"
    )
    print("| --- " * 10 + "|")
    for losses, documents in LENGTHS:
        for accuracy, correlation in ((0.95, 0.9), (0.8, 0.8)):
            rows = [
                gates(losses, documents, accuracy, correlation, 0.05, together=one) for one in (True, False)
            ]
            shown = [
                ", ".join(f"{100 * loss:.0f}" for loss in losses),
                ", ".join(map(str, documents)),
                f"{100 * accuracy:.0f} %",
            ]
            for row in rows:
                shown += [f"{100 * row.passed:.1f} %", f"{100 * row.failed:.1f} %"]
                shown += [f"{100 * row.misnamed:.1f} %"] * (row is rows[1]) + [f"{row.documents:.0f}"]
            print("| " + " | ".join(shown) + " |", flush=True)


def main() -> None:
    print(
        "| B's accuracy | correlation | cases that differ | margin | same: wrong FAIL | same: documents | worse by the margin: FAIL | documents | worse by twice: FAIL | documents |"
    )
    print("| --- " * 10 + "|")
    for margin in (0.02, 0.05, 0.1):
        for accuracy, correlation in (
            (0.98, 0.9),
            (0.95, 0.8),
            (0.95, 0.5),
            (0.8, 0.8),
            (0.5, 0.95),
            (0.5, 0.8),
        ):
            rows = [
                gates((times * margin,), (round(160 / margin),), accuracy, correlation, margin)
                for times in (0, 1, 2)
            ]
            same, worse, twice = rows
            shown = [
                f"{100 * accuracy:.0f} %",
                f"{correlation:.2f}",
                f"{100 * sum(chances(accuracy, 0.0, correlation)):.1f} %",
                f"{100 * margin:.0f}",
                f"{100 * same.failed:.1f} %",
            ]
            for row in (same, worse, twice):
                shown += [f"{100 * row.failed:.1f} %"] * (row is not same) + [
                    f"{row.half}, {row.most or 'more'}"
                ]
            print("| " + " | ".join(shown) + " |", flush=True)


if __name__ == "__main__":
    main()
    print()
    by_length()
