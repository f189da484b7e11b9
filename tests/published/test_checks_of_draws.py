"""Checks that make a release again: what another version, or another machine, may find."""

from __future__ import annotations

import pytest
from support.cases import thinned

from dpqr.kernel.errors import GoalMissed
from dpqr.published import checks as checks_of_draws
from dpqr.published.checks import answers, draws, plan, statements, synthetic
from dpqr.published.evidence import NotChecked, NotRepeated, ReleaseEvidence, Sameness


@pytest.fixture
def evidence(free_release, tmp_path):
    return ReleaseEvidence(free_release, tmp_path)


def differing(*_):
    raise GoalMissed("row 1 differs")


def test_another_version_of_dpqr_may_make_another_release(evidence, monkeypatch):
    """A plan may come from elsewhere too, but under no other seal."""
    monkeypatch.setattr(checks_of_draws, "same_documents", lambda *_: Sameness(compared=9, near=1))
    assert "8 of 9 values" in plan(evidence)
    monkeypatch.setattr(checks_of_draws, "same_documents", differing)
    with pytest.raises(GoalMissed, match="row 1 differs"):
        plan(evidence)
    monkeypatch.setattr(checks_of_draws, "__version__", "9.9")
    with pytest.raises(NotChecked, match=r"made it and can repeat it; 9\.9 does otherwise: row 1 differs"):
        plan(evidence)
    evidence.document["plan"]["sha256"] = "0" * 64
    with pytest.raises(GoalMissed, match="changed after its sha"):
        plan(evidence)


@pytest.mark.parametrize(("near", "outcome"), [(0, GoalMissed), (1, NotRepeated)])
def test_synthetic_rows_follow_a_fit_to_the_bit_or_not_at_all(evidence, monkeypatch, near, outcome):
    evidence.document["versions"]["numpy"] = "1.0"
    evidence.answers = Sameness(compared=9, near=near)
    monkeypatch.setattr(checks_of_draws, "same_rows", lambda kept, made: Sameness(compared=5, near=2))
    with pytest.raises(outcome, match="2 of 5 rows come out otherwise"):
        synthetic(evidence)


def test_what_made_it_elsewhere_is_named(evidence):
    evidence.document["versions"]["numpy"] = "1.0"
    evidence.answers = Sameness(compared=9, near=1)
    said = "8 of 9 rows equal bit for bit, the others within the tolerance; made with numpy 1.0"
    with pytest.raises(NotRepeated, match=said) as found:
        answers(evidence)
    assert found.value.accepted == "ok"


@pytest.mark.parametrize("check", thinned([answers, draws, statements, synthetic], 4))
def test_where_the_record_was_made_nothing_may_differ_by_a_bit(evidence, monkeypatch, check):
    """The tolerance is for other versions and other processors; no draw is exempt."""
    evidence.answers = Sameness(compared=9, near=1)
    for compared in ("same_rows", "same_documents"):
        monkeypatch.setattr(checks_of_draws, compared, lambda *_: Sameness(compared=9, near=1))
    with pytest.raises(GoalMissed, match="1 of 9 figures differ, within the tolerance; but the record names the"):
        check(evidence)
    evidence.document["versions"]["arithmetic"] = "0" * 16
    with pytest.raises(NotRepeated) as found:
        check(evidence)
    assert found.value.accepted == ("not checked" if check is synthetic else "ok")
