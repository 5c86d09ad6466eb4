"""``lct judge compare --splits``: judges, their mean, their fusion and ORCA beside people, on the test parts of splits."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from long_context_tasks.cli.output import give, interval_text, print_table, say
from long_context_tasks.schema.errors import InputError

if TYPE_CHECKING:
    from long_context_tasks.cli.judge.compare import RatingTable
    from long_context_tasks.orca.study.comparison import Comparison, Rater, Spread
    from long_context_tasks.orca.study.fusion import Fusion
    from long_context_tasks.orca.study.splits import SplitItems

PEOPLE = ("people",)
"""Columns that are no judges: people's own mean, as ``lct annotate judge`` writes it."""
NONE = "none"
_JUDGE_SCALE = (1.0, 5.0)


@dataclass(frozen=True)
class SplitOptions:
    """What ``lct judge compare --splits`` was asked for.

    Attributes:
        folder: of the splits.
        raters: fields of the files; empty for all that hold numbers.
        scales: ``NAME=LOW,HIGH`` each.
        averages, fusions: ``[NAME=]a,b,c`` each, or ``none``; empty for one of all judges.
        orca: ``NAME=PATTERN`` each.
        against: rater that the others are subtracted from.
        own_items: each rater on all answers that it has a score for.
        seed: of the draws.
        out: file for the figures.
    """

    folder: Path
    raters: Sequence[str] = ()
    scales: Sequence[str] = ()
    averages: Sequence[str] = ()
    fusions: Sequence[str] = ()
    orca: Sequence[str] = ()
    against: str | None = None
    own_items: bool = False
    seed: int = 0
    out: Path | None = None


def compare_splits(files: Sequence[Path], options: SplitOptions) -> None:
    """Read, compare, print, write.

    Raises:
        InputError: a file or an option cannot be used; see the parts.
    """
    from long_context_tasks.cli.judge.compare import read_ratings
    from long_context_tasks.orca.study.comparison import compare_raters, orca_raters
    from long_context_tasks.orca.study.splits import all_items, read_splits

    splits = read_splits(options.folder)
    table = read_ratings(files, options.raters, fewest=1)
    plain = plain_raters(table, _scales(files, table, options), splits, named=bool(options.raters))
    notes = _known(table, set(all_items(splits)), options.folder)
    trained = [rater for text in options.orca for rater in orca_raters(text, splits)]
    averages = _averages(plain, options)
    fusions, learned = _fusions(plain, options, splits, notes)
    raters = [*plain, *averages, *fusions, *trained]
    _check_names(raters)
    found = compare_raters(
        splits, raters, own_items=options.own_items, against=options.against, seed=options.seed
    )
    for note in notes:
        typer.echo(f"note: {note}", err=True)
    _print(found, splits, options)
    _print_fusions(learned, splits)
    if options.out is not None:
        _write(options.out, found, splits, learned, options)
        give(None, file=options.out)


def _scales(
    files: Sequence[Path], table: "RatingTable", options: SplitOptions
) -> Mapping[str, tuple[float, float]]:
    """Scale of every rater: the option's, else that of its file, else 0 to 1 for baselines and 1 to 5."""
    from long_context_tasks.orca.study.baselines import BASELINES
    from long_context_tasks.orca.study.rate import SCALES
    from long_context_tasks.schema.files import json_rows

    found: dict[str, tuple[float, float]] = {}
    for path in files:
        for place, row in json_rows(path, "rated answers"):
            told = row.get(SCALES) or {}
            if not isinstance(told, dict):
                raise InputError(f"{place}: {SCALES} is no object; rate the answers again")
            for name, value in told.items():
                scale = _scale(value, f"{place}: {SCALES} of {name}")
                if found.setdefault(name, scale) != scale:
                    raise InputError(
                        f"{place}: {name} has another scale than before; rename one of the raters"
                    )
    for text in options.scales:
        name, _, ends = text.rpartition("=")
        if name not in table.ratings:
            raise InputError(f"--scale {text}: no rater {name!r}; there are: {', '.join(table.ratings)}")
        try:
            numbers = [float(each) for each in ends.split(",")]
        except ValueError as error:
            raise InputError(f"--scale {text}: write NAME=LOW,HIGH, such as gpt-4=1,10") from error
        found[name] = _scale(numbers, f"--scale {text}")
    return {
        name: found.get(name, (0.0, 1.0) if name in BASELINES else _JUDGE_SCALE) for name in table.ratings
    }


