"""Where a ledger lies, and which locations are refused.

SQLite is only as safe as the locks below it. "How To Corrupt An SQLite Database File" (sqlite.org, section 2.1) names
network file systems as the place where they fail: two jobs could both believe that they hold the budget. So a ledger is
refused there, in any journal mode, as far as the system says what holds it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.files import data_directory, sync_directory
from dpqr.tables.engines.address import is_address

MOUNTS = Path("/proc/self/mountinfo")
NETWORK = frozenset(
    """
    nfs nfs4 cifs smb smb2 smb3 smbfs ncpfs afs coda davfs davfs2 acfs webdav
    ceph glusterfs lustre beegfs gpfs pvfs2 orangefs gfs gfs2 ocfs2
    9p virtiofs vboxsf vmhgfs prl_fs fuse.vmhgfs-fuse fuse.grpcfuse fuse.osxfs fuse.portal
    fuse.sshfs fuse.rclone fuse.s3fs fuse.goofys fuse.mount-s3 fuse.gcsfuse fuse.blobfuse fuse.blobfuse2 fuse.juicefs
    fuse.glusterfs fuse.ceph fuse.davfs2 fuse.curlftpfs fuse.gvfsd-fuse fuse.mfs fuse.lizardfs fuse.seaweedfs
    """.split()  # noqa: SIM905  # a list of names reads best as one
)
"""Types whose files other machines, or a host and its guests, may change behind the local kernel's locks."""

_OCTAL = re.compile(r"\\([0-7]{3})")


def network_type(directory: Path, mounts: Path = MOUNTS) -> str | None:
    """The type of the network file system that holds `directory`; None: local, or unknown."""
    if str(directory).startswith("\\\\"):
        return "a network share"
    try:
        listed = mounts.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    found = mounted_type(os.path.realpath(directory), listed)
    return found if found in NETWORK else None


def mounted_type(directory: str, mountinfo: str) -> str | None:
    """Type of the innermost mount over an absolute path, from the text of mountinfo (proc(5)).

    A later mount hides an earlier one at the same place.
    """
    best, found = -1, None
    for line in mountinfo.splitlines():
        left, separator, right = line.partition(" - ")
        parts, kinds = left.split(" "), right.split(" ")
        if not separator or len(parts) < 5:
            continue
        point = _OCTAL.sub(lambda code: chr(int(code[1], 8)), parts[4])
        if (point == "/" or directory == point or directory.startswith(f"{point}/")) and len(point) >= best:
            best, found = len(point), kinds[0]
    return found


LEDGER = "DPQR_LEDGER"
ANCHOR = "DPQR_ANCHOR"
NO_ANCHOR = "none"
"""Value of --anchor and DPQR_ANCHOR for a command without the anchor."""
FILE = "ledger.sqlite"


def ledger_path(given: str | None, environment: Mapping[str, str] = os.environ) -> Path:
    """The path that was given, else the one in DPQR_LEDGER, else the user's own ledger."""
    named = _named(given, "--ledger") or _named(environment.get(LEDGER) or None, LEDGER)
    return named or data_directory(environment) / FILE


def anchor_path(given: str | None, environment: Mapping[str, str] = os.environ) -> Path | None:
    """The path that was given, else the one in DPQR_ANCHOR, else None: without an anchor."""
    stated = _stated_anchor(given, environment)
    return None if stated == NO_ANCHOR else _named(stated, ANCHOR if given is None else "--anchor")


def is_unanchored(given: str | None, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether an option or the environment says to do without an anchor."""
    return _stated_anchor(given, environment) == NO_ANCHOR


def ledger_origin(given: str | None, environment: Mapping[str, str] = os.environ) -> str | None:
    """What names a ledger, for messages: --ledger, DPQR_LEDGER, or DPQR_ANCHOR; None: nothing does.

    An anchor that is configured is that of a ledger, be it the user's own.
    """
    configured = (name for name in (LEDGER, ANCHOR) if environment.get(name))
    return "--ledger" if given is not None else next(configured, None)


def require_location(path: Path) -> bool:
    """Whether a ledger file is there. UsageFault for a path where none may be.

    Why the file itself is never opened here: on POSIX systems closing a file drops the locks that this process holds
    on it by another descriptor, SQLite's among them.
    """
    try:
        network = network_type(path.parent)
        if network:
            raise _fault(
                path,
                f"lies on a network file system ({network}), whose locks cannot be trusted; choose a path on a local "
                "disk",
            )
        status = os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _fault(path, f"cannot be looked at ({error.strerror}); choose another path") from None
    if stat.S_ISLNK(status.st_mode):
        raise _fault(path, "is a symbolic link; give the ledger's own path")
    if not stat.S_ISREG(status.st_mode):
        raise _fault(path, "is no regular file; give the path of a file on a local disk")
    # What SQLite opens beside the file: a named pipe there would keep every job waiting for ever.
    for ending in ("-journal", "-wal", "-shm"):
        beside = path.with_name(path.name + ending)
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(os.lstat(beside).st_mode):
                raise _fault(path, f"{beside.name!r} beside it is no regular file; remove that")
    if status.st_nlink > 1:
        raise _fault(path, "has a second name (a hard link), and two names make two journals; keep one name only")
    return True


def create(path: Path) -> None:
    """An empty file that only its owner can read. Directories are made for the user's own ledger, not for others."""
    try:
        if path.parent == data_directory():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o600))
        sync_directory(path.parent)
    except FileExistsError:
        require_location(path)
    except OSError as error:
        raise _fault(path, f"cannot be made ({error.strerror}); choose a writable directory that exists") from None


def _stated_anchor(given: str | None, environment: Mapping[str, str]) -> str | None:
    return given if given is not None else environment.get(ANCHOR) or None


def _named(text: str | None, origin: str) -> Path | None:
    if text is None:
        return None
    if is_address(text):
        raise UsageFault(f"{origin}: give the path of a file; an address is none, and may hold a password")
    if not text or "\0" in text or not os.path.basename(text):
        raise UsageFault(f"{origin} {text!r}: give the path of a file")
    return Path(os.path.abspath(text))


def _fault(path: Path, text: str) -> UsageFault:
    return UsageFault(f"--ledger {path}: {text}")
