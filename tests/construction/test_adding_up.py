from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dpqr.construction.adding_up import CountTable, added_up
from dpqr.errors import InfeasiblePlan

NAMES = ("a", "b", "c", "d")


def tables_of(random: np.random.Generator) -> list[CountTable]:
    """Noisy marginals of a random table, consistent or not, negative and missing values among them."""
    names = NAMES[: random.integers(1, 5)]
    shape = random.integers(1, 6, size=len(names))
    table = random.gamma(0.5, 8.0, size=shape)
    sets = [some for size in range(len(names) + 1) for some in combinations(names, size)]
    chosen = [sets[place] for place in random.permutation(len(sets))[: random.integers(1, len(sets) + 1)]]
    found = []
    for columns in chosen:
        turned = tuple(random.permutation(columns))
        values = CountTable(columns=names, values=table).over(turned)
        noise = random.normal(0, random.choice([0.0, 3.0]), size=values.shape)
        found.append(CountTable(columns=turned, values=np.asarray(values + noise)))
    if random.random() < 0.1 and found[0].values.size:
        found[0].values.reshape(-1)[0] = np.nan
    return found


def require_adds_up(tables: list[CountTable], rounded: list[np.ndarray], base: int) -> None:
    whole = [CountTable(columns=one.columns, values=each) for one, each in zip(tables, rounded, strict=True)]
    for one in whole:
        assert one.values.min(initial=0) >= 0
        assert not (one.values % base).any()
    for one, other in combinations(whole, 2):
        shared = tuple(name for name in one.columns if name in other.columns)
        assert (one.over(shared) == other.over(shared)).all()


def test_a_thousand_random_cases_add_up_on_every_margin() -> None:
    random = np.random.default_rng(23)
    for _ in range(1000):
        tables, base = tables_of(random), int(random.choice([1, 3, 5, 10]))
        before = [one.values.copy() for one in tables]
        require_adds_up(tables, added_up(tables, base), base)
        assert all(np.array_equal(one.values, kept, equal_nan=True) for one, kept in zip(tables, before, strict=True))


def test_it_is_the_same_whenever_it_is_made_and_near_its_values() -> None:
    random = np.random.default_rng(4)
    table = random.gamma(2.0, 40.0, size=(3, 8, 5))
    whole = CountTable(columns=NAMES[:3], values=table)
    tables = [CountTable(columns=each, values=whole.over(each)) for each in (("a", "b"), ("b", "c"), ("b",), ())]
    first = added_up(tables, 5)
    assert all((one == other).all() for one, other in zip(first, added_up(tables, 5), strict=True))
    assert abs(int(first[-1]) - whole.over(())) <= 2.5
    for one, rounded in zip(tables, first, strict=True):
        assert np.abs(rounded - one.values).max() < 5 * (len(one.columns) + 1)


def test_whole_numbers_that_add_up_stay_as_they_are() -> None:
    table = np.random.default_rng(1).integers(0, 9, size=(4, 3, 2)).astype(float)
    whole = CountTable(columns=NAMES[:3], values=table)
    pairs = [CountTable(columns=each, values=whole.over(each)) for each in (("a", "b"), ("b", "c"), ("a",))]
    assert all((one == each.values).all() for one, each in zip(added_up(pairs, 1), pairs, strict=True))


def test_a_cycle_too_large_is_refused() -> None:
    wide = np.ones((400, 400))
    cycle = [CountTable(columns=each, values=wide) for each in (("a", "b"), ("b", "c"), ("c", "a"))]
    with pytest.raises(InfeasiblePlan, match="overlap in a cycle of 64,000,000 cells"):
        added_up(cycle, 1)