def _scale(value: Any, where: str) -> tuple[float, float]:
    if (
        not isinstance(value, list)
        or len(value) != 2
        or not all(
            isinstance(end, int | float) and not isinstance(end, bool) and math.isfinite(end) for end in value
        )
        or value[0] >= value[1]
    ):
        raise InputError(f"{where}: needs the lowest and the highest score, such as 1,10")
    return float(value[0]), float(value[1])


def plain_raters(
    table: "RatingTable",
    scales: Mapping[str, tuple[float, float]],
    splits: "Sequence[SplitItems]",
    *,
    named: bool = False,
) -> "list[Rater]":
    """The raters of a table, on 0 to 1.

    Args:
        table: scores on their own scales.
        scales: of every rater.
        splits: for as many copies.
        named: the user named the raters, so people's own mean is among them only if asked for.

    Raises:
        InputError: a score lies outside its scale.
    """
    from long_context_tasks.orca.study.baselines import BASELINES
    from long_context_tasks.orca.study.comparison import Estimate, Rater

    raters = []
    for name, scores in table.ratings.items():
        if name in PEOPLE and not named:
            continue
        low, high = scales[name]
        said: dict[str, Estimate] = {}
        for each, score in zip(table.ids, scores, strict=True):
            if score is None:
                continue
            if not low <= score <= high:
                raise InputError(
                    f"{each}: the score {score:g} of {name} is outside its scale {low:g} to {high:g}; give the right one with "
                    f"--scale {name}=LOW,HIGH"
                )
            said[each] = Estimate((score - low) / (high - low))
        raters.append(Rater(name, "baseline" if name in BASELINES else "judge", (said,) * len(splits)))
    return raters


def _known(table: "RatingTable", ids: set[str], folder: Path) -> list[str]:
    """Whether scores and splits speak of the same answers.

    Raises:
        InputError: they share none.
    """
    others = [name for name in table.ids if name not in ids]
    if len(others) == len(table.ids):
        raise InputError(
            f"{folder}: none of the {len(table.ids)} rated answers is in the splits: there {sorted(ids)[0]}, here {table.ids[0]}; "
            "rate the answers that the splits were made of"
        )
    return [f"{len(others)} rated answers are in no split and were passed over"] if others else []


def _members(text: str, option: str, raters: "Sequence[Rater]") -> "tuple[str, list[Rater]]":
    """Name (empty without one) and members of ``[NAME=]a,b,c``."""
    given, _, listed = text.rpartition("=")
    by_name = {rater.name: rater for rater in raters}
    names = list(dict.fromkeys(word.strip() for word in listed.split(",") if word.strip()))
    if unknown := [name for name in names if name not in by_name]:
        raise InputError(f"{option} {text}: no rater {', '.join(unknown)}; there are: {', '.join(by_name)}")
    if not names:
        raise InputError(f"{option} {text}: names no rater; write a,b,c or NAME=a,b,c")
    return given.strip(), [by_name[name] for name in names]


def _chosen(texts: Sequence[str], option: str, raters: "Sequence[Rater]") -> "list[tuple[str, list[Rater]]]":
    """Name and members of each row of judges; without an option one of all judges, where there are several."""
    kind = option.removeprefix("--")
    if not texts:
        judges = [rater for rater in raters if rater.kind == "judge"]
        return [(kind, judges)] if len(judges) > 1 else []
    if NONE in texts:
        if len(texts) > 1:
            raise InputError(f"{option} {NONE}: leaves all of them out; do not name others beside it")
        return []
    found = [_members(text, option, raters) for text in texts]
    return [
        (
            name or (kind if len(found) == 1 else f"{kind} of {', '.join(one.name for one in members)}"),
            members,
        )
        for name, members in found
    ]


def _averages(raters: "Sequence[Rater]", options: SplitOptions) -> "list[Rater]":
    from long_context_tasks.orca.study.comparison import averaged

    chosen = _chosen(options.averages, "--average", raters)
    for name, members in chosen:
        if len(members) < 2:
            raise InputError(f"--average: {name} has one judge; name two or more")
    return [averaged(name, members) for name, members in chosen]


