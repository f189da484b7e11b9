"""The bound over a counter's life, by brute force over made-up histories of tables, and what breaks it.

A history is the list of the tables that the releases read. Each is loaded as the product does, each with a new key.
"""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pandas as pd
import pytest
from support.cases import in_one_test, slow_but, thinned

from dpqr.domain.attribute import Attribute, Labels, Rule
from dpqr.domain.domain import Domain
from dpqr.domain.periods import Period, PeriodRows, PeriodTree
from dpqr.kernel.errors import DataError
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.sealed import SealKey
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.tables import load as loading
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource

FIRST = Period.parse("2024-01")
CELLS = ("a", "b")
DOMAIN = Domain((Attribute(name="cell", axis=Labels(CELLS), rules={"outside": Rule.DROP}),))
PERIODS = 6
TREES = [PeriodTree(periods=PERIODS, base=base) for base in (2, 3, 7)]


def rows_of(tree, number, life=True):
    """What release `number` reads. life: whether rows are bounded over the whole life."""
    since = FIRST.later(tree.span(number).start - 1)
    rows = PeriodRows(column="day", period=FIRST.later(number - 1), since=since)
    return replace(rows, first=FIRST) if life else rows


def counted(path, tree, number, most, seed=0, life=True, domain=DOMAIN):
    source = TableSource(paths=(str(path),), period=rows_of(tree, number, life))
    unit = PrivacyUnit(columns=("person",), rows=most)
    loaded = load_table(source, domain, Limits(), unit=unit, noise=SeededNoise(seed))
    return loaded.counts._unseal(SealKey()).marginal((0,)).astype(int)


def write(path, rows):
    """Rows of (person, period, cell), one day each."""
    days = [f"{FIRST.later(period - 1).name}-{1 + place % 28:02}" for place, (_, period, _) in enumerate(rows)]
    table = pd.DataFrame({"person": [row[0] for row in rows], "day": days, "cell": [row[2] for row in rows]})
    if str(path).endswith(".parquet"):
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False)
    return path


def used(rows, tree, number, most):
    """How many rows of each person a release uses, from the definition."""
    found = 0
    for person in {row[0] for row in rows}:
        own = [row for row in rows if row[0] == person]
        for period in tree.span(number):
            before = sum(other < period for _, other, _ in own)
            passed = sum(other == period and cell in CELLS for _, other, cell in own)
            found += min(passed, max(0, most - before))
    return found


def history(generator, person):
    """The rows of one person in each of the tables that the releases read: some come late, cells are corrected."""
    count = int(generator.integers(0, 13))
    periods = np.sort(generator.integers(1, PERIODS + 1, count))
    arrives = np.maximum(periods, generator.integers(1, PERIODS + 1, count))
    late = generator.random(count) < 0.3
    cells = generator.choice([*CELLS, "z"], (PERIODS + 1, count))
    return [
        [
            (person, int(period), str(cells[number, place]))
            for place, period in enumerate(periods)
            if (arrives[place] if late[place] else period) <= number
        ]
        for number in range(1, PERIODS + 1)
    ]


OTHERS = [("x", 1, "a"), ("x", 1, "b"), ("x", 4, "b"), ("y", 3, "a"), ("y", 6, "a")]


@pytest.mark.parametrize("case", thinned(range(12), 12))
def test_no_person_moves_a_level_by_more_than_the_bound_over_the_life(tmp_path, case):
    """One person's history is added to those of others, with another key each time they are read."""
    generator, most, tree = np.random.default_rng(case), 1 + case % 4, TREES[case % 3]
    tables = history(generator, "p")
    moved = {level: [] for level in range(tree.levels)}
    for number, own in enumerate(tables, 1):
        whole = counted(write(tmp_path / "with.csv", [*own, *OTHERS]), tree, number, most, seed=(case + 1) * number)
        assert whole.sum() == used([*own, *OTHERS], tree, number, most)
        alone = counted(write(tmp_path / "of.csv", own), tree, number, most, seed=(case + 1) * number)
        others = counted(write(tmp_path / "others.csv", OTHERS), tree, number, most, seed=(case + 1) * number)
        assert (whole == alone + others).all(), "nobody's choice depends on others"
        moved[tree.level(number)].append(alone)
    for each in moved.values():
        assert np.sum(each) <= most
        assert np.sum(np.square(each)) <= most**2


