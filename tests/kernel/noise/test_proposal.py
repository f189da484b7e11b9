from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpqr.kernel.noise import selection as proposal
from dpqr.kernel.noise.selection import bucket_candidates, list_candidates, propose

LEAST, MOST = -(2**63), 2**63 - 1
RATE = Fraction(12345678901234567890123456789, 2**94)

CASES = {
    "one": ([7], RATE),
    "all equal": ([5] * 300, RATE),
    "steps": (list(range(-150, 150)), RATE),
    "one outlier": ([0] * 299 + [10**6], Fraction(1, 100)),
    "one straggler": ([0] * 299 + [-(10**6)], Fraction(1, 100)),
    "huge gaps": ([0, 10**3, 10**6, 10**9, 10**12, 10**15, 10**18] * 20, Fraction(1, 10**14)),
    "edges of int64": ([LEAST, MOST, 0, -1, LEAST + 1, MOST - 1] * 9, Fraction(1, 2**62)),
    "edges, tiny rate": ([LEAST, MOST, 0] * 9, Fraction(1, 10**30)),
    "edges, huge rate": ([LEAST, MOST, MOST - 1] * 9, Fraction(10**30)),
    "rate 0": ([LEAST, MOST, 0, 3] * 9, Fraction(0)),
}


@pytest.mark.parametrize("make", [list_candidates, bucket_candidates])
@pytest.mark.parametrize("case", CASES)
def test_every_candidate_owns_its_bound_and_the_bound_is_above_its_weight(case, make, monkeypatch, exp_minus):
    """Walks [0, total) run by run: the whole map from integers to candidates, so the whole law of a proposal."""
    monkeypatch.setattr(proposal, "CHUNK", 64)
    values, rate = CASES[case]
    scores = np.array(values, dtype=np.int64)
    found = make(scores, max(values), rate, 40)
    owners = []
    point = 0
    while point < found.total:
        index, bound = found.pick(point)
        assert found.pick(point + bound - 1) == (index, bound)
        owners.append(index)
        point += bound
        weight = mpmath.ldexp(exp_minus(rate * (max(values) - values[index])), 40)
        assert weight <= bound
        assert weight >= (1 - mpmath.mpf(2) ** -7 - mpmath.mpf(2) ** -12) * (bound - 2)
    assert point == found.total
    assert sorted(owners) == list(range(len(values)))


@pytest.mark.parametrize("count", [1, 4096, 4097, 200_000])
def test_totals_stay_within_int64_and_trials_nearly_always_succeed(count, monkeypatch):
    rng = np.random.default_rng(count)
    for scores in (np.zeros(count, dtype=np.int64), rng.integers(-1000, 1, count), rng.integers(LEAST, MOST, count)):
        best = int(scores.max())
        found = propose(scores, best, Fraction(1, 50))
        true = float(np.exp(-np.minimum((best - scores.astype(float)) / 50, 700)).sum())
        assert 0 < found.total < 2**62
        assert 1 - 2.0**-6 < true / (found.total / 2.0**found.bits) <= 1 + 1e-9


def test_short_lists_are_kept_one_by_one():
    assert isinstance(propose(np.zeros(4096, dtype=np.int64), 0, RATE), proposal.ListedProposal)
    assert isinstance(propose(np.zeros(4097, dtype=np.int64), 0, RATE), proposal.BucketedProposal)
