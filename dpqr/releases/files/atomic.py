"""Outputs that appear on disk whole or not at all: a release directory, or a single file.

Both are written inside a hidden sibling of the target, synced, and renamed. A run that dies leaves at most that
sibling (`.NAME.MACHINE-PID-COUNT.draft`, of a file with random letters for the count); nobody takes it for a release,
and the next run to the same target on this machine removes it. What is finished and found its place taken is renamed
(`.finished`) and stays. A single file never takes another one's name.

A draft is a new directory of mode 0700, so no other user can put a link or a file of their own where a file will be
written. What is published has at most mode 0644 (files) and 0755 (directories), whatever the umask says.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from msgspec import Struct

from dpqr.kernel.errors import AlreadyThere, UsageFault
from dpqr.kernel.files import sync_directory
from dpqr.releases.files.formats import ENDINGS

STDOUT = "-"
"""What other programs call standard output; no release and no file is called so by mistake."""
LEFTOVERS = 1000
"""Siblings of killed runs that are passed over before the user is asked to clean up."""
FILE_MODE, DIRECTORY_MODE = 0o644, 0o755
"""The most that the umask leaves of the permissions of what is published."""
_ROOM_NAME = 100
"""Letters of a file's name in that of its draft: with what stands around them it stays a name."""
_BOOT, _PROCESSES = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
"""What tells this machine, since it was started, and its processes from all others; Linux has them."""
OWN_NAMES = re.compile(
    rf"(rehearsal-)?((answers|figures|views|cumulative)\.({ENDINGS})|synthetic\.parquet)|domain\.json|[0-9a-f]{{64}}\.\w+"
)
"""The names of a release's files beside its record: what it answers, and coefficients by their SHA-256."""


class ReleaseDirectory(Struct, frozen=True, kw_only=True):
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
            # Every file, and the entries of the directory, are brought to the disk.
            for file in draft.iterdir():
                _finish(file)
            draft.chmod(_permitted(DIRECTORY_MODE))
            sync_directory(draft)
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

    def _require_release(self) -> tuple[str, ...]:
        """The files of the release that is there. UsageFault where they are not, to the byte, what dpqr wrote: nothing
        else is removed. A record is a text that anybody can write, so what it lists must have names of dpqr's and its
        hashes must fit."""
        hashes = _listed_files(self.path)
        if hashes is None:
            raise self._fault("holds no dpqr release, and nothing else is replaced; choose another directory")
        names = sorted(os.listdir(self.path))
        foreign = [name for name in names if name not in hashes and name != RECORD]
        foreign += [name for name in hashes if not OWN_NAMES.fullmatch(name)]
        if foreign:
            raise self._fault(f"also holds {foreign[0]!r}, which is not part of the release; move it away first")
        for name in names:
            if name != RECORD and _hash_of_regular_file(self.path / name) != hashes[name]:
                raise self._fault(
                    f"holds {name!r} as its release did not write it, and is not replaced; move it away first"
                )
        return tuple(names)

    def require_writable(self) -> None:
        """UsageFault unless a sibling can be made there (made and removed at once)."""
        if not self.path.name:
            raise self._fault("is no name for a directory; give one, for example --out release")
        _remove_drafts(self.path, self.path.name)
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
                f"cannot be put in place ({_reason(error)}); the finished release is in {str(_kept(draft))!r}"
            ) from None

    def _replace(self, draft: Path) -> None:
        names, aside = self._require_release(), self._new_sibling("replaced")
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
        with suppress(OSError):  # what came into the older release meanwhile stays where it was moved
            for name in names:
                (older / name).unlink()
            older.rmdir()
            aside.rmdir()

    def _new_sibling(self, kind: str) -> Path:
        """A new, empty, hidden directory beside the target. The count passes over what killed runs have left."""
        for count in range(LEFTOVERS):
            sibling = self.path.with_name(f".{self.path.name}.{_job()}{count}.{kind}")
            try:
                sibling.mkdir(mode=0o700)
            except FileExistsError:
                continue
            except OSError as error:
                raise self._fault(_unwritable(self.path, error)) from None
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
    if given == STDOUT:
        raise UsageFault(f"--out {given}: a release is a directory of files; give its name, for example --out release")
    target = ReleaseDirectory(path=Path(os.path.abspath(given)), given=given, force=force)
    try:
        target.require_free()
    except OSError as error:
        raise UsageFault(f"--out {given}: cannot be looked at ({_reason(error)}); choose another directory") from None
    target.require_writable()
    return target


