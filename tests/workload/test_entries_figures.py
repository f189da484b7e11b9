from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.errors import DocumentError
from dpqr.kernel.unit import PrivacyUnit
from dpqr.workload.figures import Figure, Largest, Quantiles, QuotientFormula, VarianceFormula, comparisons, moments
from dpqr.workload.queries_file import QueriesDocument, read_queries
from dpqr.workload.sensitivity import Norm, sensitivity

DOMAIN: dict[str, Any] = {
    "fields": [
        {"name": "region", "type": "string", "constraints": {"enum": ["N", "S", "W"]}},
        {"name": "pay", "type": "number", "dpqr": {"edges": [0, 10, 30, 100], "null": "cell"}},
        {"name": "hours", "type": "integer", "constraints": {"minimum": 0, "maximum": 3}, "dpqr": {"bins": 4}},
        {
            "name": "born",
            "type": "date",
            "constraints": {"minimum": "2000-01-01", "maximum": "2000-12-31"},
            "dpqr": {"every": "month"},
        },
    ]
}
MIDPOINTS = np.array([5.0, 20.0, 65.0])


def read(*entries: dict[str, Any]) -> QueriesDocument:
    every = {"marginal": ["region", "pay", "hours"], "name": "every column"}
    return read_queries({"queries": [*entries, every]}, DOMAIN)


def figure_of(document: QueriesDocument) -> tuple[Figure, np.ndarray, np.ndarray]:
    """The figure, the answers of each group, and the counts."""
    (figure,) = document.workload.figures
    counts = np.random.default_rng(5).integers(1, 50, document.domain.shape)
    held = [block for block in document.workload.blocks if block.name in figure.blocks]
    answers = np.concatenate([block.answer(DenseHistogram(counts)) * float(block.scale) for block in held])
    return figure, answers[figure.rows], counts


def floats(coefficients: tuple[Fraction, ...]) -> np.ndarray:
    return np.array(coefficients, dtype=float)


@in_one_test("where", [None, "region != 'S'", "region = 'N' or pay >= 10"])
def test_a_mean_and_a_variance_follow_from_their_rows(where: str | None) -> None:
    told = {"where": where} if where else {}
    mean, answers, counts = figure_of(read({"mean": "pay", "by": ["region"], **told}))
    used = counts[:, :3].sum(axis=2).astype(float)
    if where == "region != 'S'":
        used[1] = 0
    elif where:
        used[1:, 0] = 0
    assert isinstance(mean.formula, QuotientFormula)
    assert answers @ floats(mean.formula.denominator) == pytest.approx(used.sum(axis=1))
    assert answers @ floats(mean.formula.numerator) == pytest.approx(used @ MIDPOINTS)
    spread, answers, _ = figure_of(read({"variance": "pay", "by": ["region"], **told}))
    assert isinstance(spread.formula, VarianceFormula)
    low = MIDPOINTS - 5
    assert answers @ floats(spread.formula.count) == pytest.approx(used.sum(axis=1))
    assert answers @ floats(spread.formula.sum) == pytest.approx(used @ low)
    assert answers @ floats(spread.formula.square) == pytest.approx(used @ low**2)


@in_one_test("entry", [{"mean": "pay"}, {"variance": "pay"}, {"proportion": "pay >= 10 or region = 'N'"}])
@pytest.mark.parametrize("by", [[], ["hours"], ["region"]])
def test_a_record_moves_numerator_and_denominator_by_one_count_together(entry: dict[str, Any], by: list[str]) -> None:
    block = read({**entry, "by": by}).workload.blocks[0]
    norm = sensitivity((block,), Norm.L1, PrivacyUnit())
    columns = np.array(list(block.coefficients())).sum(axis=0)
    assert set(columns) <= {0, norm}
    assert sensitivity((block,), Norm.L2_SQUARED, PrivacyUnit()) <= norm**2


def test_a_proportion_is_of_all_records_and_fault_cells_do_not_fulfil_it() -> None:
    figure, answers, counts = figure_of(read({"proportion": "pay >= 10 or region = 'N'", "by": ["region", "hours"]}))
    fulfilled = counts[:, 1:3].sum(axis=1)
    fulfilled[0] = counts[0].sum(axis=0)
    assert answers[:, 0].tolist() == fulfilled.reshape(-1).tolist()
    assert answers.sum(axis=1).tolist() == counts.sum(axis=1).reshape(-1).tolist()
    assert figure.groups == 12


@in_one_test(
    ("predicate", "where", "said"),
    [
        ("pay >= 10", {}, True),
        ("region = 'N' and pay >= 10", {"where": "region != 'S'"}, True),
        ("pay >= 10 or region = 'N'", {}, True),
        ("pay >= 10", {"where": "pay is not null"}, False),
        ("pay >= 10", {"weight": {"column": "hours", "maximum": 3}}, True),
        ("pay >= 10 or pay is null", {}, False),
        ("pay is not null", {}, False),
        ("region = 'N'", {}, False),
    ],
)
def test_a_plan_says_that_missing_values_count_as_not_fulfilling(
    predicate: str, where: dict[str, Any], said: bool
) -> None:
    """Once, where the column can be missing, and the entry neither leaves such records out nor counts them in."""
    found = [note for note in read({"proportion": predicate, "name": "p", **where}).notes if "(null)" in note]
    assert found == (["p: records whose pay is (null) count too, and fulfil no comparison with it"] if said else [])


