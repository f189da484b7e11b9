"""A release of this process, and its files read back, give the same parts."""

import pandas as pd

import dpqr
from dpqr.python.results import FromFiles
from dpqr.releases.read_release import read_release

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