def _listed_files(directory: Path) -> dict[str, str] | None:
    """Hashes of the files that a release's record lists, by name; None where there is no such record."""
    if (directory / RECORD).is_symlink():
        return None
    try:
        document = read_record(directory)
        hashes = document["hashes"] if str(document["dpqr"]).startswith(RECORD_KIND) else None
        named = {str(name): str(digest) for name, digest in hashes.items()} if isinstance(hashes, dict) else {}
        return named if named and set(document["files"]) == set(named) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _hash_of_regular_file(path: Path) -> str | None:
    """SHA-256; None for a link, or anything else that is no regular file."""
    if not stat.S_ISREG(path.lstat().st_mode):
        return None
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _reason(error: OSError | UsageFault) -> str:
    return (error.strerror or "the system refused") if isinstance(error, OSError) else "it is not free any more"


def _job() -> str:
    """What the names of this job's drafts have in common."""
    return f"{_machine()}-{os.getpid()}-"


@cache
def _machine() -> str:
    """Eight letters for this machine, since it was started, and its processes; "0" where it cannot be told."""
    try:
        told = f"{_BOOT.read_text()}{os.readlink(_PROCESSES)}"
    except OSError:
        return "0"
    return hashlib.sha256(told.encode()).hexdigest()[:8]


def _remove_drafts(path: Path, name: str) -> None:
    """Remove the drafts of this name beside `path` whose jobs were killed on this machine; of another machine's jobs
    nobody here knows whether they live."""
    named = re.compile(rf"\.{re.escape(name)}\.{_machine()}-([0-9]{{1,9}})-\w+\.draft")
    if _machine() == "0":
        return
    with suppress(OSError), os.scandir(path.parent) as listed:
        for entry in listed:
            draft = named.fullmatch(entry.name)
            if draft and entry.is_dir(follow_symlinks=False) and not _lives(int(draft[1])):
                shutil.rmtree(entry.path, ignore_errors=True)


