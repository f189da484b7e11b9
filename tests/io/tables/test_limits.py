import pytest

from dpqr.errors import UsageFault
from dpqr.io.tables.limits import Limits


def test_defaults() -> None:
    assert (Limits().cells, Limits().records) == (2**24, 2**36)


@pytest.mark.parametrize("name", ["cells", "records", "columns", "bytes", "row_bytes", "batch_rows"])
def test_limits_are_positive(name) -> None:
    with pytest.raises(UsageFault, match=name):
        Limits(**{name: 0})


def test_limits_that_keep_sums_exact() -> None:
    with pytest.raises(UsageFault, match="records"):
        Limits(records=2**52 + 1)
    with pytest.raises(UsageFault, match="row_bytes"):
        Limits(row_bytes=2**30 + 1)


@pytest.mark.parametrize(
    ("packed", "unpacked", "bomb"),
    [(1, 2**28, False), (1, 2**28 + 1, True), (2**26, 100 * 2**26, False), (2**26, 100 * 2**26 + 1, True)],
)
def test_bombs(packed, unpacked, bomb) -> None:
    assert Limits().is_bomb(packed, unpacked) == bomb
    assert not Limits(bytes=2**40 - 1).is_bomb(packed, unpacked), "who states a limit has said what is meant"


@pytest.mark.parametrize(
    ("packed", "rows", "crowd"),
    [(1, 2**25, False), (1, 2**25 + 1, True), (2**24, 2**29, False), (2**24, 2**29 + 1, True)],
)
def test_crowds(packed, rows, crowd) -> None:
    assert Limits().is_crowd(packed, rows) == crowd
    assert not Limits(records=2**36 - 1).is_crowd(packed, rows)
