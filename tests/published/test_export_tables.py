"""Tables of an exported release."""

from dpqr.domain.attribute import Attribute, Labels, Rule
from dpqr.domain.domain import Domain
from dpqr.published.export import cells_of, columns_of, facts_table

RECORD = {
    "version": "0.6.0",
    "ledger": {"dataset": "survey"},
    "hashes": {"answers.csv": "12"},
    "trust": ["look"],
    "plan": {
        "budget": {"epsilon": {"exact": "1/10", "float": 0.1}, "delta": {"exact": "0", "float": 0.0}},
        "domain": {"columns": [{"name": "sex", "kind": "labels", "cells": 3, "own_cells": ["null"]}]},
    },
}


def test_facts_are_texts():
    facts = {one["fact"]: one["value"] for one in facts_table(RECORD).to_pylist()}
    assert (facts["version"], facts["epsilon"], facts["delta"], facts["dataset"]) == ("0.6.0", "1/10", "0", "survey")
    assert (facts["sha256 of answers.csv"], facts["note 1"], facts["publisher"]) == ("12", "look", None)


def test_a_record_without_a_ledger_has_no_dataset():
    facts = {one["fact"]: one["value"] for one in facts_table({**RECORD, "ledger": "none"}).to_pylist()}
    assert facts["dataset"] is None


def test_columns_and_cells():
    assert columns_of(RECORD).to_pylist() == [
        {"position": 0, "name": "sex", "kind": "labels", "cells": 3, "own_cells": "null"}
    ]
    attribute = Attribute(name="sex", axis=Labels(("f", "m")), rules={"null": Rule.CELL})
    assert [(one["cell"], one["own"]) for one in cells_of(Domain((attribute,))).to_pylist()] == [
        ("f", False),
        ("m", False),
        ("(null)", True),
    ]
