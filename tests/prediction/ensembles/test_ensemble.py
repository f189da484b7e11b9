"""Ensembles: votes and sums of parts, their number, and what a part may do wrong."""

import contextlib
import os
from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.prediction_tables import Given, counts, domain

from dpqr.audit.law import Flips, Selection
from dpqr.domain.attribute import Attribute, Bins
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import InfeasiblePlan, UsageFault
from dpqr.kernel.noise.source import SystemNoise
from dpqr.kernel.unit import PrivacyUnit
from dpqr.prediction.ensembles.bases import RidgeBase
from dpqr.prediction.ensembles.ensemble import Aggregate, PartsEnsemble, read_vote
from dpqr.prediction.learned_functions import FINENESS
from dpqr.prediction.learners.features import CellFeatures
from dpqr.prediction.problem import PredictionProblem, Target

VECTORS = np.array([[1.0, 0.0], [0.0, 1.0]])
SHAPE = (2, 3, 4)
NOISE = SystemNoise()


class Fixed:
    """A base whose trainer gives stated answers."""

    predicts, trusted, name = None, False, "given"

    def __init__(self, answer):
        self.answer = answer

    @contextlib.contextmanager
    def trainer(self, points):
        yield self

    def classes(self, part, vectors, cells, labels):
        return self.answer(part, vectors, cells)

    def numbers(self, part, vectors, values):
        return self.answer(part, vectors, values)


def raising(*_):
    raise ValueError("a private value 987654321")


def talking(part, vectors, targets):
    print("rows", vectors)
    os.write(1, b"from compiled code")
    return np.full(2, targets[0] if targets.dtype.kind == "i" else np.nan)


def ensemble(base=None, values=None):
    return PartsEnsemble(
        features=Given(VECTORS),
        base=base or RidgeBase(),
        axis=1,
        labels=3,
        values=values,
        points=VECTORS,
        parts=4,
    )


def test_every_member_gives_one_vote_at_every_point():
    table = counts([(0, 1, 0), (1, 2, 0), (0, 2, 1), (0, 2, 1), (1, 1, 2)], SHAPE)
    votes = ensemble().votes(table, NOISE)
    # part 0 has learned place from place, parts 1 and 2 know one class, part 3 is empty
    assert votes.tolist() == [[1, 2, 1], [1, 1, 2]]


def test_a_part_whose_base_fails_votes_for_the_first_label():
    table = counts([(0, 1, 0), (1, 2, 0)], SHAPE)
    assert ensemble(Fixed(raising)).votes(table, NOISE).tolist() == [[4, 0, 0]] * 2


def test_a_base_reads_the_number_of_the_part():
    told = []
    table = counts([(0, 1, part) for part in range(4)] + [(1, 2, part) for part in (1, 3)], SHAPE)
    ensemble(Fixed(lambda part, *_: told.append(part) or np.zeros(2, dtype=np.int64))).votes(table, NOISE)
    assert told == [1, 3]


def test_what_a_base_prints_is_swallowed(capfd):
    ensemble(Fixed(talking)).votes(counts([(0, 1, 0), (1, 2, 0)], SHAPE), NOISE)
    assert capfd.readouterr() == ("", "")


def test_sums_are_clipped_member_by_member_and_nan_counts_as_nothing():
    values = np.array([-1.0, 1.0, np.nan])
    table = counts([(0, 1, 0), (0, 1, 1), (0, 0, 2), (0, 2, 0), (0, 2, 3)] * 50, SHAPE)
    sums = ensemble(values=values).sums(table, NOISE) / FINENESS
    assert sums == pytest.approx([1.0, 0.0], abs=0.01)
    silent = ensemble(Fixed(talking), values=values)
    assert silent.sums(table, NOISE).tolist() == [0, 0]


def test_one_record_changes_one_member():
    rows = [(0, 1, 0), (1, 2, 0), (0, 2, 1), (1, 1, 2)]
    one, two = ensemble().votes(counts(rows, SHAPE), NOISE), ensemble().votes(counts([*rows, (1, 0, 3)], SHAPE), NOISE)
    assert np.abs(one - two).max() <= 1
    assert (np.abs(one - two).sum(axis=1) <= 2).all()


@in_one_test("wild", [np.nan, np.inf, -np.inf, 1e300, -1e300, 1.5, -1.0000001])
def test_a_member_moves_a_sum_by_its_range_at_most_whatever_it_predicts(wild):
    """From -1 to 1 in steps of the grid: what the noise of an average is made for."""
    values, rows = np.array([-1.0, 1.0, 0.0]), [(0, 1, part) for part in range(4)]
    predicting = Fixed(lambda part, *_: np.array([wild, 0.25]) if part == 2 else np.array([0.5, 0.25]))
    plain = Fixed(lambda *_: np.array([0.5, 0.25]))
    found, without = (ensemble(base, values).sums(counts(rows, SHAPE), NOISE) for base in (predicting, plain))
    told = {np.nan: 0.0, np.inf: 1.0, -np.inf: -1.0}.get(wild, np.clip(wild, -1.0, 1.0))
    assert without.tolist() == [2 * FINENESS, FINENESS]
    assert (found - without).tolist() == [round((np.nan_to_num(told) - 0.5) * FINENESS), 0]


