from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.domain.domain_file import read_domain
from dpqr.kernel.errors import DocumentError
from dpqr.kernel.noise.public import public_generator
from dpqr.workload.block import QueryBlock
from dpqr.workload.matrix import Dense, Prefix
from dpqr.workload.ordered_columns import binning_error
from dpqr.workload.ranges import Ranges
from dpqr.workload.workload import common_grid, round_answers


def test_each_row_counts_the_bins_up_to_its_own(ask, database) -> None:
    document = ask({"prefix": "age", "by": ["sex"]})
    (block,) = document.workload.blocks
    assert block.name == "prefix(age) by sex"
    assert block.factors[1].labels[:2] == ("<= 0", "<= 1")
    data = database(document.domain)
    answers = block.answer(data.histogram).reshape(4, 10)
    for sex in range(4):
        for age in range(10):  # code 10 is the null cell: in no prefix
            expected = data.total(
                lambda cell, sex=sex, age=age: cell["sex"][0] == sex and cell["age"][0] <= min(age, 9)
            )
            assert answers[sex, age] == expected


def test_labels_say_which_values_are_counted(ask) -> None:
    right = {"fields": [{"name": "x", "type": "number", "dpqr": {"edges": [0, 0.5, 1], "closed": "right"}}]}
    days = ("<= 2024-03-31", "<= 2024-06-30", "<= 2024-09-30", "<= 2024-12-31")
    for column, domain, labels in (
        ("hours", None, ("<= 19", "<= 39", "<= 60")),
        ("income", None, ("< 1500", "<= 4000")),
        ("day", None, days),
        ("x", right, ("<= 0.5", "<= 1")),
        ("k", {"k": 3}, ("<= 0", "<= 1", "<= 2")),
    ):
        (block,) = ask({"prefix": column}, **({"domain": domain} if domain else {})).workload.blocks
        assert block.factors[0].labels == labels


def rows(block, factor: int = 0) -> list[list[int]]:
    matrix = block.factors[factor].matrix
    return [np.flatnonzero(matrix.row(index)).tolist() for index in range(matrix.rows)]


@in_one_test(
    ("column", "between", "cells", "label"),
    [
        ("age", [2, 4], [2, 3, 4], "[2, 4]"),
        ("age", [2, 2], [2], "2"),
        ("age", [-5, 50], [*range(10)], "[0, 9]"),
        ("hours", [20, 40], [1], "[20, 40)"),
        ("hours", [20, 39], [1], "[20, 40)"),
        ("hours", [0, 60], [0, 1, 2], "[0, 60]"),
        ("income", [-1000, 1500], [0], "[-1000, 1500)"),
        ("income", [-1e3, 4e3], [0, 1], "[-1000, 4000]"),
        ("day", ["2024-04-01", "2024-09-30"], [1, 2], "[2024-04-01, 2024-10-01)"),
        ("day", ["2024-04-01", "2024-07-01"], [1], "[2024-04-01, 2024-07-01)"),
    ],
)
def test_listed_ranges(column: str, between: list[object], cells: list[int], label: str, ask) -> None:
    (block,) = ask({"ranges": column, "between": [between]}).workload.blocks
    assert rows(block) == [cells]
    assert block.factors[0].labels == (label,)


def test_bins_closed_on_the_right(ask) -> None:
    domain = {"fields": [{"name": "x", "type": "number", "dpqr": {"edges": [0, 1, 2, 3], "closed": "right"}}]}
    (block,) = ask({"ranges": "x", "between": [[1, 2], [0, 2], [1, 3]]}, domain=domain).workload.blocks
    assert rows(block) == [[1], [0, 1], [1, 2]]
    assert block.factors[0].labels == ("(1, 2]", "[0, 2]", "(1, 3]")


