"""Evidence: what a release consists of, as far as somebody has written it as dpqr does."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from support.cases import in_one_test
from support.verified_release import changed

import dpqr
from dpqr import __version__
from dpqr.kernel.errors import GoalMissed, UsageFault
from dpqr.published.evidence import NotChecked, ReleaseEvidence, VerifyRequest, require_same_text
from dpqr.releases.files.atomic import document_text
from dpqr.releases.record.plan_document import seal_document

OLD = Path(__file__).parents[1] / "old_releases"


def evidence(request, scratch):
    return ReleaseEvidence(request, scratch)


@in_one_test(
    ("text", "passes"),
    [
        ('{"a": [1.0, "\\"x y\\""], "b": null}', True),
        ('{ "a":[1.0,\t"\\"x y\\""],\r\n"b":null }', True),
        ('{"a": [1E0, "\\"x y\\""], "b": null}', False),
        ('{"a": [1.00, "\\"x y\\""], "b": null}', False),
        ('{"a": [1.0, "\\"x\\u0020y\\""], "b": null}', False),
        ('{"a": 2, "a": [1.0, "\\"x y\\""], "b": null}', False),
    ],
)
def test_one_text_for_one_document_but_for_blanks(tmp_path, text, passes):
    path = tmp_path / "x.json"
    path.write_text(text, newline="")
    if passes:
        require_same_text(json.loads(text), path)
    else:
        with pytest.raises(GoalMissed, match="is not written as dpqr writes it"):
            require_same_text(json.loads(text), path)


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[]", b'{"dpqr": "release/1"}', b"null"])
def test_a_record_that_is_none(free_release, tmp_path, content):
    with (
        changed(Path(free_release.release) / "release.json", content),
        pytest.raises(GoalMissed, match=r"is no record|does not fit"),
    ):
        _ = evidence(free_release, tmp_path).document


@pytest.mark.parametrize("key", ["sha256", "hashes", "versions"])
def test_a_seal_cannot_be_left_out(free_release, tmp_path, key):
    path = Path(free_release.release) / "release.json"
    document = json.loads(path.read_text())
    del document[key]
    with changed(path, document_text(document).encode()), pytest.raises(GoalMissed, match="changed after its sha"):
        _ = evidence(free_release, tmp_path).document


def test_no_directory(tmp_path):
    with pytest.raises(UsageFault):
        _ = evidence(VerifyRequest(release=str(tmp_path / "nowhere")), tmp_path).document


def test_an_old_record_gives_no_plan(tmp_path):
    with pytest.raises(NotChecked, match=r"dpqr 0\.1 to 0\.3 kept none"):
        _ = evidence(VerifyRequest(release=str(OLD / "0.2.0")), tmp_path).plan


def forged(free_release, change):
    path = Path(free_release.release) / "release.json"
    document = json.loads(path.read_text())
    change(document)
    return changed(path, document_text(seal_document(document)).encode())


@pytest.mark.parametrize(
    ("option", "value", "found"),
    [
        ("epsilon", "none", "the request in the record cannot be planned"),
        ("delta", "0.01", "the record leaves out what its plan notes"),
    ],
)
def test_a_request_that_cannot_be_planned_and_a_warning_that_is_left_out(free_release, tmp_path, option, value, found):
    def change(document):
        document["plan"]["request"]["options"][option] = value

    with forged(free_release, change), pytest.raises(GoalMissed, match=found):
        _ = evidence(free_release, tmp_path).plan


@in_one_test(("version", "passes"), [(__version__, False), ("0.16.0", True)])
def test_a_note_that_came_later_is_not_missed(tmp_path_factory, version, passes):
    """Records of 0.16 are repeated, though their plans do not say that missing values fulfil no comparison."""
    place = tmp_path_factory.mktemp("proportion")
    field = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}, "dpqr": {"null": "cell"}}
    queries = {"queries": [{"proportion": "age > 4"}]}
    out = str(place / "out")
    dpqr.release(pd.DataFrame({"age": [1, 5, None]}), queries=queries, domain={"fields": [field]}, eps=1, out=out)
    path = Path(out) / "release.json"
    document = json.loads(path.read_text())
    document["version"], notes = version, document["plan"]["notes"]
    document["plan"]["notes"] = [note for note in notes if "(null)" not in note]
    assert len(notes) > len(document["plan"]["notes"])
    document["plan"] = seal_document(document["plan"])
    path.write_text(document_text(seal_document(document)))
    found = evidence(VerifyRequest(release=out), place)
    if passes:
        assert found.plan.notes == tuple(document["plan"]["notes"])
    else:
        with pytest.raises(GoalMissed, match="the record leaves out what its plan notes: proportion"):
            _ = found.plan


def test_draws_of_a_wrong_form(free_release, tmp_path):
    def change(document):
        document["transcript"][0]["measured"][0]["values"][0] = 2**70

    with forged(free_release, change), pytest.raises(GoalMissed, match="cannot be repeated"):
        _ = evidence(free_release, tmp_path).repeated
