import hashlib
import json
from fractions import Fraction

from support.ledger_jobs import draws, ledger_in, reserve, terms

from dpqr.ledger.record import account_document, entry_document, entry_line, verdict_document


def lived(tmp_path):
    ledger = ledger_in(tmp_path)
    ledger.open(terms(cap="2"))
    ledger.settle(reserve(ledger, 2), draws("1/3"), note="released")
    reserve(ledger, 1)
    return ledger


def test_an_account_is_exact_and_readable(tmp_path):
    ledger = lived(tmp_path)
    document = account_document(
        ledger.account("survey"), ledger.events("survey"), {"basic": Fraction(4, 3), "zcdp": None}, Fraction(0)
    )
    assert document["spent"] == {"exact": "4/3", "decimal": "1.33333333334"}
    assert document["left"] == {"exact": "11/3", "decimal": "3.66666666666"}
    assert document["unsettled"] == {"reservations": 1, "cost": {"exact": "1", "decimal": "1"}}
    assert document["largest"] == {"exact": "2", "decimal": "2", "options": "--eps 2"}
    assert document["prices"]["epsilon"] == {"basic": document["spent"], "zcdp": None}
    assert [event["count"] for event in document["events"]] == [1, 1]
    assert json.loads(json.dumps(document)) == document


def test_a_sum_that_nobody_can_read_is_left_to_its_decimal(tmp_path):
    ledger = lived(tmp_path)
    price = Fraction(1, 3**5000)
    document = account_document(ledger.account("survey"), ledger.events("survey"), {"basic": price}, Fraction(0))
    assert document["prices"]["epsilon"]["basic"]["exact"] is None
    assert Fraction(document["prices"]["epsilon"]["basic"]["decimal"]) >= price


def test_anybody_can_check_an_export_with_a_hash_alone(tmp_path):
    previous = ""
    for entry in lived(tmp_path).entries():
        line = json.loads(entry_line(entry))
        text = json.dumps(line["entry"], sort_keys=True, separators=(",", ":"))
        previous = hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()
        assert line["seal"] == previous
        assert entry_document(entry) == {**line["entry"], "seal": previous}


def test_a_verdict_tells_how_far_the_anchor_knows(tmp_path):
    ledger = lived(tmp_path)
    verdict = verdict_document(ledger.verify())
    assert verdict["entries"] == verdict["anchor"]["entries"] == 5
    assert verdict["datasets"] == ["survey"]
    assert verdict_document(ledger_in(tmp_path, anchored=False).verify())["anchor"] is None
