"""Every part is trained by itself: nothing goes from one to another, and what fails is one public answer."""

import contextlib
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
from support.cases import slowly
from support.prediction_tables import Given, counts
from support.third_party_estimators import Counting

from dpqr.kernel.noise.source import SystemNoise
from dpqr.prediction.ensembles.bases import SECONDS, EstimatorBase, IsolatedTrainer, PartFailed, read_base, serving
from dpqr.prediction.ensembles.ensemble import PartsEnsemble

VECTORS = np.array([[1.0, 0.0], [0.0, 1.0]])
PARTS = 55
ROWS = [(number % 2, number % 2, part) for part in range(PARTS) for number in range(4)]
NOISE = SystemNoise()


def foreign(kind, *options):
    name = f"support.third_party_estimators.{kind}"
    return read_base(f"{name}({', '.join(options)})", (name,))


def votes(base, rows, parts=PARTS):
    ensemble = PartsEnsemble(
        features=Given(VECTORS), base=base, axis=1, labels=3, values=None, points=VECTORS, parts=parts
    )
    return ensemble.votes(counts(rows, (2, 3, parts)), NOISE)


def moved(base):
    """How many votes a row more in the first part moves, at most, over the points."""
    return int(np.abs(votes(base, ROWS) - votes(base, [*ROWS, (0, 0, 0)])).max())


class Shared:
    """The build made wrong on purpose: all parts in one process, one after the other in the order of their numbers."""

    def __init__(self, points):
        self.points, self.turn, self.next = points, threading.Condition(), 0

    def classes(self, part, vectors, cells, labels):
        member = Counting()
        with self.turn:
            assert self.turn.wait_for(lambda: self.next == part, timeout=50)
            member.fit(vectors, cells)
            self.next += 1
            self.turn.notify_all()
            return member.predict(self.points)


class SharedBase:
    """Its base. The counter starts anew, so that two runs can be compared."""

    predicts, trusted, name = None, True, "shared"

    def trainer(self, points):
        Counting.seen = 0
        return contextlib.nullcontext(Shared(points))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Counting", "Drawing", "Hashing"])
def test_one_row_moves_one_vote_whatever_the_estimator_keeps(kind):
    assert moved(foreign(kind)) <= 1


def test_in_one_process_a_counter_lets_one_row_move_many_votes():
    assert moved(SharedBase()) > PARTS // 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Drawing", "Counting", "Hashing"])
def test_a_part_is_a_function_of_its_rows_and_its_number(kind):
    base, rows = foreign(kind), np.repeat(VECTORS, 2, axis=0)
    cells = np.array([0, 0, 1, 1])
    found = []
    for count, before in ((1, 0), (3, 5)):
        with serving(base.estimator, VECTORS, count=count) as servers:
            for part in range(before):
                servers.predicted(part, rows[: 1 + part % 3], cells[: 1 + part % 3])
            found.append([servers.predicted(part, rows, cells).tolist() for part in range(20, 40)])
    assert found[0] == found[1]


@pytest.mark.slow
def test_random_estimators_of_scikit_learn_are_functions_of_the_part():
    pytest.importorskip("sklearn")
    generator = np.random.default_rng(1)
    points, rows = generator.random((40, 3)), generator.random((30, 3))
    cells = (rows[:, 0] > 0.5).astype(np.int64)
    for given in (
        "sklearn.ensemble.RandomForestClassifier(n_estimators=3, max_features=1)",
        "sklearn.tree.ExtraTreeClassifier(random_state=None)",
    ):
        base = read_base(given)
        with serving(base.estimator, points, count=1) as servers:
            found = [[servers.predicted(part, rows, cells).tolist() for part in (7, 8, 7)] for _ in range(2)]
        assert found[0] == found[1]
        assert found[0][0] == found[0][2] != found[0][1]


@pytest.mark.parametrize(
    "how", ["raise", *slowly("killed", "shape", "exit", "closed", "server", "label", "half", "other")]
)
def test_a_part_that_fails_votes_for_the_first_label_and_leaves_the_others_as_they_are(how):
    base = foreign("Failing", f"how={how!r}")
    assert votes(base, [(0, 1, 0), (1, 2, 0), (0, 2, 1)], parts=3).tolist() == [[2, 0, 1]] * 2
    with serving(base.estimator, VECTORS, count=1) as servers:
        for part in range(3):
            with pytest.raises(PartFailed) as raised:
                IsolatedTrainer(servers).classes(part, VECTORS, np.array([0, 1]), 3)
            assert str(raised.value) == ""
            assert raised.value.__context__ is None or raised.value.__suppress_context__


@pytest.mark.slow
def test_a_part_that_takes_too_long_fails_alone():
    with serving(foreign("Failing", "how='busy'").estimator, VECTORS, count=1, seconds=1) as servers:
        for part in range(2):
            with pytest.raises(PartFailed):
                servers.predicted(part, VECTORS, np.array([0, 1]))


@pytest.mark.slow
def test_no_part_can_read_what_is_sent_to_the_next():
    with serving(foreign("Listening").estimator, VECTORS, count=1) as servers:
        for part in range(3):
            assert servers.predicted(part, VECTORS, np.array([0, 1])).tolist() == [0, 0]


@pytest.mark.slow
def test_what_an_estimator_prints_goes_nowhere(capfd):
    assert votes(foreign("Talking"), [(0, 1, 0), (1, 2, 0)], parts=1).tolist() == [[0, 1, 0]] * 2
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_the_foreign_code_is_never_imported_here():
    base = EstimatorBase(estimator=foreign("Counting").estimator)
    kept = sys.modules.pop("support.third_party_estimators")
    try:
        votes(base, ROWS[:8], parts=2)
        assert "support.third_party_estimators" not in sys.modules
    finally:
        sys.modules["support.third_party_estimators"] = kept


@pytest.mark.slow
def test_an_interrupted_run_waits_for_no_part():
    base = foreign("Failing", "how='busy'")
    ensemble = PartsEnsemble(
        features=Given(VECTORS), base=base, axis=1, labels=3, values=None, points=VECTORS, parts=PARTS
    )
    threading.Timer(3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start, handler = time.monotonic(), signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            ensemble.votes(counts(ROWS, (2, 3, PARTS)), NOISE)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert time.monotonic() - start < SECONDS / 5
