"""Gates on made-up hits: how often the verdict is wrong, and how many documents it takes. As a program it prints the table of docs/simulations.md."""

from dataclasses import dataclass

import numpy as np

from long_context_tasks.stats.sequential import log_evidence, shares_of

KINDS = np.array([-1.0, 0.0, 1.0])


@dataclass(frozen=True)
class Gates:
    """What came of many gates: shares of verdicts, and the documents at which half and nine tenths had a verdict (0: later)."""

    passed: float
    failed: float
    half: int
    most: int
    differing: float


def chances(accuracy: float, loss: float, correlation: float) -> tuple[float, float]:
    """Probabilities of a case that only B and only A gets right; B has the accuracy, A the loss less, their hits are correlated."""
    a, b = accuracy - loss, accuracy
    both = a * b + correlation * np.sqrt(a * (1 - a) * b * (1 - b))
    both = min(both, a, b)
    return b - both, a - both


def gates(
    accuracy: float, loss: float, correlation: float, margin: float, *,
    budget: int, repeats: int = 1_000, batch: int = 16, alpha: float = 0.05, seed: int = 0,
) -> Gates:  # fmt: skip
    """Run gates that look after each batch."""
    only_b, only_a = chances(accuracy, loss, correlation)
    random = np.random.default_rng(seed)
    looks = budget // batch
    counts = random.multinomial(batch, [only_a, 1 - only_a - only_b, only_b], (repeats, looks)).cumsum(1)
    flat = counts.reshape(-1, 3).T
    shares = shares_of(margin)
    bar = -np.log(alpha)
    failed = log_evidence((1 + KINDS) / 2, flat, 0.5, shares).reshape(repeats, looks) >= bar
    passed = log_evidence((1 - KINDS) / 2, flat, (1 - margin) / 2, shares).reshape(repeats, looks) >= bar
    never = looks + 1
    first_fail = np.where(failed.any(1), failed.argmax(1), never)
    first_pass = np.where(passed.any(1), passed.argmax(1), never)
    first = np.minimum(first_fail, first_pass)
    half, most = (int(np.quantile(first, part, method="higher")) for part in (0.5, 0.9))
    return Gates(
        passed=float(((first_pass <= first_fail) & (first_pass < never)).mean()),
        failed=float((first_fail < first_pass).mean()),
        half=0 if half == never else (half + 1) * batch,
        most=0 if most == never else (most + 1) * batch,
        differing=only_a + only_b,
    )


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
                gates(accuracy, times * margin, correlation, margin, budget=round(160 / margin))
                for times in (0, 1, 2)
            ]
            same, worse, twice = rows
            shown = [
                f"{100 * accuracy:.0f} %",
                f"{correlation:.2f}",
                f"{100 * same.differing:.1f} %",
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
