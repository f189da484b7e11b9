from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpqr.releases.answers.answered import BlockAnswers
from dpqr.releases.answers.errors import BASES, ESTIMATE, MEASURED, NO_BASIS
from dpqr.releases.answers.figures import FigureAnswers, FunctionErrors, figure_answers
from dpqr.releases.answers.noisy import Noisy
from dpqr.releases.answers.refits import BucketMargins
from dpqr.workload.queries_file import read_queries
from dpqr.workload.workload import Workload

DOMAIN: dict[str, Any] = {
    "fields": [
        {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}},
        {"name": "pay", "type": "integer", "constraints": {"minimum": 0, "maximum": 4}, "dpqr": {"bins": 5}},
        {"name": "loss", "type": "integer", "constraints": {"minimum": -10, "maximum": -6}, "dpqr": {"bins": 5}},
        {"name": "job", "type": "integer", "constraints": {"minimum": 1, "maximum": 3}, "dpqr": {"bins": 3}},
    ]
}
COUNTS = np.array([[40.0, 10.0, 30.0, 15.0, 5.0], [1.0, 0.0, 2.0, 0.0, 1.0]])


def workload(entry: dict[str, Any]) -> Workload:
    return read_queries({"queries": [entry]}, DOMAIN).workload


def answered(
    entry: dict[str, Any],
    truths: list[np.ndarray],
    *,
    deviation: float | None = 2.0,
    error: float = np.nan,
    alone: bool = True,
    **more: Any,
) -> FigureAnswers:
    """The figure where its answers are exact. deviation: of what was measured; None: nothing was. alone: in
    single draws."""
    asked = workload(entry)
    answers = {}
    for block, truth in zip(asked.blocks, truths, strict=True):
        rows = len(truth)
        noisy = Noisy.nothing(rows)
        if deviation is not None:
            noisy = Noisy(values=truth, deviation=np.full(rows, deviation), margin=np.full(rows, 2 * deviation))
        held = BlockAnswers(block=block, estimate=truth, error=np.full(rows, error), noisy=noisy)
        answers[block.name] = held
    direct = set(answers) if deviation is not None and alone else set()
    return figure_answers(asked.figures[0], answers, direct, {asked.blocks[0].name: FunctionErrors(**more)})


def sums(*rows: list[float]) -> np.ndarray:
    """Answers to rows of coefficients of pay, by sex."""
    return (COUNTS @ np.array(rows, dtype=float).T).reshape(-1)


@pytest.mark.parametrize("how", [{"deviation": 2.0}, {"deviation": None, "error": 2.0}], ids=["measured", "added up"])
def test_a_mean_below_0_is_as_sure_as_one_above(how) -> None:
    truths = [sums([4, 3, 2, 1, 0], [0, 1, 2, 3, 4])]
    above, below = (answered({"mean": name, "by": ["sex"]}, truths, **how) for name in ("pay", "loss"))
    assert below.estimate == pytest.approx(above.estimate - 10)
    assert below.lower == pytest.approx(above.lower - 10)
    assert below.upper == pytest.approx(above.upper - 10)
    assert (below.upper - below.lower > 0.01).all()


def test_a_mean_is_that_of_the_table_and_a_small_group_has_a_wide_interval() -> None:
    found = answered({"mean": "pay", "by": ["sex"]}, [sums([4, 3, 2, 1, 0], [0, 1, 2, 3, 4])])
    truths = COUNTS @ np.arange(5) / COUNTS.sum(axis=1)
    assert found.estimate[:, 0] == pytest.approx(truths)
    assert found.lower[0, 0] > 1.1
    assert found.upper[0, 0] < 1.6
    assert (found.lower[1, 0], found.upper[1, 0]) == pytest.approx((0.9, 2.8), abs=0.35)
    assert found.basis[:, 0].tolist() == [MEASURED, MEASURED]
    assert not found.small.any()


def test_a_group_that_may_be_empty_is_flagged_and_its_interval_is_all_that_can_be() -> None:
    found = answered({"mean": "pay", "by": ["sex"]}, [sums([4, 3, 2, 1, 0], [0, 1, 2, 3, 4])], deviation=8.0)
    assert found.small[:, 0].tolist() == [False, True]
    assert (found.lower[1, 0], found.upper[1, 0]) == (0.0, 4.0)
    assert np.isnan(found.error[1, 0])


def test_variances_proportions_and_ratios_are_those_of_the_table() -> None:
    squares = sums([16, 9, 4, 1, 0], [0, 6, 8, 6, 0], [0, 1, 4, 9, 16])
    variance = answered({"variance": "pay", "by": ["sex"]}, [squares])
    values = np.repeat(np.arange(5), COUNTS[0].astype(int))
    assert variance.estimate[0, 0] == pytest.approx(values.var())
    assert variance.lower[0, 0] < values.var() < variance.upper[0, 0] <= 4.0
    part = answered({"proportion": "pay >= 2", "by": ["sex"]}, [sums([0, 0, 1, 1, 1], [1, 1, 0, 0, 0])])
    assert part.estimate[:, 0] == pytest.approx([0.5, 0.75])
    ratio = answered(
        {"ratio": {"of": "pay", "to": "job"}, "by": ["sex"]}, [sums([0, 1, 2, 3, 4]), np.array([200.0, 10.0])]
    )
    assert ratio.estimate[:, 0] == pytest.approx(COUNTS @ np.arange(5) / [200.0, 10.0])


