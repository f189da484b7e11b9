"""The number of passes comes from file sizes and declared limits."""

from support.cases import in_one_test

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.tables.files import TableFile
from dpqr.tables.limits import Limits
from dpqr.tables.load import dense_cells, group_count


def csv(size, path="t.csv", kind="csv"):
    return TableFile(path=path, kind=kind, delimiter=",", bytes=size)


def groups(files, columns=2, **limits):
    """columns: of the domain, the persons' comes on top."""
    domain = Domain(tuple(Attribute(name=f"c{place}", axis=Codes(2)) for place in range(columns)))
    return group_count(files, domain, Limits(**limits))


def dense(files, columns=24, **limits):
    domain = Domain(tuple(Attribute(name=f"c{place}", axis=Codes(2)) for place in range(columns)))
    return dense_cells(files, domain, Limits(**limits))


def test_a_small_table_is_read_once_and_a_large_one_several_times() -> None:
    """By sizes and kinds alone; a larger memory or a smaller cap on records means fewer passes."""
    assert groups([csv(10**6)]) == 1
    assert groups([csv(10**10)]) > groups([csv(5 * 10**9)]) > 1
    many = groups([csv(10**10)], memory=2**30)
    assert groups([csv(10**10)], memory=2**33) < many
    assert groups([csv(10**10)], memory=2**30, records=10**6) == 1
    whole = groups([csv(6 * 10**9)])
    assert groups([csv(10**9, f"{part}.csv") for part in range(6)]) == whole
    assert groups([csv(6 * 10**9, "t.csv.gz")]) == groups([csv(6 * 10**9, "t.pq", "parquet")]) > 3 * whole
    assert groups([csv(None, "-")], memory=2**28) == 1  # standard input is read once


@in_one_test("columns", [2, 9])
def test_a_group_fits_with_a_quarter_to_spare(columns) -> None:
    for size in (10**8, 10**9, 10**11):
        rows, found = size / (2 * columns + 6), groups([csv(size)], columns=columns)
        if found > 1:
            assert rows / found * 6 * 8 * 7 * 1.25 <= 2**32


def test_a_histogram_is_dense_only_where_the_files_could_fill_some_of_it() -> None:
    assert 2**16 <= dense([csv(10**3)]) < dense([csv(10**6)]) < 2**24
    assert dense([csv(5 * 10**5, f"{part}.csv") for part in range(2)]) == dense([csv(10**6)])
    assert dense([csv(10**9)]) == dense([csv(None, "-")]) == 2**24
    assert dense([csv(10**3)], cells=100) == 100
