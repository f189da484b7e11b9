"""Verify, reprice and compare from a program."""

from __future__ import annotations

import pandas as pd
import pytest

import dpqr

TABLE = pd.DataFrame({"a": [0, 0, 1], "b": [0, 1, 1]})
ASKED = {"queries": dpqr.queries().marginals(ways=1), "domain": {"a": 2, "b": 2}, "eps": 1}


@pytest.fixture
def place(tmp_path):
    dpqr.release(TABLE, **ASKED).save(tmp_path / "out")
    return tmp_path / "out"


def test_a_sound_release(place):
    found = dpqr.verify(place)
    assert found.passed
    assert repr(found) == "Verification(passed)"
    assert str(found).splitlines()[0].startswith("ok           record: release/1")
    assert found.document()["passed"]


def test_a_mismatch_is_no_error(place):
    (place / "answers.csv").write_text("")
    found = dpqr.verify(place)
    assert not found.passed
    assert found.checks[-1].name == "files"
    assert repr(found).startswith("Verification(FAILED       files: ")
    with pytest.raises(dpqr.UsageFault):
        dpqr.verify(place / "nowhere")


def test_prices_of_today(place):
    found = dpqr.reprice(place)
    assert list(found.columns) == ["accountant", "stated", "now"]
    assert found.set_index("accountant").loc["basic"].tolist() == [1, 1]


def test_side_by_side(place):
    found = dpqr.compare(place, place)
    assert list(found.facts.columns) == ["A", "B"]
    assert repr(found).endswith("in both)")
    assert "epsilon" in str(found)
    assert found._repr_html_().startswith("<pre")
    assert found.blocks["apart"].eq(0).all()
    assert found.document()["alone"] == [[], []]
