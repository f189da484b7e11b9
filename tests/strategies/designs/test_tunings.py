"""Tunings on a shelf: the same as new ones, and worth nothing to whoever plants a wrong one."""

import numpy as np
import pytest

from dpqr.strategies.designs import tunings as module
from dpqr.strategies.designs.axis_queries import AxisQueries
from dpqr.strategies.designs.kronecker import designs
from dpqr.strategies.designs.p_identity import p_identity
from dpqr.strategies.designs.tunings import tuned, tunings_from
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.p_identity import PIdentity
from dpqr.workload.sensitivity import Norm

SIZE = 40
CDF = AxisQueries(size=SIZE, terms=((Prefix(SIZE), np.ones(SIZE)),))


class Shelved(dict):
    """A shelf in memory."""

    def find(self, name):
        return self.get(name)

    def keep(self, name, table):
        self[name] = table


def same(left, right) -> bool:
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in ("widths", "diagonal", "sums"))


@pytest.mark.parametrize("norm", [Norm.L1, Norm.L2_SQUARED])
def test_a_kept_tuning_is_the_new_one(norm, monkeypatch) -> None:
    shelf, new = Shelved(), p_identity(CDF, norm)
    with tunings_from(shelf) as first:
        assert same(tuned(CDF, norm), new)
    monkeypatch.setattr(module, "tune", None)
    with tunings_from(shelf) as second:
        assert same(tuned(CDF, norm), new)
    assert (first.taken, second.taken) == (0, 1)


def test_without_a_shelf_it_is_tuned_anew() -> None:
    with tunings_from(Shelved()):
        pass
    assert same(tuned(CDF, Norm.L1), p_identity(CDF, Norm.L1))


def test_whatever_tuning_depends_on_has_its_own_place() -> None:
    shelf = Shelved()
    weighted = AxisQueries(size=SIZE, terms=((Prefix(SIZE), np.arange(1.0, SIZE + 1)),))
    longer = AxisQueries(size=SIZE + 1, terms=((Prefix(SIZE + 1), np.ones(SIZE + 1)),))
    with tunings_from(shelf) as used:
        tuned(CDF, Norm.L1)
        tuned(CDF, Norm.L2_SQUARED)
        tuned(CDF, Norm.L1, 128)
        tuned(weighted, Norm.L1)
        tuned(longer, Norm.L1)
    assert (len(shelf), used.taken) == (5, 0)


def test_few_cells_are_not_worth_a_look() -> None:
    few, shelf = AxisQueries(size=8, terms=((Prefix(8), np.ones(8)),)), Shelved()
    with tunings_from(shelf):
        tuned(few, Norm.L1)
    assert not shelf


WRONG = {
    "one row too many": lambda table: np.concatenate([table[:1], *[table[1:]] * 3]),
    "fewer groups": lambda table: table[:, 1:],
    "no rows": lambda table: table[:0],
    "flat": lambda table: table[0],
    "a cell without weight": lambda table: table * (np.arange(SIZE) > 0),
    "negative": lambda table: np.concatenate([table[:1], -table[1:]]),
    "beyond the precision": lambda table: table * 5000,
}


@pytest.mark.parametrize("damage", WRONG.values(), ids=WRONG)
def test_a_table_of_another_form_is_not_taken(damage) -> None:
    shelf, new = Shelved(), p_identity(CDF, Norm.L1)
    with tunings_from(shelf) as used:
        tuned(CDF, Norm.L1)
        (name,) = shelf
        shelf[name] = damage(shelf[name])
        assert same(tuned(CDF, Norm.L1), new)
        assert same(tuned(CDF, Norm.L1), new)
    assert used.taken == 1


def test_what_cannot_be_inverted_is_not_taken(monkeypatch) -> None:
    def stiff(self, queries):
        raise np.linalg.LinAlgError

    shelf = Shelved()
    with tunings_from(shelf) as used:
        tuned(CDF, Norm.L1)
        monkeypatch.setattr(PIdentity, "variances", stiff)
        assert same(tuned(CDF, Norm.L1), p_identity(CDF, Norm.L1))
    assert used.taken == 0


def test_a_planted_tuning_is_priced_as_what_it_is() -> None:
    """Sensitivity and forecast are those of the planted integers, and the hierarchy is offered in its place."""
    shelf = Shelved()
    with tunings_from(shelf):
        tuned(CDF, Norm.L1)
        (name,) = shelf
        shelf[name] = np.concatenate([np.full((1, SIZE), 3), np.full((10, SIZE), 4000)])
        planted = tuned(CDF, Norm.L1)
        assert planted.column_norm(1) == 3 + 10 * 4000
        factor = Factor(axes=(0,), sizes=(SIZE,), matrix=Prefix(SIZE))
        offered = designs("s", (0,), (SIZE,), (QueryBlock(name="planted", factors=(factor,)),), Norm.L1)
    assert ("p-identity",) not in [design.kinds for design in offered]
