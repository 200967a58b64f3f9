"""The gates of the gold sets in this folder: one item per subject, measure and stratum."""

import pytest


@pytest.mark.goldset("furniture", "helpdesk")
def test_pinned(gate):
    gate.check()
