"""Bases: learners without any privacy of their own, for the members of an ensemble."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from threading import Lock
from typing import IO, ClassVar, Protocol

import msgspec
import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import AnyArray, FloatArray, IntArray
from dpqr.kernel.errors import UsageFault
from dpqr.prediction.ensembles.member import ENDED, FAILED, FOUND, READY, Estimator, Order, Predicts, read_estimator

BUILT_IN = "least-squares"
RIDGE = 0.1
"""The built-in base's lambda, in records: weak, for a part has few of them."""


class Trainer(Protocol):
    """Trains one member after another and predicts at the points. What it raises makes the part fail.

    Privacy:
        What it returns for a part is a function of the arguments and of public things.
    """

    def classes(self, part: int, vectors: FloatArray, cells: IntArray, labels: int) -> IntArray:
        """A label for each point.

        Args:
            vectors: features, shape (rows, width).
            cells: labels of the rows, of which there are at least two kinds.
            labels: number of labels.
        """
        ...

    def numbers(self, part: int, vectors: FloatArray, values: FloatArray) -> FloatArray:
        """A number for each point.

        Args:
            vectors: features, shape (rows, width).
            values: targets in [-1, 1], at least one.
        """
        ...


class Base(Protocol):
    """A learner for the parts of an ensemble."""

    @property
    def name(self) -> str:
        """As the user gave it."""
        ...

    @property
    def predicts(self) -> Predicts | None:
        """None: labels or numbers, as requested."""
        ...

    @property
    def trusted(self) -> bool:
        """Whether it is a third party's, for which the user vouches."""
        ...

    def rehearse(self) -> None:
        """Check that it can be had. Called once a plan is accepted, before anything is paid for.

        Raises:
            UsageFault: it cannot.
        """
        ...

    def trainer(self, points: FloatArray) -> AbstractContextManager[Trainer]:
        """The trainer, for the length of a with block.

        Args:
            points: features, shape (predictions, width); public.
        """
        ...


class RidgeBase(Struct, frozen=True, kw_only=True):
    """Least squares with a weak penalty; one label against the others, the largest value wins.

    >>> with RidgeBase().trainer(np.array([[1.0]])) as trainer:
    ...     trainer.numbers(0, np.array([[1.0]]), np.array([0.55])).round(3)
    array([0.5])
    """

    ridge: float = RIDGE
    name: ClassVar[str] = BUILT_IN
    predicts: ClassVar[Predicts | None] = None
    trusted: ClassVar[bool] = False

    def rehearse(self) -> None:
        """Always there."""

    def trainer(self, points: FloatArray) -> AbstractContextManager[Trainer]:
        return contextlib.nullcontext(RidgeTrainer(self.ridge, points))


class RidgeTrainer(Struct, frozen=True, eq=False):
    """Sums, products and linear equations, which keep no state from part to part."""

    ridge: float
    points: FloatArray

    def classes(self, part: int, vectors: FloatArray, cells: IntArray, labels: int) -> IntArray:
        kinds = np.unique(cells)
        signs = np.where(cells[:, None] == kinds, 1.0, -1.0)
        chosen: IntArray = kinds[np.argmax(self.points @ self._solved(vectors, signs), axis=1)]
        return chosen

    def numbers(self, part: int, vectors: FloatArray, values: FloatArray) -> FloatArray:
        return self.points @ self._solved(vectors, values)

    def _solved(self, vectors: FloatArray, targets: FloatArray) -> FloatArray:
        """By the smaller of the two normal equations."""
        rows, width = vectors.shape
        if rows < width:
            gram = vectors @ vectors.T
            gram[np.diag_indices(rows)] += self.ridge
            return np.asarray(vectors.T @ np.linalg.solve(gram, targets), dtype=np.float64)
        normal = vectors.T @ vectors
        normal[np.diag_indices(width)] += self.ridge
        return np.asarray(np.linalg.solve(normal, vectors.T @ targets), dtype=np.float64)


