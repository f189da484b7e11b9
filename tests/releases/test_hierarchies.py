"""Releases of hierarchies: what they publish adds up, whichever schedule answers them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.cases import slow_but

import dpqr
from dpqr.releases.any_release import check_documents

PARENTS = {f"t{town}": f"r{town % 5}" for town in range(30)} | {f"r{region}": f"c{region % 2}" for region in range(5)}
TOWNS = [name for name in PARENTS if name.startswith("t")]
DOMAIN = {
    "fields": [
        {"name": "town", "type": "string", "parent": {"map": PARENTS, "levels": ["region", "country"]}},
        {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}, "dpqr": {"null": "cell"}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 3}},
    ]
}
HIERARCHY = {"hierarchy": "town", "by": ["sex"], "name": "at"}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    random = np.random.default_rng(4)
    columns = {
        "town": random.choice(TOWNS, 900),
        "sex": random.choice(["f", "m"], 900),
        "age": random.integers(0, 4, 900),
    }
    return pd.DataFrame(columns)


def by_node(made: dpqr.Release, level: str) -> pd.DataFrame:
    found = made.pivot(f"at {level}")
    return found if found.index.name == "town" else found.T


@pytest.mark.parametrize(
    ("more", "schedule"),
    slow_but({0}, [([], "strategy"), ([{"marginal": ["sex", "age"]}], "marginals")]),
    ids=["alone", "shared"],
)
def test_estimates_of_all_levels_add_up(table, more, schedule) -> None:
    made = dpqr.release(table, queries={"queries": [HIERARCHY, *more]}, domain=DOMAIN, eps=1)
    assert made.record["plan"]["schedule"]["name"] == schedule
    tables = {level: by_node(made, level) for level in ("country", "region", "town")}
    assert [len(each) for each in tables.values()] == [2, 5, 30]
    for above, below in (("region", "town"), ("country", "region")):
        summed = tables[below].groupby(lambda node: PARENTS[node]).sum()
        expected = tables[above].loc[summed.index]
        np.testing.assert_allclose(summed, expected, atol=1e-6 * len(table))


def test_a_certain_release_counts_every_node(table) -> None:
    made = dpqr.release(table, queries={"queries": [HIERARCHY]}, domain=DOMAIN, eps=1000)
    counted = table.groupby([table["town"].map(PARENTS), "sex"]).size().unstack()
    found = by_node(made, "region").loc[counted.index, counted.columns]
    np.testing.assert_allclose(found, counted, atol=1e-6)


def test_check_counts_the_nodes_of_every_level() -> None:
    town, sex = check_documents({"queries": [HIERARCHY]}, DOMAIN)["columns"]
    assert (town["levels"], "levels" in sex) == ({"region": 5, "country": 2}, False)
