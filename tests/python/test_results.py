"""A release of this process, and its files read back, give the same parts."""

from __future__ import annotations

import pandas as pd
import pytest

import dpqr
from dpqr.python.results import FromFiles
from dpqr.releases.read_release import read_release

# A release of this process, and its files read back, give the same parts.


CERTAIN = 1000
"""An epsilon at which the chance of any noise is below 1e-36, so that there are synthetic rows."""


def test_what_is_read_back_is_what_was_made(frame, tmp_path):
    made = dpqr.release(frame, queries="q.json", eps=CERTAIN)
    made.save(tmp_path / "out", synthetic="rows")
    kept = FromFiles(read_release(str(tmp_path / "out")))
    assert (made.directory, kept.directory()) == (None, str(tmp_path / "out"))
    assert str(kept.receipt()) == str(made.receipt)
    assert kept.reported().record["transcript"] == made.record["transcript"]
    assert [block.name for block in kept.reported().blocks] == list(made.queries)
    pd.testing.assert_frame_equal(kept.answers(), made.answers)
    pd.testing.assert_frame_equal(kept.synthetic(), made.synthetic)


# Answers of one query as a table.


TABLE = pd.DataFrame({"a": [0, 1, 1], "b": [0, 0, 1], "c": [11, 0, 5]})


@pytest.fixture(scope="module")
def made():
    asked = dpqr.queries().marginal(name="all").marginal("a", "b", "c", name="cube").prefix("c", by="a", name="steps")
    return dpqr.release(TABLE, queries=asked, domain={"a": 2, "b": 2, "c": 12}, eps=1000)


def test_no_column_one_pair_and_more(made):
    assert made.pivot("all")["measured"].tolist() == [3]
    cube = made.pivot("cube", "measured")
    assert cube.index.names == ["a", "b"]
    assert cube.loc[("1", "0"), "0"] == 1
    assert list(cube.columns) == [str(code) for code in range(12)]


def test_details_stay_in_order(made):
    steps = made.pivot("steps")
    assert list(steps.columns)[1:3] == ["<= 1", "<= 2"]
    assert len(steps.columns) == 12


def test_wrong_names(made):
    with pytest.raises(dpqr.UsageFault, match="did you mean 'cube'"):
        made.pivot("cubes")
    with pytest.raises(dpqr.UsageFault, match="known: estimate, error, measured"):
        made.pivot("cube", "guess")