def test_ranges_by_other_columns(ask, database) -> None:
    document = ask({"ranges": "age", "between": [[0, 4], [5, 9]], "by": ["sex"]})
    (block,) = document.workload.blocks
    data = database(document.domain)
    answers = block.answer(data.histogram).reshape(4, 2)
    assert answers[2, 1] == data.total(lambda cell: cell["sex"][0] == 2 and 5 <= cell["age"][0] <= 9)
    assert answers[2].sum() < data.total(lambda cell: cell["sex"][0] == 2)  # the null cell is in no range


def test_rectangles_are_row_by_row(ask, database) -> None:
    between = [[[2, 4], [0, 20]], [[0, 9], [20, 60]]]
    document = ask({"ranges": ["age", "hours"], "between": between})
    (block,) = document.workload.blocks
    assert block.rowwise
    assert block.rows == 2
    data = database(document.domain)
    expected = [
        data.total(lambda cell: 2 <= cell["age"][0] <= 4 and cell["hours"][0] == 0),
        data.total(lambda cell: cell["age"][0] <= 9 and cell["hours"][0] in (1, 2)),
    ]
    assert block.answer(data.histogram).tolist() == expected
    assert block.factors[1].labels == ("hours in [0, 20)", "hours in [20, 60]")


def test_random_ranges_can_be_drawn_again_from_their_seed(ask) -> None:
    document = ask({"ranges": ["age", "hours"], "random": 500, "seed": 4})
    (block,) = document.workload.blocks
    generator = public_generator(4)
    for factor, size in ((0, 10), (1, 3)):
        lengths = generator.integers(1, size + 1, size=500)
        starts = generator.integers(0, size - lengths + 1)
        expected = [[*range(a, a + n)] for a, n in zip(starts.tolist(), lengths.tolist(), strict=True)]
        assert rows(block, factor) == expected
    other = ask({"ranges": ["age", "hours"], "random": 500, "seed": 5}).workload.blocks[0]
    assert rows(other) != rows(block)


def test_every_length_and_position_occurs(ask) -> None:
    (block,) = ask({"ranges": "hours", "random": 300, "seed": 1}).workload.blocks
    assert {tuple(row) for row in rows(block)} == {(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)}


def test_ranges_are_kept_as_their_ends(ask) -> None:
    (block,) = ask({"ranges": "k", "random": 500, "seed": 1}, domain={"k": 10_000}).workload.blocks
    lengths = public_generator(1).integers(1, 10_001, size=500)
    matrix = block.factors[0].matrix
    assert isinstance(matrix, Ranges)
    assert (matrix.stops - matrix.starts).tolist() == lengths.tolist()


def number(**parts):
    return {"fields": [{"name": "x", "type": "number", **parts}]}


@in_one_test(
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
    assert (block.factors[0].matrix.row(0).tolist(), block.scale) == ([0, 1, 2, 3], 1)


def test_the_binning_error_is_half_the_widest_bin(ask) -> None:
    document = ask({"sum": "income"}, {"sum": "age"}, {"sum": "hours", "name": "h"}, {"prefix": "age"})
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


def levels(**stated) -> dict:
    """A column of ordered labels, whose answers are in the order of the document, and one of codes."""
    school = {"name": "school", "type": "string", "categories": ["none", "primary", "high", "phd"], **stated}
    return {
        "fields": [{"categoriesOrdered": True, "dpqr": {"null": "cell"}, **school}, {"name": "b", "type": "boolean"}]
    }


def test_ordered_labels_have_a_cumulative_curve(ask) -> None:
    (block,) = ask({"prefix": "school", "by": ["b"]}, domain=levels()).workload.blocks
    assert block.factors[1].labels == ("<= none", "<= primary", "<= high", "<= phd")
    assert rows(block, 1) == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3]]  # cell 4 is the null cell
    assert block.factors[1].sizes == (5,)


def test_ranges_of_ordered_labels_hold_both_ends(ask) -> None:
    asked = {"ranges": "school", "between": [["primary", "phd"], ["high", "high"]]}
    (block,) = ask(asked, domain=levels()).workload.blocks
    assert rows(block) == [[1, 2, 3], [2]]
    assert block.factors[0].labels == ("[primary, phd]", "high")


