import pyarrow as pa
from pyarrow import parquet

from dpqr.io.outputs.parquet_file import GROUP, write_parquet


def test_tables_lie_below_each_other_in_groups_of_bounded_size(tmp_path) -> None:
    """A name that is not UTF-8 is one as well."""
    path = tmp_path / "t\udcff.parquet"
    tables = [pa.table({"x": range(GROUP + 1)}), pa.table({"x": [7]})]
    write_parquet(iter(tables), path)
    with path.open("rb") as file:
        read = parquet.ParquetFile(file)
        assert [read.metadata.row_group(place).num_rows for place in range(3)] == [GROUP, 1, 1]
        assert read.read()["x"].to_pylist() == [*range(GROUP + 1), 7]
