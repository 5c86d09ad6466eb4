"""Statistics: every mean carries its interval, its n and what was left out."""

from long_context_tasks.stats.agreement import Icc, icc
from long_context_tasks.stats.breakdown import Group, breakdown, by_gold_bin, summarize
from long_context_tasks.stats.clustered import (
    MIN_CLUSTERS,
    MIN_CLUSTERS_CENTRAL,
    cluster_t,
    cluster_wilson,
    min_clusters,
)
from long_context_tasks.stats.comparison import Comparison, adjust, compare, compare_all
from long_context_tasks.stats.correlation import METHODS, Correlation, Method, correlate, correlation_matrix
from long_context_tasks.stats.detectable import (
    Detectable,
    Spread,
    cases_needed,
    discordant_spread,
    hit_spread,
    measure_spread,
    smallest_difference,
)
from long_context_tasks.stats.effective_length import (
    EffectiveLength,
    LengthScores,
    effective_length,
    fixed_bar,
    fraction_bar,
)
from long_context_tasks.stats.intervals import Interval, wilson
from long_context_tasks.stats.means import Mean, interval_of_mean, mean_of_scores
from long_context_tasks.stats.rater_study import Panel, RaterStudy, study_panel, study_raters
from long_context_tasks.stats.resampling import cluster_draws, cluster_interval
from long_context_tasks.stats.rounding import round_half_up, round_twice
from long_context_tasks.stats.seeds import SeedSpread, could_be_one_run, seed_spread
from long_context_tasks.stats.welch import WelchTest, welch_test

__all__ = [
    "METHODS",
    "MIN_CLUSTERS",
    "MIN_CLUSTERS_CENTRAL",
    "Comparison",
    "Correlation",
    "Detectable",
    "EffectiveLength",
    "Group",
    "Icc",
    "Interval",
    "LengthScores",
    "Mean",
    "Method",
    "Panel",
    "RaterStudy",
    "SeedSpread",
    "Spread",
    "WelchTest",
    "adjust",
    "breakdown",
    "by_gold_bin",
    "cases_needed",
    "cluster_draws",
    "cluster_interval",
    "cluster_t",
    "cluster_wilson",
    "compare",
    "compare_all",
    "correlate",
    "correlation_matrix",
    "could_be_one_run",
    "discordant_spread",
    "effective_length",
    "fixed_bar",
    "fraction_bar",
    "hit_spread",
    "icc",
    "interval_of_mean",
    "mean_of_scores",
    "measure_spread",
    "min_clusters",
    "round_half_up",
    "round_twice",
    "seed_spread",
    "smallest_difference",
    "study_panel",
    "study_raters",
    "summarize",
    "welch_test",
    "wilson",
]
