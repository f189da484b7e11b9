"""Old prices beside those of today."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.published.checks import reprice

OLD = Path(__file__).parents[1] / "old_releases"


def test_at_the_delta_of_the_release():
    found = reprice(str(OLD / "0.1.0"))
    assert (found.version, found.charged, found.delta) == ("0.1.0", "basic", 0)
    assert "pld" not in found.before
    assert found.now["pld"] == 1
    assert found.document()["now"]["epsilon"]["zcdp"] is None


def test_at_another_delta():
    found = reprice(str(OLD / "0.2.0"), "0.001")
    assert (found.delta_before, found.delta) == (0, Fraction(1, 1000))
    assert found.now["basic"] == 1


@pytest.mark.parametrize("delta", ["1", "-1", "1e-99", "small"])
def test_no_delta(delta):
    with pytest.raises(UsageFault):
        reprice(str(OLD / "0.2.0"), delta)


def test_no_release(tmp_path):
    with pytest.raises(UsageFault):
        reprice(str(tmp_path))


@pytest.mark.parametrize("change", [{"events": [{"kind": "magic", "count": 1}]}, {"events": 3}])
def test_a_damaged_one(tmp_path, change):
    shutil.copytree(OLD / "0.2.0", tmp_path / "out")
    path = tmp_path / "out/release.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"plan": record["plan"] | change}))
    with pytest.raises(DocumentError):
        reprice(str(tmp_path / "out"))
