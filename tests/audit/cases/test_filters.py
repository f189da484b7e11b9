"""The adversary of the filter: what he sees, and that a filter which forgets is refuted."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from support.cases import in_one_test, slowly

from dpqr.audit.attack import attack
from dpqr.audit.case import claimed_share, exact_share
from dpqr.audit.cases import filters as sparse_vector
from dpqr.audit.cases.filters import (
    BUDGET,
    EARLY,
    MOST,
    Adversary,
    Epochs,
    HardQueryTrial,
    Turned,
    filter_cases,
    sparse_vector_cases,
)
from dpqr.audit.law import FirstPass
from dpqr.audit.run import ALARM
from dpqr.kernel.accountants.accountant import SumFilter
from dpqr.kernel.accountants.analytic import require_mu, squared_mu_to_epsilon
from dpqr.kernel.accountants.by_count import ByCount
from dpqr.kernel.accountants.losses import concentrated_rho, pure_epsilon, squared_mu
from dpqr.kernel.budget import Price, squared_mu_of_ranged
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import ExponentialEvent
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace, Geometric
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.values import replace
from dpqr.mechanisms.sparse_vector import AboveThreshold, ThresholdComparison, is_above_threshold, open_threshold
from dpqr.releases.questions import SessionTerms, table_of_parts

CASE, TURNED = filter_cases()
FILTER_ALARM = 1e-6


@dataclass(frozen=True)
class Charging:
    """An accountant whose filter charges `cost`; charged: what it admitted."""

    cost: Any
    name: str = "charging"

    def filter(self, budget):
        return SumFilter(limit=CASE.trial.whole, cost=self.cost, unit="mu^2")


def free_choices(event):
    return Fraction(0) if isinstance(event, ExponentialEvent) else require_mu(event)


def test_the_claim_is_that_of_the_whole_budget():
    assert CASE.claim.epsilon == squared_mu_to_epsilon(CASE.trial.whole, BUDGET.delta) <= BUDGET.epsilon
    assert CASE.claim.rho == CASE.trial.whole / 2


def test_he_spends_nearly_all_and_no_more_than_the_filter_allows():
    charged = []

    def noted(event):
        charged.append(require_mu(event))
        return charged[-1]

    trial = Adversary(accountant=Charging(noted), whole=CASE.trial.whole)
    shown = replace(CASE, trial=trial).outcomes(1, 3, SeededNoise(5)).measured
    assert shown.shape == (3, 1)
    assert len(charged) <= 3 * MOST
    assert sum(charged) > 2 * CASE.trial.whole


@pytest.mark.slow
@pytest.mark.parametrize("cost", [require_mu, free_choices, concentrated_rho], ids=["sound", "free choices", "rho"])
def test_he_refutes_a_filter_that_forgets(cost):
    """Seeded. With other noise 5,000 runs refuted either filter that forgets, too, four times of four."""
    runs, noise = 6_000, SeededNoise(7)
    case = replace(CASE, trial=Adversary(accountant=Charging(cost), whole=CASE.trial.whole))
    one, two = (case.outcomes(side, runs, noise) for side in (0, 1))
    assert attack(one, two, case.claim, FILTER_ALARM).breach is (cost is not require_mu)


class WholeAfterwards(ByCount):
    """The mutant: what follows the count may spend the whole epsilon again."""

    def rest(self, budget):
        return budget


class Half(ByCount):
    """Half of epsilon goes to the count, so that its share shows in the exact figures."""

    SHARE = Fraction(1, 2)


class HalfMutant(Half, WholeAfterwards):
    def first(self, budget):
        return Price(epsilon=budget.epsilon / 2)


REACH = np.arange(-120, 122)


def laplace(scale, centre):
    ratio = np.exp(-1 / float(scale))
    return (1 - ratio) / (1 + ratio) * ratio ** np.abs(REACH - centre)


def rounded_normal(variance, centre):
    from scipy.special import ndtr

    deviation = float(variance) ** 0.5
    return ndtr((REACH + 0.5 - centre) / deviation) - ndtr((REACH - 0.5 - centre) / deviation)


def joint(trial, records, turns):
    """Probabilities of every first and second answer; turns: which first answers lead to Gaussian noise."""
    first = laplace(trial.first.scale, records)[:, None]
    few, many = laplace(trial.few.scale, records), rounded_normal(trial.many.variance, records)
    return first * np.where(turns[:, None], many, few)


def exact_delta(trial, turns):
    """The delta that the run needs at the claimed epsilon, over both directions."""
    one, two = (joint(trial, records, turns) for records in (0, 1))
    scale = np.exp(float(BUDGET.epsilon))
    return max(np.maximum(one - scale * two, 0).sum(), np.maximum(two - scale * one, 0).sum())


@in_one_test(("accountant", "sound"), [(ByCount(), True), (Half(), True), (HalfMutant(), False)])
@pytest.mark.parametrize("turns", [REACH < -3, REACH > 0, REACH == REACH])
def test_what_follows_a_count_is_within_the_budget_exactly(accountant, sound, turns):
    trial = Turned(accountant=accountant)
    assert bool(exact_delta(trial, turns) <= float(BUDGET.delta)) is sound


def test_either_theorem_follows_and_its_filter_admits_no_more():
    shown = TURNED.outcomes(1, 40, SeededNoise(3))
    assert set(shown.context[:, 0].tolist()) == {0, 1}
    assert TURNED.claim.epsilon == BUDGET.epsilon
    mutant = Turned(accountant=WholeAfterwards())
    for following in (mutant.few, mutant.many):
        guard = ByCount().filter(BUDGET)
        guard.charge(TURNED.trial.first.event)
        with pytest.raises(BudgetRefused):
            guard.charge(following.event)


# Cases of the sparse vector technique: the price is attained, the law is the sampler's, and the variants that Lyu, Su
# and Li 2017 list as not private are caught.

CASES = {case.name: case for case in sparse_vector_cases()}


def refuted(case, runs):
    one, two = case.outcomes(0, runs, SeededNoise(1)), case.outcomes(1, runs, SeededNoise(2))
    return attack(one, two, case.claim, float(ALARM) / 80, case.laws).breach


@in_one_test("name", CASES)
def test_the_exact_loss_is_within_the_claim_and_attains_a_pure_one(name):
    case = CASES[name]
    share = exact_share(*case.laws, case.claim)
    assert share <= 1
    assert share > 0.999 or "rho" in name
    assert claimed_share(case.claim) == pytest.approx(1, abs=1e-5)


def test_one_direction_is_of_bounded_range():
    """Losses lie in an interval of the length that rho and mu are priced by, and fill it."""
    case = CASES["sparse-vector-pure-add-remove"]
    (one,), (two,) = case.laws
    places = np.arange(one.support[1] + 1)
    losses = one.log_probabilities(places) - two.log_probabilities(places)
    event = case.trial.epoch.event
    length = 1 / event.threshold_scale + 2 / event.answer_scale
    assert 0.8 * float(length) < np.ptp(losses) <= float(length) + 1e-9
    assert concentrated_rho(event) == length**2 / 8
    assert squared_mu(event) == squared_mu_of_ranged(length)
    both = replace(event, directions=2)
    assert (pure_epsilon(event), pure_epsilon(both)) == (Fraction(1, 2), Fraction(3, 4))
    assert concentrated_rho(both) == Fraction(9, 32)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sparse-vector-pure-replace", "sparse-vector-below-add-remove"])
def test_places_have_their_law(name):
    """All of 1,000 places together are as likely as the law says they are, but with probability 1e-9 (Bernstein)."""
    case, runs = CASES[name], 1_000
    (law,) = case.laws[1]
    places = np.arange(law.support[1] + 1)
    logs = law.log_probabilities(places)
    chances = np.exp(logs)
    assert chances.sum() == pytest.approx(1)
    seen = case.outcomes(1, runs, SeededNoise(5)).measured[:, 0]
    for place in places:
        spread = runs * chances[place] * (1 - chances[place])
        room = np.log(2 * len(places) / 1e-9)
        assert abs((seen == place).sum() - runs * chances[place]) <= np.sqrt(2 * spread * room) + room


def test_the_law_of_first_passes_by_hand():
    """One number, against a sum that is written out: Pr[N >= Z + 1], N and Z geometric."""
    law = FirstPass(above=(-1,), threshold_scale=2.0, answer_scale=3.0)
    q, r = np.exp(-1 / 2), np.exp(-1 / 3)
    assert np.exp(law.log_probabilities(np.array([0])))[0] == pytest.approx((1 - q) * r / (1 - q * r))


class Silent(Epochs, frozen=True, eq=False):
    """No noise on the answers (Lyu, Su and Li 2017, Algorithm 5)."""

    def run(self, database, noise):
        with patch.object(Geometric, "sample", _only(self.epoch.threshold_scale)):
            return super().run(database, noise)


def _only(scale):
    sound = Geometric.sample

    def sample(law, count, noise):
        return sound(law, count, noise) if law.scale == scale else np.zeros(count, dtype=np.int64)

    return sample


class Endless(Epochs, frozen=True, eq=False):
    """One threshold for any number of surprises, at the price of one (Algorithm 6)."""

    def run(self, database, noise):
        watch, passed = open_threshold(self.epoch, self.guard(), noise), 0
        for question in [replace(self.questions[0], margin=2)] * 30:
            passed += is_above_threshold(database, watch, question, noise)
            watch.ended = False
        return (), (passed,), ()


class Told(Epochs, frozen=True, eq=False):
    """The noisy answer that was compared is released with the surprise (Algorithm 3)."""

    def run(self, database, noise):
        guard, (early, late) = self.guard(), (self.questions[0], self.questions[EARLY])
        watch = open_threshold(replace(self.epoch, side=1), guard, noise)
        if is_above_threshold(database, watch, early, noise):
            return (), (-1,), ()
        drawn = int(Geometric(watch.epoch.answer_scale).sample(1, noise)[0])
        compared = int(late.block.answer(database._Private__value)[0]) + drawn
        return (), (compared if compared >= watch.threshold else -2,), ()


@pytest.mark.parametrize("runs", [0, *slowly(3_000)])
def test_the_table_of_a_querys_parts_with_the_noise_of_the_query_is_caught_where_records_are_replaced(runs):
    """It moves by two cells: the exact loss is twice the claim, and 3,000 runs show it. Added records move one cell."""
    for relation, lost in (("replace", 2), ("add-remove", 1)):
        case = CASES[f"hard-query-{relation}"]
        with patch.object(SessionTerms, "measured", lambda terms, query: table_of_parts(query)):
            wrong = sparse_vector.hard_query_case(relation, case.trial.terms.unit)
            stated = replace(wrong, trial=Understated(terms=wrong.trial.terms, query=wrong.trial.query))
        assert exact_share(*stated.laws, stated.claim) == pytest.approx(lost)
        if runs:
            assert lost == 1 or refuted(stated, runs)
            assert not refuted(case, runs // 10)


class Understated(HardQueryTrial, frozen=True, eq=False):
    """Draws the table of the query's parts, scaled as if it were the query."""

    def run(self, database, noise):
        ((event, _),) = self.claim.events
        table = table_of_parts(self.query)
        values = table.answer(database._Private__value) + DiscreteLaplace(event.scale).sample(table.rows, noise)
        return (), tuple(values.tolist()), ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "name", "runs"),
    [
        (Silent, "sparse-vector-pure-replace", 2_000),
        (Endless, "sparse-vector-pure-add-remove", 2_000),
        (Told, "sparse-vector-pure-replace", 16_000),
    ],
)
def test_variants_that_are_not_private_are_caught(wrong, name, runs):
    case = CASES[name]
    trial = case.trial
    epoch = AboveThreshold.at(Price(epsilon=Fraction(2)), trial.epoch.unit, 1) if wrong is Told else trial.epoch
    made = wrong(epoch=epoch, questions=trial.questions, times=trial.times, delta=trial.delta)
    laws = case.laws if wrong is Silent else None
    assert refuted(replace(case, trial=made, laws=laws), runs)


