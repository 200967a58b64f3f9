"""24 tiny inputs on which the libraries of the field agree or do not.

Values are those of trec_eval (through pytrec-eval-terrier 0.5.11) and ir_measures 0.4.3 to six decimals,
typed in. Where the two differ, or both differ from what this package promises, the comment says who and why.
"""

import math

import pytest

from pytest_retrieval.errors import InputError, QueryMismatchError
from pytest_retrieval.measures.table import evaluate
from pytest_retrieval.model.qrels import Qrels
from pytest_retrieval.model.run import Run

NAN = math.nan
MEASURES = ("mrr", "precision", "recall", "ndcg", "ap", "success", "judged", "mrr@k")


def values(rr, p, r, ndcg, ap, success, judged, rr_k=None):
    """Return the values by measure; RR@k is RR unless told."""
    return dict(
        zip(MEASURES, (rr, p, r, ndcg, ap, success, judged, rr if rr_k is None else rr_k), strict=True)
    )


PERFECT = values(1, 0.333333, 1, 1, 1, 1, 1)
NOTHING = values(0, 0, 0, 0, 0, 0, NAN)
UNDEFINED = values(NAN, NAN, NAN, NAN, NAN, NAN, 1)

AGREEING = [
    pytest.param(
        {"q": {"a": 1, "b": 1}},
        {"q": {"a": 3.0, "x": 2.0, "b": 1.0}},
        3,
        1,
        {"q": values(1, 0.666667, 1, 0.919721, 0.833333, 1, 0.666667)},
        id="A basic",
    ),
    # ir_measures takes Judged@k and RR@k from another tie order than the rest: there Judged@1 = RR@1 = 1.
    pytest.param(
        {"q": {"a": 1}},
        {"q": {"a": 1.0, "z": 1.0}},
        1,
        1,
        {"q": values(0.5, 0, 0, 0, 0, 0, 0, rr_k=0)},
        id="B tie, relevant id low",
    ),
    # … and here 0.
    pytest.param(
        {"q": {"z": 1}},
        {"q": {"a": 1.0, "z": 1.0}},
        1,
        1,
        {"q": values(1, 1, 1, 1, 1, 1, 1)},
        id="B tie, relevant id high",
    ),
    pytest.param(
        {"q": {"z": 1}},
        {"q": {"z": 1.0, "a": 1.0}},
        1,
        1,
        {"q": values(1, 1, 1, 1, 1, 1, 1)},
        id="B tie, high, inserted first",
    ),
    # trec_eval leaves q2 out without -c; ir_measures says Judged@3 = 0 where we say undefined: nothing was
    # returned, so there is nothing of which a share could be judged.
    pytest.param(
        {"q1": {"a": 1}, "q2": {"b": 1}},
        {"q1": {"a": 1.0}},
        3,
        1,
        {"q1": PERFECT, "q2": NOTHING},
        id="C qrels query missing in run",
    ),
    # trec_eval and ir_measures give q2 zeros and halve every mean; for us 0/0 is undefined and stays out.
    pytest.param(
        {"q1": {"a": 1}, "q2": {"b": 0}},
        {"q1": {"a": 1.0}, "q2": {"b": 1.0}},
        3,
        1,
        {"q1": PERFECT, "q2": UNDEFINED},
        id="D only grade 0",
    ),
    # trec_eval drops q2, ir_measures gives zeros (Judged@3 too); for us undefined, Judged@3 = 0 of 1.
    pytest.param(
        {"q1": {"a": 1}, "q2": {}},
        {"q1": {"a": 1.0}, "q2": {"b": 1.0}},
        3,
        1,
        {"q1": PERFECT, "q2": {**UNDEFINED, "judged": 0}},
        id="D empty qrels entry",
    ),
    pytest.param(
        {"q": {"a": 1, "b": 1}},
        {"q": {"a": 1.0}},
        5,
        1,
        {"q": values(1, 0.2, 0.5, 0.613147, 0.5, 1, 1)},
        id="E k>len",
    ),
    pytest.param(
        {"q": dict.fromkeys("abcd", 1)},
        {"q": {"a": 3.0, "b": 2.0, "x": 1.0}},
        2,
        1,
        {"q": values(1, 1, 0.5, 1, 0.5, 1, 1)},
        id="E R>k",
    ),
    pytest.param(
        {"q": {"a": 1, "b": 3, "c": 2}},
        {"q": {"a": 3.0, "b": 2.0, "x": 1.0}},
        3,
        1,
        {"q": values(1, 0.666667, 0.666667, 0.607492, 0.666667, 1, 0.666667)},
        id="F graded",
    ),
    pytest.param(
        {"q": {"a": -1, "b": 2, "c": 1}},
        {"q": {"a": 3.0, "b": 2.0, "c": 1.0}},
        3,
        1,
        {"q": values(0.5, 0.666667, 1, 0.669672, 0.583333, 1, 1)},
        id="G negative",
    ),
    # Zeros in trec_eval and ir_measures; for us undefined, as above.
    pytest.param(
        {"q": {"a": -1}},
        {"q": {"a": 3.0, "b": 2.0, "c": 1.0}},
        3,
        1,
        {"q": {**UNDEFINED, "judged": 0.333333}},
        id="G only negative",
    ),
    pytest.param(
        {"q": {"b": 1, "n": 0}},
        {"q": {"u": 3.0, "b": 2.0, "n": 1.0}},
        2,
        1,
        {"q": values(0.5, 0.5, 1, 0.63093, 0.5, 1, 0.5)},
        id="H unjudged",
    ),
    # ir_measures divides by zero in Judged@3; trec_eval's zeros are ours.
    pytest.param(
        {"q1": {"a": 1}, "q2": {"b": 1}},
        {"q1": {"a": 1.0}, "q2": {}},
        3,
        1,
        {"q1": PERFECT, "q2": NOTHING},
        id="I one empty ranking",
    ),
    # trec_eval says nothing at all; ir_measures zeros, Judged@3 too.
    pytest.param({"q1": {"a": 1}}, {}, 3, 1, {"q1": NOTHING}, id="I empty run"),
    pytest.param(
        {"q": {"a": 1, "b": 2, "c": 3}},
        {"q": {"a": 3.0, "b": 2.0, "x": 1.0}},
        3,
        2,
        {"q": values(0.5, 0.333333, 0.5, 0.474995, 0.25, 1, 0.666667)},
        id="L level 2",
    ),
    pytest.param(
        {"q": {"q": 1, "b": 1}},
        {"q": {"q": 3.0, "b": 2.0}},
        3,
        1,
        {"q": values(1, 0.666667, 1, 1, 1, 1, 1)},
        id="N qid==docid",
    ),
    pytest.param(
        {"q1": {"a": 1}, "q2": {"b": 1}},
        {"q2": {"b": 1.0, "x": 0.5}, "q1": {"a": 1.0, "y": 0.5}},
        3,
        1,
        {"q1": {**PERFECT, "judged": 0.5}, "q2": {**PERFECT, "judged": 0.5}},
        id="O dict order differs",
    ),
]