class EstimatorBase(Struct, frozen=True, kw_only=True):
    """An estimator that the user named, each part in a process of its own (`isolation`)."""

    estimator: Estimator

    @property
    def name(self) -> str:
        return self.estimator.text

    @property
    def predicts(self) -> Predicts | None:
        return self.estimator.predicts

    @property
    def trusted(self) -> bool:
        return self.estimator.trusted

    def rehearse(self) -> None:
        """An estimator on the list was made when its name was read; a third party's is imported now for the first
        time."""
        if self.trusted:
            with serving(self.estimator, np.zeros((0, 1)), count=1):
                pass

    @contextlib.contextmanager
    def trainer(self, points: FloatArray) -> Iterator[Trainer]:
        with serving(self.estimator, points) as servers:
            yield IsolatedTrainer(servers)


class IsolatedTrainer(Struct, frozen=True, eq=False):
    """Requests each part of a process."""

    servers: Servers

    def classes(self, part: int, vectors: FloatArray, cells: IntArray, labels: int) -> IntArray:
        found = self.servers.predicted(part, vectors, cells)
        if not np.isin(found, np.arange(labels)).all():
            raise PartFailed
        return found.astype(np.int64)

    def numbers(self, part: int, vectors: FloatArray, values: FloatArray) -> FloatArray:
        return self.servers.predicted(part, vectors, values)


@contextlib.contextmanager
def silence_output() -> Iterator[None]:
    """Standard output and error discarded, for Python and for compiled code: what a solver prints may quote its
    rows."""
    with contextlib.ExitStack() as stack:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):
                stream.flush()
        for descriptor in (1, 2):
            stack.enter_context(_diverted(descriptor))
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
        yield


@contextlib.contextmanager
def _diverted(descriptor: int) -> Iterator[None]:
    """A file descriptor that leads nowhere; one that the caller closed stays closed."""
    try:
        kept = os.dup(descriptor)
    except OSError:
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, descriptor)
        yield
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)
        os.close(nowhere)


def read_base(given: str, trust: tuple[str, ...] = ()) -> Base:
    """`least-squares`, or an estimator (`read_estimator`).

    Raises:
        UsageFault: neither, or trust in a name that is not used.

    >>> read_base("least-squares").name
    'least-squares'
    """
    base = RidgeBase() if given == BUILT_IN else EstimatorBase(estimator=read_estimator(given, trust))
    used = (base.estimator.name,) if isinstance(base, EstimatorBase) and base.trusted else ()
    refuse_unused_trust(trust, used)
    return base


def refuse_unused_trust(trust: tuple[str, ...], used: tuple[str, ...] = ()) -> None:
    """Check that every trusted name is used.

    Raises:
        UsageFault: trust in a name that stands for no third party's code here.
    """
    for name in trust:
        if name not in used:
            raise UsageFault(f"--trust {name}: no third party's code of that name is used here; leave it out")


# Isolation: every part of an ensemble is trained in a process of its own.
#
# Privacy:
#     The price of votes rests on one sentence: a part's prediction is a function of that part's rows, of its number,
#     and of public things. Estimators keep state beside themselves (counters in a class, numpy's global generator,
#     caches, filters of warnings), and in one process that state carries rows of one part to the next: a counter in a
#     class lets one row move every later vote. Here the process that trains a part is forked from a server that has
#     imported the estimator and holds the public points, and has read no part before and none after. So it starts in a
#     state that is the same whatever the other parts hold; it reads its own part alone; and it ends before anybody else
#     could read its memory. What it may draw from is public (`random_state`, numpy's and Python's global generators,
#     all set to the part's number, and a fixed seed of hashes) or fresh from the operating system. Part i goes to
#     server i mod their number, whatever took how long. Its answer is read as one number a point and checked, and an
#     error, another shape, a crash or a spent time limit all mean the same public answer. That is `touched` = 1 for any
#     estimator that keeps to its process.
#
#     What is not covered: an estimator that leaves something outside its process, in a file, on a socket or in a
#     process of its own, for a later part to find. Of scikit-learn's on the list none does; a third party's is trusted
#     not to. Nor are time and memory: a part runs out of either by itself, except on a machine that is short of memory
#     for all of them.

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
        estimator = self.estimator
        order = Order(text=estimator.text, seeded=estimator.seeded, width=self.points.shape[1], seconds=self.seconds)
        self._send(msgspec.json.encode(order))
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


class Servers(Struct, frozen=True, eq=False):
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
