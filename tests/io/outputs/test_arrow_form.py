import numpy as np
import pyarrow as pa

from dpqr.io.outputs.arrow_form import arrow_table
from dpqr.io.outputs.tidy import Texts, Tidy


def test_texts_are_dictionaries_and_figures_without_a_value_are_null() -> None:
    table = arrow_table(Tidy(2, {"t": Texts(np.array([0, -1], dtype=np.int8), ["a"]), "x": np.array([np.nan, 1.0])}))
    assert table.schema.field("t").type == pa.dictionary(pa.int8(), pa.string())
    assert table.to_pydict() == {"t": ["a", None], "x": [None, 1.0]}


def test_repeated_titles_are_stored_once() -> None:
    table = arrow_table(Tidy(4, {"t": Texts(np.array([0, 1, 2, -1]), ["a", "b", "a"])}))
    assert table["t"].to_pylist() == ["a", "b", "a", None]
    assert table["t"].chunk(0).dictionary.to_pylist() == ["a", "b"]
