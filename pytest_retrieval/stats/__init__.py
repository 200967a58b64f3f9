"""Paired statistics: whether a difference is more than chance, and whether it could have been seen at all.

Pure functions over per-query scores and differences. Every p-value and interval depends only on the
differences, a seed and a name.
"""

from pytest_retrieval.stats.bootstrap import INTERVAL_CAUTION, Interval, bootstrap_interval
from pytest_retrieval.stats.comparison import Comparison, compare_scores
from pytest_retrieval.stats.pairing import Pairs, pair_scores
from pytest_retrieval.stats.power import DetectableDrop, detectable_drop
from pytest_retrieval.stats.signflip import SignFlip, changes_needed, sign_flip, smallest_p
from pytest_retrieval.stats.thresholds import bonferroni, format_p, format_threshold, format_value
from pytest_retrieval.stats.ttest import paired_t_p

__all__ = [
    "INTERVAL_CAUTION",
    "Comparison",
    "DetectableDrop",
    "Interval",
    "Pairs",
    "SignFlip",
    "bonferroni",
    "bootstrap_interval",
    "changes_needed",
    "compare_scores",
    "detectable_drop",
    "format_p",
    "format_threshold",
    "format_value",
    "pair_scores",
    "paired_t_p",
    "sign_flip",
    "smallest_p",
]
