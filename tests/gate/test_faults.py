"""What keeps a run from being judged is a sentence, and is no fall in quality."""

from __future__ import annotations

import pytest

from pytest_retrieval.gate.faults import fault_of
from pytest_retrieval.model.run import Run

from .conftest import GOLD, run


def test_a_run_without_faults(make):
    assert fault_of(make(), run()) == ""
    assert fault_of(make(documents=None), run(i1=["anything"])) == ""


@pytest.mark.parametrize(
    "now, message",
    [
        (Run({}), "the retriever returned nothing for each of the 4 queries"),
        (Run(dict.fromkeys(GOLD, ())), "the retriever returned nothing for each of the 4 queries"),
        (run(i1=["a", "a"]), "id 'a' at ranks 1 and 2"),
        (run(i1=["n1"], w1=["n2", "n1"]), "2 returned ids are not in the catalog of 8 documents: query 'i1'"),
    ],
    ids=["no query", "nothing", "duplicates", "strange ids"],
)
def test_faults_of_a_run(make, now, message):
    assert message in fault_of(make(), now)


def test_a_strange_id_that_only_looks_like_one_of_the_catalog(make):
    found = fault_of(make(documents=[*"abcdexyz", "Caf\u00e9"]), run(i1=["Cafe\u0301"]))
    assert found.endswith(
        r"; 'Caf\xe9' looks the same and is another composition of Unicode (NFC, NFD): write both alike"
    )


def test_faults_of_some_queries(make):
    """Only w2 is answered: enough for a run that is asked about w2, not for one that is asked about i1."""
    now = Run({"w2": ["e"]})
    assert fault_of(make(), now, ["w2"]) == ""
    assert fault_of(make(), now, ["i1"]) == "the retriever returned nothing for the only query"


def test_one_answered_query_is_enough_not_to_be_a_fault(make):
    assert fault_of(make(), Run({"w2": ["e"]})) == ""
