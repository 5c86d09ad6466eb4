"""The leaderboard as a folder of pages that open without a network."""

from long_context_tasks.site.build import BuiltSite, build_site
from long_context_tasks.site.shown import Breakdown, HeatMap, SiteOptions

__all__ = ["Breakdown", "BuiltSite", "HeatMap", "SiteOptions", "build_site"]
