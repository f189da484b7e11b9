"""Levels are values: their places cannot be changed."""

import numpy as np
import pytest

from dpqr.domain.attribute import Attribute, Hierarchy, HierarchyLevel, Labels

REGION = HierarchyLevel(name="region", nodes=("north", "south"), places=np.array([0, 0, 1]))


def test_places_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        REGION.places[0] = 1


def test_columns_of_the_same_cells_are_equal_whatever_their_levels() -> None:
    towns = Labels(("a", "b", "c"))
    plain, levelled = (Attribute(name="t", axis=towns, hierarchy=each) for each in (None, Hierarchy(levels=(REGION,))))
    assert plain == levelled
