"""The rows that a session's hypothesis weighs, in its folder. Public: they are drawn from a released model."""

from __future__ import annotations

import io

import numpy as np

from dpqr.errors import LedgerError
from dpqr.hypotheses.weighted_rows import WeightedRows
from dpqr.io.sessions.session_folder import SessionFolder

NAME = "rows"


def write_rows(folder: SessionFolder, rows: WeightedRows) -> None:
    """Durable on return."""
    made = io.BytesIO()
    np.savez_compressed(
        made, shape=np.array(rows.shape), codes=rows.codes, shares=rows.shares, total=np.array(rows.total)
    )
    folder.replace(NAME, made.getvalue())


def read_rows(folder: SessionFolder) -> WeightedRows:
    """LedgerError: the file is damaged or gone."""
    try:
        with np.load(folder.path / NAME, allow_pickle=False) as held:
            shape = tuple(int(size) for size in held["shape"])
            return WeightedRows(shape=shape, codes=held["codes"], shares=held["shares"], total=float(held["total"]))
    except (OSError, ValueError, KeyError):
        raise LedgerError(f"session {folder.name!r}: its file {NAME!r} is damaged or gone; close the session") from None
