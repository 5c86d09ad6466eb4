"""``lct judge compare``: how judges and people agree, from files of scores."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from long_context_tasks.cli.options import Json
from long_context_tasks.cli.output import give, say

if TYPE_CHECKING:
    from long_context_tasks.stats import Panel, RaterStudy

_NO_RATERS = ("id", "cluster", "turn", "repeat")
"""Fields that may hold a number and are no scores; the last two stand in the rows of ``lct judge run``."""
# What `runs.judged.judged_path` makes.
_JUDGED = re.compile(r"/judged/(?P<label>(?P<name>[^/]+)-[0-9a-f]{8})/")
FORMAT = 'one JSON object a line: {"id": "m1/3", "cluster": "m1", "gpt-4": 9, "gold": 8.5}'


@dataclass(frozen=True)
class RatingTable:
    """Scores of several raters for the same items.

    Attributes:
        ids, clusters, labels: of the items; labels are empty when none were asked for.
        ratings: rater to scores in the order of the items, ``None`` where there is none.
    """

    ids: tuple[str, ...]
    clusters: tuple[str, ...]
    labels: tuple[str, ...]
    ratings: Mapping[str, tuple[float | None, ...]]


def read_ratings(
    files: Sequence[Path], raters: Sequence[str] = (), label: str | None = None, *, fewest: int = 2
) -> RatingTable:
    """Scores from JSON lines; rows of several files (one judge each, say) with the same id belong to one item.

    Every field that holds a number in some row is a rater, unless ``raters`` names them. A missing field or ``null`` is
    no score; other fields are passed over.

    Raises:
        InputError: a file that cannot be read, a row that is no object or lacks id or cluster, a score that is no finite
            number, an id that comes with two clusters, labels or scores of one rater, or a rater that no row has.
    """
    from long_context_tasks.schema import InputError

    items: dict[str, dict[str, Any]] = {}
    numeric: dict[str, None] = {}
    for place, row in _rows(files, _labels(files)):
        item = items.setdefault(row["id"], {})
        for name, value in row.items():
            if isinstance(value, dict | list):
                continue
            if name in item and item[name] != value and value is not None and item[name] is not None:
                raise InputError(
                    f"{place}: {name} of {row['id']} is {value!r}, before it was {item[name]!r}; give every item an id of "
                    "its own, e.g. meeting/question/model"
                )
            if value is not None or name not in item:
                item[name] = value
            if name not in (*_NO_RATERS, label) and _is_number(value):
                numeric.setdefault(name)
    chosen = list(raters) or list(numeric)
    if missing := [name for name in chosen if name not in numeric]:
        raise InputError(
            f"no row has a score of {', '.join(missing)}; there are: {', '.join(numeric) or 'none'}"
        )
    if len(chosen) < fewest:
        raise InputError(
            f"a comparison needs {'two raters' if fewest > 1 else 'a rater'}; found: {', '.join(chosen) or 'none'}. Expected {FORMAT}"
        )
    for item in items.values():
        for name in chosen:
            value = item.get(name)
            if value is not None and not (_is_number(value) and math.isfinite(value)):
                raise InputError(
                    f"{item['id']}: score of {name} is {value!r}, not a number; null means no score"
                )
        if label is not None and item.get(label) is None:
            raise InputError(f"{item['id']}: no field {label!r}, which --by names")
    return RatingTable(
        ids=tuple(items),
        clusters=tuple(str(item["cluster"]) for item in items.values()),
        labels=tuple(str(item[label]) for item in items.values()) if label is not None else (),
        ratings={name: tuple(item.get(name) for item in items.values()) for name in chosen},
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _labels(files: Sequence[Path]) -> dict[Path, tuple[str, str]]:
    """Files of ``lct judge run`` by judges of one name with different settings: the name, and the one that tells them apart."""
    found = {path: match for path in files if (match := _JUDGED.search(path.absolute().as_posix()))}
    names = Counter(match["name"] for match in {match["label"]: match for match in found.values()}.values())
    return {
        path: (match["name"], match["label"]) for path, match in found.items() if names[match["name"]] > 1
    }


def _rows(
    files: Sequence[Path], labels: Mapping[Path, tuple[str, str]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    from long_context_tasks.schema import InputError
    from long_context_tasks.schema.files import json_rows

    for path in files:
        for place, row in json_rows(path, FORMAT):
            if not isinstance(row, dict):
                raise InputError(f"{place}: a {type(row).__name__}, not an object; expected {FORMAT}")
            for name in ("id", "cluster"):
                value = row.get(name)
                if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
                    raise InputError(f"{place}: no {name}; expected {FORMAT}")
            name, label = labels.get(path, ("", ""))
            named = {label if key == name else key: value for key, value in row.items()}
            yield place, {**named, "id": str(row["id"]), "cluster": str(row["cluster"])}


def compare(
    files: Annotated[list[Path], typer.Argument(help=f"Scores, {FORMAT}. Files are joined by id.")],
    gold: Annotated[
        str | None, typer.Option("--gold", help="Rater whose scores make the bins of the distribution.")
    ] = None,
    raters: Annotated[
        str, typer.Option("--raters", help="Fields with scores, with commas. Default: all that hold numbers.")
    ] = "",
    panel: Annotated[
        str, typer.Option("--panel", help="Raters for the ICC, with commas. Default: all of --raters.")
    ] = "",
    by: Annotated[
        str | None, typer.Option("--by", help="Field to split the means by, e.g. the model.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the resampling.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the figures as JSON, too.")] = None,
    as_json: Json = False,
) -> None:
    """Compare judges with people and with each other.

    Means, correlations of every pair (Pearson, Spearman, Kendall), scores for each gold score, and agreement of the
    panel (ICC). Intervals are 95 % and over clusters (meetings), but those of the ICC, which take items as independent.
    """
    from long_context_tasks.schema import InputError
    from long_context_tasks.stats import study_panel, study_raters

    table = read_ratings(files, _names(raters), by)
    members = _names(panel)
    if unknown := [name for name in [gold, *members] if name is not None and name not in table.ratings]:
        raise InputError(f"no rater {', '.join(unknown)}; there are: {', '.join(table.ratings)}")
    if len(members) == 1:
        raise InputError(f"--panel {panel}: agreement needs two raters or more")
    study = study_raters(table.ratings, table.clusters, gold, table.labels, seed=seed)
    _print_study(study, gold, by)
    chosen = {name: table.ratings[name] for name in members or table.ratings}
    found: Panel | None = None
    try:
        found = study_panel(chosen, table.clusters)
    except (InputError, ValueError) as error:
        if members:
            raise InputError(f"--panel: {error}") from error
        say(f"ICC left out: {error}")
    if found is not None:
        _print_panel(found)
    if out is not None:
        _write(out, study, found)
        give(None, file=out)


def _names(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _print_study(study: "RaterStudy", gold: str | None, by: str | None) -> None:
    from long_context_tasks.cli.output import interval_text, print_table

    def figures(group: Any) -> list[str]:
        return [
            str(group.n),
            str(group.total),
            str(group.clusters),
            f"{group.mean:.2f}",
            f"{group.sd:.2f}",
            interval_text(group.interval),
        ]

    head = ["n", "of", "clusters", "mean", "sd", "95 % interval"]
    print_table(
        f"Mean of each rater: {study.items} items in {study.clusters} clusters",
        ["rater", *head],
        [[name, *figures(group)] for name, group in study.means.items()],
    )
    if study.by_label:
        rows = [
            [label, n, *figures(g)] for label, groups in study.by_label.items() for n, g in groups.items()
        ]
        print_table(f"Mean by {by}", [str(by), "rater", *head], rows, ("rater",))
    print_table(
        "Correlation of raters",
        ["method", "first", "second", "correlation", "95 % interval", "n", "clusters"],
        [
            [
                c.method,
                c.first,
                c.second,
                f"{c.value:.3f}",
                interval_text(c.interval, 3),
                str(c.n),
                str(c.clusters),
            ]
            for c in study.correlations
        ],
        ("first", "second"),
    )
    if study.bins:
        rows = [[n, str(score), *figures(g)] for n, bins in study.bins.items() for score, g in bins.items()]
        print_table(f"Scores for each score of {gold}", ["rater", str(gold), *head], rows)


def _print_panel(panel: "Panel") -> None:
    from long_context_tasks.cli.output import interval_text, print_table

    left_out = f", {panel.left_out} without all scores left out" if panel.left_out else ""
    rows = [
        [
            str(cluster),
            one.form,
            f"{one.value:.3f}",
            interval_text(one.interval, 3),
            str(one.targets),
            str(one.raters),
        ]
        for cluster, one in [
            *panel.by_cluster.items(),
            *(("all", each) for each in panel.overall.values()),
        ]
    ]
    print_table(
        f"Intra-class correlation of {', '.join(panel.raters)}: {panel.items} items{left_out}",
        ["cluster", "form", "ICC", "95 % interval", "items", "raters"],
        rows,
        ("form",),
    )


def _write(path: Path, study: "RaterStudy", panel: "Panel | None") -> None:
    from long_context_tasks.schema.files import json_value, write_whole

    content = {"study": asdict(study), "icc": asdict(panel) if panel is not None else None}
    text = json.dumps(json_value(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_whole(path, text, remedy="choose another place with --out")
