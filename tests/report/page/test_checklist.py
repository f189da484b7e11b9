"""The checklist: what is checked follows from the record, and what is not checked is said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.pages import made

from dpqr.report.page.documents import checklist_section


def states(found):
    _, *layers = checklist_section(found).parts
    return {line.asked: line.state for layer in layers for line in layer.lines}


def budget(epsilon, delta):
    return {name: {"exact": value, "float": 0.0} for name, value in (("epsilon", epsilon), ("delta", delta))}


def test_three_layers_from_claim_to_ground(found):
    words, *layers = checklist_section(found).parts
    assert "it is no certificate of NIST" in words.text
    assert [layer.layer.partition(":")[0] for layer in layers] == ["The claim", "Below it", "What all of it stands on"]


def test_what_no_program_can_know_is_never_called_checked(found):
    said = states(found)
    for asked in ("Time, memory and machine reveal nothing", "Collection and consent", "One person is one unit"):
        assert said[asked] == "no"


@pytest.mark.parametrize(
    ("epsilon", "delta", "expected"),
    [("1", "0", ("yes", "yes")), ("4", "1/1000", ("part", "part")), ("3", "1/1000000", ("yes", "yes"))],
)
def test_large_figures_are_marked(found, epsilon, delta, expected):
    said = states(replace(found, record={**found.record, "plan": {**found.plan, "budget": budget(epsilon, delta)}}))
    assert (said["Epsilon is stated, exact, and small"], said["Delta is 0 or tiny"]) == expected


def test_ledger_unit_and_left_out_rows_follow_from_the_record():
    bare = states(made())
    assert bare["Releases of the same table are added up"] == "no"
    assert bare["The unit of privacy is a person"] == "part"
    assert bare["Rows that were left out are known"] == "no"
    dropped = {"counts": "the rows", "estimate": 12, "law": {"deviation": 3.0}}
    paid = {"dataset": "survey", "entry": 2, "seal": "s"}
    plan = {**made().plan, "unit": {"column": "person", "max_rows": 3}}
    full = states(made(ledger=paid, dropped=dropped, plan=plan))
    assert full["Releases of the same table are added up"] == "yes"
    assert full["The unit of privacy is a person"] == "yes"
    assert full["Rows that were left out are known"] == "yes"


def test_a_release_from_a_test_source_passes_no_check_of_noise():
    assert states(made(private=False))["Noise is exact, and from a cryptographic source"] == "no"
