"""Arrow form: tidy tables as Arrow tables, for Parquet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from dpqr.io.outputs.tidy import NOTHING, Column, Texts, Tidy


def arrow_table(table: Tidy) -> Any:
    """Texts as dictionaries; what is nothing is null. Columns of one name have one type in all pieces of a table."""
    return pa.table({name: _array(column) for name, column in table.columns.items()})


def _array(column: Column) -> Any:
    return _dictionary(column) if isinstance(column, Texts) else pa.array(column, from_pandas=True)


def _dictionary(column: Texts) -> Any:
    """Every text is stored once, whether titles repeat (details of several blocks) or not."""
    places, titles = column.places, list(column.titles)
    distinct = list(dict.fromkeys(titles))
    if len(distinct) < len(titles):
        position = {title: index for index, title in enumerate(distinct)}
        moved = np.array([*(position[title] for title in titles), NOTHING], dtype=np.int32)
        places = moved[places]
    shown = pa.array(places, mask=places == NOTHING)
    return pa.DictionaryArray.from_arrays(shown, pa.array(distinct, type=pa.string()))
