from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from support.cases import thinned

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.releases.files.views import Above, CountTable, Levels, added_up

NAMES = ("a", "b", "c", "d")


def levels_of(random: np.random.Generator, cells: int) -> tuple[Levels, int]:
    """None, one or two levels above the column a; and how many cells it has then."""
    levels: dict[str, Above] = {}
    name = "a"
    for above in ("a up", "a top")[: random.integers(0, 3)]:
        nodes = random.integers(0, 3, size=cells)
        levels[name] = Above(name=above, nodes=np.unique(nodes, return_inverse=True)[1])
        name, cells = above, int(levels[name].nodes.max()) + 1
    return levels, cells


def tables_of(random: np.random.Generator) -> tuple[list[CountTable], Levels]:
    """Noisy marginals of a random table, consistent or not, negative and missing values among them; some of levels."""
    names = NAMES[: random.integers(1, 5)]
    shape = random.integers(1, 6, size=len(names))
    levels, _ = levels_of(random, int(shape[0]))
    table = random.gamma(0.5, 8.0, size=shape)
    sets = [some for size in range(len(names) + 1) for some in combinations(names, size)]
    sets += [(above.name, *some[1:]) for some in sets if "a" in some for above in levels.values()]
    chosen = [sets[place] for place in random.permutation(len(sets))[: random.integers(1, len(sets) + 1)]]
    found = []
    for columns in chosen:
        turned = tuple(random.permutation(columns))
        values = CountTable(columns=names, values=table).over(turned, levels)
        noise = random.normal(0, random.choice([0.0, 3.0]), size=values.shape)
        found.append(CountTable(columns=turned, values=np.asarray(values + noise)))
    if random.random() < 0.1 and found[0].values.size:
        found[0].values.reshape(-1)[0] = np.nan
    return found, levels


def above(name: str, levels: Levels) -> list[str]:
    """A column or level and all above it, the finest first."""
    return [name, *(above(levels[name].name, levels) if name in levels else ())]


def require_adds_up(tables: list[CountTable], rounded: list[np.ndarray], base: int, levels: Levels) -> None:
    whole = [CountTable(columns=one.columns, values=each) for one, each in zip(tables, rounded, strict=True)]
    for one in whole:
        assert one.values.min(initial=0) >= 0
        assert not (one.values % base).any()
    for one, other in combinations(whole, 2):
        theirs = {each for name in other.columns for each in above(name, levels)}
        shared = [next((each for each in above(name, levels) if each in theirs), "") for name in one.columns]
        held = tuple(filter(None, shared))
        assert (one.over(held, levels) == other.over(held, levels)).all()


@pytest.mark.parametrize("seed", thinned(range(10), 10))
def test_a_thousand_random_cases_add_up_on_every_margin_and_node(seed: int) -> None:
    random = np.random.default_rng(seed)
    for _ in range(100):
        (tables, levels), base = tables_of(random), int(random.choice([1, 3, 5, 10]))
        before = [one.values.copy() for one in tables]
        require_adds_up(tables, added_up(tables, base, levels), base, levels)
        assert all(np.array_equal(one.values, kept, equal_nan=True) for one, kept in zip(tables, before, strict=True))


def test_parts_below_0_take_from_their_neighbours_and_not_from_the_count() -> None:
    random = np.random.default_rng(1)
    leaves, nodes = random.normal(2, 4, size=(50, 2)), random.permutation(np.arange(50) % 7)
    levels = {"town": Above(name="region", nodes=nodes)}
    towns = CountTable(columns=("town", "sex"), values=leaves)
    regions = CountTable(columns=("region", "sex"), values=towns.over(("region", "sex"), levels))
    whole, above_whole = added_up([towns, regions], 1, levels)
    assert np.abs(above_whole - np.maximum(regions.values, 0)).max() < 3
    for node in range(7):
        for sex in range(2):
            own, total = leaves[nodes == node, sex], above_whole[node, sex]
            low, high = 0.0, own.max()
            for _ in range(60):  # bisection of what all are lowered by
                middle = (low + high) / 2
                low, high = (middle, high) if np.maximum(own - middle, 0).sum() > total else (low, middle)
            if np.maximum(own, 0).sum() > total:
                assert (np.abs(whole[nodes == node, sex] - np.maximum(own - low, 0)) < 1).all()


def test_it_is_the_same_whenever_it_is_made_and_near_its_values() -> None:
    random = np.random.default_rng(4)
    table = random.gamma(2.0, 40.0, size=(3, 8, 5))
    whole = CountTable(columns=NAMES[:3], values=table)
    tables = [CountTable(columns=each, values=whole.over(each, {})) for each in (("a", "b"), ("b", "c"), ("b",), ())]
    first = added_up(tables, 5, {})
    assert all((one == other).all() for one, other in zip(first, added_up(tables, 5, {}), strict=True))
    assert abs(int(first[-1]) - whole.over((), {})) <= 2.5
    for one, rounded in zip(tables, first, strict=True):
        assert np.abs(rounded - one.values).max() < 5 * (len(one.columns) + 1)


def test_whole_numbers_that_add_up_stay_as_they_are() -> None:
    table = np.random.default_rng(1).integers(0, 9, size=(4, 3, 2)).astype(float)
    whole = CountTable(columns=NAMES[:3], values=table)
    pairs = [CountTable(columns=each, values=whole.over(each, {})) for each in (("a", "b"), ("b", "c"), ("a",))]
    assert all((one == each.values).all() for one, each in zip(added_up(pairs, 1, {}), pairs, strict=True))


def test_a_cycle_too_large_is_refused() -> None:
    wide = np.ones((400, 400))
    cycle = [CountTable(columns=each, values=wide) for each in (("a", "b"), ("b", "c"), ("c", "a"))]
    with pytest.raises(InfeasiblePlan, match="overlap in a cycle of 64,000,000 cells"):
        added_up(cycle, 1, {})
