"""Frozen values that every other room reads: the gold set, judgments, runs, and what models and agents did.

Files make these values and measures read them; neither knows the other.
"""

from __future__ import annotations

from pytest_retrieval.model.goldset import GoldSet
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.records import Answer, Trace
from pytest_retrieval.model.run import Run

__all__ = ["Answer", "GoldSet", "Qrels", "Run", "Trace"]
