"""Global alignment with the tie choice of Biopython's pairwise2 (``one_alignment_only``), which the official rules need.

Biopython is no dependency: pairwise2 is deprecated there. Only what the official code asks for is written here: a
linear gap penalty of 0 or 1 and one alignment. pairwise2 compares scores after rounding them to thousandths, walks
back from the end and prefers a gap in the first sequence, then a pair, then a gap in the second. (Its rule that a gap in
the first sequence must not stand directly before one in the second never decides anything at such penalties.)
"""

import numpy as np
import numpy.typing as npt

_GAP_FIRST, _PAIR, _GAP_SECOND = 1, 2, 4


def _rounded(score: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return (score * 1000 + 0.5).astype(np.int64)  # truncates towards zero, as C does


def _choices(scores: npt.NDArray[np.float64], gap: float) -> list[bytes]:
    """For each cell of the table (without its first row and column) the moves that reach its best score, as bits."""
    rows, columns = scores.shape
    steps = gap * np.arange(columns + 1)
    before = -steps
    moves = []
    for row in range(rows):
        pair = before[:-1] + scores[row]
        best = np.empty(columns + 1)
        best[0] = -gap * (row + 1)
        np.maximum(pair, before[1:] - gap, out=best[1:])
        # A gap in the first sequence: the best of all cells to the left, less a penalty for each step.
        best = np.maximum.accumulate(best + steps) - steps
        target = _rounded(best[1:])
        bits = _PAIR * (_rounded(pair) == target)
        bits += _GAP_FIRST * (_rounded(best[:-1] - gap) == target)
        bits += _GAP_SECOND * (_rounded(before[1:] - gap) == target)
        moves.append(bits.astype(np.uint8).tobytes())
        before = best
    return moves


def align(scores: npt.NDArray[np.float64], gap: float) -> list[tuple[int, int]]:
    """Align two sequences.

    Args:
        scores: Score of each item of the first (rows) with each of the second (columns).
        gap: Penalty of each item that has no partner: 0 or 1.

    Returns:
        Pairs of indices in order; -1 where one side has a gap.
    """
    rows, columns = scores.shape
    if not rows or not columns:
        return [(i, -1) for i in range(rows)] + [(-1, j) for j in range(columns)]
    moves = _choices(scores, gap)
    path: list[tuple[int, int]] = []
    row, column = rows, columns
    while row and column:
        bits = moves[row - 1][column - 1]
        if bits & _GAP_FIRST:
            column -= 1
            path.append((-1, column))
        elif bits & _PAIR:
            row, column = row - 1, column - 1
            path.append((row, column))
        else:
            row -= 1
            path.append((row, -1))
    path += [(i, -1) for i in range(row - 1, -1, -1)]
    path += [(-1, j) for j in range(column - 1, -1, -1)]
    return path[::-1]
