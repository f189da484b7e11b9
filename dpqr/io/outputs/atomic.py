"""Outputs that appear on disk whole or not at all: a release directory, or a single file.

A directory is written as a hidden sibling of the target, synced, and renamed. A run that dies leaves at most that
sibling, named `.NAME.PID-COUNT.draft`; nobody takes it for a release. A single file never takes another one's name.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dpqr.errors import AlreadyThere, UsageFault
from dpqr.io.directories import sync_directory
from dpqr.io.outputs.records.record import RECORD, RECORD_KIND, read_record

LEFTOVERS = 1000
"""Siblings of killed runs that are passed over before the user is asked to clean up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseDirectory:
    """A place that was found fit for a release, before anything private was opened.

    path: absolute; given: as the user wrote it, for messages. force: whether an older release there gives way.
    """

    path: Path
    given: str
    force: bool = False

    @contextmanager
    def filled(self) -> Iterator[Path]:
        """A directory to write into; it becomes the release when the block ends without an error.

        Raises: UsageFault if anything cannot be written. The budget is spent by then, so a release that is complete
        and finds its place taken meanwhile stays beside it, and the message names it.
        """
        with self._tidied() as draft:
            yield draft
            _sync(draft)
        self._publish(draft)

    @contextmanager
    def _tidied(self) -> Iterator[Path]:
        """A new draft, removed again if the block fails."""
        draft = self._new_sibling("draft")
        try:
            yield draft
        except OSError as error:
            shutil.rmtree(draft, ignore_errors=True)
            raise self._fault(f"cannot be written ({_reason(error)}); choose a writable place") from None
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise

    def require_free(self) -> None:
        """AlreadyThere for a path that is taken; UsageFault for one that can hold no release, or none to replace."""
        if self.path.is_symlink():
            raise self._fault("is a symbolic link; give the directory's own path")
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise self._fault("is no directory; choose another path")
        if not self.force:
            raise AlreadyThere(
                f"--out {self.given}: exists; choose another directory, or add --if-exists replace or skip, for a "
                "release there"
            )
        self._require_release()

    def _require_release(self) -> None:
        """Removed is what dpqr wrote and nothing else."""
        listed = _listed_files(self.path)
        if listed is None:
            raise self._fault("holds no dpqr release, and nothing else is replaced; choose another directory")
        foreign = sorted(set(os.listdir(self.path)) - listed - {RECORD})
        if foreign:
            raise self._fault(f"also holds {foreign[0]!r}, which is not part of the release; move it away first")

    def require_writable(self) -> None:
        """UsageFault unless a sibling can be made there (made and removed at once)."""
        if not self.path.name:
            raise self._fault("is no name for a directory; give one, for example --out release")
        self._new_sibling("draft").rmdir()

    def _publish(self, draft: Path) -> None:
        """Rename. An older release is moved aside first and removed last, so one of the two is always whole."""
        try:
            self.require_free()
            if self.path.exists():
                self._replace(draft)
            else:
                draft.rename(self.path)
                sync_directory(self.path.parent)
        except (OSError, UsageFault) as error:
            raise self._fault(
                f"cannot be put in place ({_reason(error)}); the finished release is in {str(draft)!r}"
            ) from None

    def _replace(self, draft: Path) -> None:
        aside = self._new_sibling("replaced")
        older = aside / self.path.name
        try:
            self.path.rename(older)
            draft.rename(self.path)
        except OSError:
            if older.exists():
                older.rename(self.path)
            aside.rmdir()
            raise
        sync_directory(self.path.parent)
        shutil.rmtree(aside, ignore_errors=True)

    def _new_sibling(self, kind: str) -> Path:
        """A new, empty, hidden directory beside the target. The count passes over what killed runs have left."""
        for count in range(LEFTOVERS):
            sibling = self.path.with_name(f".{self.path.name}.{os.getpid()}-{count}.{kind}")
            try:
                sibling.mkdir()
            except FileExistsError:
                continue
            except OSError as error:
                raise self._fault(
                    f"cannot be written in {str(self.path.parent)!r} ({_reason(error)}); create that directory or "
                    "choose another"
                ) from None
            return sibling
        raise self._fault(f"too many leftovers of killed runs beside it (.{self.path.name}.*); remove them")

    def _fault(self, text: str) -> UsageFault:
        return UsageFault(f"--out {self.given}: {text}")