def test_quantiles_are_read_off_the_curve_and_their_intervals_are_whole_bins() -> None:
    curve = np.cumsum(COUNTS, axis=1).reshape(-1)
    found = answered({"quantiles": "pay", "at": [0.1, 0.5], "by": ["sex"]}, [curve], deviation=1.0)
    assert found.estimate[0].tolist() == [0.0, 1.0]
    assert (found.lower[0].tolist(), found.upper[0].tolist()) == ([0.0, 1.0], [0.0, 2.0])
    assert found.small[:, 0].tolist() == [False, False]
    assert np.isnan(found.error).sum() == 0


def test_without_any_known_error_a_quantile_is_still_read_off_the_curve() -> None:
    curves = np.cumsum(COUNTS, axis=1).reshape(-1)
    known = answered({"median": "pay", "by": ["sex"]}, [curves])
    found = answered({"median": "pay", "by": ["sex"]}, [curves], deviation=None)
    assert found.estimate.tolist() == known.estimate.tolist()
    assert found.basis.tolist() == [[NO_BASIS], [NO_BASIS]]
    assert np.isnan(np.concatenate([found.error, found.lower, found.upper])).all()


def test_the_largest_cells_are_sure_where_no_other_can_be_as_large() -> None:
    found = answered({"top": "pay", "k": 2, "by": ["sex"]}, [COUNTS.reshape(-1)], deviation=3.0)
    assert found.cells is not None
    assert found.cells.tolist() == [[0, 2], [2, 0]]
    assert found.sure.tolist() == [[True, True], [False, False]]
    assert found.estimate[0].tolist() == [40.0, 30.0]
    rivals = np.where(np.arange(5) == 2, 37.0, COUNTS)  # of the first cell's 40: within its interval
    alone = answered({"top": "pay", "k": 1, "by": ["sex"]}, [rivals.reshape(-1)], deviation=3.0)
    assert not alone.sure[0, 0]


def test_without_draws_of_its_own_a_figure_rests_on_estimated_errors() -> None:
    truth = sums([4, 3, 2, 1, 0], [0, 1, 2, 3, 4])
    entry = {"mean": "pay", "by": ["sex"]}
    safe = answered(entry, [truth], deviation=None, error=4.0)
    assert BASES[safe.basis[0, 0]] == "estimate"
    sums_of_draws = answered(entry, [truth], deviation=1.0, error=4.0, alone=False)
    assert BASES[sums_of_draws.basis[0, 0]] == "estimate"
    apart = answered(entry, [truth], deviation=None, error=4.0, estimated=np.tile([4.0, 4.0, np.sqrt(32.0)], 2))
    width = [float(one.upper[0, 0] - one.lower[0, 0]) for one in (apart, safe)]
    assert width[0] < width[1] < 3 * width[0]
    unknown = answered(entry, [truth], deviation=None)
    assert unknown.basis[:, 0].tolist() == [NO_BASIS, NO_BASIS]
    assert np.isnan(unknown.lower).all()


def test_sums_of_a_measured_table_take_the_place_of_larger_estimated_errors() -> None:
    truth = sums([4, 3, 2, 1, 0], [0, 1, 2, 3, 4])
    tests = np.tile([4.0, 4.0, 6.0], 2)
    more = {"estimated": 2 * tests, "values": truth, "summed": tests, "factor": 2.0}
    found = answered({"mean": "pay", "by": ["sex"]}, [truth], deviation=None, error=8.0, **more)
    assert found.basis[0, 0] == MEASURED
    kept = answered(
        {"mean": "pay", "by": ["sex"]}, [truth], deviation=None, error=1.0, **more | {"estimated": tests / 4}
    )
    assert kept.basis[0, 0] == ESTIMATE


def test_what_merged_cells_hide_widens_an_interval() -> None:
    curve = np.cumsum(COUNTS, axis=1).reshape(-1)
    rows = workload({"median": "pay", "by": ["sex"]}).figures[0].test_rows
    assert rows is not None
    errors, nothing = np.full(rows.size, 0.5), np.zeros(rows.size)
    some = BucketMargins(below=nothing, above=np.full(rows.size, 30.0))
    narrow, wide = (
        answered({"median": "pay", "by": ["sex"]}, [curve], deviation=None, error=0.5, estimated=errors, hidden=hidden)
        for hidden in (BucketMargins(below=nothing, above=nothing), some)
    )
    assert (narrow.lower[0, 0], narrow.upper[0, 0]) == (1.0, 2.0)
    assert (wide.lower[0, 0], wide.upper[0, 0]) == (0.0, 2.0)


def test_coefficients_are_exact() -> None:
    figure = workload({"mean": "pay"}).figures[0]
    assert figure.formula.numerator == (Fraction(0), Fraction(1))  # type: ignore[union-attr]
