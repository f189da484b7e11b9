"""Sizes: integer codes, and the cells of a finished domain file."""

from __future__ import annotations

import pytest
from support.codebooks import fields_of

from dpqr.kernel.errors import DocumentError
from dpqr.tables.codebooks.columns import CodebookColumn, Outline, fill_gaps
from dpqr.tables.codebooks.plain_schemas import write_sizes


def test_every_code_is_a_cell_however_many_there_are(given):
    found = given('{"age": 85, "zip": 40000, "only": 1}')
    assert fields_of(found)["zip"]["constraints"] == {"minimum": 0, "maximum": 39999, "required": True}
    written = write_sizes(fill_gaps(found.outline).outline, "t")
    assert written.content == {"age": 85, "zip": 40000, "only": 1}
    assert "in the domain file's order (age, zip, only)" in written.remarks[0]


def test_a_null_s_own_cell_counts():
    whole = fill_gaps(Outline(fields=(CodebookColumn(name="b", type="boolean"),))).outline
    assert write_sizes(whole, "t").content == {"b": 3}


def test_what_is_not_filled_in_has_no_size():
    whole = fill_gaps(Outline(fields=(CodebookColumn(name="a"),))).outline
    with pytest.raises(DocumentError, match="still holds the placeholder"):
        write_sizes(whole, "t")
