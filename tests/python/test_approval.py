"""What is shown of an approval."""

import dpqr


def test_an_approval_says_what_was_approved(tmp_path):
    ledger = dpqr.Ledger(tmp_path / "l.sqlite")
    ledger.init("survey", eps=5)
    planned = dpqr.plan(queries={"queries": [{"marginal": ["age"]}]}, domain={"age": 4}, eps="0.5")
    planned.save(tmp_path / "plan.json")
    approved = ledger.approve("survey", tmp_path / "plan.json", by="M. Lee", purpose="read it")
    assert approved.sha256 == planned.sha256
    assert repr(approved) == f"Approval({planned.sha256[:12]})"
    said = " ".join(str(approved).split())
    for words in ("epsilon = 0.5", "4 queries in 1 block", "charged by basic", planned.sha256, "read it, by M. Lee"):
        assert words in said
