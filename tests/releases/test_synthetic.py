"""Values drawn from the bins of synthetic rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest
from support.cases import in_one_test
from support.handmade_release import BLOCKS, WEIGHTS, Stub, TinyHypothesis

from dpqr.domain.attribute import Attribute, Bins, Labels, Rule
from dpqr.domain.domain import Domain, KnownTotal, PublicFacts, Region
from dpqr.domain.histogram import dense_marginal
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.values import replace
from dpqr.models.factored import FactoredDistribution
from dpqr.releases.files import release_files as synthetic
from dpqr.releases.files.release_files import require_sampleable, sampled, synthesise
from dpqr.releases.record.release_document import Synthetic
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Workload


@dataclass(frozen=True)
class Unsampleable:
    total: float = 1.0

    def answer(self, block):
        return np.zeros(block.rows)


RECORDS = (QueryBlock(name="records"),)


def over(release, domain, tensor, blocks=RECORDS):
    problem = replace(release.plan.problem, domain=domain, workload=Workload(blocks))
    return replace(release, plan=replace(release.plan, problem=problem), hypothesis=TinyHypothesis(tensor))


def test_cells_are_the_hypothesis_itself(release):
    made = synthesise(release, "cells")
    assert made.table.column_names == ["sex", "age", "region", "weight"]
    assert made.table.num_rows == np.count_nonzero(WEIGHTS)
    assert made.record == Synthetic(form="cells", bins="title")
    rebuilt = {tuple(row[name] for name in ("sex", "age", "region")): row["weight"] for row in made.table.to_pylist()}
    titles = [attribute.titles() for attribute in release.plan.problem.domain.attributes]
    for cell in np.argwhere(WEIGHTS > 0):
        key = tuple(names[code] for names, code in zip(titles, cell, strict=True))
        assert rebuilt[key] == WEIGHTS[tuple(cell)]


def test_rows_are_the_rounded_total_drawn_from_the_public_seed(release, monkeypatch):
    made = synthesise(release, "rows")
    assert made.table.column_names == ["sex", "age", "region"]
    assert made.table.num_rows == 26
    moved = made.record.moved
    assert made.record == Synthetic(form="rows", bins="title", seed=7, rows=26, records_a_row=1.0, moved=moved)
    codes = release.hypothesis.rows(26, 7)
    drawn = [("F", "M", "(null)")[code] for code in codes[:, 0]], [str(code) for code in codes[:, 2]]
    found = made.table["sex"].to_pylist(), made.table["region"].to_pylist()
    assert sum(one != other for pair in zip(drawn, found, strict=True) for one, other in zip(*pair, strict=True)) <= (
        round(moved * 26 * 3)
    )
    assert synthesise(release, "rows").table.equals(made.table)
    monkeypatch.setattr(synthetic, "ROW_LIMIT", 13)
    fewer = synthesise(release, "rows")
    assert (fewer.table.num_rows, fewer.record.records_a_row) == (13, 2.0)


class Apart(TinyHypothesis):
    """Answers that are not those of the distribution that its rows are drawn from."""

    def answer(self, block):
        return block.apply(dense_marginal(np.full(WEIGHTS.shape, self.tensor.mean()), block.axes))


def counted(made):
    found = np.zeros(WEIGHTS.shape)
    codes = [made.table[name].combine_chunks().indices.to_numpy() for name in ("sex", "age", "region")]
    np.add.at(found, tuple(codes), 1.0)
    return found


@pytest.mark.slow
def test_rows_are_moved_towards_the_answers(release):
    tensor = WEIGHTS * 100
    made = synthesise(replace(release, hypothesis=TinyHypothesis(tensor)), "rows")
    for block in (block for block in BLOCKS if len(block.axes) > 1):
        cells = dense_marginal(tensor, block.axes)
        drawn = np.zeros(tensor.shape)
        np.add.at(drawn, tuple(TinyHypothesis(tensor).rows(2650, 7).T), 1.0)
        before, after = (np.abs(dense_marginal(one, block.axes) - cells).sum() for one in (drawn, counted(made)))
        assert after < 0.5 * before
    assert made.record.moved > 0.0
    far = synthesise(replace(release, hypothesis=Apart(tensor)), "rows")
    assert far.record.moved > made.record.moved


def test_public_facts_stay_as_true_as_they_were(release):
    first = np.arange(2) == 0
    barred, known = (Region(text=text, axes=(2,), cells=first) for text in ("barred", "known"))
    facts = PublicFacts(impossible=(barred,), totals=(KnownTotal(region=known, count=0),))
    problem = release.plan.problem
    tensor = WEIGHTS * 100
    changed = over(release, replace(problem.domain, facts=facts), tensor, BLOCKS)
    made = synthesise(changed, "rows")
    drawn = TinyHypothesis(tensor).rows(2650, 7)
    assert made.record.moved > 0.0
    assert counted(made)[:, :, 0].sum() == np.count_nonzero(drawn[:, 2] == 0)


@pytest.mark.parametrize("total", [0.2, 0.0])
def test_a_hypothesis_of_nobody_gives_no_rows(release, total):
    hypothesis = TinyHypothesis(WEIGHTS * total / WEIGHTS.sum()) if total else Nobody()
    made = synthesise(replace(release, hypothesis=hypothesis), "rows")
    assert made.table.num_rows == 0
    assert made.table.column_names == ["sex", "age", "region"]


class Nobody(TinyHypothesis):
    def __init__(self):
        super().__init__(np.zeros((3, 3, 2)))

    def rows(self, count, seed):
        assert count == 0
        return np.zeros((0, 3), dtype=np.int64)


def test_midpoints_keep_the_kind_of_the_column_and_own_cells_become_null(release):
    domain = Domain(
        (
            Attribute(name="age", axis=Bins((Fraction(0), Fraction(20), Fraction(45))), rules={"null": Rule.CELL}),
            Attribute(name="day", axis=Bins((Fraction(0), Fraction(3), Fraction(10)), kind="date")),
            Attribute(name="at", axis=Bins((Fraction(0), Fraction(2_000_000)), kind="datetime")),
            Attribute(name="sex", axis=Labels(("F",))),
        )
    )
    tensor = np.zeros((3, 2, 1, 1))
    tensor[0, 0, 0, 0] = tensor[1, 1, 0, 0] = tensor[2, 1, 0, 0] = 1.0
    made = synthesise(over(release, domain, tensor), "cells", bins="midpoint").table
    assert made["age"].to_pylist() == [10.0, 32.5, None]
    assert made["day"].to_pylist() == [date(1970, 1, 2), date(1970, 1, 7), date(1970, 1, 7)]
    assert made["at"].to_pylist() == [datetime(1970, 1, 1, 0, 0, 1)] * 3
    assert made["at"].type == pa.timestamp("us")
    assert made["sex"].to_pylist() == ["F"] * 3
    titles = synthesise(over(release, domain, tensor), "cells").table
    assert titles["age"].to_pylist() == ["[0, 20)", "[20, 45]", "(null)"]


def test_the_last_of_256_bins_holds_its_own_values(release):
    """Codes of as many bins are bytes, and one more than the last of them is none."""
    domain = Domain((Attribute(name="income", axis=Bins((*map(Fraction, range(256)), Fraction(513, 2)))),))
    tree = FactoredDistribution.uniform((256,), 2560.0)
    drawn = synthesise(replace(over(release, domain, np.ones(256)), hypothesis=tree), "rows", bins="sampled").table
    incomes = np.sort(drawn["income"].to_numpy())
    assert (np.floor(np.minimum(incomes, 255)) == np.arange(256).repeat(10)).all()


def test_an_attribute_called_weight_moves_aside_in_cells_only(release):
    domain = Domain((Attribute(name="weight", axis=Labels(("a", "b"))),))
    changed = over(release, domain, np.array([1.0, 2.0]))
    assert synthesise(changed, "cells").table.column_names == ["column_weight", "weight"]
    assert synthesise(changed, "rows").table.column_names == ["weight"]


def test_a_rule_that_gives_no_distribution_is_refused_before_anything_is_spent(plan, release):
    require_sampleable(plan)
    roles = replace(plan.roles, update=Stub("median", hypothesis=Unsampleable()))
    with pytest.raises(InfeasiblePlan) as refused:
        require_sampleable(replace(plan, roles=roles))
    assert str(refused.value) == (
        "--update median ends with a hypothesis that is no distribution over cells, so --synthetic has nothing to draw "
        "from; leave --synthetic out or use --update multiplicative-weights"
    )
    with pytest.raises(InfeasiblePlan, match="no distribution"):
        synthesise(replace(release, hypothesis=Unsampleable()), "rows")


def test_cells_of_a_domain_too_large_to_list_are_refused_and_rows_are_not(plan, monkeypatch):
    cells = plan.problem.domain.size
    monkeypatch.setattr(synthetic, "LARGEST_LISTING", cells - 1)
    require_sampleable(plan, "rows")
    with pytest.raises(InfeasiblePlan, match=f"has {cells} cells, and --synthetic cells lists at most {cells - 1};"):
        require_sampleable(plan, "cells")
    monkeypatch.setattr(synthetic, "LARGEST_LISTING", cells)
    require_sampleable(plan, "cells")


UNIFORMS = np.linspace(0.0, 1.0, 4_001)[:-1]


def edges(*ends: str) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, ends))


def drawn(axis: Bins, code: int) -> list[object]:
    found: list[object] = sampled(axis, np.full(UNIFORMS.size, code), UNIFORMS).to_pylist()
    return found


@in_one_test(
    ("closed", "held"),
    [("left", [{0, 1, 2, 3, 4}, {5, 6, 7, 8}]), ("right", [{0, 1, 2, 3, 4, 5}, {6, 7, 8}])],
)
def test_every_whole_number_of_a_bin_and_no_other_one_is_drawn_alike(
    closed: Literal["left", "right"], held: list[set[int]]
) -> None:
    axis = Bins(edges("0", "5", "8"), closed=closed, integral=True)
    for code, values in enumerate(held):
        found = drawn(axis, code)
        assert set(found) == values
        assert max(found.count(one) for one in values) - min(found.count(one) for one in values) <= 1


def test_numbers_lie_within_their_edges_and_never_on_one() -> None:
    axis = Bins(edges("0.1", "0.3", "0.7"))
    for code, (low, high) in enumerate([(0.1, 0.3), (0.3, 0.7)]):
        found = np.array(drawn(axis, code))
        assert low < found.min() < low + 0.001 * (high - low) < high - 0.001 * (high - low) < found.max() < high
        assert found.mean() == pytest.approx((low + high) / 2, abs=0.001)


def test_days_and_moments_keep_their_kind_and_own_cells_become_null() -> None:
    numbers = Bins(edges("0", "5", "8"), integral=True)
    assert sampled(numbers, np.array([1, 2, 0, 3]), np.zeros(4)).to_pylist() == [5, None, 0, None]
    beyond = Bins(edges("0", "1" + "0" * 30), integral=True)
    assert sampled(beyond, np.zeros(2, dtype=np.int64), np.array([0.25, 0.5])).to_pylist() == [2.5e29, 5e29]
    days = Bins(edges("0", "3", "10"), kind="date", integral=True)
    assert set(drawn(days, 0)) == {date(1970, 1, day) for day in (1, 2, 3)}
    moments = Bins(edges("0", "3000000"), kind="datetime")
    found = sampled(moments, np.zeros(3, dtype=np.int64), np.array([0.0, 0.5, 1.0 - 2.0**-53]))
    assert found.type == pa.timestamp("us")
    assert found.to_pylist() == [
        datetime(1970, 1, 1),
        datetime(1970, 1, 1, 0, 0, 1, 500_000),
        datetime(1970, 1, 1, 0, 0, 3),
    ]
