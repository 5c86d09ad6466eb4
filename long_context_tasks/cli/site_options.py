"""What the site says beside runs: titles and sentences from the cards, figures from the papers."""

import re
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from long_context_tasks.report.schema import Collection
    from long_context_tasks.report.site.shown import SiteOptions

# "1/24 = 4.2 %": the one form of a card that is a single number.
_CHANCE = re.compile(r"(\d+)/(\d+) = .*", re.ASCII)


def site_options(collection: "Collection", *, title: str) -> "SiteOptions":
    """Options of the site for the benchmarks that the runs are of.

    Args:
        collection: of the site.
        title: of the site.
    """
    from long_context_tasks.benchmarks import catalogue
    from long_context_tasks.benchmarks.published import published
    from long_context_tasks.report.site.shown import PublishedRow, SiteOptions

    benchmarks = sorted(collection.runs["benchmark"].unique())
    tasks = sorted(collection.runs["task"].unique())
    specs = {task: catalogue.parse_task(task) for task in tasks}
    chance = {
        task: int(match[1]) / int(match[2])
        for task, spec in specs.items()
        if (match := _CHANCE.fullmatch(spec.card.chance))
    }
    rows = [
        PublishedRow(
            model=one.model,
            task=one.task,
            metric=one.metric,
            value=one.score,
            points=one.unit == "points",
            source=one.source,
            n=one.n,
            setting=one.setting,
            subset=one.subset,
        )
        for benchmark in benchmarks
        for one in published(benchmark)
        if one.task in specs
    ]
    return SiteOptions(
        title=title,
        made=date.today().isoformat(),
        published=rows,
        chance=chance,
        benchmarks={name: catalogue.card(name).title for name in benchmarks},
        about={spec.family: spec.card.about for spec in specs.values()},
        metrics={
            metric: about for name in benchmarks for metric, about in catalogue.card(name).metrics.items()
        },
    )
