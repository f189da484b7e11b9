"""A small release, and the page that is made of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.pages import made, spending

from dpqr.report.page.reported import Preview
from dpqr.report.reports import release_html


@pytest.fixture(scope="session")
def found():
    whole = made(date="2026-11-22T10:00:00Z", publisher="City of X", synthetic={"rows": 3, "form": "rows", "seed": 7})
    erring = tuple(replace(block, error=np.full(block.rows, 2.5)) for block in whole.blocks)
    preview = Preview(columns=("sex", "age"), rows=(("F", "[0, 20)"), ("M", "[20, 40)")))
    hashes = {"answers.csv": "a" * 64, "release.json": "b" * 64}
    return replace(whole, blocks=erring, preview=preview, spending=spending(), hashes=hashes)


@pytest.fixture(scope="session")
def page(found):
    return release_html(found)
