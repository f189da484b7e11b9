"""Old prices beside those of today, as text."""

from __future__ import annotations

from fractions import Fraction

from support.plain_screen import printed

from dpqr.report.budget import repriced_view


def test_a_line_an_accountant():
    before, now = {"basic": Fraction(1), "zcdp": None}, {"basic": Fraction(1), "zcdp": Fraction(1, 3), "pld": None}
    shown = printed(repriced_view("0.1.0", "basic", before, now, (Fraction(0), Fraction(1, 10**9))))
    assert shown.splitlines()[:4] == [
        "accountant       dpqr 0.1.0, delta 0  today, delta 1e-9",
        "basic (charged)                eps 1              eps 1",
        "zcdp                     not covered       eps 0.333334",
        "pld                        not known        not covered",
    ]