@pytest.mark.parametrize(
    ("before", "after"),
    slow_but({0}, [([("p", 1, "a")] * 3 + [("p", 2, "b")], None), ([("p", 2, "b")], [("p", 1, "a")] * 3)]),
)
def test_a_count_adds_up_to_the_first_rows(tmp_path, before, after):
    """By whatever tree: the nodes of a path hold min(K, all rows so far) rows, where no row is dropped or late."""
    rows = [*before, *(after or []), ("p", 5, "a")]
    path = write(tmp_path / "t.csv", rows)
    for tree in TREES:
        for number in range(1, PERIODS + 1):
            nodes = [counted(path, tree, node, 4, seed=node).sum() for node in tree.path(number)]
            assert sum(nodes) == min(4, sum(period <= number for _, period, _ in rows))


def test_a_bound_for_each_release_is_none_for_the_life(tmp_path):
    """The loader as it is without a counter: K rows of the same person in every node."""
    path = write(tmp_path / "t.csv", [("p", period, "a") for period in range(1, 7) for _ in range(2)])
    for life, rows in [(False, 12), (True, 2)]:
        assert sum(counted(path, TREES[2], number, 2, life=life).sum() for number in range(1, 7)) == rows


@in_one_test("later", [[("p", 2, "a")] * 2, [("q", 1, "a")] * 2 + [("p", 2, "a")] * 2, [("p", 2, "a")] * 4])
def test_what_breaks_the_bound(tmp_path, later):
    """After the first release rows are deleted, given to another person, or moved to a later period."""
    path, tree = write(tmp_path / "t.csv", [("p", 1, "a")] * 2), TREES[2]
    assert counted(path, tree, 1, 2).sum() == 2
    own = [row for row in later if row[0] == "p"]
    assert counted(write(path, own), tree, 2, 2).sum() == 2, "four rows of one person are used"


@pytest.mark.parametrize("ending", thinned(["csv", "parquet"], 2))
@pytest.mark.parametrize("groups", thinned([1, 3], 2))
def test_sources_and_passes_agree(tmp_path, monkeypatch, ending, groups):
    monkeypatch.setattr(loading, "group_count", lambda *_: groups)
    rows = [(f"p{person}", period, CELLS[period % 2]) for person in range(40) for period in range(1, 1 + person % 7)]
    path = write(tmp_path / f"t.{ending}", rows)
    for tree in TREES:
        found = [counted(path, tree, number, 2).tolist() for number in (1, 2, 3, 4)]
        assert [sum(each) for each in found] == [used(rows, tree, number, 2) for number in (1, 2, 3, 4)]
        assert found[0] == [0, 34]


def test_within_a_period_each_row_is_kept_as_often(tmp_path):
    """Of four rows of one period, one is kept beside that of an earlier period, by each of 2,000 persons. A fair choice
    fails with a chance below 1e-6: five deviations of the root of 2000 / 4 either way."""
    rows = [(f"p{person}", *row) for person in range(2000) for row in [(1, "a"), *((2, cell) for cell in "aabb")]]
    kept = counted(write(tmp_path / "t.csv", rows), TREES[0], 2, 2)
    assert kept.sum() == 4000
    assert abs(kept[1] - 1000) < 5 * np.sqrt(2000 / 4)


def test_earlier_rows_break_no_rule_and_are_not_counted(tmp_path):
    failing = Domain((Attribute(name="cell", axis=Labels(CELLS), rules={"outside": Rule.FAIL}),))
    path = write(tmp_path / "t.csv", [("p", 1, "z"), ("p", 2, "a"), ("p", 2, "b")])
    assert counted(path, TREES[2], 2, 2, domain=failing).sum() == 1
    with pytest.raises(DataError, match="'fail'"):
        counted(path, TREES[0], 2, 2, domain=failing)


def test_the_trees_of_these_tests_have_several_levels():
    assert [tree.levels for tree in TREES] == [3, 2, 1]
    assert [len(list(group)) for _, group in groupby(sorted(map(TREES[0].level, range(1, 7))))] == [3, 2, 1]
