"""Who pays, from what callers name."""

import pytest

import dpqr
from dpqr.python.ledger import ledger_paths, payer


def test_a_ledger_of_the_caller_brings_its_own_files():
    assert ledger_paths(dpqr.Ledger("l.sqlite", "l.anchor"), None) == ("l.sqlite", "l.anchor")
    assert ledger_paths("l.sqlite", None) == ("l.sqlite", None)


def test_nobody_pays_where_nothing_is_named(monkeypatch):
    monkeypatch.delenv("DPQR_LEDGER", raising=False)
    monkeypatch.delenv("DPQR_ANCHOR", raising=False)
    assert payer(None, None, None) is None
    assert payer("survey", None, None).dataset == "survey"
    with pytest.raises(dpqr.UsageFault, match="--dataset NAME"):
        payer(None, "l.sqlite", None)
