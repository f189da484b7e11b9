from __future__ import annotations

import json

import pytest
from support.cases import in_one_test

from dpqr.domain import domain_file as public_facts
from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain_file import UNREADABLE, DomainDraft, learned_part, read_domain
from dpqr.domain.text.decoding import Location
from dpqr.domain.text.faults import FollowUp
from dpqr.kernel.errors import DocumentError
from dpqr.workload.queries_file import read_queries

SOUND = (Attribute(name="a", axis=Codes(2)),)


def test_columns_at_fault_are_known_and_answer_nothing() -> None:
    draft = DomainDraft(SOUND, broken=("b",))
    assert draft.names == ("a", "b")
    assert draft.axis("a") == 0
    with pytest.raises(FollowUp):
        draft.axis("b")
    with pytest.raises(DocumentError, match="no column 'c'"):
        draft.axis("c")


def test_any_unknown_name_may_be_meant_for_an_unreadable_one() -> None:
    with pytest.raises(FollowUp):
        DomainDraft(SOUND, broken=(UNREADABLE,)).axis("c")


FIELDS = [
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 39}, "dpqr": {"width": 10}},
    {"name": "marital", "type": "string", "constraints": {"enum": ["single", "married"]}, "dpqr": {"null": "cell"}},
    {"name": "region", "type": "integer", "constraints": {"enum": [1, 2, 3]}},
]


def facts(impossible=(), totals=()):
    stated = [{"where": text} for text in impossible]
    return read_domain({"fields": FIELDS, "impossible": stated, "totals": list(totals)}).facts


def test_an_impossible_combination_is_where_the_predicate_is_true():
    (region,) = facts(["age < 20 and marital = 'married'"]).impossible
    assert region.axes == (0, 1)
    assert region.cells.tolist() == [[False, True, False]] * 2 + [[False] * 3] * 2


def test_what_or_joins_is_impossible_part_by_part():
    either = facts(["age < 10 and marital is null or region = 3"]).impossible
    assert [region.axes for region in either] == [(0, 1), (2,)]
    neither = facts(["not (age < 10 and region = 3)"]).impossible
    assert [(region.axes, region.cells.tolist()) for region in neither] == [
        ((0,), [False, True, True, True]),
        ((2,), [True, True, False]),
    ]


def test_totals_bound_the_number_of_records():
    some = facts(totals=[{"where": "region = 1", "count": 10}, {"where": "region in (2, 3)", "count": 20}])
    assert (some.least, some.most, some.records) == (30, 30, 30)
    assert [total.count for total in some.totals] == [10, 20]
    assert facts(totals=[{"count": 7}]).records == 7
    assert not facts(totals=[{"count": 7}]).totals


def test_a_total_of_nobody_is_an_impossible_combination():
    found = facts(totals=[{"where": "region = 1", "count": 0}, {"where": "region = 2", "count": 1}])
    assert [region.axes for region in found.impossible] == [(2,)]
    assert len(found.totals) == 1


BAD = [
    ({"impossible": [{"where": "age <"}]}, r"\$\.impossible\[0\]\.where: at character 6"),
    ({"impossible": [{"where": "aeg < 10"}]}, r"\$\.impossible\[0\]\.where: .* did you mean 'age'"),
    ({"impossible": [{"where": "age < 15"}]}, r"\$\.impossible\[0\]\.where: 15 cuts through the bin"),
    ({"impossible": [{"where": "age < 0"}]}, r"\$\.impossible\[0\]\.where: is true for no cell"),
    ({"impossible": [{"where": "region = 1 or region in (2, 3)"}]}, r"\$\.impossible: together they leave no cell"),
    ({"impossible": [{"count": 3}]}, r"\$\.impossible\[0\]: .*'count'"),
    ({"totals": [{"where": "region = 1"}]}, r"\$\.totals\[0\]: the key 'count' is missing"),
    ({"totals": [{"where": "region = 1", "count": -1}]}, r"\$\.totals\[0\]\.count"),
    ({"totals": [{"where": "region = 1", "count": 2**36 + 1}]}, r"\$\.totals\[0\]\.count"),
    ({"totals": [{"where": "region = 1", "count": 2.5}]}, r"\$\.totals\[0\]\.count"),
    (
        {"totals": [{"count": 9}, {"where": "region = 1", "count": 4}, {"where": "region != 1", "count": 6}]},
        r"\$\.totals\[2\]: no table can have this many records",
    ),
    (
        {"impossible": [{"where": "region = 1"}], "totals": [{"where": "region = 1 and age < 10", "count": 4}]},
        r"\$\.totals\[0\]: no table can",
    ),
    (
        {"totals": [{"where": f"region = {code}", "count": 0} for code in (1, 2, 3)]},
        r"\$\.totals: together they leave no cell",
    ),
]


@in_one_test(("more", "said"), BAD)
def test_facts_that_cannot_be_are_blamed_by_place(more, said):
    with pytest.raises(DocumentError, match=said):
        read_domain({"fields": FIELDS, **more})


def test_facts_over_too_many_cells_are_refused(monkeypatch):
    monkeypatch.setattr(public_facts, "MAX_FACT_CELLS", 11)
    with pytest.raises(DocumentError, match=r"it ties 'age', 'region' together: 12 cells, more than 11"):
        facts(["age < 10 and region = 1"])
    monkeypatch.setattr(public_facts, "MAX_FACT_CELLS", 12)
    with pytest.raises(DocumentError, match=r"\$\.totals: totals that share columns tie 'age', 'marital', 'region'"):
        facts(totals=[{"where": f"age < 10 and {other}", "count": 1} for other in ("region = 1", "marital is null")])
    monkeypatch.setattr(public_facts, "MAX_MODEL", 1)
    monkeypatch.setattr("dpqr.models.junction_tree.SMALL", 1)
    with pytest.raises(DocumentError, match=r"\$\.impossible: together they need a model of more than 1 cells"):
        facts(["age < 10 and region = 1"])


def test_facts_about_columns_that_nobody_asks_about_are_named(tmp_path):
    stated = {"impossible": [{"where": "region = 3"}], "totals": [{"where": "age < 10 and region = 1", "count": 5}]}
    document = {"domain": {"fields": FIELDS, **stated}, "queries": [{"marginal": ["age", "marital"]}]}
    path = tmp_path / "q.json"
    path.write_text(json.dumps(document))
    found = read_queries(path)
    assert found.domain.facts.least == 5
    assert not found.domain.facts.axes
    assert found.notes == (
        "not used: 'region = 3' speaks of columns that no query looks at",
        "not used: 'age < 10 and region = 1' speaks of columns that no query looks at",
    )


def test_entries_of_a_ledger_pay_for_all_that_was_learned_or_a_part_and_never_for_more():
    paid = [{"dataset": "s", "entry": each, "seal": "x", "epsilon": "0.3", "delta": "1e-6"} for each in (3, 4)]
    learned = {"columns": ["a"], "epsilon": "0.6", "delta": "2e-6", "unit": "one row", "ledger": paid}
    whole = learned_part({"learned": learned}, Location("d"))
    assert whole.paid_words == "by entry 3 of dataset 's' and entry 4 of dataset 's'"
    part = learned_part({"learned": learned | {"epsilon": "0.7"}}, Location("d"))
    assert part.paid_words == f"in part {whole.paid_words}"
    for less in ({"epsilon": "0.599"}, {"delta": "1.99e-6"}):
        with pytest.raises(DocumentError, match="entries that paid more than what was learned has cost"):
            learned_part({"learned": learned | less}, Location("d"))
