"""The rows of a session come back as they were written."""

import numpy as np
import pytest

from dpqr.kernel.errors import LedgerError
from dpqr.models.rows import WeightedRows
from dpqr.sessions.folder import SessionFolder, read_rows, write_rows


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
