"""The leaderboard as a folder of pages that open without a network."""

from long_context_tasks.site.build import BuiltSite, build_site
from long_context_tasks.site.shown import Breakdown, CellMap, SiteOptions

__all__ = ["Breakdown", "BuiltSite", "CellMap", "SiteOptions", "build_site"]
