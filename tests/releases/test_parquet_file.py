import numpy as np
import pyarrow as pa
from pyarrow import parquet

from dpqr.releases.formats.parquet_files import GROUP, arrow_table, write_parquet
from dpqr.releases.tidy import Texts, Tidy


def test_tables_lie_below_each_other_in_groups_of_bounded_size(tmp_path) -> None:
    """A name that is not UTF-8 is one as well."""
    path = tmp_path / "t\udcff.parquet"
    tables = [pa.table({"x": range(GROUP + 1)}), pa.table({"x": [7]})]
    write_parquet(iter(tables), path)
    with path.open("rb") as file:
        read = parquet.ParquetFile(file)
        assert [read.metadata.row_group(place).num_rows for place in range(3)] == [GROUP, 1, 1]
        assert read.read()["x"].to_pylist() == [*range(GROUP + 1), 7]


def test_texts_are_dictionaries_and_figures_without_a_value_are_null() -> None:
    table = arrow_table(Tidy(2, {"t": Texts(np.array([0, -1], dtype=np.int8), ["a"]), "x": np.array([np.nan, 1.0])}))
    assert table.schema.field("t").type == pa.dictionary(pa.int8(), pa.string())
    assert table.to_pydict() == {"t": ["a", None], "x": [None, 1.0]}


def test_repeated_titles_are_stored_once() -> None:
    table = arrow_table(Tidy(4, {"t": Texts(np.array([0, 1, 2, -1]), ["a", "b", "a"])}))
    assert table["t"].to_pylist() == ["a", "b", "a", None]
    assert table["t"].chunk(0).dictionary.to_pylist() == ["a", "b"]
