import json
from fractions import Fraction

import pytest
from click.testing import CliRunner

from dpqr.audit.attack import LossLowerBound
from dpqr.audit.case import Claim
from dpqr.audit.run import Audit, Finding, cases_by_name
from dpqr.cli.main import main


def run(*arguments):
    return CliRunner().invoke(main, ["audit", *arguments])


@pytest.fixture
def asked(monkeypatch):
    """What the use case was asked; it finds what `shares` says."""
    calls = []

    def audit(cases, runs, *, short, done):
        calls.append(([case.name for case in cases], runs, short))
        findings = [
            Finding(name=case.name, what="", claim=Claim(epsilon=Fraction(2)), loss=loss(case.name)) for case in cases
        ]
        done(findings[-1], len(cases), len(cases))
        return Audit(runs=runs, findings=tuple(findings), private=True)

    def loss(name):
        share = 1.5 if name == "gaussian-marginal-replace" else 0.75
        return LossLowerBound(epsilon=2 * share, rho=None, share=share)

    monkeypatch.setattr("dpqr.audit.run.audit", audit)
    return calls


@pytest.mark.slow
def test_a_real_attack_prints_a_table_and_ends_well():
    done = run("--case", "laplace-marginal-loose", "--runs", "400")
    assert done.exit_code == 0, done.output
    assert "laplace-marginal-loose" in done.stdout
    assert "eps 3" in done.stdout
    assert "No breach found in 1 case." in done.stdout
    assert done.stderr.startswith("1/1  laplace-marginal-loose: claimed eps 3; proved eps ")
    assert done.stderr.endswith("; holds\n")


def test_a_breach_ends_with_six_and_is_shown(asked):
    done = run("--case", "gaussian-*")
    assert done.exit_code == 6
    assert "BREACH" in done.stdout
    told, verdict = done.stderr.strip().split("dpqr: the audit refuted")
    assert told.count("\n") == 1
    assert "gaussian-marginal-replace" in verdict


def test_json_is_one_document_with_the_breach(asked):
    done = run("--case", "gaussian-marginal-replace", "--json")
    assert done.exit_code == 6
    document = json.loads(done.stdout)
    assert document["breaches"] == ["gaussian-marginal-replace"]
    assert document["cases"][0]["shown"]["epsilon"] == 3.0


@pytest.mark.parametrize(
    ("options", "runs"), [((), 100_000), (("--short",), 1_800), (("--runs", "777"), 777)], ids=["all", "short", "runs"]
)
def test_how_many_runs_are_made(asked, options, runs):
    assert run("--case", "laplace-marginal-loose", *options).exit_code == 0
    assert asked == [(["laplace-marginal-loose"], runs, options == ("--short",))]


def test_the_list_names_every_case_and_runs_none(asked):
    done = run("--list")
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(cases_by_name())
    assert {one["case"] for one in json.loads(run("--list", "--json").stdout)} == set(cases_by_name())
    assert asked == []
