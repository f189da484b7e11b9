import io
from fractions import Fraction

import pytest
from rich.console import Console
from support.plain_screen import kept, printed

from dpqr.audit.attack import LossLowerBound
from dpqr.audit.case import Claim
from dpqr.releases.forecast.exact_errors import Accuracy, BlockError
from dpqr.report.evaluation import UNITS, accuracy_view, audit_view, claim_words, proved_words

BLOCKS = tuple(
    BlockError(name=name, queries=12, l1=l1, l2=l1 / 2, largest=1.5, worst=0, missing=missing)
    for name, l1, missing in (("far", 250.0, 1), ("near", 10.0, 0))
)


def test_the_worst_blocks_and_how_many_there_are_more():
    assert printed(accuracy_view(Accuracy(records=1000, blocks=BLOCKS), 1)) == kept("evaluation")
    whole = printed(accuracy_view(Accuracy(records=1000, blocks=BLOCKS), 2))
    assert whole.splitlines()[-3].startswith("near")
    assert " ".join(whole.splitlines()[-2:]) == UNITS


PURE = Claim(epsilon=Fraction(1, 3))
PRICED = Claim(epsilon=Fraction(2), delta=Fraction(1, 100), rho=Fraction(1, 3))
SOUND = LossLowerBound(epsilon=0.2, rho=None, share=0.6)
BROKEN = LossLowerBound(epsilon=2.77777, rho=0.44444, share=1.38)


def text(lines):
    out = io.StringIO()
    Console(file=out, width=160).print(audit_view(lines, 3000, Fraction(1, 10**6)))
    return out.getvalue()


def test_claims_are_rounded_up_and_what_is_proved_down():
    assert claim_words(PURE) == "eps 0.3334"
    assert claim_words(PRICED) == "rho 0.3334, eps 2 at delta 0.01"
    assert proved_words(PURE, SOUND) == "eps 0.2"
    assert proved_words(PRICED, BROKEN) == "rho 0.4444, eps 2.777"


def test_a_sound_build():
    shown = text([("one", PURE, SOUND), ("two", PURE, SOUND)])
    assert shown.count("holds") == 2
    assert "No breach found in 2 cases" in shown
    assert "3,000 runs" in shown
    assert "probability at most 1e-06" in shown
    assert "BREACH" not in shown


@pytest.mark.parametrize("count", [1, 2])
def test_a_breach(count):
    shown = text([("one", PURE, SOUND)] + [(f"bad {index}", PRICED, BROKEN) for index in range(count)])
    assert shown.count("BREACH") == count
    assert f"{count} of {1 + count} claims refuted" in shown
    assert "138%" in shown
