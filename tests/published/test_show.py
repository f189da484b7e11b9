"""A release looked at again: what a record says, however old it is and whoever wrote it."""

from __future__ import annotations

import json

import pytest
from support.handmade_release import make_release

from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.published.show import show, show_answers
from dpqr.releases.files import reserve
from dpqr.releases.receipt import receipt
from dpqr.releases.release_files import write_release

RELEASE = make_release()


@pytest.fixture
def place(tmp_path):
    write_release(RELEASE, reserve(str(tmp_path / "out")), receipt=receipt(RELEASE))
    return tmp_path / "out"


def changed(place, **parts):
    record = json.loads((place / "release.json").read_text())
    (place / "release.json").write_text(json.dumps(record | parts))


@pytest.mark.parametrize("file", ["", "answers.csv", "release.json"])
def test_by_its_directory_or_any_of_its_files(place, file):
    kept = show(str(place / file))
    assert kept.receipt == receipt(RELEASE)
    assert [entry.name for entry in kept.entries] == [each.block.name for each in RELEASE.answers]
    assert show_answers(str(place / file), "cdf").rows == 3


@pytest.mark.parametrize("lines", [None, [], "words", [["Guarantee"]], [["a", 1]], [[[], []]]])
def test_a_record_without_a_receipt_says_what_it_has_in_words(place, lines):
    changed(place, receipt=lines, warning="look", trust=["the fit is heuristic", 7])
    names = [name for name, _ in show(str(place)).receipt]
    assert names == ["Not verified", "Warning", "Guarantee", "Accuracy", "Note"]


@pytest.mark.parametrize("query", [None, "cdf"])
def test_no_release(tmp_path, query):
    for name in ("nowhere", "", "a\0b"):
        with pytest.raises(UsageFault, match="is no release; give the directory or file that dpqr release or predict"):
            show(str(tmp_path / name)) if query is None else show_answers(str(tmp_path / name), query)


def test_a_damaged_record(place):
    (place / "release.json").write_text("{")
    with pytest.raises(DocumentError):
        show(str(place))
