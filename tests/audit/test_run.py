import json
from fractions import Fraction
from types import SimpleNamespace

import pytest

from dpqr.audit.attack import LossLowerBound, attack
from dpqr.audit.case import Claim
from dpqr.audit.cases.files import FileCase
from dpqr.audit.run import ALARM, PARTS, Audit, Finding, audit, cases_by_name, select_cases
from dpqr.kernel.errors import GoalMissed, UsageFault
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.values import replace

NAME = "laplace-marginal-loose"


def finding(name, share):
    return Finding(
        name=name, what="", claim=Claim(epsilon=Fraction(1)), loss=LossLowerBound(epsilon=share, rho=None, share=share)
    )


@pytest.mark.slow
def test_no_case_of_the_build_is_refuted():
    """Seeded noise; with other seeds one in 10^6 would fail, by the audit's own bound, so no more than one is tried."""
    told = []
    cases = tuple(case for case in cases_by_name().values() if not isinstance(case, FileCase))
    found = audit(cases, 100, noise=SeededNoise(1), done=lambda *what: told.append(what))
    assert not found.breaches
    assert not found.private
    found.require_sound()
    assert [each.name for each in found.findings] == [case.name for case in cases]
    assert [count for _, *count in told] == [[done, len(cases)] for done in range(1, len(cases) + 1)]
    assert {one.name: one for one, *_ in told} == {one.name: one for one in found.findings}


def test_every_mechanism_both_relations_and_both_schedules_are_attacked():
    names = " ".join(cases_by_name())
    words = ("exponential", "permute-and-flip", "laplace", "gaussian", "marginal", "predicate", "prefix", "sum")
    for word in (*words, "blocks", "queries", "add-remove", "replace", "person", "rounds", "theory", "rho"):
        assert word in names


@pytest.mark.slow
def test_the_longest_cases_are_begun_first_and_shown_in_their_place():
    told = []
    cases = tuple(replace(case, work=1 + place) for place, case in enumerate(select_cases(["laplace-marginal-*"])))
    found = audit(cases, 100, noise=SeededNoise(1), done=lambda one, *_: told.append(one))
    assert found.findings == tuple(reversed(told))
    assert [one.name for one in found.findings] == [case.name for case in cases]


@pytest.mark.slow
def test_workers_find_what_one_process_finds(monkeypatch):
    """Real noise, and sound cases: one is refuted with probability 1e-9 at most. The runs of all parts are there, and
    no part is another's copy (of 300 draws of noise around one record: below 1e-99)."""
    monkeypatch.setattr("dpqr.audit.run.ALARM", Fraction(1, 10**9))
    seen = []

    def attacked(one, two, *more):
        seen.append((one, two))
        return attack(one, two, *more)

    monkeypatch.setattr("dpqr.audit.run.attack", attacked)
    cases = select_cases([NAME, "laplace-marginal-replace"])
    together = audit(cases, 2_000)
    assert together.private
    assert not together.breaches
    for case, found, sides in zip(cases, together.findings, seen, strict=True):
        assert (found.name, found.claim) == (case.name, case.claim)
        for side in sides:
            assert len(side) == 2_000
            starts = range(0, 2_000, -(-2_000 // PARTS))
            assert len({side.measured[start : start + 300].tobytes() for start in starts}) == PARTS


def test_a_refuted_claim_misses_the_goal():
    sound = Audit(runs=9, findings=(finding("a", 0.9), finding("b", 1.0)), private=True)
    sound.require_sound()
    broken = replace(sound, findings=(*sound.findings, finding("c", 1.01)))
    with pytest.raises(GoalMissed, match="of c; release nothing"):
        broken.require_sound()
    assert broken.document()["breaches"] == ["c"]


@pytest.mark.slow
def test_the_alarm_is_shared_by_the_cases(monkeypatch):
    asked = []

    def attacked(one, two, claim, alarm, laws):
        asked.append(alarm)
        return LossLowerBound(epsilon=0.0, rho=None, share=0.0)

    monkeypatch.setattr("dpqr.audit.run.attack", attacked)
    cases = select_cases(["laplace-*"])
    audit(cases, 100, noise=SeededNoise(3))
    assert asked == [float(ALARM) / len(cases)] * len(cases)


def test_the_document_is_plain_json():
    found = audit(select_cases(["gaussian-marginal-replace"]), 100, noise=SeededNoise(4))
    document = json.loads(json.dumps(found.document()))
    assert document["false_alarm"] == 1e-6
    assert document["system_noise"] is False
    assert document["cases"][0]["claim"]["rho"] == 0.5
    assert document["cases"][0]["shown"]["rho"] < 0.5


def test_cases_by_name_and_by_pattern():
    assert [case.name for case in select_cases([NAME])] == [NAME]
    assert select_cases([]) == tuple(cases_by_name().values())
    assert {case.name for case in select_cases(["release-*", NAME])} == {
        name for name in cases_by_name() if name.startswith("release-") or name == NAME
    }
    with pytest.raises(UsageFault, match=f"did you mean '{NAME}'"):
        select_cases(["laplace-marginal-lose"])
    with pytest.raises(UsageFault, match="--list"):
        select_cases(["zzz"])


def test_a_handful_of_runs_is_refused():
    with pytest.raises(UsageFault, match="at least 100"):
        audit(select_cases([NAME]), 99)


def test_a_short_audit_makes_the_runs_that_a_case_states():
    case = replace(cases_by_name()["laplace-marginal-loose"], brief=150)
    drawn = []

    def outcomes(side, runs, noise):
        drawn.append(runs)
        return case.outcomes(side, runs, noise)

    counting = SimpleNamespace(name="", what="", claim=case.claim, laws=None, work=1, brief=150, outcomes=outcomes)
    audit((counting,), 200, noise=SeededNoise(1))
    audit((counting,), 200, short=True, noise=SeededNoise(1))
    assert drawn == [200, 200, 150, 150]