@pytest.mark.parametrize("qrels, run, k, level, expected", AGREEING)
def test_scores_per_query(qrels, run, k, level, expected):
    cut = {name: name if name in ("mrr", "mrr@k") else f"{name}@{k}" for name in MEASURES}
    cut["mrr@k"] = f"mrr@{k}"
    table = evaluate(Qrels(qrels, level), Run(run), list(cut.values()))
    for query_id, scores in expected.items():
        ours = {name: table[cut[name]][query_id] for name in MEASURES}
        assert ours == pytest.approx(scores, abs=5e-7, nan_ok=True)


# trec_eval and ir_measures drop the query without a word; a typo in an id then looks like a loss.
def test_run_query_missing_in_qrels():
    qrels, run = Qrels({"q1": {"a": 1}}), Run({"q1": {"a": 1.0}, "q2": {"b": 1.0}})
    with pytest.raises(QueryMismatchError, match="q2"):
        evaluate(qrels, run, ["recall@3"])
    table = evaluate(qrels, run, ["recall@3", "mrr"], unknown_queries="ignore")
    assert dict(table.mean()) == {"recall@3": 1.0, "mrr": 1.0}


# Both libraries raise a TypeError as well, but name neither the id nor the query.
def test_ids_that_are_numbers():
    with pytest.raises(InputError, match="query_id 1 is of type int"):
        Qrels({1: {10: 1}})
    with pytest.raises(InputError, match="doc_id 10 in query '1' is of type int"):
        Run({"1": {10: 1.0}})


# trec_eval puts NaN last; ir_measures' RR@k moves with insertion order (0.5 and 1.0 for these two).
@pytest.mark.parametrize(
    "scores", [{"a": 2.0, "b": NAN, "c": 1.0}, {"b": NAN, "a": 2.0, "c": 1.0}], ids=["K last", "K first"]
)
def test_nan_score_is_refused(scores):
    with pytest.raises(InputError, match=r"query 'q': scores that are no numbers: b \(nan\)"):
        Run({"q": scores})


# Both libraries refuse it as well; ranx truncates 0.5 to 0.
def test_grade_that_is_no_whole_number():
    with pytest.raises(InputError, match=r"grade 0\.5 of document 'a' in query 'q' is not a whole number"):
        Qrels({"q": {"a": 0.5, "b": 1}})
