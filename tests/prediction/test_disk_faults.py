"""Sessions of predictions on a disk that fails: how a question ends says nothing about what was drawn, and no more is
drawn than was paid."""

import errno
import os
import shutil
import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from support.disk_faults import Faults, Killed, small_disk
from support.ledger_jobs import ledger_in, terms
from support.paid_releases import payer

from dpqr.kernel.errors import DpqrError
from dpqr.kernel.sealed import ReleasedValue
from dpqr.prediction import plan as drawing
from dpqr.releases.loop import SILENT
from dpqr.releases.requests import PredictionPlanRequest, PredictionRequest
from dpqr.sessions.predictions import (
    AskPredictions,
    OpenPredictions,
    ask_predictions,
    open_predictions,
    prediction_status,
)
from dpqr.tables.source import TableSource

DOMAIN = {
    "malformed": "drop",
    "fields": [
        {"name": "sex", "constraints": {"enum": ["F", "M"]}, "type": "string", "dpqr": {"otherwise": "drop"}},
        {"name": "buys", "constraints": {"enum": ["no", "yes"]}, "type": "string", "dpqr": {"otherwise": "drop"}},
    ],
}
TABLE = "\n".join(["sex,buys", *(f"{'FM'[n % 2]},{('yes', 'no')[n % 2]}" for n in range(60))])
POINTS = "sex\nF\nM\n"
DRAWN = (0, -(2**61))
"""Numbers of different lengths, as the noise may make them."""
MOMENTS = range(72)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    place = tmp_path_factory.mktemp("opened")
    (place / "table.csv").write_text(TABLE)
    (place / "points.csv").write_text(POINTS)
    ledger_in(place).open(terms(epsilon="100"))
    plan = PredictionPlanRequest(
        target="buys", domain=DOMAIN, epsilon="60", n=60, learner="aggregate", parts=3, predictions=9
    )
    run = PredictionRequest(table=TableSource(paths=(str(place / "table.csv"),)), plan=plan, payer=payer(place))
    open_predictions(OpenPredictions(name="desk", run=run), SILENT)
    return place


@pytest.fixture
def quick(tmp_path):
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tmp_path
    with tempfile.TemporaryDirectory(dir=memory, prefix="dpqr-") as made:
        yield Path(made)


def ended(place, number):
    """How an ask of two points ends, for each of which this number is drawn."""

    def drawn(counts, batch, *, accountant, noise):
        for event, count in batch.events:
            assert count == 1
            charge = accountant.charge(event)
        return ReleasedValue(np.array([number]), charge)

    asked = AskPredictions(name="desk", payer=payer(place), points=TableSource(paths=(str(place / "points.csv"),)))
    with patch.object(drawing, "measure_together", drawn):
        try:
            ask_predictions(asked, SILENT)
        except Killed:
            return "killed"
        except DpqrError as error:
            return type(error).__name__, error.exit_code, str(error).replace(str(place), "PLACE")
    return None


def case(opened, place, number, before, **fault):
    """before: what happens to the disk before the question."""
    shutil.copytree(opened, place)
    with pytest.MonkeyPatch.context() as patched:
        Faults(place, **fault).watched(patched)
        before()
        return ended(place, number)


def well(place):
    """The session goes on: both points are answered, at most two draws were lost, and the ledger is sound."""
    assert ended(place, 1) is None
    left = prediction_status("desk", payer(place)).left
    ledger_in(place).verify()
    shutil.rmtree(place)
    return left


KINDS = {
    "full": {"fault": errno.ENOSPC},
    "no file names": {"fault": "names"},
    "broken once": {"fault": errno.EIO, "lasting": False},
    "broken after its work": {"fault": errno.EIO, "after": True},
    "short": {"fault": "short"},
    "killed": {"fault": Killed},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_at_every_call_the_end_says_nothing_of_what_wconsistent_with_draws(opened, quick, kind):
    ends = []
    for at in MOMENTS:
        short, long = (case(opened, quick / str(n), n, lambda: None, at=at, **KINDS[kind]) for n in DRAWN)
        assert short == long, at
        ends.append(short)
        left = {well(quick / str(number)) for number in DRAWN}
        assert len(left) == 1, at
        assert 6 <= left.pop() <= 7, "a fault loses one draw at most"
    assert ends[-1] is None
    assert any(ends) != (kind == "short")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["fill_blocks", "fill_files"])
@pytest.mark.parametrize("every", [13, 1])
def test_on_a_disk_of_any_fullness(opened, tmp_path, what, every):
    with small_disk(tmp_path / "disk") as disk:
        ends, free = [], 0
        while ends[-3:] != [None] * 3:
            both = []
            for number in DRAWN:
                place = disk.place / "case"
                both.append(case(opened, place, number, lambda free=free: getattr(disk, what)(free)))
                disk.clear()
                assert well(place) in (6, 7)
            assert both[0] == both[1], free
            ends.append(both[0])
            free += every if what == "fill_blocks" else 1
        assert len(ends) > 3
