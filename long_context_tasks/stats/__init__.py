"""Statistics: every mean carries its interval, its n and what was left out."""

from long_context_tasks.stats.intervals import Interval, cluster_bootstrap, wilson
from long_context_tasks.stats.means import Mean, interval_of_mean, mean_of_scores

__all__ = ["Interval", "Mean", "cluster_bootstrap", "interval_of_mean", "mean_of_scores", "wilson"]
