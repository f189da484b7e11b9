"""Every later version reads the releases of every earlier one: small ones of each lie in tests/old_releases."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from support.cases import in_one_test, thinned
from support.counters import DOMAIN, MONTHS, released
from support.verified_release import make

import dpqr
from dpqr.published.checks import reprice
from dpqr.published.evidence import VerifyRequest
from dpqr.published.show import show, show_answers
from dpqr.published.verify import verify
from dpqr.releases.answers.errors import ESTIMATE, MEASURED, NO_BASIS
from dpqr.releases.files.read_release import read_answers, read_release
from dpqr.releases.record import parts as module
from dpqr.releases.record.parts import THREADS, arithmetic
from dpqr.releases.record.release_document import parsed_record, release_schema

OLD = sorted((Path(__file__).parents[2] / "old_releases").iterdir())
SCHEMA = jsonschema.Draft202012Validator(release_schema())
QUERIES = ["records", "marginal(sex,region)", "marginal(sex,age)", "marginal(region,age)", "old women"]


def is_early(place):
    """Of a version whose answers have measured intervals alone, and whose records hold no hashes."""
    return place.name.startswith(("0.1.0", "0.2.0", "0.3.0"))


old = pytest.mark.parametrize("place", OLD, ids=lambda place: place.name)


def test_every_version_is_there():
    versions = {json.loads((place / "release.json").read_text())["version"] for place in OLD}
    assert versions == {
        "0.1.0",
        "0.2.0",
        "0.3.0",
        "0.4.0",
        "0.5.0",
        "0.6.0",
        "0.7.0",
        "0.8.0",
        "0.9.0",
        "0.10.0",
        "0.11.0",
        "0.12.0",
        "0.13.0",
        "0.14.0",
        "0.15.0",
        "0.16.0",
    }


@old
def test_it_is_read_shown_and_priced_again(place):
    record = json.loads((place / "release.json").read_text())
    SCHEMA.validate(record)
    assert parsed_record(record, "here").plan.workload.queries == 18
    kept = show(str(place))
    assert [entry.name for entry in kept.entries] == QUERIES
    assert any(name == "Guarantee" for name, _ in kept.receipt)
    assert show_answers(str(place), "marginal(sex,age)").rows == 6
    found = reprice(str(place))
    assert found.before["basic"] == found.now["basic"] == 1


@old
def test_it_is_read_in_python(place):
    read = dpqr.read_release(place)
    assert read.queries == tuple(QUERIES)
    assert read.answers["error"].isna().all() == (is_early(place))
    assert (read.answers["basis"].notna() == read.answers["lower"].notna()).all()
    assert read.pivot("marginal(sex,age)").shape == (2, 3)
    assert len(read.synthetic) == read.record["synthetic"]["rows"]


@old
def test_its_intervals_were_measured_ones(place):
    for query in QUERIES:
        block = read_answers(read_release(str(place)), query)
        assert set(block.basis.tolist()) <= ({MEASURED, NO_BASIS} if is_early(place) else {MEASURED, ESTIMATE})
        assert ((block.basis != NO_BASIS) == (block.lower == block.lower)).all()


@pytest.mark.parametrize("place", thinned(OLD, 11), ids=lambda place: place.name)
def test_what_it_allows_is_verified(place):
    """No tolerance takes an answer for right that this version does not compare."""
    found = verify(VerifyRequest(release=str(place), tolerance=True))
    states = {each.name: each.state for each in found.checks}
    assert found.outcome == "not repeatable on this machine" or states["answers"] == "ok"
    assert found.outcome != "does not belong together"
    checked = {"record", "events", "prices"} if is_early(place) else {"record", "files", "events", "prices"}
    assert {each.name for each in found.checks if each.state == "ok"} >= checked


@old
@pytest.mark.parametrize("part", ["events", "spent", "guarantee"])
def test_what_was_changed_in_it_is_found(place, part, tmp_path):
    """As far as a record without hashes allows."""
    (tmp_path / "out").mkdir()
    for file in place.iterdir():
        (tmp_path / "out" / file.name).write_bytes(file.read_bytes())
    text = (place / "release.json").read_text()
    changes = {
        "events": ('"count": 3', '"count": 2') if is_early(place) else ('"count": 1', '"count": 10'),
        "spent": ('"basic": {\n        "exact": "1"', '"basic": {\n        "exact": "2"'),
        "guarantee": (
            '"guarantee": "Differentially private with epsilon = 1',
            '"guarantee": "Private with epsilon = 2',
        ),
    }
    assert changes[part][0] in text
    (tmp_path / "out/release.json").write_text(text.replace(*changes[part]))
    assert verify(VerifyRequest(release=str(tmp_path / "out"))).code == 6


def named_parts(document, schema):
    """The keys of a record that the schema does not name."""
    if isinstance(schema, bool):
        return
    while "$ref" in schema:
        schema = SCHEMA.schema["$defs"][schema["$ref"].rpartition("/")[2]]
    for option in schema.get("anyOf", ()):
        if option.get("type") != "null":
            yield from named_parts(document, option)
            return
    if isinstance(document, dict) and "properties" in schema:
        yield from (key for key in document if key not in schema["properties"])
        for key, part in schema["properties"].items():
            yield from named_parts(document[key], part) if document.get(key) is not None else ()
    if isinstance(document, list) and "items" in schema:
        for part in document:
            yield from named_parts(part, schema["items"])


def test_the_schema_names_every_key_of_a_release_of_today(tmp_path):
    """Options of strategies aside."""
    make(tmp_path, certify="0.05")
    record = json.loads((tmp_path / "out/release.json").read_text())
    SCHEMA.validate(record)
    for role in ("schedule", "distinguisher", "check", "update"):
        record["plan"][role] = {"name": ""}
    assert set(named_parts(record, release_schema())) == set()


@pytest.mark.slow
def test_the_schema_names_every_key_of_a_counter_over_ordered_labels(tmp_path):
    sexes = {"name": "sex", "type": "string", "categories": ["f", "m"], "categoriesOrdered": True}
    released(tmp_path, MONTHS[0], domain=DOMAIN | {"fields": [sexes]})
    record = json.loads((tmp_path / MONTHS[0] / "release.json").read_text())
    SCHEMA.validate(record)
    plan = record["plan"]
    assert (plan["counter"]["periods"], plan["period"]["every"]) == (6, "month")
    assert plan["domain"]["columns"][0]["ordered"] is True
    for role in ("schedule", "distinguisher", "check", "update"):
        plan[role] = {"name": ""}
    assert set(named_parts(record, release_schema())) == set()


@in_one_test(
    ("path", "value"),
    [(("version",), 3), (("events",), [{"count": 1}]), (("spent", "delta", "exact"), "1/x"), (("plan",), None)],
)
def test_what_no_version_has_written(path, value):
    record = json.loads((OLD[0] / "release.json").read_text())
    part = record
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    with pytest.raises(dpqr.DocumentError, match="does not fit the form that `dpqr schema release` prints"):
        parsed_record(record, "here")
    assert not SCHEMA.is_valid(record)


# The fingerprint of arithmetic: the same again, another one where sums are added up otherwise.


@pytest.fixture
def fresh():
    arithmetic.cache_clear()
    yield
    arithmetic.cache_clear()


def test_it_is_the_same_each_time(fresh):
    first = arithmetic()
    arithmetic.cache_clear()
    assert arithmetic() == first
    assert len(first) == 16


@pytest.mark.parametrize("name", THREADS)
def test_settings_of_threads_and_kernels_count(fresh, monkeypatch, name):
    first = arithmetic()
    arithmetic.cache_clear()
    monkeypatch.setenv(name, "7")
    assert arithmetic() != first


def test_a_digit_that_is_computed_otherwise_counts(fresh, monkeypatch):
    first, probed = arithmetic(), module._probe()
    arithmetic.cache_clear()
    monkeypatch.setattr(module, "_probe", lambda: probed[:-1] + bytes([probed[-1] ^ 1]))
    assert arithmetic() != first
