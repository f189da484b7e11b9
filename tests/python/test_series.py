"""A series in Python."""

from __future__ import annotations

import pandas as pd
import pytest

import dpqr

TABLE = pd.DataFrame({"sex": ["f", "m", "f", "f"]})
DOMAIN = {"fields": [{"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}}]}


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    found = [tmp_path_factory.mktemp("series") / name for name in ("a", "b")]
    for place in found:
        dpqr.release(TABLE, queries=dpqr.queries().marginal("sex"), domain=DOMAIN, eps=1, out=place)
    return found


def test_the_frame_holds_every_point(places):
    found = dpqr.series(places)
    assert found.points == tuple(map(str, places))
    assert found.frame["change"].isna().tolist() == [True, True, False, False]
    moved = found.frame["estimate"].to_numpy()
    assert found.frame["change"].to_numpy()[2:].tolist() == (moved[2:] - moved[:2]).tolist()
    assert found.frame["point"].cat.ordered
    assert found.document()["answers"][0]["sex"] == "f"
    assert str(found).startswith("marginal(sex): 2 answers")
    assert found._repr_html_()


def test_releases_that_were_read_or_made(places):
    made = dpqr.release(TABLE, queries=dpqr.queries().marginal("sex"), domain=DOMAIN, eps=1)
    assert dpqr.series([dpqr.read_release(places[0]), places[1]]).points[0] == str(places[0])
    with pytest.raises(dpqr.UsageFault, match="save it"):
        dpqr.series([made, places[0]])
    with pytest.raises(dpqr.UsageFault, match="give a list"):
        dpqr.series(places[0])


def test_files(places, tmp_path):
    found = dpqr.series(places)
    found.save(tmp_path / "new.csv")
    assert (tmp_path / "new.csv").read_text().startswith('"query","point","sex","detail"')
    with pytest.raises(dpqr.AlreadyThere):
        found.save(tmp_path / "new.csv")
