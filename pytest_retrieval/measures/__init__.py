"""Measures of rankings: pure functions of judgments and runs."""
