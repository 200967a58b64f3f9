"""Names of splits: a misspelt one would put its questions under the gate, or out of it, without a word."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Mapping

from pytest_retrieval.errors import counted, listed

__all__ = ["misspelt", "misspelt_messages"]

_USUAL = ("train", "training", "test", "dev", "validation", "valid", "val", "eval")
_LIKE_USUAL = 0.7  # tset/test is 0.75 and testing/test 0.73; rest/train is 0.44
_LIKE_ANOTHER = 0.85  # holduot/holdout is 0.86; known/unknown and seen/unseen are below

_SHORTEST = 3  # a language such as "de" is not near "dev"


def misspelt(sizes: Mapping[str, int]) -> dict[str, str]:
    """Return the splits whose names look like slips, each with the name that was probably meant.

    That is a usual name, or the name of a larger split. Names that share a word, such as ``test_easy`` and
    ``test_hard``, and names that differ in numbers alone are no slips.

    Examples
    --------
    >>> misspelt({"train": 140, "Train": 2, "tset": 58, "train2": 9})
    {'Train': 'train', 'tset': 'test'}
    """
    places = {name: place for place, name in enumerate(sizes)}
    found = {}
    for name in sizes:
        if name in _USUAL:
            continue
        larger = [
            other for other in sizes if (-sizes[other], places[other]) < (-sizes[name], places[name])
        ]  # fmt: skip
        near = _near(name, _USUAL, _LIKE_USUAL) or _near(name, larger, _LIKE_ANOTHER)
        if near is not None:
            found[name] = near
    return found


def misspelt_messages(split_of: Mapping[str, str], meant: str) -> dict[str, str]:
    """Return a message for each misspelt split, by its first query.

    Parameters
    ----------
    split_of
        query_id → split, in the order of the file.
    meant
        What to do where the name is meant.
    """
    sizes = Counter(split_of.values())
    messages = {}
    for name, near in misspelt(sizes).items():
        members = [query_id for query_id, split in split_of.items() if split == name]
        count = counted(len(members), "query", "queries")
        messages[members[0]] = (
            f"split {name!r} ({count}: {listed(members, 3)}) looks like {near!r}; correct it, or, if it is"
            f" meant, {meant}"
        )
    return messages


def _near(name: str, others: list[str] | tuple[str, ...], likeness: float) -> str | None:
    folded = {other.casefold(): other for other in reversed(others) if other != name}
    if name.casefold() in folded:
        return folded[name.casefold()]
    if len(name) < _SHORTEST:
        return None
    words = _words(name)
    apart = [other for other in folded if words and _words(other) and not words & _words(other)]
    near = difflib.get_close_matches(name.casefold(), apart, n=1, cutoff=likeness)
    return folded[near[0]] if near else None


def _words(name: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]+", name.casefold()))
