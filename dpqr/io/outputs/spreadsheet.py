"""Inert text: labels of a CSV file that a spreadsheet must not take for a formula."""

from __future__ import annotations

import re

import pyarrow as pa

_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def inert(text: str) -> str:
    """`text`, with an apostrophe before it where a spreadsheet would start to compute.

    Spreadsheets run a cell that begins with = + - @, a tab or a line break as a formula; the wide forms of those
    signs count too. Plain numbers ("-1", "+2.5e3") are left as they are: they compute nothing, and the labels of
    coded columns stay joinable. The rule is reversible: a text that begins with apostrophes and then such a sign gets
    one more, so whoever strips one apostrophe there has the label back. CSV only; Parquet and JSON hold labels as
    they are.
    """
    if _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        return "'" + text
    return text


def inert_table(table: pa.Table) -> pa.Table:
    """Every text and every column name of `table` made inert; numbers are numbers and stay."""
    columns = [_inert_column(column) for column in table.columns]
    return pa.table(columns, names=[inert(name) for name in table.column_names])


def _inert_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts are dictionary-encoded, so each distinct one is looked at once."""
    if not pa.types.is_dictionary(column.type):
        return column
    array = column.combine_chunks()
    texts = pa.array([inert(text) for text in array.dictionary.to_pylist()], type=pa.string())
    return pa.DictionaryArray.from_arrays(array.indices, texts)