def test_a_regressor_that_fails_counts_as_nothing():
    values, table = np.array([-1.0, 1.0, 0.0]), counts([(0, 1, 0), (0, 1, 1)], SHAPE)
    assert ensemble(Fixed(raising), values).sums(table, NOISE).tolist() == [0, 0]
    half = Fixed(lambda part, *_: raising() if part else np.array([0.5, -0.5]))
    assert ensemble(half, values).sums(table, NOISE).tolist() == [FINENESS // 2, -FINENESS // 2]


def test_every_part_is_taught_by_its_own_rows_as_often_as_they_are_there():
    seen = {}
    told = Fixed(lambda part, vectors, values: seen.update({part: (vectors, values)}) or np.zeros(2))
    table = counts([(0, 0, 2), (1, 1, 2), (1, 1, 2), (0, 1, 0), (1, 0, 3)], SHAPE)
    ensemble(told, np.array([-1.0, 1.0, 0.0])).sums(table, NOISE)
    assert {part: (one.tolist(), two.tolist()) for part, (one, two) in seen.items()} == {
        0: ([[1.0, 0.0]], [1.0]),
        2: ([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [-1.0, 1.0, 1.0]),
        3: ([[0.0, 1.0]], [-1.0]),
    }


def test_all_votes_of_a_point_together_are_one_a_part():
    table = counts([(0, 1, 0), (1, 2, 0), (0, 2, 1), (0, 2, 1), (1, 1, 2)], SHAPE)
    assert ensemble().votes(table, NOISE).sum(axis=1).tolist() == [4, 4]


LABELS = domain(3, 2)
NUMBERS = Domain((LABELS.attributes[0], Attribute(name="y", axis=Bins(edges=(Fraction(0), Fraction(9))))))


def aggregate(**given):
    features = CellFeatures(domain=domain(3))
    return Aggregate(features=features, base=RidgeBase(), **given)


def problem(table):
    return PredictionProblem(domain=table, target=Target(attribute=table.attributes[1], axis=1), unit=PrivacyUnit())


@in_one_test(("table", "parts"), [(LABELS, 90), (NUMBERS, 50)])
def test_parts_follow_from_epsilon_and_the_target_error_and_back(table, parts):
    """6 log(4 / 0.2) / 0.2 and 2 / (0.2 0.2)."""
    found = aggregate().chosen_parts(problem(table), Fraction(1, 5))
    assert found == parts
    assert aggregate().added_error(problem(table), Fraction(1, 5), found) == pytest.approx(0.2, rel=0.01)


@in_one_test("labels", [2, 3, 12])
@pytest.mark.parametrize("noise", ["exponential", "permute-and-flip"])
def test_parts_leave_the_noise_a_quarter_of_the_error_whatever_the_votes_of_a_third_of_the_members(labels, noise):
    """By the exact laws: all r / 3 wrong votes for one label, for two, or spread over all."""
    table, epsilon, law = domain(3, labels), Fraction(1, 10), Flips if noise == "permute-and-flip" else Selection
    parts = 3 * -(-aggregate().chosen_parts(problem(table), epsilon, noise) // 3)
    assert aggregate().added_error(problem(table), epsilon, parts, noise) <= 0.2
    for wrong in {1, min(2, labels - 1), labels - 1}:
        scores = np.zeros(labels)
        scores[1 : 1 + wrong] = parts / 3 / wrong
        scores[0] = 2 * parts / 3
        right = np.exp(law(scores=scores, rate=float(epsilon) / 2).log_probabilities(np.array([0])))[0]
        assert 1 - right <= 0.2 / 4


def test_permute_and_flip_needs_fewer_parts_for_the_same_error():
    """6 log(2 / 0.2) / 0.2 for two labels."""
    assert aggregate().chosen_parts(problem(LABELS), Fraction(1, 5), "permute-and-flip") == 70


@in_one_test(("error", "parts"), [("1/5", 25), ("1/10", 50), ("1/3", 15)])
def test_randomised_votes_take_as_many_parts_as_the_noise_needs(error, parts):
    """1 / (a epsilon)."""
    recipe = aggregate(vote="randomised", error=Fraction(error))
    found = recipe.chosen_parts(problem(LABELS), Fraction(1, 5))
    assert found == parts
    assert recipe.added_error(problem(LABELS), Fraction(1, 5), found) == pytest.approx(float(Fraction(error)))
    assert recipe.added_error(problem(LABELS), Fraction(1, 5), 2) == 1


def test_randomised_votes_are_for_two_labels():
    aggregate(vote="randomised").require(problem(LABELS))
    aggregate(vote="exponential").require(problem(domain(3, 4)))
    with pytest.raises(UsageFault, match="'c1' has 4"):
        aggregate(vote="randomised").require(problem(domain(3, 4)))
    for vote in ("randomised", "exponential"):
        with pytest.raises(UsageFault, match="averaged"):
            aggregate(vote=vote).require(problem(NUMBERS))


def test_votes_by_name():
    assert [read_vote(name) for name in (None, "randomised")] == [None, "randomised"]
    with pytest.raises(UsageFault, match="there is exponential, permute-and-flip, randomised"):
        read_vote("majority")


def test_stated_parts_are_used_as_they_are():
    assert aggregate(parts=7).chosen_parts(problem(LABELS), Fraction(1)) == 7
    assert aggregate().added_error(problem(LABELS), Fraction(1), 7) == 1


def test_what_cannot_be_is_refused():
    for wrong in ({"parts": 0}, {"parts": 2**20 + 1}, {"error": Fraction(1)}):
        with pytest.raises(UsageFault):
            aggregate(**wrong)
    with pytest.raises(InfeasiblePlan, match="--parts"):
        aggregate().chosen_parts(problem(LABELS), Fraction(1, 10**6))
