"""The leaderboard as a folder of static pages that work offline."""

from long_context_tasks.site.build import BuiltSite, build_site
from long_context_tasks.site.contents import CellMap, SiteOptions

__all__ = ["BuiltSite", "CellMap", "SiteOptions", "build_site"]
