"""The rows of a session come back as they were written."""

import numpy as np
import pytest

from dpqr.errors import LedgerError
from dpqr.hypotheses.weighted_rows import WeightedRows
from dpqr.io.sessions.rows_file import read_rows, write_rows
from dpqr.io.sessions.session_folder import SessionFolder


def test_rows_are_kept_as_they_are(tmp_path):
    folder = SessionFolder(ledger=tmp_path / "ledger.sqlite", name="desk")
    folder.make()
    rows = WeightedRows(shape=(2, 3), codes=np.array([[0, 2], [1, 0]]), shares=np.array([0.25, 0.75]), total=8.5)
    write_rows(folder, rows)
    back = read_rows(folder)
    assert (back.shape, back.total) == (rows.shape, rows.total)
    assert back.codes.tolist() == rows.codes.tolist()
    (folder.path / "rows").write_bytes(b"x")
    with pytest.raises(LedgerError, match="damaged or gone"):
        read_rows(folder)
