"""The levels above a column's cells, and what is wrong with parents: one line each, with its path."""

from __future__ import annotations

from typing import Any

import pytest

from dpqr.domain.attribute import Hierarchy
from dpqr.domain.domain_file import read_domain
from dpqr.domain.hierarchies import MOST_LEVELS
from dpqr.kernel.errors import DocumentError

TOWNS = {"Oslo": "East", "Moss": "East", "Bergen": "West", "Umea": "North"}
REGIONS = {"East": "Norway", "West": "Norway", "North": "Sweden"}


def domain(parent: Any, **more: Any):
    labels = {"constraints": {"enum": list(TOWNS)}}
    return read_domain({"fields": [{"name": "town", "type": "string", "parent": parent, **labels, **more}]})


def found(parent: Any, **more: Any) -> Hierarchy:
    hierarchy = domain(parent, **more).attributes[0].hierarchy
    assert hierarchy is not None
    return hierarchy


def test_chains_of_parents_are_levels() -> None:
    region, country = found(TOWNS | REGIONS).levels
    assert (region.name, region.nodes, region.places.tolist()) == ("level 1", ("East", "West", "North"), [0, 0, 1, 2])
    assert (country.name, country.nodes, country.places.tolist()) == ("level 2", ("Norway", "Sweden"), [0, 0, 0, 1])


def test_levels_have_the_stated_names() -> None:
    levels = found({"map": TOWNS | REGIONS, "levels": ["region", "country"]}).levels
    assert [level.name for level in levels] == ["region", "country"]


def test_a_fault_cell_is_a_node_of_its_own_on_every_level() -> None:
    region, country = found(TOWNS | REGIONS, dpqr={"null": "cell"}).levels
    assert (region.nodes[-1], region.places[-1], country.nodes[-1]) == ("(null)", 3, "(null)")


def test_bins_have_parents_by_their_titles_and_are_not_cut() -> None:
    ages = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 3}, "dpqr": {"width": 2}}
    parent = {"[0, 2)": "young", "[2, 3]": "old"}
    titles = read_domain({"fields": [ages]}).attributes[0].titles()
    stated = dict(zip(titles, parent.values(), strict=True))
    (level,) = read_domain({"fields": [{**ages, "parent": stated}]}).attributes[0].hierarchy.levels
    assert (level.nodes, level.places.tolist()) == (("young", "old"), [0, 1])


def test_labels_may_come_from_the_parents() -> None:
    (town,) = read_domain({"fields": [{"name": "town", "type": "string", "parent": TOWNS | REGIONS}]}).attributes
    assert town.titles() == tuple(TOWNS)
    assert town.declared is None


def test_other_children_are_no_fault() -> None:
    assert len(found({**TOWNS, "Rome": "South"}).levels) == 1


WRONG = [
    (
        {key: TOWNS[key] for key in ("Oslo", "Moss", "Umea")} | {"Bergan": "West"},
        "$.fields[0].parent: the label 'Bergen' has no parent; add it (did you mean 'Bergan'?)",
    ),
    (
        {**TOWNS, "Moss": "Eest", **REGIONS},
        "$.fields[0].parent.Moss: unknown parent 'Eest' of 'Moss': it has no parent itself, as others of its level "
        "have; did you mean 'West'?",
    ),
    (
        {**TOWNS, "Umea": "East", "East": "West", "West": "East"},
        "$.fields[0].parent.East: the parents form a cycle: West -> East -> West; correct one of them",
    ),
    (
        {**TOWNS, "Oslo": "Oslo"},
        "$.fields[0].parent.Oslo: 'Oslo' is its own parent; at the top leave it out, else name the two levels "
        "differently",
    ),
    (
        {**TOWNS, "Moss": "Oslo"},
        "$.fields[0].parent.Moss: the parent 'Oslo' of 'Moss' is also a label of the column; give one of them another "
        "name",
    ),
    (
        {**TOWNS, "East": "Norway", "West": "North", "North": "Sweden"},
        "$.fields[0].parent.West: the parent 'North' of 'West' is also on a lower level; give one of them another name",
    ),
    (
        {"map": TOWNS, "levels": ["region", "country"]},
        "$.fields[0].parent.map: 'levels' names 2 levels above the column, and the parents make 1",
    ),
    (
        {"map": TOWNS, "levels": ["town"]},
        "$.fields[0].parent.map: two levels have one name (the lowest has the column's); give each its own",
    ),
    (
        {**TOWNS, "Oslo": 7},
        "$.fields[0].parent.Oslo: the parent of 'Oslo' is no text; name it",
    ),
]


@pytest.mark.parametrize(("parent", "said"), WRONG)
def test_wrong_parents_are_one_line_with_their_path(parent, said) -> None:
    with pytest.raises(DocumentError) as error:
        domain(parent)
    assert str(error.value) == f"domain: {said}"


def test_all_labels_without_a_parent_are_named() -> None:
    with pytest.raises(DocumentError) as error:
        domain({"Oslo": "East"})
    assert str(error.value).count("has no parent") == 3


def test_a_parent_like_a_fault_cell_is_refused() -> None:
    with pytest.raises(DocumentError, match=r"'\(null\)' is the name of a fault cell"):
        domain(TOWNS | {"Oslo": "(null)"}, dpqr={"null": "cell"})


def test_endless_levels_are_refused() -> None:
    parents = dict.fromkeys(TOWNS, "0") | {str(level): str(level + 1) for level in range(MOST_LEVELS + 5)}
    with pytest.raises(DocumentError, match=f"more than {MOST_LEVELS} levels"):
        domain(parents)
