"""Synthetic rows, domain and queries, hashes."""

from __future__ import annotations

import pytest
from support.pages import made

from dpqr.kernel.values import replace
from dpqr.report.page.documents import checklist_section, domain_section, synthetic_section, verify_section
from dpqr.report.page.release_page import release_page

FIELDS = [
    {"name": "sex", "constraints": {"enum": ["F", "M"]}, "dpqr": {"null": "cell", "otherwise": "drop"}},
    {"name": "age", "dpqr": {"edges": [0, 20, 40, 60], "outside": "clip"}},
]


def documented():
    found = made()
    request = {"domain": {"fields": FIELDS}, "queries": {"queries": [{"marginal": ["sex", "age"]}]}}
    return replace(found, record={**found.record, "plan": {**found.plan, "request": request}})


def test_a_preview_of_synthetic_rows_and_what_was_moved(found):
    made_rows = {**found.record["synthetic"], "moved": 2.0, "records_a_row": 1.5}
    words, facts, preview = synthetic_section(replace(found, record={**found.record, "synthetic": made_rows})).parts
    assert "no row is anybody's" in words.text
    assert dict(facts.lines)["Moved"].startswith("2 records")
    assert preview.rows[0] == ("F", "[0, 20)")


def test_tables_of_persons_are_among_what_was_asked(found):
    before = domain_section(found).parts
    table = {"name": "persons by sex", "columns": ["sex"], "queries": 2, "max_cells": 3}
    record = {**found.record, "plan": {**found.plan, "person_tables": [table]}}
    asked = [
        next(part for part in parts if getattr(part, "caption", "").startswith("What was asked"))
        for parts in (before, domain_section(replace(found, record=record)).parts)
    ]
    assert asked[1].rows == [*asked[0].rows, ("persons by sex", "sex", "2", "")]
    counts = [int(part.caption.split()[3]) for part in asked]
    assert counts[1] == counts[0] + 2


def test_without_synthetic_rows_there_is_no_chapter():
    assert "synthetic" not in {section.name for section in release_page(made()).sections}


def test_what_is_not_stated_is_no_line():
    facts, *_ = checklist_section(made(publisher="City of X", purpose=None, by=None)).parts
    assert {"Purpose", "Asked for by", "Approved by"}.isdisjoint(name for name, _ in facts.lines)
    assert ("Published by", "City of X") in facts.lines


def test_columns_show_values_and_rules_of_the_domain_file():
    _, columns, *_ = domain_section(documented()).parts
    assert columns.rows[0] == ("sex", "labels", "F, M", "null: cell, otherwise: drop", "3")
    assert columns.rows[1] == ("age", "bins", "edges [0, 20, 40, 60]", "outside: clip", "3")


def test_queries_stand_as_their_file_says_them():
    *_, queries = domain_section(documented()).parts
    assert list(queries.lines) == ['{"marginal": ["sex", "age"]}']


@pytest.mark.slow
def test_what_dpqr_toml_states_stands_beside_the_queries_and_is_no_warning():
    found, said = documented(), "dpqr.toml states --dataset survey"
    plan = found.plan | {"request": {**found.plan["request"], "notes": [said]}}
    found = replace(found, record={**found.record, "plan": plan, "trust": [said, "one may fail"]})
    assert [part.lines for part in domain_section(found).parts if ("Asked", said) in getattr(part, "lines", ())]
    certainty = release_page(found).sections[1]
    (known,) = [part.lines for part in certainty.parts if "one may fail" in getattr(part, "lines", ())]
    assert said not in known


def test_hashes_stand_beside_what_the_record_says_of_them(found):
    record = {**found.record, "hashes": {"answers.csv": "0" * 64, "release.json": "b" * 64}}
    words, commands, hashes, marks = verify_section(replace(found, record=record)).parts
    assert [row[2] for row in hashes.rows] == ["NOT AS RECORDED", "as recorded"]
    assert commands.lines[0] == "dpqr verify RELEASE"
    assert "Plan, SHA-256 of its content" in dict(marks.lines)
    assert "spend nothing" in words.text


# The checklist: what is checked follows from the record, and what is not checked is said.


def states(found):
    _, _, *layers = checklist_section(found).parts
    return {line.statement: line.state for layer in layers for line in layer.lines}


def budget(epsilon, delta):
    return {name: {"exact": value, "float": 0.0} for name, value in (("epsilon", epsilon), ("delta", delta))}


def test_three_layers_from_claim_to_ground(found):
    _, words, *layers = checklist_section(found).parts
    every = [line.state for layer in layers for line in layer.lines]
    assert words.text.startswith(f"Of {len(every)} points the program has checked {every.count('yes')}, and")
    assert "it is no certificate of NIST" in words.text
    assert [layer.layer.partition(":")[0] for layer in layers] == ["The claim", "Below it", "What all of it stands on"]


def test_what_was_learned_is_not_called_public():
    found = made()
    plan = found.plan | {"domain": found.plan["domain"] | {"learned": {"columns": ["sex"]}}}
    but = " But private draws, which were paid for, have learned labels or bounds of sex."
    learned = made(plan=plan)
    assert domain_section(learned).parts[0].text == domain_section(found).parts[0].text + but
    told, public = (
        [line.found for layer in checklist_section(each).parts[2:] for line in layer.lines] for each in (learned, found)
    )
    assert [line for line in told if line not in public] == [line + but for line in public if line not in told]
    assert sum(but in line for line in told) == 1


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


def test_what_learning_the_domain_has_cost_is_judged_with_the_rest(found):
    plan = {**found.plan, "budget": budget("2.5", "0"), "whole": budget("3.5", "1/1000")}
    said = states(replace(found, record={**found.record, "plan": plan}))
    assert (said["Epsilon is stated, exact, and small"], said["Delta is 0 or tiny"]) == ("part", "part")


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
    lines = {line.found for layer in checklist_section(made(dropped=dropped)).parts[2:] for line in layer.lines}
    assert "About 12 (+-3, noise) of the rows." in lines


def test_a_release_from_a_test_source_passes_no_check_of_noise():
    assert states(made(private=False))["Noise is exact, and from a cryptographic source"] == "no"
