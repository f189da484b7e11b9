"""A file of the private table is no document: messages quote documents, and no budget pays for that."""

from __future__ import annotations

import os

import pytest
from support.command_desk import DOMAIN, PRIVATE

PARENTS = {
    "fields": [
        {
            "name": "sex",
            "type": "string",
            "constraints": {"enum": ["F", "M"]},
            "parent": {"file": "table.csv"},
        }
    ]
}
"""A domain whose hierarchy is the private table: a label that stands twice would be quoted with both its parents."""


def refused(done, code=2):
    said = done.out + done.err
    assert done.code == code, said
    assert "is a file of the private table, and messages quote documents" in said
    assert not [cell for cell in PRIVATE if cell in said]


@pytest.fixture
def places(desk):
    """Other names of the table: a link and a hard link, with endings that are read as documents."""
    (desk.path / "linked.yaml").symlink_to(desk.path / "table.csv")
    for ending in ("json", "yaml", "toml", "sql", "npy"):
        os.link(desk.path / "table.csv", desk.path / f"same.{ending}")
    return desk


@pytest.mark.parametrize("name", ["table.csv", "linked.yaml", "same.json", "same.yaml", "same.toml", "same.sql"])
@pytest.mark.parametrize("more", [(), ("--dry-run",), ("--if-exists", "skip", "--out", "out")], ids=" ".join)
def test_queries_and_domain_of_a_release(places, name, more):
    if "skip" in more:
        assert places.release("--out", "out").code == 0
    refused(places.run("release", "table.csv", "--queries", name, "--eps", "1", *more))
    refused(places.run("release", "table.csv", "--queries", "q.json", "--domain", name, "--eps", "1", *more))


def test_a_directory_of_tables(desk):
    (desk.path / "tables").mkdir()
    (desk.path / "table.csv").rename(desk.path / "tables" / "table.csv")
    refused(desk.run("release", "tables", "--queries", "tables/table.csv", "--eps", "1"))
    refused(desk.run("release", "tables/*.csv", "--queries", "tables/table.csv", "--eps", "1"))


def test_files_that_documents_name(places):
    counted = {"domain": DOMAIN, "queries": [{"columns": ["sex"], "coefficients": "table.csv"}]}
    places.write(d__json=PARENTS, m__json={"queries": [{"marginal": ["sex"]}]}, c__json=counted)
    refused(places.run("release", "table.csv", "--queries", "m.json", "--domain", "d.json", "--eps", "1"), code=3)
    refused(places.run("release", "table.csv", "--queries", "c.json", "--eps", "1"), code=3)


def test_predictions_and_domain_files(places):
    places.write(domain__json=DOMAIN)
    predict = ("predict", "table.csv", "--target", "sex", "--learner", "aggregate", "--eps", "1")
    refused(places.run(*predict, "--domain", "same.yaml", "--points", "domain.json"))
    refused(places.run("domain", "table.csv", "--from", "same.yaml"))
    refused(places.run("domain", "table.csv", "--queries", "same.json"))


def test_questions_of_a_session(places):
    places.run("budget", "init", "survey", "--eps", "5", "--ledger", "l.sqlite", "--allow-fail")
    refused(
        places.run(
            *("interactive", "open", "talk", "table.csv", "--dataset", "survey", "--ledger", "l.sqlite"),
            *("--domain", "same.json", "--eps", "1"),
        )
    )


@pytest.mark.parametrize("name", ["alone.json", "alone.yaml", "alone.toml", "alone.sql"])
@pytest.mark.parametrize("text", ["987654321", '"PRIVATEVALUE\\n987654321"', "PRIVATEVALUE", "- PRIVATEVALUE"])
def test_a_whole_document_is_never_quoted(desk, name, text):
    """Without a table to compare with, the wrong file may still be anybody's."""
    (desk.path / name).write_text(text)
    for options in (("check", "--queries", name), ("check", "--queries", "q.json", "--domain", name)):
        done = desk.run(*options)
        assert done.code == 3, done.out + done.err
        assert not [cell for cell in PRIVATE if cell in done.out + done.err]