@pytest.mark.slow
def test_answers_of_both_directions_at_the_price_of_one_are_caught():
    """What Algorithm 1 saves for monotonic queries, under `replace`."""
    case = CASES["sparse-vector-pure-replace"]
    with patch("dpqr.mechanisms.sparse_vector._directions", lambda unit: 1):
        wrong = sparse_vector.epoch_case("wrong", case.trial.epoch.unit, "pure")
        assert refuted(wrong, 200)
    assert not refuted(case, 200)


@pytest.mark.slow
def test_noise_that_is_not_scaled_by_the_number_of_rows_of_a_person_is_caught():
    case = CASES["sparse-vector-pure-person"]
    epoch = case.trial.epoch
    less = replace(epoch, threshold_scale=epoch.threshold_scale / 3, answer_scale=epoch.answer_scale / 3)
    assert less.event.threshold_scale == epoch.event.threshold_scale / 3
    made = replace(case.trial, epoch=Billed(epoch, less))
    assert refuted(replace(case, trial=made), 600)


@dataclass(frozen=True)
class Billed:
    """Draws by one epoch's scales and bills another's."""

    billed: object
    drawn: object

    @property
    def event(self):
        return self.billed.event

    @property
    def unit(self):
        return self.billed.unit

    @property
    def side(self):
        return self.billed.side

    @property
    def threshold_scale(self):
        return self.drawn.threshold_scale

    @property
    def answer_scale(self):
        return self.drawn.answer_scale


def test_a_comparison_has_the_event_of_its_epoch():
    trial = CASES["sparse-vector-pure-replace"].trial
    asked = ThresholdComparison(question=trial.questions[0], epoch=trial.epoch, threshold=3)
    assert asked.event == trial.epoch.event
    assert "threshold" not in repr(asked).replace("threshold_scale", "")
