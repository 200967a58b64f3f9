"""What a follow-up question is searched with: its last turn, the whole conversation, or a rewrite.

Prints recall@5, mrr@10 and recall@50 of BM25 on the slice `follow_up` of the gold set helpdesk, whose
questions carry the turns before them in `history`:

    python benchmarks/follow_up.py
"""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path

from pytest_retrieval import BM25, evaluate, load_goldset, retrieve

HELPDESK = Path(__file__).parents[1] / "goldsets" / "helpdesk"
MEASURES = ["recall@5", "mrr@10", "recall@50"]
RARE = 4
"""Words of earlier turns that the rewrite takes over."""


def words(text):
    return re.findall(r"[\w-]+", text.lower())


def rewriter(texts):
    """Return a rewrite without a model: the last turn, and the rarest words of the turns before it."""
    holders = Counter(word for text in texts for word in set(words(text)))

    def rewrite(turns):
        *earlier, last = turns
        told = set(words(last))
        before = [word for turn in earlier for word in words(turn) if word in holders and word not in told]
        rarest = sorted(dict.fromkeys(before), key=lambda word: -math.log(len(texts) / holders[word]))
        return " ".join([last, *rarest[:RARE]])

    return rewrite


def main():
    goldset = load_goldset(HELPDESK)
    relevant = goldset.qrels.relevant
    members = [q for q in goldset.gated_queries if "follow_up" in goldset.qrels.slices[q] and relevant(q)]
    texts = [f"{item.title} {item.text}" for item in goldset.catalog.itertuples()]
    turns = {q: [*goldset.queries.at[q, "history"], goldset.text_of(q)] for q in members}
    rewrite = rewriter(texts)
    stages = {
        "last turn alone": {q: of_query[-1] for q, of_query in turns.items()},
        "whole conversation": {q: " ".join(of_query) for q, of_query in turns.items()},
        "rewrite": {q: rewrite(of_query) for q, of_query in turns.items()},
    }
    search = BM25(goldset.catalog, ["title", "text"], token_pattern=r"[\w-]+")
    qrels = goldset.qrels.select(members)
    print(f"{len(members)} follow-up questions of helpdesk (train split), BM25 over title and text")
    print(f"{'searched with':20}", *(f"{name:>10}" for name in MEASURES))
    for name, asked in stages.items():
        means = evaluate(qrels, retrieve(search, asked, 50, name=name), MEASURES).mean()
        print(f"{name:20}", *(f"{means[measure]:10.3f}" for measure in MEASURES))


if __name__ == "__main__":
    main()
