"""File systems: which of them keep locks between all that may open a file, as far as the system tells.

SQLite is only as safe as the locks below it, and "How To Corrupt An SQLite Database File" (sqlite.org, section 2.1)
names network file systems as the place where they fail: two jobs could both be told that they hold the budget. So a
ledger does not live there, in any journal mode.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

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
    """The type of the network file system that holds `directory`; None: it is local, or the system does not tell."""
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
        if _within(directory, point) and len(point) >= best:
            best, found = len(point), kinds[0]
    return found


def _within(path: str, point: str) -> bool:
    return point == "/" or path == point or path.startswith(f"{point}/")
