"""What a session's epochs reveal where somebody may fail its disk, or kill it, at any call: the exact law.

The protocol's states come from the code: at each call a free question and a surprise are answered, and it is seen how
they end, and whether the threshold lives on. The law of all that is seen is then summed over the threshold's noise in
rational numbers. On neighbours, of which one's answer is a record higher, its quotient is at most exp(a + b), as
`AboveThreshold` proves. The protocol of version 0.10.0 exceeds it.
"""

import errno
import os
import shutil
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from support.disk_faults import Killed
from support.session_faults import ABOVE, FREE, case, old_protocol, open_desk

THRESHOLD, ANSWER = Fraction(3, 4), Fraction(2, 3)
"""exp(-a) and exp(-b): Pr[Z = z] falls by the one with each z, Pr[N >= n] by the other with each n."""
BOUND = 1 / (THRESHOLD * ANSWER)
LONGEST = 4
"""Questions of a strategy."""
MARGINS = (-1, 0, 2)
"""By how much the true answer must be exceeded by its noise, the threshold's noise aside."""


@dataclass(frozen=True)
class Step:
    """What becomes of a question by its outcome, free first: how it ends, and whether the threshold lives on."""

    ends: tuple[object, object]
    lives: tuple[bool, bool]

    def seen(self, outcome):
        """By somebody who sees the end, what was answered, and from the ledger whether a new threshold was paid."""
        end = self.ends[outcome]
        return end, self.lives[outcome], outcome if end is None else None


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    place = tmp_path_factory.mktemp("opened")
    open_desk(place)
    return place


def steps(opened, moments, fault):
    """All steps of the protocol that differ, where the fault comes at one of these calls.

    A question that came to no comparison is none: it ends for all tables in one way.
    """
    memory, found = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None, set()
    for at in moments:
        both = []
        for sides in (FREE, ABOVE):
            with tempfile.TemporaryDirectory(dir=memory, prefix="dpqr-") as quick:
                place = shutil.copytree(opened, Path(quick) / "desk")
                both.append(case(place, sides, at=at, fault=fault))
        if [each.lives for each in both] == [None, None]:
            assert both[0].end == both[1].end, at
            continue
        found.add(Step(tuple(each.end for each in both), tuple(each.lives for each in both)))
    return found


def expectation(margins, outcomes):
    """Of the outcomes under one threshold, exactly: above the last bend the product is a polynomial of ANSWER ** z."""
    bend = max(0, -min(margins))
    whole = Fraction(0)
    for z in range(bend):
        passes = [ANSWER ** max(0, margin + z) for margin in margins]
        term = (1 - THRESHOLD) * THRESHOLD**z
        for chance, outcome in zip(passes, outcomes, strict=True):
            term *= chance if outcome else 1 - chance
        whole += term
    powers = {0: Fraction(1)}
    for margin, outcome in zip(margins, outcomes, strict=True):
        factor, grown = Fraction(ANSWER) ** margin, defaultdict(Fraction)
        for power, value in powers.items():
            if outcome:
                grown[power + 1] += value * factor
            else:
                grown[power] += value
                grown[power + 1] -= value * factor
        powers = grown
    for power, value in powers.items():
        rate = THRESHOLD * ANSWER**power
        whole += value * (1 - THRESHOLD) * rate**bend / (1 - rate)
    return whole


def law(strategy, margins):
    """The probability of everything that may be seen of one threshold."""
    found = defaultdict(Fraction)
    for outcomes in product((0, 1), repeat=len(strategy)):
        seen, used = [], len(strategy)
        for place, (step, outcome) in enumerate(zip(strategy, outcomes, strict=True), start=1):
            seen.append(step.seen(outcome))
            if not step.lives[outcome]:
                used = place
                break
        if any(outcomes[used:]):
            continue  # counted once: what comes after the threshold's end is none of it
        found[tuple(seen)] += expectation(margins[:used], outcomes[:used])
    assert sum(found.values()) == 1
    return found


def quotients(steps):
    """The largest quotient, over strategies, questions and both directions."""
    largest = Fraction(0)
    for length in range(1, LONGEST + 1):
        for strategy in product(steps, repeat=length):
            for margins in product(MARGINS, repeat=length) if length < LONGEST else [(m,) * length for m in MARGINS]:
                fewer, more = law(strategy, margins), law(strategy, [margin - 1 for margin in margins])
                assert fewer.keys() == more.keys()
                for seen, chance in fewer.items():
                    if chance or more[seen]:
                        assert chance, "the other never shows this"
                        assert more[seen], "the other never shows this"
                        largest = max(largest, chance / more[seen], more[seen] / chance)
    return largest


def test_the_law_of_an_epoch_without_faults_keeps_its_bound():
    plain = Step((None, None), (True, False))
    assert 1 < quotients([plain]) <= BOUND


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Killed, errno.ENOSPC, "names"], ids=["killed", "full", "names"])
def test_whoever_fails_the_disk_learns_no_more_than_the_epoch_has_paid(opened, fault):
    found = steps(opened, range(0, 64, 5), fault)
    assert Step((None, None), (True, False)) in found
    assert len(found) > 1
    assert not any(step.lives[1] for step in found), "a threshold that was passed lives on"
    assert quotients(found) <= BOUND


def test_the_protocol_of_0_10_lets_somebody_learn_more(opened):
    with old_protocol():
        found = steps(opened, [0], "names")
    assert any(step.lives[1] for step in found)
    assert quotients(found) > BOUND
