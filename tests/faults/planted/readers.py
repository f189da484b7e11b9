"""Faults of readers of foreign files: cells that decide how a run ends."""

from faults.anchored import Anchored, at

_ROOM = "tables"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "_counted.moment",
        ("(ArithmeticError, TypeError, ValueError)", "TypeError", "a date ends it"),
    ),
    *at(
        _ROOM,
        "_TextFile.kind",
        ("pa.large_string", "pa.float64", "cells decide the type of a workbook's column"),
    ),
    *at(
        _ROOM,
        "_silently",
        ("'ignore'", "'always'", "a library's warning may quote a cell"),
    ),
    *at(
        _ROOM,
        "Workbook.batches",
        ("row[at] if at < len(row) else None", "row[at]", "a short row ends a run"),
    ),
    *at(
        _ROOM,
        "ArrowFile.batches",
        ("full=True", "", "damaged text reaches the reader of cells"),
    ),
)
