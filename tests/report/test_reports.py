"""The dataset card: files with hashes, record sets that their files hold, and privacy in words and figures."""

from __future__ import annotations

import copy
import json
from datetime import date
from pathlib import Path

import jsonschema
import pytest
from support.handmade_release import make_release, make_stopped_release

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.values import replace
from dpqr.releases.record.release_document import release_document
from dpqr.report.reports import CONFORMS, SECTORS, CuratorFacts, croissant_card, registry_record

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


def test_limits_begin_with_what_is_wrong_and_name_the_periods():
    document = release_document(make_release())
    plan = document["plan"] | {"period": {"name": "2025-12", "since": "2025-11", "every": "month", "column": "day"}}
    told = croissant_card(document | {"warning": "nothing was read", "plan": plan}, STATED, HASHES, COLUMNS)
    assert told["rai:dataLimitations"] == f"nothing was read. Rows of 2025-11 to 2025-12 only. {document['certainty']}"
    assert card()["rai:dataLimitations"] == document["certainty"]


def test_what_nobody_stated_is_left_out():
    found = card(stated=CuratorFacts())
    assert not {"creator", "datePublished", "spatialCoverage", "rai:dataUseCases"} & set(found)
    assert found["name"]


# The registry's record: valid by the schema of its date, and refused where a person has to speak first.

SCHEMA = json.loads((Path(__file__).parent / "schemas" / "deployments-2026-07-15.json").read_text())
VALIDATOR = jsonschema.Draft7Validator(SCHEMA, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)
CURATOR = CuratorFacts(
    title="Survey tables: 1 & 2",
    curator="City of X",
    use="Planning",
    region="Germany",
    about="Counts of a survey.",
    sector="Government",
    author="M. Weber",
    date="2026-11-22",
)


LEARNED = {"columns": ["icd", "cost"], "max_rows": {"numbers": [1]}}


def record(release=make_release, **fields):
    return {**release_document(release()), **fields}


@pytest.mark.parametrize("release", [make_release, make_stopped_release])
def test_the_record_validates_and_fills_the_third_tier(release):
    found = registry_record(record(release), CURATOR)
    assert list(VALIDATOR.iter_errors(found)) == []
    assert found["tier"] == 3
    assert found["status"] == "Draft"
    assert found["url_slug"] == "survey-tables-1-2-2026"
    given = found["deployment"]
    assert set(given) == set(SCHEMA["properties"]["deployment"]["properties"])
    assert all(given[part] for part in given)


def test_figures_are_those_of_the_release():
    pure, approximate = (
        registry_record(record(each), CURATOR)["deployment"] for each in (make_release, make_stopped_release)
    )
    assert pure["dp_variant"]["variant_name"] == "Pure DP"
    assert pure["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0}
    assert approximate["dp_variant"]["variant_name"] == "Approximate DP"
    assert approximate["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.5, "delta": 1e-9}
    assert "public" in approximate["dp_variant"]["unprotected_quantities"]
    assert "No ledger was used" in pure["deployment_model"]["release_type_details"]


def test_the_record_names_the_files_and_what_was_learned():
    stated = record(files=["answers.csv"])
    found = registry_record(stated, CURATOR)["deployment"]
    assert "synthetic" not in str(found)
    assert found["deployment_model"]["access_type_details"] == "Published as files: answers.csv."
    plan = stated["plan"] | {"domain": stated["plan"]["domain"] | {"learned": LEARNED}}
    said = registry_record(stated | {"plan": plan}, CURATOR)["deployment"]["implementation"]
    assert said["preprocessing_and_hyperparameter_tuning"].endswith(
        "tunes nothing on it. But private draws, which were paid for, have learned labels or bounds of icd, cost and "
        "how many rows of each person are used."
    )


def test_a_ledger_and_a_unit_are_named():
    stated = record(ledger={"dataset": "survey", "entry": 4, "seal": "s"})
    stated["plan"] = copy.deepcopy(stated["plan"])
    stated["plan"]["unit"].update(column="person", max_rows=3)
    found = registry_record(stated, CURATOR)["deployment"]
    assert "'survey'" in found["deployment_model"]["release_type_details"]
    assert found["privacy_loss"]["privacy_unit"] == "person (column 'person'), at most 3 rows each"


def test_what_the_record_knows_need_not_be_stated():
    known = record(publisher="Office", purpose="Planning", by="A. B.", date="2026-01-02T03:04:05Z")
    stated = replace(CURATOR, curator=None, use=None, author=None, date=None)
    found = registry_record(known, stated)["deployment"]
    assert found["basic"]["data_curators"] == ["Office"]
    assert found["basic"]["publication_date"] == "2026-01-02"
    assert found["administrative"]["registry_authors"] == ["A. B."]


def test_every_missing_field_is_named_at_once():
    with pytest.raises(UsageFault) as fault:
        registry_record(record(), CuratorFacts(title="T", use="u"))
    assert str(fault.value).startswith("--registry: needs --curator, --region, --about, --sector, --author, --date;")


@pytest.mark.parametrize(
    ("field", "said"), [({"sector": "Sports"}, "the registry knows"), ({"date": "1/1/26"}, "is no date")]
)
def test_what_the_schema_refuses_is_refused_first(field, said):
    with pytest.raises(UsageFault, match=said):
        registry_record(record(), replace(CURATOR, **field))


def test_sectors_are_those_of_the_schema():
    basic = SCHEMA["properties"]["deployment"]["properties"]["basic"]["properties"]
    assert list(SECTORS) == basic["data_product_sector"]["enum"]


def test_the_date_of_the_schema_stands_in_the_house():
    from dpqr.report import reports as registry

    assert str(date(2026, 7, 15)) in registry.__doc__
