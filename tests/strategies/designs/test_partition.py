"""Buckets from noisy counts of boxes: what counts tell apart stays apart, what is not is merged."""

import numpy as np
from support.cases import in_one_test

from dpqr.kernel.values import replace
from dpqr.models.fit.buckets import BoxCounts
from dpqr.strategies.designs import buckets as partition
from dpqr.strategies.designs.buckets import choose_partition
from dpqr.strategies.designs.gram import bucket_queries
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.partition import Bisection


def chosen(shape, counts, variance, noise, level=None):
    bisection = Bisection(shape)
    level = bisection.depth if level is None else level
    factors = tuple(Factor(axes=(a,), sizes=(size,), matrix=Prefix(size)) for a, size in enumerate(shape))
    block = QueryBlock(name="cdf", factors=factors)
    axes = tuple(range(len(shape)))
    queries = bucket_queries((block,), axes, bisection.boxes(bisection.depth, np.arange(2**bisection.depth)))
    sums = np.zeros(2**level)
    np.add.at(sums, bisection.places(level), np.asarray(counts, dtype=float).reshape(-1))
    known = BoxCounts(
        bisection=bisection,
        counts=sums,
        variances=np.full(level, float(variance)),
        total=float(sums.sum()),
        deviation=float(variance) ** 0.5,
    )
    return choose_partition(known, queries, noise)


def test_every_cell_is_in_the_box_of_its_bucket() -> None:
    rng = np.random.default_rng(1)
    for shape in ((13,), (4, 6), (1, 5)):
        found = chosen(shape, rng.poisson(20, shape), 10.0, lambda buckets: 500.0 * buckets)
        cells = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)
        starts, stops = found.boxes.starts[found.buckets], found.boxes.stops[found.buckets]
        assert ((starts <= cells) & (cells < stops)).all()
        assert sorted(set(found.buckets.tolist())) == list(range(len(found.boxes)))
        np.testing.assert_array_equal(np.bincount(found.buckets), found.boxes.cells)


STEP = np.repeat([1000, 0], 8)
HIDDEN = np.random.default_rng(2).normal(0, 100, 16)
NEGATIVE = np.where(np.arange(16) < 8, 40.0, -41.0)


@in_one_test(
    ("counts", "variance", "price", "fewest", "most"),
    [
        (STEP, 1e-3, 5e7, 2, 2),
        (HIDDEN, 1e4, 1e6, 1, 1),
        (np.arange(16) * 1000, 1e-3, 0.0, 16, 16),
        (NEGATIVE, 900.0, 50.0, 2, 16),
    ],
)
def test_what_counts_tell_apart_stays_apart_where_buckets_are_worth_their_price(
    counts, variance, price, fewest, most
) -> None:
    found = chosen((16,), counts, variance, lambda buckets: price * buckets)
    assert fewest <= len(found.boxes) <= most
    assert counts is not STEP or found.boxes.starts.tolist() == [[0], [8]]


def test_below_the_counted_boxes_large_counts_are_halved_further() -> None:
    found = chosen((16,), [4000, 0] * 4 + [0, 0] * 4, 1e-3, lambda buckets: 1e5 * buckets, level=1)
    assert len(found.boxes) > 2
    assert (found.boxes.starts >= 8).sum() < (found.boxes.starts < 8).sum()


def test_there_are_never_more_buckets_than_the_estimate_can_bear(monkeypatch) -> None:
    monkeypatch.setattr(partition, "TUNING", replace(partition.TUNING, most=3))
    found = chosen((16,), np.arange(16) * 1000, 1e-3, lambda buckets: 1e6 * buckets)
    assert 1 <= len(found.boxes) <= 3
    monkeypatch.setattr(partition, "TUNING", replace(partition.TUNING, most=1))
    assert len(chosen((16,), np.arange(16), 1e-3, lambda buckets: 0.0).boxes) == 1


def test_the_error_that_is_expected_grows_with_noise() -> None:
    counts = np.random.default_rng(3).poisson(50, 32)
    errors = [chosen((32,), counts, 4.0, lambda buckets, size=size: size * buckets).error for size in (1e2, 1e4, 1e6)]
    assert errors == sorted(errors)


@in_one_test("records", [400.0, 40000.0])
def test_even_counts_teach_that_neighbours_are_alike(records) -> None:
    """Prior to any count two halves may differ by a third of both; many even boxes show that these do not."""
    noise = np.random.default_rng(3).normal(0, records / 200, 64)
    found = chosen(
        (64,), np.full(64, records / 64) + noise, (records / 100) ** 2, lambda buckets: 0.01 * records**2 * buckets
    )
    assert len(found.boxes) <= 2