def test_numbers_name_the_labels_of_an_integer_column(ask) -> None:
    domain = levels(type="integer", categories=[9, 7, 5])
    (block,) = ask({"ranges": "school", "between": [[9, "7"]]}, domain=domain).workload.blocks
    assert rows(block) == [[0, 1]]


def test_random_rectangles_cover_ordered_labels(ask) -> None:
    age = {"name": "age", "type": "integer", "dpqr": {"edges": [0, 2, 4]}}
    domain = {"fields": [*levels()["fields"], age]}
    (block,) = ask({"ranges": ["school", "age"], "random": 50, "seed": 1}, domain=domain).workload.blocks
    assert {cell for row in rows(block) for cell in row} == {0, 1, 2, 3}
    assert "school in [primary, high]" in block.factors[0].labels


@in_one_test(
    ("asked", "message"),
    [
        ({"ranges": "school", "between": [["phd", "none"]]}, "low is above high; swap them"),
        ({"ranges": "school", "between": [["none", "hihg"]]}, "'hihg' is no label of the column; did you mean 'high'?"),
        ({"ranges": "school", "between": [[1, True]]}, "1 is no label of the column; known: 'none', 'primary'"),
        ({"sum": "school"}, "column 'school' holds labels; name a column of numbers"),
        ({"mean": "b"}, 'the share that is true is {"proportion": "b"}, in SQL AVG(CASE WHEN b THEN 1 ELSE 0 END)'),
    ],
)
def test_what_ordered_labels_refuse(asked, message: str, ask) -> None:
    with pytest.raises(DocumentError) as error:
        ask(asked, domain=levels())
    assert message in str(error.value)


@in_one_test("size", [1, 2, 4])
@pytest.mark.parametrize("others", [0, 1, 2])
def test_prefix_agrees_with_its_written_out_matrix(size: int, others: int) -> None:
    prefix = Prefix(size, others)
    written = Dense(np.stack([prefix.row(index) for index in range(size)]))
    assert written.coefficients[:, size:].sum() == 0
    counts = np.arange(2 * (size + others)).reshape(-1, 2) ** 2
    values = np.arange(3 * size).reshape(size, 3) + 1
    np.testing.assert_array_equal(prefix.apply(counts), written.apply(counts))
    np.testing.assert_array_equal(prefix.adjoint(values), written.adjoint(values))
    for power in (0, 1, 2):
        assert prefix.column_norm(power) == written.column_norm(power)
        assert prefix.column_distance(power) == written.column_distance(power)


def blocks(*scales: str) -> list[QueryBlock]:
    return [QueryBlock(name=scale, scale=Fraction(scale)) for scale in scales]


@in_one_test(
    ("scales", "grid"),
    [(["1"], "1"), (["1/2", "1/3"], "1/6"), (["6", "4"], "2"), (["3/4", "1/2", "1/4"], "1/4"), (["2/3", "4/3"], "2/3")],
)
def test_the_common_grid_is_the_coarsest_that_divides_every_scale(scales, grid) -> None:
    found = common_grid(blocks(*scales))
    assert found == Fraction(grid)
    ratios = [Fraction(scale) / found for scale in scales]
    assert all(ratio.denominator == 1 for ratio in ratios)
    assert np.gcd.reduce([ratio.numerator for ratio in ratios]) == 1


def test_rounding_is_to_the_nearest_integer_and_total() -> None:
    answers = np.array([0.4, -0.6, 0.6, -0.4, 99.7, -99.7, 2.5, 1e300, -1e300, np.inf, -np.inf, np.nan])
    assert round_answers(answers, 100).tolist() == [0, -1, 1, 0, 100, -100, 2, 100, -100, 100, -100, 0]
    assert round_answers(np.array([np.inf, -np.inf]), 2**61).tolist() == [2**61, -(2**61)]
