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

from dpqr.data.attribute import Attribute, Bins, Codes, Labels, Rule
from dpqr.data.domain import Domain
from dpqr.data.facts import KnownTotal, PublicFacts, Region
from dpqr.errors import DataError
from dpqr.io.ledger.entry_codec import canonical
from dpqr.io.outputs.release_document import plan_document
from dpqr.io.tables.source import TableSource
from dpqr.strategies.plan import Plan
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Identity, Prefix, Sparse
from dpqr.workload.p_identity import PIdentity
from dpqr.workload.partition import Merged
from dpqr.workload.ranges import Ranges
from dpqr.workload.stacking import Stacked
from dpqr.workload.tree import Tree
from dpqr.workload.workload import Workload

DIGEST = "plan digest/2"
"""The digest's own version. Neither dpqr's version nor the name of a class or field counts, so that a new version, or a
rename, breaks no --resume."""
_TAGS: dict[type, str] = {
    Domain: "domain",
    Attribute: "attribute",
    Labels: "labels",
    Codes: "codes",
    Bins: "bins",
    Rule: "rule",
    PublicFacts: "public-facts",
    Region: "region",
    KnownTotal: "known-total",
    Workload: "workload",
    QueryBlock: "block",
    Factor: "factor",
    Identity: "identity",
    Prefix: "prefix",
    Dense: "dense",
    Sparse: "sparse",
    Ranges: "ranges",
    Tree: "tree",
    Merged: "merged",
    PIdentity: "p-identity",
    Stacked: "stacked",
}
"""How the digest names dpqr's types, whatever their classes are called; other types have module and name."""


def plan_digest(plan: Plan) -> str:
    """64 hexadecimal digits; the same inputs always give the same."""
    document = plan_document(plan) | {"version": DIGEST}
    return _digest((canonical(document), plan.problem.domain, plan.problem.workload, plan.opening))


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
    """A value as a sequence of byte strings; different values have different sequences."""
    if isinstance(thing, np.ndarray):
        yield f"{thing.dtype.str} {thing.shape}".encode()
        yield np.ascontiguousarray(thing).tobytes()
    elif isinstance(thing, Enum):
        yield f"{_tag(thing)} {thing.value!r}".encode()
    elif is_dataclass(thing):
        values = [getattr(thing, field.name) for field in fields(thing) if not field.name.startswith("_")]
        yield f"{_tag(thing)} {len(values)}".encode()
        for each in values:
            yield from _parts(each)
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

    Args:
        source: the private table.
        key: of the run's reservation, 32 random bytes.

    Returns:
        64 hexadecimal digits; None for standard input, which cannot be read twice.

    Raises:
        DataError: a file cannot be read.

    Privacy:
        A plain digest would let anybody who guesses the table in full test the guess. Under a random key that nobody
        else has, the mark is indistinguishable from random bits, whatever the table. No two reservations share a key,
        so two marks do not reveal whether the table has changed between them, and the key is erased when the run is
        settled. A continued run reveals one bit, whether two tables are the same. The release is a function of one
        table, by the curator's declaration, and on one table the bit is constant: it does not distinguish neighbours.
        Where the declaration is false, the run is refused, and closed with all that it has reserved: so there is at
        most one such bit for each reservation, revealed only to the holder of both tables and of the ledger.
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


def _tag(thing: object) -> str:
    kind = type(thing)
    return _TAGS.get(kind) or f"{kind.__module__}.{kind.__qualname__}"
