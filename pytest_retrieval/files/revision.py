"""Gold sets as they were at another revision, taken out of git."""

from __future__ import annotations

import io
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import final

from pytest_retrieval.errors import SettingsError

__all__ = ["Base", "base_of"]

GOLDSET = "goldset.toml"
_POINTER = b"version https://git-lfs.github.com/spec/"


@final
@dataclass(frozen=True, slots=True)
class Base:
    """What a branch is held against.

    Attributes
    ----------
    revision
        As the user named it.
    commit
        The merge base of that revision and HEAD.
    folders
        The gold sets of that commit, copied out of git.
    """

    revision: str
    commit: str
    folders: tuple[Path, ...]


def base_of(root: Path, revision: str, into: Path) -> Base:
    """Copy every gold set of the merge base of a revision and HEAD into a folder.

    Parameters
    ----------
    root
        A folder of the repository.
    revision
        A branch, tag or commit.
    into
        An empty folder.

    Raises
    ------
    SettingsError
        There is no git or no repository, the revision is not known here, or a gold set is a Git LFS pointer.
    """
    option = f"--retrieval-against={revision}"
    top = Path(_git(root, option, "rev-parse", "--show-toplevel").strip())
    if _fails(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"):
        raise SettingsError(
            f"{option}: git does not know this revision here. {_shallow(root)}Fetch it, or name one that"
            " `git branch -a` lists"
        )
    if _fails(root, "merge-base", revision, "HEAD"):
        raise SettingsError(
            f"{option}: git finds no commit that {revision} and HEAD have in common. {_shallow(root)}Fetch"
            " the history in between"
        )
    commit = _git(root, option, "merge-base", revision, "HEAD").strip()
    names = _git(root, option, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit).split("\0")
    paths = map(PurePosixPath, names)
    places = sorted(str(path.parent) for path in paths if path.name == GOLDSET)
    if places:
        archive = _bytes(top, option, "archive", "--format=tar", commit, "--", *places)
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(into, filter="data")
    folders = tuple(into / place for place in places)
    for folder in folders:
        _refuse_pointers(folder, into, option, commit)
    return Base(revision, commit, folders)


def _refuse_pointers(folder: Path, into: Path, option: str, commit: str) -> None:
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            if file.read(len(_POINTER)) == _POINTER:
                raise SettingsError(
                    f"{option}: {path.relative_to(into)} at {commit[:12]} is a Git LFS pointer, not the file;"
                    " keep what is gated out of LFS"
                )


def _shallow(root: Path) -> str:
    if _run(root, "rev-parse", "--is-shallow-repository").stdout.strip() != b"true":
        return ""
    return "This is a shallow clone: fetch more history (fetch-depth: 0, or git fetch --unshallow). "


def _run(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False)


def _fails(root: Path, *arguments: str) -> bool:
    return _run(root, *arguments).returncode != 0


def _bytes(root: Path, option: str, *arguments: str) -> bytes:
    try:
        done = _run(root, *arguments)
    except FileNotFoundError as error:
        raise SettingsError(f"{option} needs git, which is not installed here") from error
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip()
        raise SettingsError(f"{option}: git {arguments[0]} failed in {root}: {told}")
    return done.stdout


def _git(root: Path, option: str, *arguments: str) -> str:
    return _bytes(root, option, *arguments).decode(errors="replace")
