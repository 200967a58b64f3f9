"""A failure that is only known once every test has ended: something that was asked for could not be written.

It is told as the result of a test. So JUnit and annotations see it, and the exit code follows as for any
other failure; a line in the summary and a code changed behind their backs would be seen by neither.
"""

from __future__ import annotations

import pytest

__all__ = ["fail_session"]


def fail_session(session: pytest.Session, nodeid: str, text: str) -> None:
    """Report a failure; to be called from a `pytest_sessionfinish` that comes before those of reporters.

    Parameters
    ----------
    session
        The one that ends.
    nodeid
        What the result is named.
    text
        What it says.
    """
    file, _, name = nodeid.partition("::")
    report = pytest.TestReport(nodeid, (file, None, name), {}, "failed", text, "call")
    session.config.hook.pytest_runtest_logreport(report=report)
    session.exitstatus = pytest.ExitCode.TESTS_FAILED
