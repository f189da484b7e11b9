"""Isolation: every part of an ensemble is trained in a process of its own.

Privacy:
    The price of votes rests on one sentence: a part's prediction is a function of that part's rows, of its number, and
    of public things. Estimators keep state beside themselves (counters in a class, numpy's global generator, caches,
    filters of warnings), and in one process that state carries rows of one part to the next: a counter in a class lets
    one row move every later vote. Here the process that trains a part is forked from a server that has imported the
    estimator and holds the public points, and has read no part before and none after. So it starts in a state that is
    the same whatever the other parts hold; it reads its own part alone; and it ends before anybody else could read its
    memory. What it may draw from is public (`random_state`, numpy's and Python's global generators, all set to the
    part's number, and a fixed seed of hashes) or fresh from the operating system. Part i goes to server i mod their
    number, whatever took how long. Its answer is read as one number a point and checked, and an error, another shape, a
    crash or a spent time limit all mean the same public answer. That is `touched` = 1 for any estimator that keeps to
    its process.

    What is not covered: an estimator that leaves something outside its process, in a file, on a socket or in a process
    of its own, for a later part to find. Of scikit-learn's on the list none does; a third party's is trusted not to.
    Nor are time and memory: a part runs out of either by itself, except on a machine that is short of memory for all of
    them.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import IO

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray
from dpqr.errors import UsageFault
from dpqr.prediction.ensembles.estimators import Estimator
from dpqr.prediction.ensembles.member import ENDED, FAILED, FOUND, READY

SECONDS = 600
"""Processor time for one part."""
COMMAND = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from dpqr.prediction.ensembles.member import main; main()"
)
SINGLE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""One thread a process: there are as many processes as processors."""


class PartFailed(Exception):
    """A part has no predictions. It has no text, for a reason would be private."""


@dataclass(slots=True, eq=False)
class Server:
    """One server and the processes that it forks.

    Attributes:
        estimator: what it trains.
        points: features of the points, shape (predictions, width); public.
        seconds: processor time for one part.
    """

    estimator: Estimator
    points: FloatArray
    seconds: int = SECONDS
    _turn: Lock = field(default_factory=Lock, repr=False)
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _closed: bool = field(default=False, repr=False)

    def launch(self) -> None:
        """Start it; `ready` waits until the estimator is imported and made."""
        environment = os.environ | dict.fromkeys(SINGLE, "1") | {"PYTHONHASHSEED": "0"}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", COMMAND, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        self._send(self._order())
        self._send(np.ascontiguousarray(self.points, dtype=np.float64).tobytes())

    def ready(self) -> None:
        """Wait for the estimator.

        Raises:
            UsageFault: it cannot be had, which no row decides.
        """
        try:
            answer, reason = self._read(1), "its process ended"
            if answer == FAILED:
                reason = self._read(int.from_bytes(self._read(8), "little")).decode(errors="replace")
        except EOFError:
            answer, reason = FAILED, "its process ended"
        if answer != READY:
            raise UsageFault(
                f"--base {self.estimator.name}: it cannot be made ({reason}); check its name and arguments"
            )

    def predicted(self, number: int, vectors: FloatArray, targets: AnyArray) -> FloatArray:
        """One number per point, from one part. Private.

        Raises:
            PartFailed: the part has no predictions.
        """
        head = np.array([number, targets.dtype.kind == "i", *vectors.shape], dtype=np.int64)
        part = b"".join((head.tobytes(), np.ascontiguousarray(vectors, dtype=np.float64).tobytes(), targets.tobytes()))
        with self._turn:
            try:
                self._send(part)
                found = self._read(8 * len(self.points)) if self._read(1) == FOUND else None
                ended = found is None or self._read(1) == ENDED
            except (OSError, EOFError):
                self._renew()
                raise PartFailed from None
        if found is None or not ended:
            raise PartFailed
        return np.frombuffer(found, dtype=np.float64)

    def close(self) -> None:
        """End it for good; a pending part raises PartFailed at once."""
        self._closed = True
        self._stop()

    def _stop(self) -> None:
        """End it, and whatever it still runs."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            os.killpg(process.pid, 9)
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                _open(stream).close()
        process.wait()

    def _renew(self) -> None:
        """Replace one that was killed from outside, so that later parts are no worse off."""
        self._stop()
        if self._closed:
            return
        with contextlib.suppress(UsageFault):
            self.launch()
            self.ready()

    def _order(self) -> bytes:
        estimator = self.estimator
        order = {
            "text": estimator.text,
            "seeded": estimator.seeded,
            "width": self.points.shape[1],
            "seconds": self.seconds,
        }
        return json.dumps(order).encode()

    def _send(self, message: bytes) -> None:
        stream = _open(self._process.stdin if self._process else None)
        with contextlib.suppress(BrokenPipeError):
            stream.write(len(message).to_bytes(8, "little"))
            stream.write(message)
            stream.flush()

    def _read(self, count: int) -> bytes:
        found = _open(self._process.stdout if self._process else None).read(count)
        if len(found) < count:
            raise EOFError
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Servers:
    """One per processor; part i belongs to server i mod their number."""

    servers: tuple[Server, ...]

    def predicted(self, number: int, vectors: FloatArray, targets: AnyArray) -> FloatArray:
        """See `Server.predicted`."""
        return self.servers[number % len(self.servers)].predicted(number, vectors, targets)


@contextlib.contextmanager
def serving(
    estimator: Estimator, points: FloatArray, *, count: int | None = None, seconds: int = SECONDS
) -> Iterator[Servers]:
    """Servers that end with the block.

    Args:
        points: features, shape (predictions, width); public.
        count: None: one per processor.
        seconds: processor time for one part.
    """
    servers = tuple(Server(estimator, points, seconds) for _ in range(count or os.cpu_count() or 1))
    try:
        for server in servers:
            server.launch()
        for server in servers:
            server.ready()
        yield Servers(servers)
    finally:
        for server in servers:
            server.close()


def _open(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise EOFError
    return stream
