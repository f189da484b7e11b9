"""Fingerprints of a run's plan, blocks and table, so that a run is continued as it began or not at all.

The plan's digest covers its document, which names columns and queries, and goes on to labels, edges, rules and every
coefficient. Public: so are domain and queries. The table's mark is keyed (`table_mark`).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from dpqr.errors import DataError
from dpqr.io.ledger.entry_codec import canonical
from dpqr.io.outputs.release_document import plan_document
from dpqr.io.tables.source import TableSource
from dpqr.strategies.plan import Plan
from dpqr.workload.block import QueryBlock


def plan_digest(plan: Plan) -> str:
    """64 hexadecimal digits; the same inputs to the same version of dpqr always give the same."""
    return _digest((canonical(plan_document(plan)), plan.problem.domain, plan.problem.workload, plan.opening))


def blocks_digest(blocks: tuple[QueryBlock, ...]) -> str:
    """The same of the sums that blocks ask for, whatever these are called."""
    return _digest([[(factor.axes, factor.sizes, factor.matrix) for factor in block.factors] for block in blocks])


def _digest(thing: Any) -> str:
    hashed = hashlib.sha256()
    for part in _parts(thing):
        hashed.update(len(part).to_bytes(8, "big"))
        hashed.update(part)
    return hashed.hexdigest()


def _parts(thing: Any) -> Iterator[bytes]:
    """A value as a sequence of byte strings from which it could be told apart from any other."""
    if isinstance(thing, np.ndarray):
        yield f"{thing.dtype.str} {thing.shape}".encode()
        yield np.ascontiguousarray(thing).tobytes()
    elif isinstance(thing, Enum):
        yield f"{type(thing).__name__}.{thing.name}".encode()
    elif is_dataclass(thing):
        named = {field.name: getattr(thing, field.name) for field in fields(thing) if not field.name.startswith("_")}
        yield f"{type(thing).__name__} {len(named)}".encode()
        yield from _parts(named)
    elif isinstance(thing, dict):
        yield f"dict {len(thing)}".encode()
        for key, value in thing.items():
            yield from _parts(key)
            yield from _parts(value)
    elif isinstance(thing, set | frozenset):
        yield b"set"
        yield from _parts(sorted(thing))
    elif isinstance(thing, tuple | list):
        yield f"{type(thing).__name__} {len(thing)}".encode()
        for each in thing:
            yield from _parts(each)
    elif hasattr(thing, "tocoo"):
        whole = thing.tocoo()
        yield from _parts((whole.shape, *whole.coords, whole.data))
    else:
        yield f"{type(thing).__name__} {thing!r}".encode()


CHUNK = 2**20


def table_mark(source: TableSource, key: bytes) -> str | None:
    """HMAC-SHA256 of the table's files, and of how they are read, under a key that never leaves the ledger.

    None for standard input, which cannot be read twice. Errors: DataError.

    **Privacy.** A plain digest would let anybody who guesses the table in full test the guess. Under a random key
    that nobody else has, the mark is indistinguishable from random bits, whatever the table; no two reservations
    share a key, so two marks do not tell whether the table has changed between them; and the key is erased when the
    run is settled. What can be told from a continued run is one bit, whether two tables are the same. The release is
    a function of one table, by the curator's declaration, and on one table the bit is constant: it tells neighbours
    nothing apart. Where the declaration is false, the run is refused, and closed with all that it has reserved: so
    there is one such bit at most for each reservation, told to nobody but the holder of both tables and of the ledger.
    """
    if source.from_stdin:
        return None
    mark = hmac.new(key, canonical([source.delimiter, source.count_column]).encode(), hashlib.sha256)
    try:
        for file in source.files():
            mark.update(_file_digest(file.path))
    except OSError:
        raise DataError("the table cannot be read; check its files and their permissions") from None
    return mark.hexdigest()


def _file_digest(path: str) -> bytes:
    found = hashlib.sha256()
    with open(path, "rb") as opened:
        while chunk := opened.read(CHUNK):
            found.update(chunk)
    return found.digest()
