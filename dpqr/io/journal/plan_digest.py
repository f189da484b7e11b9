"""Plan digest: one hash of all that a plan stands for, so that a run is continued by the same plan only.

The plan's document names columns and queries; the digest goes on to labels, edges, rules and every coefficient.
Public: so are domain and queries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from dpqr.io.ledger.entry_codec import canonical
from dpqr.io.outputs.release_document import plan_document
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
