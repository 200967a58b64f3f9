"""Checks of what models and agents wrote: citations, quotes, traces, support."""
