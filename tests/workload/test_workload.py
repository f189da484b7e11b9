import pytest

from dpqr.kernel.errors import DocumentError
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.workload import Workload


def marginal(name: str, *axes: int) -> QueryBlock:
    return QueryBlock(name=name, factors=tuple(Factor.identity(axis, axis + 2) for axis in axes))


def test_it_counts_its_queries_and_names_the_attributes_it_looks_at() -> None:
    workload = Workload((marginal("a", 3, 1), marginal("b", 0), QueryBlock(name="total")))
    assert workload.rows == 5 * 3 + 2 + 1
    assert workload.axes == (0, 1, 3)


def test_an_empty_workload_and_a_repeated_name_are_refused() -> None:
    with pytest.raises(DocumentError, match="asks nothing"):
        Workload(())
    with pytest.raises(DocumentError, match="named 'a'"):
        Workload((marginal("a", 0), marginal("a", 1)))