def _lives(job: int) -> bool:
    try:
        os.kill(job, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
        return True
    return True


def _kept(draft: Path) -> Path:
    """What is finished, under a name that nobody takes for a draft, where it can be renamed."""
    for count in range(LEFTOVERS):
        with suppress(OSError):  # where another one has the name, too
            return draft.rename(draft.with_suffix(f".{count}.finished"))
    return draft


def _unwritable(path: Path, error: OSError) -> str:
    return f"cannot be written in {str(path.parent)!r} ({_reason(error)}); create that directory or choose another"


def _permitted(mode: int) -> int:
    """What the umask leaves of a mode. Reading the umask sets it, for that moment to the strictest."""
    umask = os.umask(0o077)
    os.umask(umask)
    return mode & ~umask


def _finish(file: Path) -> None:
    """Bring a finished file to the disk, with the permissions of what is published."""
    descriptor = os.open(file, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, _permitted(FILE_MODE))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class SingleFile(Struct, frozen=True, kw_only=True):
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
        room = self._new_room()
        draft = room / self.path.name
        try:
            fill(draft)
            _finish(draft)
        except OSError as error:
            shutil.rmtree(room, ignore_errors=True)
            raise self._fault(f"cannot be written ({error.strerror}); choose a writable place") from None
        except BaseException:
            shutil.rmtree(room, ignore_errors=True)
            raise
        try:
            if self.force:
                draft.replace(self.path)
            else:
                os.link(draft, self.path)
            sync_directory(self.path.parent)
        except OSError as error:
            finished = _kept(room) / draft.name
            raise self._fault(f"cannot be put in place ({error.strerror}); the finished file is {finished}") from None
        shutil.rmtree(room, ignore_errors=True)

    def require_writable(self) -> None:
        """UsageFault unless a file can be made there (made and removed at once)."""
        _remove_drafts(self.path, self.path.name[:_ROOM_NAME])
        room = self._new_room()
        try:
            (room / self.path.name).touch(exist_ok=False)
        except OSError as error:
            raise self._fault(f"cannot be written ({error.strerror}); choose a writable place") from None
        finally:
            shutil.rmtree(room, ignore_errors=True)

    def _new_room(self) -> Path:
        """A new directory beside the target that this user alone may enter, of a name that nobody can foresee."""
        try:
            prefix = f".{self.path.name[:_ROOM_NAME]}.{_job()}"
            return Path(mkdtemp(prefix=prefix, suffix=".draft", dir=self.path.parent))
        except OSError as error:
            raise self._fault(_unwritable(self.path, error)) from None

    def _fault(self, text: str) -> UsageFault:
        return UsageFault(f"{self.option} {self.given}: {text}")


def reserve_file(given: str, *, force: bool = False, option: str = "--out") -> SingleFile:
    """A place for a new file. AlreadyThere where one exists (unless `force`); UsageFault where its directory cannot be
    written."""
    if not given or "\0" in given:
        raise UsageFault(f"{option}: give the name of a file, for example {option} predictions.csv")
    if given == STDOUT:
        raise UsageFault(
            f"{option} {given}: writes a file, not to standard output; give its name, or leave {option} out"
        )
    if os.path.isdir(given):
        raise UsageFault(f"{option} {given}: is a directory; give the name of a new file, in it or elsewhere")
    target = SingleFile(path=Path(os.path.abspath(given)), given=given, force=force, option=option)
    if os.path.lexists(target.path) and not force:
        raise AlreadyThere(f"{option} {given}: the file exists; choose another name or remove it")
    target.require_writable()
    return target


def write_text(path: Path, text: str) -> None:
    """Write a text as all of dpqr's are: UTF-8, with newlines as they stand."""
    path.write_text(text, encoding="utf-8", newline="\n")


# JSON documents of a run: their text, and release.json read again, which anybody may have written.

RECORD = "release.json"
"""The file that makes a directory a release; it lists the others."""
RECORD_KIND = "release/"
"""How the format that such a record states begins."""
LONGEST = 2**27
"""Bytes of a record that is read again; a larger one is taken for somebody else's."""
MOST_PARTS = 2**24
"""Lists, objects and their members: parsed, each takes up to a hundred times the room of its text."""


def read_record(directory: Path, name: str = RECORD) -> Any:
    """The JSON of a directory's record, or of the one called `name`.

    Raises: OSError where none can be read; ValueError for what no release has written.
    """
    path = directory / name
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > LONGEST:
        raise ValueError("no regular file of a record's size")
    data = path.read_bytes()
    if sum(map(data.count, (b"[", b"{", b":"))) > MOST_PARTS:
        raise ValueError("more parts than any record has")

    def members(pairs: list[tuple[str, Any]]) -> dict[str, object]:
        """ValueError for a key that stands twice: a reader would see one value, and a program the other."""
        if len(found := dict(pairs)) < len(pairs):
            raise ValueError("a key stands twice")
        return found

    try:
        found = json.loads(data, object_pairs_hook=members)
        # ValueError for NaN, for numbers beyond doubles and for halves of surrogate pairs: no reader could write them.
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except RecursionError:
        raise ValueError("nested deeper than any record is") from None
    return found


STEP = "  "
_PLAIN = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def document_text(document: Any) -> str:
    """Strict JSON (no NaN), indented, lists of plain values on one line, with a final newline.

    Equal documents give equal text.
    """
    return _laid_out(document, "") + "\n"


def _laid_out(value: Any, indent: str) -> str:
    nested = isinstance(value, dict) or (isinstance(value, list) and not {dict, list}.isdisjoint(map(type, value)))
    if not value or not nested:
        return _PLAIN.encode(value)
    deeper = indent + STEP
    if isinstance(value, dict):
        members = [f"{_PLAIN.encode(key)}: {_laid_out(part, deeper)}" for key, part in value.items()]
        opening, closing = "{", "}"
    else:
        members = [_laid_out(part, deeper) for part in value]
        opening, closing = "[", "]"
    body = f",\n{deeper}".join(members)
    return f"{opening}\n{deeper}{body}\n{indent}{closing}"
