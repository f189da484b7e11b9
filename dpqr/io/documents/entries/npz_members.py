"""npz members: what the arrays of a .npz file declare, read before any of them is made."""

from __future__ import annotations

import math
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

from numpy.lib import format as npy

_END, _END_LENGTH, _LOCATOR_LENGTH = b"PK\x05\x06", 22, 20
_LARGE = b"PK\x06\x07"
_LONGEST_DIRECTORY = 2**16
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def npz_members(data: bytes) -> dict[str, int]:
    """Bytes of each array by its name.

    Errors: ValueError or zipfile's own for what is no .npz of plain arrays: a directory of thousands of members, arrays
    of objects, arrays that declare more bytes than their member holds.
    """
    end = data[-_END_LENGTH:]
    large = data[-_END_LENGTH - _LOCATOR_LENGTH :][: len(_LARGE)] == _LARGE
    if not end.startswith(_END) or large or int.from_bytes(end[12:16], "little") > _LONGEST_DIRECTORY:
        raise ValueError("no directory of a few members at its end")
    members = {}
    with ZipFile(BytesIO(data)) as archive:
        for info in archive.infolist():
            with archive.open(info) as member:
                read = _HEADERS.get(npy.read_magic(member))
                if read is None:
                    raise ValueError("an array of another version")
                shape, _, kind = read(member)
            if kind.hasobject or min(shape, default=0) < 0 or math.prod(shape) * kind.itemsize > info.file_size:
                raise ValueError("an array of objects, or of more bytes than there are")
            members[Path(info.filename).stem] = info.file_size
    return members