def test_a_ratio_has_a_block_for_each_sum() -> None:
    figure, answers, counts = figure_of(read({"ratio": {"of": "pay", "to": "hours"}, "by": ["region"], "name": "rate"}))
    assert figure.blocks == ("rate: pay", "rate: hours")
    assert answers[:, 0].tolist() == (counts.sum(axis=2)[:, :3] @ MIDPOINTS).tolist()
    assert answers[:, 1].tolist() == (counts.sum(axis=1) @ np.arange(4)).tolist()


def test_quantiles_rest_on_cumulative_counts_and_largest_cells_on_counts() -> None:
    figure, answers, counts = figure_of(
        read({"quantiles": "pay", "at": [0.1, 0.9], "by": ["region"], "where": "pay >= 10"})
    )
    used = counts.sum(axis=2)[:, :3]
    used[:, 0] = 0
    assert answers.tolist() == used.cumsum(axis=1).tolist()
    assert figure.formula == Quantiles(
        at=(Fraction(1, 10), Fraction(9, 10)),
        bounds=tuple((Fraction(a), Fraction(b)) for a, b in ((0, 10), (10, 30), (30, 100))),
    )
    top, answers, counts = figure_of(read({"top": "hours", "k": 2, "by": ["region"]}))
    assert answers.tolist() == counts.sum(axis=1).tolist()
    assert top.formula == Largest(count=2, titles=("0", "1", "2", "3"))


def test_axes_of_groups_are_positions_among_the_columns_that_are_asked_about() -> None:
    document = read_queries({"queries": [{"mean": "hours", "by": ["region"]}]}, DOMAIN)
    assert document.domain.names == ("region", "hours")
    assert [document.domain.names[axis] for axis in document.workload.figures[0].by] == ["region"]


@in_one_test(
    ("entry", "path", "words"),
    [
        ({"mean": "region"}, ".mean", "holds labels; name a column of numbers"),
        ({"mean": "born"}, ".mean", "holds a date, which has no sum"),
        ({"mean": "pya"}, ".mean", "did you mean 'pay'?"),
        ({"mean": "pay", "by": ["pay"]}, ".by[0]", "is what this entry asks about"),
        ({"quantiles": "pay"}, "", "the key 'at' is missing"),
        ({"quantiles": "pay", "at": [0.5, 1]}, ".at[1]", "must lie above 0 and below 1"),
        ({"quantiles": "pay", "at": [0.5, 0.5]}, ".at[1]", "stands twice"),
        ({"ratio": {"of": "pay", "to": "pay"}}, ".ratio.to", "a column over itself is 1"),
        ({"ratio": {"of": "pay"}}, ".ratio", "the key 'to' is missing"),
        ({"proportion": "pay >="}, ".proportion", "at character 7: expected a number"),
        ({"proportion": "pay < 10 and pay >= 30"}, ".proportion", "is true for no cell"),
        ({"proportion": "hours >= 0"}, ".proportion", "is true for every cell"),
        ({"top": "hours", "k": 4}, ".k", "the column has 4 cells"),
        ({"top": "hours", "k": 0}, ".k", ">= 1"),
        ({"mean": "pay", "median": "pay"}, "", "'mean' and 'median' are two entries"),
    ],
)
def test_faults_name_their_path(entry: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read(entry)
    assert str(caught.value).startswith(f"queries: $.queries[0]{path}")
    assert words in str(caught.value)


def test_midpoints_that_share_no_coarse_grid_are_moved_and_the_note_says_so() -> None:
    fine = {"fields": [{"name": "x", "type": "number", "dpqr": {"edges": [0, 0.0001, 7000, 90000.0007]}}]}
    for kind in ("mean", "variance"):
        document = read_queries({"queries": [{kind: "x"}]}, fine)
        block = document.workload.blocks[0]
        assert max(int(row.max()) for row in block.coefficients()) <= 2**20
        assert "an error of at most" in document.notes[0]


def test_comparisons_hold_a_part_of_the_last_count_against_each_other() -> None:
    curve, at = np.array([10, 60, 100]), [Fraction(1, 10), Fraction(3, 4)]
    found = comparisons(at, 3) @ curve
    expected = [part.denominator * (count - part * 100) for part in at for count in curve[:2]]
    assert found.tolist() == [*expected, 100]


def test_moments_give_all_covariances() -> None:
    covariance = np.array([[4.0, 1.0, -0.5], [1.0, 9.0, 2.0], [-0.5, 2.0, 1.0]])
    variances = np.einsum("ti,ij,tj->t", moments(3), covariance, moments(3))
    assert variances[:3] == pytest.approx(np.diag(covariance))
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert variances[3:] == pytest.approx(
        [covariance[a, a] + covariance[b, b] - 2 * covariance[a, b] for a, b in pairs]
    )
