"""BM25, semantic and hybrid search, scored per stratum on six collections; the tables of docs/results.md.

``python benchmarks/retrievers.py --model FOLDER --cache FOLDER`` prints Markdown. The gold sets of this
repository are always there; the other collections are read from the folder that PYTEST_RETRIEVAL_DATA names,
and left out by name where they are not in it. Embedding all of them takes about 20 minutes on two cores; with
a cache that is paid once.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import Stemmer
from tabulate import tabulate

from pytest_retrieval import (
    BM25,
    Qrels,
    Run,
    Semantic,
    depth_curve,
    evaluate,
    fuse,
    fusion_sweep,
    load_goldset,
    load_qrels,
    retrieve,
    unit_sweep,
    units_of,
)
from pytest_retrieval.retrievers.texts import texts_of

GOLDSETS = Path(__file__).parent.parent / "goldsets"
DEPTH = 100
CHUNK = 1200
"""Characters of a chunk, the cut of the example in the README of chunking_evaluation."""


@dataclass(frozen=True)
class Collection:
    """One collection: what is searched, asked and known."""

    name: str
    texts: Mapping[str, str]
    queries: Mapping[str, str]
    qrels: Qrels
    measures: tuple[str, ...]
    notes: tuple[str, ...] = ()
    also: Callable[[Mapping[str, Run]], str] | None = field(default=None)


def opened(path: Path) -> Any:
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    with opened(path) as lines:
        yield from map(json.loads, lines)


def by_words(text: str) -> str:
    """Stratum of a question by its length, for collections without kinds of questions."""
    count = len(text.split())
    return "1 word" if count == 1 else "2 words" if count == 2 else "3 words or more"


def goldset(name: str) -> Callable[[Path], Collection]:
    def read(_: Path) -> Collection:
        found = load_goldset(GOLDSETS / name)
        ids = found.gated_queries
        texts = texts_of(found.catalog)
        return Collection(
            name,
            texts,
            {query_id: found.text_of(query_id) for query_id in ids},
            found.qrels.select(ids),
            ("recall@5", "mrr@10", "ndcg@10", "judged@5"),
            (f"{len(ids)} questions of the train split, {len(texts):,} documents.",),
        )

    return read


def cranfield(data: Path) -> Collection:
    folder = data / "cranfield"
    texts = {line["_id"]: line["text"] for line in lines_of(folder / "docs.jsonl.gz")}
    queries = {line["_id"]: line["text"] for line in lines_of(folder / "queries.jsonl")}
    qrels = load_qrels(folder / "qrels.binary.trec.txt", 1)
    strata = {
        query_id: "up to 15 words" if len(text.split()) <= 15 else "more words"
        for query_id, text in queries.items()
    }
    return Collection(
        "cranfield",
        texts,
        queries,
        with_strata(qrels, strata),
        ("recall@10", "ndcg@10", "ap@100", "mrr@10", "precision@10"),
        (f"{len(queries)} questions, {len(texts):,} abstracts, binary judgments; strata by length.",),
    )


def chorus(data: Path) -> Collection:
    folder = data / "chorus_icecat"
    texts = {line["id"]: line["title"] for line in lines_of(folder / "catalog.jsonl.gz")}
    qrels = load_qrels(folder / "qrels.txt", 2)
    queries = {query_id: query_id.replace("_", " ") for query_id in qrels.query_ids}
    strata = {query_id: by_words(text) for query_id, text in queries.items()}
    return Collection(
        "chorus_icecat",
        texts,
        queries,
        with_strata(qrels, strata),
        ("recall@10", "ndcg@10", "mrr@10", "judged@10"),
        (
            f"{len(queries)} questions of a shop, {len(texts):,} products, grades 0 to 3, relevant from 2;"
            " strata by length. Searched and embedded are titles only, a declared cut.",
        ),
    )


def cookbook(data: Path) -> Collection:
    folder = data / "anthropic_cookbook_rag"
    with opened(folder / "anthropic_docs.json.gz") as file:
        texts = {
            chunk["chunk_link"]: f"{chunk['chunk_heading']}\n{chunk['text']}" for chunk in json.load(file)
        }
    with opened(folder / "docs_evaluation_dataset.json.gz") as file:
        rows = json.load(file)
    qrels = Qrels({row["id"]: row["correct_chunks"] for row in rows})
    strata = {
        row["id"]: "one chunk" if len(set(row["correct_chunks"])) == 1 else "several chunks" for row in rows
    }
    return Collection(
        "anthropic_cookbook_rag",
        texts,
        {row["id"]: row["question"] for row in rows},
        with_strata(qrels, strata),
        ("precision@3", "recall@3", "mrr@3"),
        (f"{len(rows)} questions, {len(texts)} chunks of documentation; strata by the chunks that answer.",),
    )


def chunks(data: Path) -> Collection:
    folder = data / "chunking_evaluation"
    with (folder / "questions_df.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts, places = {}, {}
    for name in sorted({row["corpus_id"] for row in rows}):
        with gzip.open(folder / "corpora" / f"{name}.md.gz", "rt", encoding="utf-8", newline="") as file:
            corpus = file.read()
        for start in range(0, len(corpus), CHUNK):
            doc_id = f"{name}:{start:07d}"
            texts[doc_id] = corpus[start : start + CHUNK]
            places[doc_id] = (name, start, min(start + CHUNK, len(corpus)))
    spans = {
        f"q{number:03d}": [
            (row["corpus_id"], int(part["start_index"]), int(part["end_index"]))
            for part in json.loads(row["references"])
        ]
        for number, row in enumerate(rows, start=1)
    }
    by_corpus: dict[str, list[str]] = {}
    for doc_id, (name, _, _) in places.items():
        by_corpus.setdefault(name, []).append(doc_id)
    gold = {
        query_id: sorted(
            {
                doc_id
                for name, start, end in parts
                for doc_id in by_corpus[name]
                if places[doc_id][1] < end and start < places[doc_id][2]
            }
        )
        for query_id, parts in spans.items()
    }
    qrels = Qrels(gold, strata={f"q{n:03d}": row["corpus_id"] for n, row in enumerate(rows, start=1)})

    def covered(runs: Mapping[str, Run]) -> str:
        table = [
            [
                name,
                mean(share(spans[q], [places[doc] for doc in run[q][:5]]) for q in spans),
                mean(share(spans[q], [places[doc] for doc in run[q][: len(gold[q])]]) for q in spans),
            ]
            for name, run in runs.items()
        ]
        return markdown(table, ["share of gold characters", "in the first 5", "in as many as hold gold"])

    return Collection(
        "chunking_evaluation",
        texts,
        {f"q{n:03d}": row["question"] for n, row in enumerate(rows, start=1)},
        qrels,
        ("recall@5", "ndcg@10", "mrr@10"),
        (
            f"{len(rows)} questions over five corpora cut every {CHUNK:,} characters ({len(texts):,} chunks);"
            " a chunk is relevant where it overlaps a gold passage; strata are the corpora.",
        ),
        covered,
    )


def share(spans: list[tuple[str, int, int]], found: list[tuple[str, int, int]]) -> float:
    """Share of the characters of some spans that disjoint chunks cover."""
    total = sum(end - start for _, start, end in spans)
    hit = sum(
        max(0, min(end, until) - max(start, since))
        for name, start, end in spans
        for corpus, since, until in found
        if name == corpus
    )
    return hit / total


def mean(values: Iterator[float]) -> float:
    numbers = list(values)
    return sum(numbers) / len(numbers)


def with_strata(qrels: Qrels, strata: Mapping[str, str]) -> Qrels:
    return Qrels(
        {query_id: qrels[query_id] for query_id in qrels.query_ids}, qrels.relevance_level, strata=strata
    )


COLLECTIONS: Mapping[str, Callable[[Path], Collection]] = {
    "furniture": goldset("furniture"),
    "helpdesk": goldset("helpdesk"),
    "cranfield": cranfield,
    "chorus_icecat": chorus,
    "anthropic_cookbook_rag": cookbook,
    "chunking_evaluation": chunks,
}


def runs_of(collection: Collection, model: object, cache: str | None) -> dict[str, Run]:
    """Ask all systems; what is not embedded is asked in seconds."""
    stem = Stemmer.Stemmer("english").stemWord
    systems = {"BM25": BM25(collection.texts), "BM25, stems": BM25(collection.texts, stemmer=stem)}
    if model is not None:
        systems["semantic"] = Semantic(collection.texts, model=model, cache=cache)
    runs = {name: retrieve(system, collection.queries, DEPTH, name=name) for name, system in systems.items()}
    if model is not None:
        runs["hybrid"] = fuse({"BM25": runs["BM25"], "semantic": runs["semantic"]}, name="hybrid")
    return runs


def report(collection: Collection, runs: Mapping[str, Run]) -> str:
    """One table: a row per stratum and system, a column per measure."""
    rows = []
    tables = {name: evaluate(collection.qrels, run, collection.measures) for name, run in runs.items()}
    strata = [*next(iter(tables.values())).by_stratum(), "all"]
    for stratum in strata:
        for name, table in tables.items():
            means = table.mean() if stratum == "all" else table.by_stratum()[stratum]
            members = [s == stratum or stratum == "all" for s in table.strata or ()]
            count = int((table.values[members][:, 0] == table.values[members][:, 0]).sum())
            rows.append([stratum, count, name, *(means[measure] for measure in collection.measures)])
    text = [f"### {collection.name}", *collection.notes]
    text.append(markdown(rows, ["stratum", "n", "system", *collection.measures]))
    if collection.also is not None:
        text.append(collection.also(runs))
    return "\n\n".join(text)


def tuning(model: object, cache: str | None) -> str:
    """Candidate depth, fusion constant and unit, on the train split of the furniture shop."""
    shop = load_goldset(GOLDSETS / "furniture")
    queries = {query_id: shop.text_of(query_id) for query_id in shop.gated_queries}
    depth = 500
    runs = {"BM25": retrieve(BM25(shop.catalog), queries, depth, name="BM25")}
    sweeps = [("BM25", depth_curve(shop.qrels, runs["BM25"]))]
    if model is not None:
        semantic = Semantic(shop.catalog, model=model, cache=cache)
        runs["semantic"] = retrieve(semantic, queries, depth, name="semantic")
        sweeps.append(("hybrid", depth_curve(shop.qrels, fuse(runs))))
        sweeps.append(("hybrid", fusion_sweep(shop.qrels, runs)))
    fields = ["name", "class", "category", "description"]
    units = {
        "whole item": units_of(shop.catalog, fields),
        "name": units_of(shop.catalog, ["name"]),
        "description": units_of(shop.catalog, ["description"]),
        "sentences": units_of(shop.catalog, ["description"], split="description"),
        "sentences, other fields": units_of(shop.catalog, fields, split="description"),
    }
    sweeps.append(("BM25", unit_sweep(shop.qrels, queries, units)))
    return "\n\n".join(f"```text\n{system}: {sweep}\n```" for system, sweep in sweeps)


def markdown(rows: list[list[Any]], headers: list[str]) -> str:
    shown = [[f"{value:.3f}" if isinstance(value, float) else value for value in row] for row in rows]
    shown = [["n/a" if value == "nan" else value for value in row] for row in shown]
    return tabulate(shown, headers=headers, tablefmt="pipe", disable_numparse=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", help="sentence-transformers model; without it BM25 only")
    parser.add_argument("--cache", help="folder for embeddings")
    parser.add_argument("--tuning", action="store_true", help="the sweeps over the furniture shop instead")
    parser.add_argument("names", nargs="*", help="collections; all by default")
    options = parser.parse_args()
    unknown = set(options.names) - set(COLLECTIONS)
    if unknown:
        parser.error(f"no collection {', '.join(sorted(unknown))}; there are {', '.join(COLLECTIONS)}")
    model = None
    if options.model:
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(options.model, device="cpu")
    if options.tuning:
        print(tuning(model, options.cache))
        return
    data = Path(os.environ.get("PYTEST_RETRIEVAL_DATA", "nowhere"))
    for name in options.names or COLLECTIONS:
        if not (GOLDSETS / name).exists() and not (data / name).exists():
            print(f"{name}: not in the folder that PYTEST_RETRIEVAL_DATA names, left out", file=sys.stderr)
            continue
        collection = COLLECTIONS[name](data)
        print(report(collection, runs_of(collection, model, options.cache)), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
