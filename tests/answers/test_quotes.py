"""Quotations: found, misattributed, stitched and fabricated ones, told apart."""

from __future__ import annotations

import pytest

from pytest_retrieval import Answer, InputError, check_citations
from pytest_retrieval.answers.quotes import check_quotes

TEXTS = {
    "returns": "Items that arrive damaged may be returned for a full refund within 60 days of delivery."
    " The standard window is 30 days. Keep the original packaging – we may ask for it.",
    "cards": "Refunds go back to the card you paid with. Store credit is offered only when a card has"
    " expired. A refund takes 5–10 working days to arrive.",
    "reset": "To reset the device, hold the power button for ten seconds.\n\nThe indicator will flash amber"
    " twice. Do not release the button before the second flash, or the reset will not complete.",
    "sizes": "The “Norrland” cabinet is 100 cm wide, 40 cm deep and 85 cm high. It weighs 31.5 kg.",
    "german": "Die Rückgabe ist innerhalb von 30 Tagen möglich. Beschädigte Ware nehmen wir stets zurück.",
}
CONTEXT = tuple(TEXTS)

FOUND = [
    ("Items that arrive damaged may be returned", "returns"),
    ("items THAT arrive Damaged may be returned for a full refund", "returns"),
    ("a full refund within 60 days of delivery.", "returns"),
    ("Keep the original packaging - we may ask for it", "returns"),
    ("The standard window is 30 days. Keep the original packaging", "returns"),
    ("Refunds go back to the card you paid with", "cards"),
    ("A refund takes 5-10 working days to arrive", "cards"),
    ("hold the power button   for ten\nseconds", "reset"),
    ("for ten seconds. The indicator will flash amber", "reset"),
    ("To reset the device … hold the power button", "reset"),
    ("To reset the device, [...] Do not release the button", "reset"),
    ('The "Norrland" cabinet is 100 cm wide', "sizes"),
    ("100 cm wide (…) 85 cm high", "sizes"),
    ("weighs 31.5 kg", "sizes"),
    ("Die RÜCKGABE ist innerhalb von 30 Tagen möglich", "german"),
]
MISATTRIBUTED = [
    ("Refunds go back to the card you paid with", "returns"),
    ("Items that arrive damaged may be returned", "cards"),
    ("hold the power button for ten seconds", "returns"),
    ("Store credit is offered only when a card has expired", "reset"),
    ("40 cm deep and 85 cm high", "returns"),
    ("Beschädigte Ware nehmen wir stets zurück", "sizes"),
    ("The standard window is 30 days", "german"),
    ("Do not release the button … the reset will not complete", "cards"),
]
STITCHED = [
    ("Items that arrive damaged may be returned to the card you paid with", "returns"),
    ("Refunds go back to the card within 60 days of delivery", "cards"),
    ("Do not release the button within 60 days of delivery", "reset"),
    ("The standard window is 30 days … Items that arrive damaged may be returned", "returns"),
    ("hold the power button before the second flash", "reset"),
    ("A refund takes 5–10 working days of delivery. The standard window", "cards"),
    ("Store credit is offered only … within 60 days of delivery", "cards"),
    ("100 cm wide, 40 cm and 85 cm high", "sizes"),
    ("Die Rückgabe ist innerhalb … Items that arrive damaged", "german"),
]
FABRICATED = [
    ("Items that arrive damaged may be returned for a full refund within 90 days", "returns"),
    ("Refunds never go back to the card you paid with", "cards"),
    ("hold the power button for twenty seconds", "reset"),
    ("You may keep the item and still be refunded", "returns"),
    ("The standard window is 300 days", "returns"),
    ("weighs 131.5 kg", "sizes"),
    ("is 100 cm wid", "sizes"),
    ("no refunds whatsoever", "cards"),
    ("Die Rückgabe ist nie möglich", "german"),
    ("…", "returns"),
]
CASES = [
    *((quote, doc_id, "found") for quote, doc_id in FOUND),
    *((quote, doc_id, "misattributed") for quote, doc_id in MISATTRIBUTED),
    *((quote, doc_id, "stitched") for quote, doc_id in STITCHED),
    *((quote, doc_id, "fabricated") for quote, doc_id in FABRICATED),
]


def checked(quote, doc_id, context=CONTEXT):
    (found,) = check_quotes(Answer("q1", context_ids=context), TEXTS, [(quote, doc_id)])
    return found


def test_the_set_is_large_enough():
    assert len(CASES) >= 40


@pytest.mark.parametrize("quote, doc_id, verdict", CASES)
def test_each_is_what_it_is(quote, doc_id, verdict):
    assert checked(quote, doc_id).verdict == verdict


@pytest.mark.parametrize("quote, doc_id", FOUND)
def test_offsets_lead_to_the_words(quote, doc_id):
    spans = checked(quote, doc_id).spans
    assert spans
    for owner, start, end in spans:
        assert owner == doc_id
        words = TEXTS[owner][start:end].split()
        assert words[0].strip("“”.,").casefold() in quote.casefold().replace('"', "")


def test_the_offsets_of_one_quotation_by_hand():
    assert checked("The standard window is 30 days", "returns").spans == (("returns", 88, 118),)
    assert TEXTS["returns"][88:118] == "The standard window is 30 days"


def test_a_quotation_ascribed_to_what_was_not_shown_is_not_found_there():
    found = checked("Refunds go back to the card you paid with", "cards", context=("returns",))
    assert found.verdict == "found"  # the document says so; that it was not shown is what `outside` tells
    assert checked("Refunds go back to the card you paid with", "unknown").verdict == "misattributed"


def test_without_a_document_anywhere_in_the_context_will_do():
    assert checked("hold the power button for ten seconds", "").verdict == "found"
    assert checked("hold the power button for ten hours", "").verdict == "fabricated"


def test_quotations_in_marks_belong_to_the_citation_that_follows():
    text = (
        'They say "within 60 days of delivery" [1], then “go back to the card you paid with” [1],'
        " and «hold the power button» [3]. A “word” is none."
    )
    answer = Answer("q1", context_ids=["returns", "cards", "reset"], text=text)
    found = check_citations(answer, positions=1, texts=TEXTS)
    assert [(quote.ascribed, quote.verdict) for quote in found.quotes] == [
        ("returns", "found"),
        ("returns", "misattributed"),
        ("reset", "found"),
    ]
    assert not found.grounded
    assert found.problems == (
        "quotes “go back to the card you paid with” from returns, and it stands in cards",
    )


@pytest.mark.parametrize("quotes", [[7], [""], [("a", 7)], [("a", "b", "c")]])
def test_what_is_no_quotation(quotes):
    with pytest.raises(InputError, match="a quotation is"):
        check_quotes(Answer("q1", context_ids=["cards"]), TEXTS, quotes)
