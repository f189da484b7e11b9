"""The gallery's releases are finished: pages and labels can be read by everybody, and stand by themselves."""

from __future__ import annotations

import pytest
from support.pages import require_accessible, require_alone

from gallery.releases import GALLERY, make, pairs, series

PAGES = {
    "pairs": ("Each person (column &#39;patient_id&#39;) with all their rows", "marginal(department,age)", "Heat map"),
    "series-2024-Q1": ("Discharges by quarter", "by department"),
    "counts": ("at most 2.719 times as likely", "marginal(icd)", "0 to 9", "Jan 2024"),
    "figures": ("mean of cost (in euros)", "median of age", "ratio cost / days", "share of the records"),
}
"""What a reader finds on each page."""


def require_finished(desk, pages, labels):
    for name in pages:
        text = (desk / f"{name}.html").read_text()
        require_alone(text)
        require_accessible(text)
        assert [said for said in PAGES[name] if said not in text] == []
        assert "Warning" not in text
    for one in labels:
        text = (desk / f"{one.__name__}-label.html").read_text()
        require_alone(text)
        require_accessible(text)
        assert "a guess that stood 1 to 99 stands at most" in text
    assert len(list(desk.glob("*-label.svg"))) == len(labels)
    assert (desk / "series.csv").read_text().count("2024-Q3") == 9


@pytest.mark.slow
def test_a_short_form(tmp_path):
    make(tmp_path, rows=500, wanted=(pairs, series))
    require_finished(tmp_path, ["pairs", "series-2024-Q1"], (pairs, series))


@pytest.mark.slow
def test_all_five(tmp_path):
    assert len(GALLERY) == 5
    make(tmp_path, rows=4_000)
    require_finished(tmp_path, PAGES, GALLERY)
