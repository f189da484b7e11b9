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
