import numpy as np
import pytest

from dpqr.noise.public import public_generator
from dpqr.workload.ranges import Ranges


def rows(block, factor: int = 0) -> list[list[int]]:
    matrix = block.factors[factor].matrix
    return [np.flatnonzero(matrix.row(index)).tolist() for index in range(matrix.rows)]


@pytest.mark.parametrize(
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
