import numpy as np

from dpqr.io.tables.text.batch import TextBatch

BATCH = TextBatch(("a", "b"), [["1", "2", "3"], ["x", "", "z"]])


def test_a_batch_has_rows_and_columns() -> None:
    assert (BATCH.num_rows, BATCH.column(1)) == (3, ["x", "", "z"])


def test_rows_are_chosen_in_all_columns() -> None:
    assert BATCH.filter(np.array([True, False, True])).columns == [["1", "3"], ["x", "z"]]
    assert BATCH.filter(np.zeros(3, dtype=bool)).num_rows == 0


def test_cells_are_not_shown() -> None:
    assert "z" not in repr(BATCH)
