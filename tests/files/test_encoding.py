"""Which encoding a file has: named only where its bytes leave no doubt."""

from __future__ import annotations

import codecs
import subprocess

import pytest

from pytest_retrieval.files.encoding import not_text

TEXT = "query_id,query\nq1,sofa\nq2,café\n"


@pytest.mark.parametrize(
    "data, encoding",
    [
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), "UTF-16"),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "UTF-16"),
        (codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"), "UTF-32"),
        (codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be"), "UTF-32"),
        (TEXT.encode("utf-16-le"), "UTF-16LE"),
        (TEXT.encode("utf-16-be"), "UTF-16BE"),
    ],
)
def test_a_sure_encoding_is_named_and_the_command_converts_it(data, encoding):
    message = not_text(data)
    assert message is not None
    assert message.startswith(f"is {encoding[:6]}; convert it: iconv -f {encoding} -t UTF-8, or")
    command = ["iconv", "-f", encoding, "-t", "UTF-8"]
    try:
        converted = subprocess.run(command, input=data, capture_output=True, check=True).stdout
    except FileNotFoundError:
        pytest.skip("iconv is not installed")
    assert converted.decode() == TEXT


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"a",
        b"\0",
        TEXT.encode(),
        TEXT.encode("utf-8-sig"),
        TEXT.encode("latin-1"),
        "検索".encode("utf-16-le"),
        b"a\0b,c\n",
    ],
)
def test_what_may_be_text_is_left_to_the_decoder(data):
    assert not_text(data) is None


def test_a_workbook_under_the_name_of_a_csv():
    assert not_text(b"PK\x03\x04\x14\x00") == (
        "is a ZIP archive, such as an Excel workbook, and no text; in a spreadsheet, save as 'CSV UTF-8'"
    )
