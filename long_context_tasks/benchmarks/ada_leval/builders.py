"""The builders of cases; what builds is imported when it is needed."""

from collections.abc import Sequence
from pathlib import Path

from long_context_tasks.benchmarks.ada_leval.settings import (
    BOOKS,
    POSTS,
    BestAnswerSettings,
    ConstraintSettings,
    TSortSettings,
)
from long_context_tasks.benchmarks.building import Builder, TaskReport, Work
from long_context_tasks.recast.carriers import CARRIERS
from long_context_tasks.tokens.build_settings import BuildSettings


class TSortBuilder(Builder):
    """TSort from the user's books."""

    settings = TSortSettings
    source = BOOKS

    def write(
        self, source: Path | None, settings: BuildSettings, folder: Path, work: Work
    ) -> list[TaskReport]:
        """See :func:`.build.build`."""
        from long_context_tasks.benchmarks.ada_leval.build import build

        assert isinstance(settings, TSortSettings)
        return build(self.name, source, settings, folder, work)


class RecastTSortBuilder(TSortBuilder):
    """TSort from public novels with other names."""

    source = CARRIERS


class BestAnswerBuilder(Builder):
    """BestAnswer from a forum's posts."""

    settings = BestAnswerSettings
    source = POSTS

    def write(
        self, source: Path | None, settings: BuildSettings, folder: Path, work: Work
    ) -> list[TaskReport]:
        """See :func:`.build.build`."""
        from long_context_tasks.benchmarks.ada_leval.build import build

        assert isinstance(settings, BestAnswerSettings)
        return build(self.name, source, settings, folder, work)


class ConstraintBuilder(Builder):
    """BestAnswer from a seed: the accepted answer is the only one that meets all requirements."""

    settings = ConstraintSettings
    sharded = True

    def write(
        self, source: Path | None, settings: BuildSettings, folder: Path, work: Work
    ) -> list[TaskReport]:
        """See :func:`.build.build`."""
        from long_context_tasks.benchmarks.ada_leval.build import build

        assert isinstance(settings, ConstraintSettings)
        return build(self.name, source, settings, folder, work)


BUILDERS: Sequence[Builder] = (
    TSortBuilder("ada_leval_tsort", "tsort"),
    BestAnswerBuilder("ada_leval_bestanswer", "bestanswer"),
    RecastTSortBuilder("ada_leval_tsort_recast", "tsort"),
    ConstraintBuilder("ada_leval_bestanswer_synthetic", "bestanswer"),
)