def _fusions(
    raters: "Sequence[Rater]", options: SplitOptions, splits: "Sequence[SplitItems]", notes: list[str]
) -> "tuple[list[Rater], dict[str, list[Fusion]]]":
    from long_context_tasks.orca.study.comparison import fused

    found, learned = [], {}
    for name, members in _chosen(options.fusions, "--fusion", raters):
        try:
            rater, learned[name] = fused(name, members, splits)
        except InputError as error:
            if options.fusions:
                raise InputError(f"--fusion: {error}") from error
            notes.append(f"no fusion: {error}")  # nobody asked for it
        else:
            found.append(rater)
    return found, learned


def _check_names(raters: "Sequence[Rater]") -> None:
    names = [rater.name for rater in raters]
    if twice := [name for number, name in enumerate(names) if name in names[:number]]:
        raise InputError(f"two raters are called {twice[0]}; name averages, fusions and ORCA with NAME=...")


def _print(found: "Comparison", splits: "Sequence[SplitItems]", options: SplitOptions) -> None:
    rows = [
        [each.name, each.kind, str(each.n), *map(_spread, (each.rho, each.tau, each.mae, each.variance_mae))]
        for each in found.figures
    ]
    spread = f"mean ± sd over {len(splits)} splits" if len(splits) > 1 else f"of {splits[0].name}"
    print_table(
        f"Agreement with people on the test parts, all on 0 to 1, {spread}",
        ["rater", "kind", "n", "Spearman's rho", "Kendall's tau-b", "MAE of mean", "MAE of variance"],
        rows,
        ("kind",),
    )
    lacking = ", ".join(f"{name} {count}" for name, count in found.lacking.items())
    if options.own_items:
        say(
            f"each rater on its own answers of {found.total}"
            + (f"; without a score: {lacking}" * bool(lacking))
        )
    elif found.left_out:
        say(
            f"{found.left_out} of {found.total} test answers left out, as a rater has no score for them: {lacking}"
        )
    else:
        say(f"all {found.total} test answers of the splits; every rater has a score for each")
    if found.against:
        print_table(
            f"Each rater minus {options.against}, test answers of all splits together; 95 % intervals over whole questions",
            [
                *("rater", "n", "questions"),
                *("rho", "95 % interval", "by rho", "MAE", "95 % interval", "by MAE"),
            ],
            [
                [
                    *(each.name, str(each.n), str(each.questions)),
                    *(_signed(each.rho.value), interval_text(each.rho.interval, 4), each.rho.outcome),
                    *(_signed(each.mae.value), interval_text(each.mae.interval, 4), each.mae.outcome),
                ]
                for each in found.against
            ],
            ("by rho", "by MAE"),
        )


def _print_fusions(learned: "Mapping[str, list[Fusion]]", splits: "Sequence[SplitItems]") -> None:
    for name, fusions in learned.items():
        judges = list(fusions[0].weights)
        print_table(
            f"{name}: weights of the calibrated scores",
            ["split", *judges, "constant"],
            [
                # Adding 0 makes -0.0 a plain 0.
                [
                    split.name,
                    *(f"{round(each, 3) + 0.0:.3f}" for each in (*one.weights.values(), one.constant)),
                ]
                for split, one in zip(splits, fusions, strict=True)
            ],
        )


def _spread(figure: "Spread") -> str:
    if math.isnan(figure.mean):
        return "-"
    return f"{figure.mean:.4f}" + ("" if math.isnan(figure.sd) else f" ± {figure.sd:.4f}")


def _signed(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:+.4f}"


def _write(
    path: Path,
    found: "Comparison",
    splits: "Sequence[SplitItems]",
    learned: "Mapping[str, list[Fusion]]",
    options: SplitOptions,
) -> None:
    from long_context_tasks.schema.files import json_value, write_whole

    figures = asdict(found)
    figures["against"] = {each["name"]: each for each in figures["against"]}
    content = {
        "splits": [
            {"name": split.name, "train": len(split.train), "dev": len(split.dev), "test": len(split.test)}
            for split in splits
        ],
        "own_items": options.own_items,
        "against": options.against,
        "comparison": figures,
        "fusions": {name: [asdict(one) for one in fusions] for name, fusions in learned.items()},
    }
    text = json.dumps(json_value(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_whole(path, text, remedy="choose another place with --out")
