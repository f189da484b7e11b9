from fractions import Fraction

import pytest

from dpqr.domain.columns import MAX_CELLS, declared_bounds, edge_bins, require_few
from dpqr.domain.form import Field
from dpqr.domain.text.decoding import Location, decode, number
from dpqr.kernel.errors import DocumentError

PLACE = Location("d.json", "$.fields[0]")


def field(**parts) -> Field:
    return decode({"name": "a", "type": "integer", **parts}, Field, PLACE)


def test_bounds_are_read_exactly() -> None:
    bounds = declared_bounds(field(constraints={"minimum": -1, "maximum": 2}), number, PLACE, "edges")
    assert bounds == (-1, 2)


def test_edges_keep_their_closed_side() -> None:
    bins = edge_bins(field(dpqr={"edges": [0, 2, 5], "closed": "right"}), number, "number", PLACE)
    assert bins.edges == (Fraction(0), Fraction(2), Fraction(5))
    assert bins.closed == "right"
    assert bins.integral


def test_a_bin_without_a_whole_value_is_refused() -> None:
    with pytest.raises(DocumentError, match=r"edges\[2\]: the bin that ends here holds no whole value"):
        edge_bins(field(dpqr={"edges": [0, 1.2, 1.8, 3]}), number, "number", PLACE)


def test_the_cell_limit_itself_is_allowed() -> None:
    require_few(MAX_CELLS, PLACE)
    with pytest.raises(DocumentError, match="makes 1048577 cells, more than the 1048576 of one column"):
        require_few(MAX_CELLS + 1, PLACE)
