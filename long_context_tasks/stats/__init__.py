"""Statistics: every mean carries its interval, its n and what was left out."""

from long_context_tasks.stats.agreement import Icc, icc
from long_context_tasks.stats.breakdown import Group, breakdown, by_gold_bin, summarize
from long_context_tasks.stats.correlation import METHODS, Correlation, Method, correlate, correlation_matrix
from long_context_tasks.stats.intervals import Interval, cluster_bootstrap, wilson
from long_context_tasks.stats.means import Mean, interval_of_mean, mean_of_scores
from long_context_tasks.stats.rater_study import Panel, RaterStudy, study_panel, study_raters
from long_context_tasks.stats.resampling import cluster_draws, cluster_interval
from long_context_tasks.stats.rounding import round_half_up, round_twice
from long_context_tasks.stats.seeds import SeedSpread, could_be_one_run, seed_spread
from long_context_tasks.stats.welch import WelchTest, welch_test

__all__ = [
    "METHODS",
    "Correlation",
    "Group",
    "Icc",
    "Interval",
    "Mean",
    "Method",
    "Panel",
    "RaterStudy",
    "SeedSpread",
    "WelchTest",
    "breakdown",
    "by_gold_bin",
    "cluster_bootstrap",
    "cluster_draws",
    "cluster_interval",
    "correlate",
    "correlation_matrix",
    "could_be_one_run",
    "icc",
    "interval_of_mean",
    "mean_of_scores",
    "round_half_up",
    "round_twice",
    "seed_spread",
    "study_panel",
    "study_raters",
    "summarize",
    "welch_test",
    "wilson",
]
