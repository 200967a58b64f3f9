"""Gold sets as they were at another revision, taken out of git."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import tomllib
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import final

from pytest_retrieval.errors import SettingsError
from pytest_retrieval.files.content import POINTER
from pytest_retrieval.files.settings import read_settings

__all__ = ["Base", "base_of", "committed"]

GOLDSET = "goldset.toml"


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
    pins
        The folder of pins of that commit, copied too; None where pins stand in the gold sets.
    root
        The copy of the folder of the repository that was asked for.
    """

    revision: str
    commit: str
    folders: tuple[Path, ...]
    pins: Path | None = None
    root: Path | None = None


def base_of(
    root: Path,
    revision: str,
    into: Path,
    *,
    names: Container[str],
    today: Iterable[Path] = (),
    pins: Path | None = None,
) -> Base:
    """Copy the gold sets of the merge base of a revision and HEAD into a folder.

    Parameters
    ----------
    root
        A folder of the repository.
    revision
        A branch, tag or commit.
    into
        An empty folder.
    names
        Of the gold sets that are wanted.
    today
        Where they stand today; elsewhere a goldset.toml that cannot be read is none of theirs.
    pins
        Folder of pins that stand outside the gold sets.

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
    names_there = _git(root, option, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit).split("\0")
    paths = map(PurePosixPath, names_there)
    places = sorted(str(path.parent) for path in paths if path.name == GOLDSET)
    of_pins = "" if pins is None else _within(pins, top)
    has_pins = bool(of_pins) and any(name.startswith(f"{of_pins}/") for name in names_there)
    wanted = [*places, of_pins] if has_pins else places
    if wanted:
        archive = _bytes(top, option, "archive", "--format=tar", commit, "--", *wanted)
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(into, filter="data")
    same = {_within(folder, top) for folder in today}
    try:
        folders = _named([into / place for place in places], names, {into / place for place in same})
    except SettingsError as error:  # as git names a file there, not by a copy that is gone when this is read
        raise SettingsError(f"{option}: {str(error).replace(f'{into}{os.sep}', f'{commit[:10]}:')}") from None
    for folder in folders:
        _refuse_pointers(folder, into, option, commit)
    there = None if pins is None else into / (of_pins or "no pins")
    return Base(revision, commit, tuple(folders), there, into / _within(root, top))


def committed(path: Path, name: str = "") -> bytes | None:
    """Return a file of a gold set as the last commit that holds it has it.

    A commit that removes the file does not make it forgotten, nor does another name of its folder where the
    last commit has it in a folder that belonged to the gold set `name`. None where no commit holds it, as far
    as the history is here, or where there is no git.
    """
    root = next(folder for folder in path.absolute().parents if folder.is_dir())
    place = f"./{path.absolute().relative_to(root).as_posix()}"
    try:
        moved = _moved(root, path.name, name) if name else None
        if moved is not None:
            return moved
        done = _run(root, "show", f"HEAD:{place}")
        if done.returncode:
            last = _run(root, "log", "-1", "--format=%H", "--diff-filter=D", "--", place)
            removed = last.stdout.decode().strip()
            if last.returncode or not removed:
                return None
            done = _run(root, "show", f"{removed}^:{place}")
    except OSError:
        return None
    return None if done.returncode else done.stdout


def _moved(root: Path, file: str, name: str) -> bytes | None:
    """Return a file of the last commit that is gone today, from a folder that was the gold set's then."""
    gone = _run(root, "diff", "-z", "--name-only", "--no-renames", "--diff-filter=D", "HEAD")
    for place in map(PurePosixPath, gone.stdout.decode().split("\0") if not gone.returncode else ()):
        if place.name != file:
            continue
        toml = _run(root, "show", f"HEAD:{place.parent / GOLDSET}").stdout
        if name in (place.parent.name, _name_in(toml)):
            done = _run(root, "show", f"HEAD:{place}")
            return None if done.returncode else done.stdout
    return None


def _name_in(toml: bytes) -> object:
    """Return the name in a goldset.toml; None where it has none, or cannot be read."""
    try:
        return tomllib.loads(toml.decode("utf-8-sig")).get("name")
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        return None


def _within(path: Path, top: Path) -> str:
    """Return a path as git names it below the top folder, or an empty string where it is not below."""
    path, top = path.resolve(), top.resolve()
    return path.relative_to(top).as_posix() if path.is_relative_to(top) else ""


def _named(folders: Iterable[Path], names: Container[str], today: Container[Path]) -> list[Path]:
    """Return one folder for each name: today's place first, whatever else has that name."""
    found: dict[str, Path] = {}
    for folder in sorted(folders, key=lambda folder: (folder not in today, folder)):
        try:
            name = read_settings(folder).name
        except SettingsError:
            if folder in today:
                raise
            continue
        if name in names:
            found.setdefault(name, folder)
    return sorted(found.values())


def _refuse_pointers(folder: Path, into: Path, option: str, commit: str) -> None:
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            if file.read(len(POINTER)) == POINTER:
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
