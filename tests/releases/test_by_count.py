"""Releases whose accountant follows a count: paid by pairs, locked, killed and continued, verified, and by whom not."""

import json
from fractions import Fraction

import pytest
from support.ledger_jobs import ledger_in
from support.paid_releases import killed_at, lay, run, transcript, unsound

from dpqr.kernel.budget import Cost
from dpqr.kernel.errors import BudgetRefused
from dpqr.ledger.chained_ledger import ChainedLedger
from dpqr.published.evidence import VerifyRequest
from dpqr.published.verify import require_verified, verify

SIZES = {f"c{number}": size for number, size in enumerate((2, 2, 3, 3, 4, 4, 5, 6))}
ASKED = {"schedule": "auto", "rounds": None, "epsilon": "0.1", "delta": "1e-9"}
WHOLE = Cost(Fraction(1, 10), Fraction(1, 10**9))


def laid(directory, records=60, **more):
    """A desk of pairs of eight columns, for which either accountant is better among some number of records."""
    lay(directory, **{"delta": "1e-6", **more})
    rows = "\n".join(",".join(str(row % size) for size in SIZES.values()) for row in range(records))
    (directory / "table.csv").write_text(",".join(SIZES) + f"\n{rows}\n")
    queries = {"domain": SIZES, "queries": [{"marginals": {"ways": 2, "columns": [*SIZES]}}]}
    (directory / "q.json").write_text(json.dumps(queries))


@pytest.mark.slow
@pytest.mark.parametrize(("records", "charged"), [(60, "basic"), (20_000, "gdp")])
def test_a_budget_of_pairs_pays_the_whole_for_either_accountant(tmp_path, records, charged):
    laid(tmp_path, records)
    made = run(tmp_path, **ASKED)
    assert made.plan.roles.accountant.name == "by-count"
    assert any(sentence.startswith(f"{charged} charged what followed the count") for sentence in made.trust)
    assert ledger_in(tmp_path).account("survey").spent == WHOLE
    assert unsound(tmp_path) is None
    require_verified(verify(VerifyRequest(release=str(tmp_path / "out"))))
    record = json.loads((tmp_path / "out" / "release.json").read_text())
    assert record["spent"]["charged"] == record["plan"]["accountant"] == "by-count"
    assert Fraction(record["spent"]["epsilon"]["by-count"]["exact"]) == WHOLE.amount
    assert record["spent"]["epsilon"]["basic"] is None


@pytest.mark.slow
@pytest.mark.parametrize("moment", [2, 1, 5])
def test_a_killed_release_is_continued_and_paid_once(tmp_path, moment):
    laid(tmp_path)
    assert killed_at(tmp_path, (ChainedLedger, "begin", moment, True), **ASKED) == 9
    made = run(tmp_path, resume=True, **ASKED)
    assert ledger_in(tmp_path).account("survey").spent == WHOLE
    assert ledger_in(tmp_path).account("survey").reservations == 1
    assert made.transcript.lost == 1
    assert unsound(tmp_path) is None
    assert not transcript(tmp_path).exists()


def test_a_budget_in_epsilon_alone_is_charged_by_basic(tmp_path):
    laid(tmp_path, delta="0")
    assert run(tmp_path, **ASKED).plan.roles.accountant.name == "basic"
    with pytest.raises(BudgetRefused, match="Gaussian"):
        run(tmp_path, out="other", **ASKED, accountant="gdp")
