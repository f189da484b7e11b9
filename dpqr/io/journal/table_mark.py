"""Table mark: by what a run that is continued knows that the table is the one it was begun with."""

from __future__ import annotations

import hashlib
import hmac
import os

from dpqr.errors import DataError
from dpqr.io.engines.known import local_files
from dpqr.io.ledger.entry_codec import canonical
from dpqr.io.tables.source import TableSource

CHUNK = 2**20
"""Bytes of a table that are read at a time."""


def table_mark(source: TableSource, key: bytes) -> str | None:
    """HMAC-SHA256 of the table's files, or of its content in memory, and of how they are read, under a key that never
    leaves the ledger.

    Of an engine's files the names count too, for parts of a path may be columns there. None for standard input, streams
    and what no local files hold, which cannot be read twice. Raises: DataError.

    **Privacy.** A plain digest would let anybody who guesses the table in full test the guess. Under a random key
    that nobody else has, the mark is indistinguishable from random bits, whatever the table; no two reservations
    share a key, so two marks do not tell whether the table has changed between them; and the key is erased when the
    run is settled. What can be learned from a continued run is one bit, whether two tables are the same. The release is
    a function of one table, by the curator's declaration, and on one table the bit is constant: it says nothing
    of neighbours. Where the declaration is false, the run is refused, and closed with all that it has reserved: so
    there is one such bit at most for each reservation, seen by nobody but the holder of both tables and of the ledger.
    """
    if not source.repeatable:
        return None
    stated = [] if source.encoding is None else [source.encoding]
    mark = hmac.new(key, canonical([source.delimiter, source.count_column, *stated]).encode(), hashlib.sha256)
    try:
        for file in source.files():
            mark.update(file.frame.digest() if file.frame is not None else _file_digest(file.path))
        for path in (local_files(source.engine) if source.engine else None) or ():
            mark.update(hashlib.sha256(os.fsencode(path)).digest() + _file_digest(path))
    except OSError:
        raise DataError("the table cannot be read; check its files and their permissions") from None
    return mark.hexdigest()


def _file_digest(path: str) -> bytes:
    found = hashlib.sha256()
    with open(path, "rb") as opened:
        while chunk := opened.read(CHUNK):
            found.update(chunk)
    return found.digest()
