"""Ids that spreadsheets and people changed: what the message says of them."""

from __future__ import annotations

import pytest

from pytest_retrieval.files.near_ids import NearIds

NEAR = NearIds(["00123", "B-7", "c1", "c2", "100000", "12", "ﬁn 1"])


@pytest.mark.parametrize(
    "name, hint",
    [
        ("123", "the catalog has '00123'; spreadsheets drop leading zeros"),
        ("0123", "the catalog has '00123'; spreadsheets drop leading zeros"),
        ("12.0", "the catalog has '12'; spreadsheets write ids as numbers"),
        ("1E+05", "the catalog has '100000'; spreadsheets write ids as numbers"),
        (
            "1.23E+11",
            "a spreadsheet wrote it as a rounded number; format the column as text and export it anew",
        ),
        ("b-7", "the catalog has 'B-7'"),
        ("C1", "the catalog has 'c1'"),
        ("c\u200b1", "the catalog has 'c1', which differs in signs not seen"),
        ("c\u00a01", "the catalog has 'c1', which differs in signs not seen"),
        ("c1,c2", "several ids in one cell stand between '|' or ';'"),
        ("c1 c2", "several ids in one cell stand between '|' or ';'"),
        ("c1 / c2 / c1", "several ids in one cell stand between '|' or ';'"),
        ("c1, c9", "several ids in one cell stand between '|' or ';', and the catalog lacks 'c9'"),
        ("['c1', 'c2']", "several ids in one cell stand between '|' or ';'"),
        ('["c1"]', "the catalog has 'c1', without signs around it"),
        ('="00123"', "the catalog has '00123', without signs around it"),
        ("'00123", "the catalog has '00123', without signs around it"),
        ("N/A", "leave the cell empty if nothing answers the question"),
        ("-", "leave the cell empty if nothing answers the question"),
        ("None", "leave the cell empty if nothing answers the question"),
        ("c9", ""),
        ("c8, c9", ""),
        ("12.5", ""),
        ("1e999", ""),
    ],
)
def test_hints(name, hint):
    assert NEAR.hint(name) == hint


def test_an_id_is_never_taken_for_another():
    assert "123" not in NEAR
    assert "C1" not in NEAR
    assert "00123" in NEAR
    assert len(NEAR) == 7


def test_of_several_the_first_by_code_point_is_named():
    assert (
        NearIds(["7", "007", "07"]).hint("0007") == "the catalog has '007'; spreadsheets drop leading zeros"
    )
