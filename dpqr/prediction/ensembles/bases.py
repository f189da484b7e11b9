"""Bases: learners without any privacy of their own, for the members of an ensemble."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.errors import UsageFault
from dpqr.prediction.ensembles.estimators import Estimator, Predicts, read_estimator
from dpqr.prediction.ensembles.isolation import PartFailed, Servers, serving

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RidgeBase:
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


@dataclass(frozen=True, slots=True, eq=False)
class RidgeTrainer:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatorBase:
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


@dataclass(frozen=True, slots=True, eq=False)
class IsolatedTrainer:
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
def silenced() -> Iterator[None]:
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
    refuse_idle_trust(trust, used)
    return base


def refuse_idle_trust(trust: tuple[str, ...], used: tuple[str, ...] = ()) -> None:
    """Check that every trusted name is used.

    Raises:
        UsageFault: trust in a name that stands for no third party's code here.
    """
    for name in trust:
        if name not in used:
            raise UsageFault(f"--trust {name}: no third party's code of that name is used here; leave it out")
