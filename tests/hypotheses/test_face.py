import numpy as np
import pytest

from dpqr.hypotheses.face import FULL, Face

RANDOM = np.random.default_rng(5)


def test_a_gain_is_what_one_record_takes_off_the_gap():
    gap = np.array([[-3.0, -0.75, -0.25, 0.0, 0.25, 0.75, 3.0]])
    more, less = Face.of((0, 1), 1, gap, np.zeros_like(gap)).gains(7)
    unit = FULL // 7
    assert more == pytest.approx(unit * (np.abs(gap) - np.abs(gap - 1)), abs=1)
    assert less == pytest.approx(unit * (np.abs(gap) - np.abs(gap + 1)), abs=1)


def test_a_gap_within_the_spread_of_a_count_is_worth_less():
    gap, wanted = np.array([[1.0, 1.0, 100.0]]), np.array([[0.0, 10_000.0, 10_000.0]])
    more, _ = Face.of((0, 1), 1, gap, wanted).gains(1)
    assert more[0] / FULL == pytest.approx([1.0, 1 / 51, 1.0], abs=1e-3)


@pytest.mark.parametrize("faces", [1, 14, 500, 5000])
def test_gains_of_all_faces_add_up_in_16_bits(faces):
    gap = np.array([[-1e6, 1e6]])
    for gains in Face.of((0, 1), 1, gap, np.zeros_like(gap)).gains(faces):
        assert gains.dtype == np.int16
        assert abs(int(gains[0, 0])) == abs(int(gains[0, 1])) == FULL // faces > 0


@pytest.mark.parametrize("axis", [2, 5, 7])
def test_moves_are_those_of_the_table(axis):
    axes, sizes = (2, 5, 7), (3, 4, 5)
    gap = RANDOM.integers(-9, 9, sizes).astype(float)
    face = Face.of(axes, axis, gap, np.ones(sizes))
    assert np.array_equal(face.restored(), gap)
    place = axes.index(axis)
    codes = np.stack([RANDOM.integers(0, size, 50) for size in sizes])
    after = codes.copy()
    after[place] = RANDOM.integers(0, sizes[place], 50)
    others = [each for each in range(3) if each != place]
    assert face.others == tuple(axes[each] for each in others)
    flat = codes[others[0]] * sizes[others[1]] + codes[others[1]]
    face.moved(flat, codes[place], after[place])
    np.add.at(gap, tuple(codes), 1.0)
    np.subtract.at(gap, tuple(after), 1.0)
    assert np.array_equal(face.restored(), gap)
