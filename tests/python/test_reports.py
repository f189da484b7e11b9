"""Texts that a notebook shows."""

from __future__ import annotations

import pandas as pd
import pytest
from support.pages import require_accessible, require_alone

import dpqr
from dpqr.kernel.errors import AlreadyThere
from dpqr.python.shown import Receipt


def test_a_receipt_is_a_text_with_its_own_html():
    receipt = Receipt.of(lambda: "1 < 2\n[bold]x[/bold]")
    assert receipt == "1 < 2\n[bold]x[/bold]"
    assert repr(receipt) == receipt
    assert "1 &lt; 2" in receipt._repr_html_()
    assert receipt._repr_html_().endswith("</pre>")


# Reports from Python: a release in memory, and one that was read back.


DOMAIN = {"fields": [{"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}}]}


@pytest.fixture(scope="module")
def made():
    table = pd.DataFrame({"sex": ["f", "m", "f"]})
    return dpqr.release(table, queries=dpqr.queries().marginal("sex"), domain=DOMAIN, eps=1)


@pytest.mark.slow
def test_a_release_in_memory_has_a_page(made, tmp_path):
    made.report(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    require_alone(text)
    require_accessible(text)
    assert "No ledger was used" in text
    with pytest.raises(AlreadyThere, match="exists"):
        made.report(tmp_path / "r.html")


@pytest.mark.slow
def test_a_release_that_was_read_back_has_the_same_answers(made, tmp_path):
    made.save(tmp_path / "out")
    dpqr.read_release(tmp_path / "out").report(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert "SHA-256 of the files of this release" in text
    assert "marginal(sex)" in text
