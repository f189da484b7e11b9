"""Mutants: the order of checks of a build in which the requester names the source, and may bring a view or a query."""

from __future__ import annotations

import sys
from typing import Any

from dpqr.kernel.values import replace
from dpqr.releases import reading
from dpqr.tables.engines import duckdb as duckdb_table
from dpqr.tables.engines import known
from dpqr.tables.engines.address import EngineAddress
from dpqr.tables.source import TableSource

QUERY = "?query="


def any_source(monkeypatch: Any) -> None:
    """As dpqr 0.10.0: an engine is connected and inspected first; policy, approval and balance come afterwards, and
    none of them says which table it is. A view is a table like any other, a query is part of an address, and DuckDB
    opens whatever either names."""
    parsed = known.address_in

    def address_in(text: str) -> EngineAddress | None:
        place, asked, query = text.partition(QUERY)
        if not asked:
            return parsed(text)
        scheme, _, rest = place.partition(":")
        return EngineAddress(scheme=scheme, place=rest, query=query)

    made = known.engine_of

    def engine_of(address: EngineAddress) -> Any:
        return made(replace(address, registered=True))

    def bound(source: TableSource, payer: Any) -> TableSource:
        if source.engine is not None:
            _ = source.engine.names
        return source

    true = reading.resolve_source
    for module in [each for name, each in sys.modules.items() if name.startswith("dpqr.")]:
        if getattr(module, "resolve_source", None) is true:
            monkeypatch.setattr(module, "resolve_source", bound)
    monkeypatch.setattr(known, "address_in", address_in)
    monkeypatch.setattr(known, "engine_of", engine_of)
    monkeypatch.setattr(duckdb_table, "_LOCKED", ())
    monkeypatch.setattr(duckdb_table, "_GUESSING", ())
