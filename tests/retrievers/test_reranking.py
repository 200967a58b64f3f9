"""Re-ranking: only candidates, in the scorer's order, with the stages told apart."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_retrieval import BM25, Hybrid, InputError, Reranked, Run, rerank, retrieve

TEXTS = {"d1": "oak", "d2": "oak table", "d3": "table", "d4": "oak table with oak legs"}
QUERIES = {"q1": "oak table", "q2": "table"}
RUN = Run({"q1": ["d3", "d1", "d2", "d4"], "q2": ["d1", "d3"]}, "bm25")


def shared(pairs):
    return [len(set(query.split()) & set(text.split())) for query, text in pairs]


def test_the_candidates_stand_by_their_new_scores_equal_ones_by_id():
    result = rerank(RUN, shared, 3, queries=QUERIES, catalog=TEXTS)
    assert result.scored("q1") == (("d2", 2.0), ("d1", 1.0), ("d3", 1.0))
    assert result.scored("q2") == (("d3", 1.0), ("d1", 0.0))


def test_what_stands_below_the_depth_is_lost_at_this_stage_and_seen_before_it():
    result = rerank(RUN, shared, 2, queries=QUERIES, catalog=TEXTS, name="mine")
    assert "d4" not in result["q1"]
    assert list(result.stages) == ["bm25", "reranked"]
    assert "d4" in result.stages["bm25"]["q1"]
    assert result.stages["reranked"]["q1"] == result["q1"]
    assert result.name == "mine"


def test_stages_that_a_run_has_stay_before_the_new_one():
    run = Run({"q1": ["d1"]}, stages={"lexical": RUN, "fused": RUN})
    assert list(rerank(run, shared, 1, queries=QUERIES, catalog=TEXTS).stages) == [
        "lexical", "fused", "reranked",
    ]  # fmt: skip
    assert list(rerank(Run({"q1": ["d1"]}), shared, 1, queries=QUERIES, catalog=TEXTS).stages) == [
        "candidates", "reranked",
    ]  # fmt: skip


def test_pairs_are_query_and_text_of_the_fields_named():
    seen = []

    def scorer(pairs):
        seen.extend(pairs)
        return [0.0] * len(pairs)

    catalog = {"d1": {"name": "desk", "text": "oak"}, "d2": {"name": "rug", "text": "wool"}}
    rerank(Run({"q": ["d2", "d1"]}), scorer, 5, queries={"q": "oak"}, catalog=catalog, fields=["name"])
    assert seen == [("oak", "desk"), ("oak", "rug")]


class CrossEncoderLike:
    def predict(self, pairs):
        return np.array([[float(len(text))] for _, text in pairs], dtype=np.float32)


def test_an_object_with_predict_and_a_column_of_scores():
    result = rerank(RUN, CrossEncoderLike(), 4, queries=QUERIES, catalog=TEXTS)
    assert result["q1"] == ("d4", "d2", "d3", "d1")


def test_a_query_without_candidates_asks_nothing():
    def never(pairs):
        raise AssertionError("there is nothing to score")

    assert rerank(Run({"q1": []}), never, 3, queries=QUERIES, catalog=TEXTS)["q1"] == ()


@pytest.mark.parametrize(
    "scores, message",
    [
        ([1.0], r"the scorer returned \[1.0\] for 2 pairs of 'oak table'; allowed is one finite number"),
        ([1.0, float("nan")], "one finite number per pair"),
        ([[1.0, 2.0], [1.0, 2.0]], "one finite number per pair"),
    ],
)
def test_what_is_no_score_per_pair(scores, message):
    with pytest.raises(InputError, match=message):
        rerank(RUN, lambda pairs: scores, 2, queries=QUERIES, catalog=TEXTS)


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"depth": 0}, "depth is 0"),
        ({"scorer": 5}, "scorer is 5; allowed are"),
        ({"queries": {"q1": "oak"}}, "queries without a text: 'q2'"),
        ({"catalog": {"d1": "oak"}}, "documents that the catalog does not list: 'd3', 'd2'"),
    ],
)
def test_what_cannot_be_reranked(changed, message):
    arguments = {"scorer": shared, "depth": 3, "queries": QUERIES, "catalog": TEXTS} | changed
    with pytest.raises(InputError, match=message):
        rerank(RUN, **arguments)


# --- the retriever -----------------------------------------------------------------------------------------


def test_a_reranked_retriever_does_what_rerank_does():
    search = BM25(TEXTS)
    run = retrieve(Reranked(search, shared, 2, catalog=TEXTS), QUERIES, 10)
    before = retrieve(search, QUERIES, 10)
    expected = rerank(before, shared, 2, queries=QUERIES, catalog=TEXTS)
    assert {query: run.scored(query) for query in run} == {
        query: expected.scored(query) for query in expected
    }
    assert list(run.stages) == ["candidates", "reranked"]


def test_behind_a_hybrid_every_leg_stays_in_sight():
    search = Reranked(Hybrid({"lexical": BM25(TEXTS)}), shared, 2, catalog=TEXTS)
    assert list(search("oak table", 5)) == ["lexical", "fused", "reranked"]


def test_candidates_are_asked_for_to_the_depth_and_no_more_returned_than_wanted():
    asked = []

    def search(query, k):
        asked.append(k)
        return {"d1": 1.0, "d2": 2.0, "d3": 3.0}

    stages = Reranked(search, shared, 50, catalog=TEXTS)("oak table", 1)
    assert asked == [50]
    assert stages["reranked"] == [("d2", 2.0)]
    assert list(stages) == ["candidates", "reranked"]


def test_what_is_no_retriever():
    with pytest.raises(InputError, match="retriever is 5; allowed are"):
        Reranked(5, shared, 2, catalog=TEXTS)


def test_a_cross_encoder_of_sentence_transformers_can_be_the_scorer(tmp_path):
    """Weights drawn at random: what is shown is that the library's own class fits, not that it ranks well."""
    pytest.importorskip("sentence_transformers", reason="needs the extra semantic")
    from sentence_transformers import CrossEncoder
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "oak", "table", "with", "legs"]
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    import torch

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=8, num_labels=1,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(tmp_path)
    encoder = CrossEncoder(str(tmp_path), device="cpu")
    result = rerank(RUN, encoder, 4, queries=QUERIES, catalog=TEXTS)
    direct = encoder.predict([("oak table", TEXTS[doc_id]) for doc_id in sorted(TEXTS)])
    expected = dict(zip(sorted(TEXTS), map(float, direct), strict=True))
    assert dict(result.scored("q1")) == pytest.approx(expected, abs=1e-6)
    assert list(result["q1"]) == sorted(expected, key=lambda doc_id: (-expected[doc_id], doc_id))
