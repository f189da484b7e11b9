from fractions import Fraction

import pytest

from dpqr.io.documents.domain import read_domain
from dpqr.io.documents.entries.sums import binning_error


def number(**parts):
    return {"fields": [{"name": "x", "type": "number", **parts}]}


@pytest.mark.parametrize(
    ("parts", "midpoints", "grid"),
    [
        ({"dpqr": {"edges": [0, 10, 20]}}, [5, 15], 5),
        ({"dpqr": {"edges": [-30, -10, 10, 20]}}, [-20, 0, 15], 5),
        ({"dpqr": {"edges": [0, 0.25, 1]}}, [Fraction(1, 8), Fraction(5, 8)], Fraction(1, 8)),
        ({"type": "integer", "constraints": {"minimum": -2, "maximum": 3}}, [-2, -1, 0, 1, 2, 3], 1),
        ({"type": "integer", "constraints": {"minimum": 0, "maximum": 9}, "dpqr": {"width": 5}}, [2, 7], 1),
        ({"constraints": {"minimum": 0, "maximum": 1}, "dpqr": {"bins": 3}}, [Fraction(k, 6) for k in (1, 3, 5)], None),
    ],
)
def test_bins_count_with_their_midpoint_on_the_coarsest_grid(parts, midpoints, grid, ask) -> None:
    (block,) = ask({"sum": "x"}, domain=number(**parts)).workload.blocks
    whole = block.factors[0].matrix.row(0).tolist()
    assert [block.scale * value for value in whole] == midpoints
    assert block.scale == (grid or Fraction(1, 6))


def test_own_cells_count_nothing_and_by_cuts_the_sum(ask, database) -> None:
    document = ask({"sum": "income", "by": ["sex"]})
    (block,) = document.workload.blocks
    assert block.scale == 250
    data = database(document.domain)
    for sex, answer in enumerate(block.answer(data.histogram).tolist()):
        middle = {0: 250, 1: 2750, 2: 0}
        expected = data.total(lambda cell, sex=sex, middle=middle: (cell["sex"][0] == sex) * middle[cell["income"][0]])
        assert block.scale * answer == expected


def test_codes_count_as_their_value(ask) -> None:
    (block,) = ask({"sum": "k"}, domain={"k": 4}).workload.blocks
    assert block.factors[0].matrix.row(0).tolist() == [0, 1, 2, 3]
    assert block.scale == 1


def test_the_binning_error_is_half_the_widest_bin(ask) -> None:
    document = ask({"sum": "income"}, {"sum": "age"}, {"sum": "hours", "name": "h"}, {"prefix": "age"})
    assert dict(document.binning_errors) == {"sum(income)": 1250, "sum(age)": 0, "h": 10}
    assert [note.split(":")[0] for note in document.notes] == ["sum(income)", "h"]
    assert "an error of at most 1250 a record" in document.notes[0]


def test_the_binning_error_bounds_every_value_of_a_bin() -> None:
    domain = read_domain({"fields": [{"name": "x", "type": "integer", "dpqr": {"edges": [0, 3, 4, 9]}}]})
    bins = domain.attributes[0].axis
    worst = max(
        abs(value - bins.midpoint(index))
        for index in range(bins.size)
        for value in range(int(bins.bounds(index)[0]), int(bins.bounds(index)[1]) + 1)
    )
    assert binning_error(bins) == worst == Fraction(5, 2)
