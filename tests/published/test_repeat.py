"""A release is made again from its record, whatever its schedule."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.slow_cases import slowly
from support.verified_release import ASKED, make

from dpqr.published.evidence import ReleaseEvidence, VerifyRequest
from dpqr.published.repeat import NoNoise, recorded_reason
from dpqr.published.verify import CHECKS, verify

OLD = Path(__file__).parents[1] / "old_releases"

MARGINALS = {**ASKED, "queries": ASKED["queries"][:1]}
SEX = {**ASKED, "queries": [{"marginal": ["sex"]}]}
OPTIONS = [
    {"schedule": "marginals", "rounds": None, "delta": "1e-9", "queries": MARGINALS},
    {"update": "multiplicative-weights", "replay": False},
    {"schedule": "queries", "rounds": 4},
    {"schedule": "theory", "n": 1000, "rounds": None, "epsilon": "1000", "queries": SEX},
    {"certify": "0.1"},
    {"certify": "0.1", "delta": "1e-9", "check": "gaussian"},
    {"error_bars": "none"},
    {"unit": "day", "max_rows": 2, "count_dropped": "0.2", "no_count_dropped": False},
]


@pytest.mark.parametrize("options", [OPTIONS[0], *slowly(*OPTIONS[1:])])
def test_every_schedule_can_be_repeated(tmp_path, options):
    found = verify(make(tmp_path, paid=False, **options))
    assert [(each.name, each.state) for each in found.checks if each.state != "ok"] == [
        (name, "not checked") for name in CHECKS if name in ("figures", "ledger", "settlement")
    ]


def test_a_repeated_run_has_no_noise():
    with pytest.raises(AssertionError, match="draws nothing"):
        NoNoise(private=True).words(1)


def test_a_reason_that_was_not_stated(tmp_path):
    old = ReleaseEvidence(VerifyRequest(release=str(OLD / "0.1.0")), tmp_path)
    assert recorded_reason(old.record).words == ""
