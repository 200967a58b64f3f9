"""The recordings of a session: found by folder, read once, and held against today's search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, final

from pytest_retrieval.answers.planted import planted_items
from pytest_retrieval.answers.subjects import context_of, run_of, shown_then
from pytest_retrieval.answers.support import told_uncalibrated
from pytest_retrieval.errors import (
    InputError,
    RetrievalError,
    RetrieverError,
    Unavailable,
    listed,
    or_raise,
)
from pytest_retrieval.files.manifest import read_manifest
from pytest_retrieval.files.recording import load_recording
from pytest_retrieval.gate.staleness import Drift, drift_of
from pytest_retrieval.measures.answer import LABEL
from pytest_retrieval.model.goldset import GoldSet
from pytest_retrieval.model.records import ANSWERS, Recording
from pytest_retrieval.model.run import Run
from pytest_retrieval.plugin.running import lacking_of

if TYPE_CHECKING:
    from pytest_retrieval.measures.notation import Measure
    from pytest_retrieval.plugin.goldsets import GoldSets
    from pytest_retrieval.plugin.running import Retrievals

__all__ = ["Recorded", "Recordings", "drift_today"]


EMPTY = "(an empty search)"
"""The id under which an agent's empty search text is asked again, for an id is never empty."""


class Recorded(NamedTuple):
    """A subject that is part of a recording: which part, and its answers or traces as a run with replies."""

    recording: Recording
    context: str
    run: Run

    def refuse_uncalibrated(self, measures: Sequence[Measure]) -> None:
        """Refuse measures that read a label whose judge nobody calibrated.

        Raises
        ------
        InputError
            There is one; the message has the label's mean, as uncalibrated.
        """
        for measure in measures:
            label = measure.kind.name.removeprefix(LABEL)
            if measure.kind.name != label and label in self.recording.uncalibrated:
                raise InputError(told_uncalibrated(self.recording, label))


@final
class Recordings(Mapping[str, Recording]):
    """The value of the fixture `recordings`: name → recording, each read when somebody first asks for it.

    A recording is checked against its gold set where that is one of this session's.
    """

    def __init__(self, folders: Sequence[Path], goldsets: GoldSets) -> None:
        self._folders = list(folders)
        self._goldsets = goldsets
        self._read: dict[str, Recording | RetrievalError] = {}
        self._subjects: dict[tuple[str, str], Recorded] = {}
        self._drifts: dict[str, Drift] = {}

    def __getitem__(self, name: str) -> Recording:
        if name not in self._read:
            self._read[name] = self._outcome(name)
        return or_raise(self._read[name])

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({folder.name for folder in self._folders}))

    def __len__(self) -> int:
        return len({folder.name for folder in self._folders})

    def __contains__(self, name: object) -> bool:
        return any(folder.name == name for folder in self._folders)

    def folder(self, name: str) -> Path | None:
        """Return the folder of a recording, or None where there is none of that name."""
        return next((folder for folder in self._folders if folder.name == name), None)

    def add(self, folder: Path) -> None:
        """Take note of a recording that was made in this session; what was read of it before is forgotten."""
        if folder not in self._folders:
            self._folders.append(folder)
        self._read.pop(folder.name, None)
        for key in [key for key, known in self._subjects.items() if known.recording.name == folder.name]:
            del self._subjects[key]
            self._drifts.pop(key[1], None)

    def subject(self, goldset: GoldSet, name: str) -> Recorded | None:
        """Return what a subject's name means among the recordings of a gold set; None where it means a run.

        Raises
        ------
        RetrievalError
            The recording cannot be used, was made for another gold set, or has no such context.
        """
        key = (goldset.name, name)
        if key in self._subjects:
            return self._subjects[key]
        owners = [of for of in self if name == of or name.startswith(f"{of}.")]
        if not owners:
            return None
        recording = self[max(owners, key=len)]
        if recording.goldset != goldset.name:
            raise InputError(
                f"recording {recording.name} was made for the gold set {recording.goldset!r}, and"
                f" {goldset.name!r} declares the subject {name}; name a recording of its own"
            )
        context = context_of(recording, name)
        assert context is not None, "an owner's name begins the subject's"
        run = run_of(recording, context, planted_items(goldset.catalog))
        self._subjects[key] = Recorded(recording, context, run)
        return self._subjects[key]

    def drift(
        self,
        goldset: GoldSet,
        subject: str,
        retrievals: Retrievals,
        retrievers: Callable[[], Mapping[str, object]],
    ) -> Drift:
        """Return how far the contexts of a subject are from today's search; asked once per session.

        Raises
        ------
        RetrieverError
            The retriever that made them raised, or is not among those under test.
        """
        if subject not in self._drifts:
            recorded = self.subject(goldset, subject)
            assert recorded is not None, "only a recording can drift"
            self._drifts[subject] = drift_today(goldset, subject, recorded, retrievals, retrievers)
        return self._drifts[subject]

    def _outcome(self, name: str) -> Recording | RetrievalError:
        found = [folder for folder in self._folders if folder.name == name]
        if not found:
            raise KeyError(f"no recording is named {name!r}; there are {listed(self) or 'none'}")
        if len(found) > 1:
            return InputError(
                f"two recordings are named {name!r}: {listed(found)}; a name identifies a recording, so"
                " rename one of the folders"
            )
        try:
            made_for = read_manifest(found[0])["goldset"]
            known = made_for in self._goldsets.folders
            return load_recording(found[0], self._goldsets.get(made_for) if known else None)
        except RetrievalError as error:
            return error


def drift_today(
    goldset: GoldSet,
    subject: str,
    recorded: Recorded,
    retrievals: Retrievals,
    retrievers: Callable[[], Mapping[str, object]],
) -> Drift:
    """Retrieve every recorded context or search again, and return how far that is from what was recorded.

    `retrievers` returns what is under test; it is asked only where there is something to retrieve.

    Raises
    ------
    RetrieverError
        The retriever that made them raised, or is not among those under test.
    """
    recording, context = recorded.recording, recorded.context
    declared = recording.contexts.get(context)
    if declared is None or declared.subject is None:
        return Drift(subject, unchecked="the manifest names no retriever for them")
    retriever = declared.subject
    k = declared.k or recording.manifest.get("results_shown")
    assert isinstance(k, int), "the manifest was checked"
    lacking = lacking_of(goldset, retriever)
    if lacking:
        return Drift(subject, unchecked=f"{retriever} requires {listed(lacking)}, not installed here")
    then = shown_then(recording, context)
    by_id = recording.kind == ANSWERS
    texts = {key: goldset.text_of(asked) if by_id else asked for key, (asked, _) in then.items()}
    asked_as = {text: text or EMPTY for text in texts.values()}
    queries = {asked_as[text]: text for text in texts.values()}
    if not queries:
        return Drift(subject, unchecked="it holds no search")
    try:
        known = retrievers()
        if retriever not in known:
            raise RetrieverError(
                f"recording {recording.name} was made with the retriever {retriever!r}, and the fixture"
                f" `retrievers` has no such name; it has {listed(known) or 'none'}"
            )
        run = retrievals.ask(goldset, retriever, known, queries, k, purpose=recording.name)
    except Unavailable as unavailable:
        return Drift(subject, unchecked=f"{retriever} is unavailable: {unavailable.reason}")
    now = {key: run[asked_as[text]] for key, text in texts.items()}
    return drift_of(subject, retriever, {key: documents for key, (_, documents) in then.items()}, now)
