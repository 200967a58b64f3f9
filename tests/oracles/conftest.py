"""Where the real data lies: under PYTEST_RETRIEVAL_DATA, or beside the repository."""

import os
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("PYTEST_RETRIEVAL_DATA") or Path(__file__).parents[3] / "shared" / "data")


@pytest.fixture(scope="module")
def data(request):
    """Return the folder that the test module names as COLLECTION; skip where it is absent."""
    folder = ROOT / request.module.COLLECTION
    if not folder.is_dir():
        pytest.skip(
            f"no {request.module.COLLECTION} under {ROOT}; set PYTEST_RETRIEVAL_DATA to the data's folder"
        )
    return folder
