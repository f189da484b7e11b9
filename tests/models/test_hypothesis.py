import numpy as np
from support.small_universes import marginal

from dpqr.models.hypothesis import DenseDistribution, prepare


class Told(DenseDistribution):
    """Keeps what it is told."""

    groups: list

    def prefetch(self, groups) -> None:
        object.__setattr__(self, "groups", [*groups])


def test_a_hypothesis_that_wants_to_know_is_told_which_blocks_come() -> None:
    told = Told(probabilities=np.full((2, 2), 0.25), total=1.0)
    prepare(told, [marginal((1,), (2, 2)), marginal((), (2, 2))])
    assert told.groups == [(1,), ()]


def test_any_other_needs_no_telling() -> None:
    uniform = DenseDistribution.uniform((2, 2), 1.0)
    prepare(uniform, [marginal((1,), (2, 2))])
    assert uniform.marginal((1,)).tolist() == [0.5, 0.5]
