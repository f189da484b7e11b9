"""The dataset card: files with hashes, record sets that their files hold, and privacy in words and figures."""

from __future__ import annotations

import json

from support.handmade_release import make_release

from dpqr.releases.record.release_document import release_document
from dpqr.report.reports import CONFORMS, CuratorFacts, croissant_card, croissant_text

HASHES = {"answers.csv": "a" * 64, "release.json": "b" * 64, "synthetic.parquet": "c" * 64}
STATED = CuratorFacts(title="Survey tables", curator="City of X", about="Counts.", region="Germany", date="2026-11-22")


COLUMNS = {"answers.csv": ("query", "sex", "estimate"), "synthetic.parquet": ("sex", "age")}


def card(stated=STATED, columns=COLUMNS):
    return croissant_card(release_document(make_release()), stated, HASHES, columns)


def test_every_file_stands_with_its_hash_and_its_kind():
    found = {file["@id"]: (file["encodingFormat"], file["sha256"]) for file in card()["distribution"]}
    assert found["answers.csv"] == ("text/csv", "a" * 64)
    assert found["synthetic.parquet"] == ("application/x-parquet", "c" * 64)
    assert set(found) == set(HASHES)


def test_fields_are_the_columns_of_their_files():
    answers, synthetic = card()["recordSet"]
    assert [field["dataType"] for field in answers["field"]] == ["sc:Text", "sc:Text", "sc:Float"]
    assert [field["source"]["extract"]["column"] for field in synthetic["field"]] == ["sex", "age"]
    assert {field["source"]["fileObject"]["@id"] for field in answers["field"]} == {"answers.csv"}
    names = [field["@id"] for held in (answers, synthetic) for field in held["field"]]
    assert len(names) == len(set(names))


def test_names_of_the_vocabulary_are_declared():
    found = card()
    prefixes = {"rai", "dpqr", "cr", "sc", "dct"}
    assert prefixes <= set(found["@context"])
    assert found["conformsTo"] == list(CONFORMS)
    assert (found["dpqr:epsilon"], found["dpqr:delta"]) == ("1", "0")
    assert "Differentially private with epsilon = 1" in found["rai:personalSensitiveInformation"]


def test_what_nobody_stated_is_left_out():
    found = card(stated=CuratorFacts())
    assert not {"creator", "datePublished", "spatialCoverage", "rai:dataUseCases"} & set(found)
    assert found["name"]


def test_the_text_is_json():
    assert json.loads(croissant_text(release_document(make_release()), STATED, HASHES, COLUMNS)) == card()
