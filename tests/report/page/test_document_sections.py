"""Synthetic rows, domain and queries, hashes."""

from __future__ import annotations

from dataclasses import replace

from support.pages import made

from dpqr.report.page.documents import domain_section, synthetic_section, verify_section
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


def test_without_synthetic_rows_one_sentence():
    (words,) = synthetic_section(made()).parts
    assert words.text.startswith("No synthetic rows were released")


def test_columns_show_values_and_rules_of_the_domain_file():
    _, columns, *_ = domain_section(documented()).parts
    assert columns.rows[0] == ("sex", "labels", "F, M", "null: cell, otherwise: drop", "3")
    assert columns.rows[1] == ("age", "bins", "edges [0, 20, 40, 60]", "outside: clip", "3")


def test_queries_stand_as_their_file_says_them():
    *_, queries = domain_section(documented()).parts
    assert list(queries.lines) == ['{"marginal": ["sex", "age"]}']


def test_what_dpqr_toml_states_stands_beside_the_queries_and_is_no_warning():
    found, said = documented(), "dpqr.toml states --dataset survey"
    plan = found.plan | {"request": {**found.plan["request"], "notes": [said]}}
    found = replace(found, record={**found.record, "plan": plan, "trust": [said, "one may fail"]})
    assert [part.lines for part in domain_section(found).parts if ("Asked", said) in getattr(part, "lines", ())]
    promise = release_page(found).sections[0]
    (known,) = [part.lines for part in promise.parts if "one may fail" in getattr(part, "lines", ())]
    assert known == ["one may fail"]


def test_hashes_stand_beside_what_the_record_says_of_them(found):
    record = {**found.record, "hashes": {"answers.csv": "0" * 64, "release.json": "b" * 64}}
    words, commands, hashes, marks = verify_section(replace(found, record=record)).parts
    assert [row[2] for row in hashes.rows] == ["NOT AS RECORDED", "as recorded"]
    assert commands.lines[0] == "dpqr verify RELEASE"
    assert "Plan, SHA-256 of its content" in dict(marks.lines)
    assert "spend nothing" in words.text