def reserve(given: str, *, force: bool = False) -> ReleaseDirectory:
    """A place for a release, checked before private data is opened.

    Raises: AlreadyThere for a target that exists (unless `force`); UsageFault for one that is no release, a symbolic
    link, or a parent that is missing or cannot be written.
    """
    if not given or "\0" in given:
        raise UsageFault("--out: give the name of a directory, for example --out release")
    target = ReleaseDirectory(path=Path(os.path.abspath(given)), given=given, force=force)
    try:
        target.require_free()
    except OSError as error:
        raise UsageFault(f"--out {given}: cannot be looked at ({_reason(error)}); choose another directory") from None
    target.require_writable()
    return target


def _listed_files(directory: Path) -> set[str] | None:
    """Names of the files that a release's record lists; None where there is no such record."""
    if (directory / RECORD).is_symlink():
        return None
    try:
        document = read_record(directory)
        files = document["files"] if str(document["dpqr"]).startswith(RECORD_KIND) else None
        return {str(name) for name in files} if isinstance(files, list) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _reason(error: OSError | UsageFault) -> str:
    return (error.strerror or "the system refused") if isinstance(error, OSError) else "it is not free any more"


def _sync(directory: Path) -> None:
    """Bring every file of a flat directory, and its entries, to the disk."""
    for file in directory.iterdir():
        with file.open("rb+") as opened:
            os.fsync(opened.fileno())
    sync_directory(directory)


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleFile:
    """A free path, checked before anything private was opened. given: as the user wrote it, for messages.

    force: whether a file there gives way. option: that names it.
    """

    path: Path
    given: str
    force: bool = False
    option: str = "--out"

    def write(self, fill: Callable[[Path], None]) -> None:
        """Let `fill` write a new file, bring it to the disk and give it its name.

        Raises: UsageFault. The budget is spent by then, so a file that is complete and finds its name taken stays
        beside it, and the message says where.
        """
        draft = self._draft_path()
        try:
            fill(draft)
            with draft.open("rb+") as opened:
                os.fsync(opened.fileno())
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise self._fault(f"cannot be written ({error.strerror}); choose a writable place") from None
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        try:
            if self.force:
                draft.replace(self.path)
            else:
                os.link(draft, self.path)
        except OSError as error:
            raise self._fault(f"cannot be put in place ({error.strerror}); the finished file is {draft}") from None
        draft.unlink(missing_ok=True)

    def require_writable(self) -> None:
        """UsageFault unless a file can be made there (made and removed at once)."""
        draft = self._draft_path()
        try:
            draft.touch(exist_ok=False)
            draft.unlink()
        except OSError as error:
            raise self._fault(f"cannot be written ({error.strerror}); choose a writable place") from None

    def _draft_path(self) -> Path:
        return self.path.with_name(f".{os.getpid()}-{self.path.name}")

    def _fault(self, text: str) -> UsageFault:
        return UsageFault(f"{self.option} {self.given}: {text}")


def reserve_file(given: str, *, force: bool = False, option: str = "--out") -> SingleFile:
    """A place for a new file. AlreadyThere where one exists (unless `force`); UsageFault where its directory cannot be
    written."""
    if not given or "\0" in given or not Path(given).name:
        raise UsageFault(f"{option}: give the name of a file, for example {option} predictions.csv")
    target = SingleFile(path=Path(os.path.abspath(given)), given=given, force=force, option=option)
    if os.path.lexists(target.path) and not force:
        raise AlreadyThere(f"{option} {given}: the file exists; choose another name or remove it")
    target.require_writable()
    return target
