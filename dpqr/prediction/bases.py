"""Bases: learners without any privacy of their own, for the members of an ensemble."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.errors import UsageFault

BUILT_IN = "least-squares"
RIDGE = 0.1
"""The built-in base's lambda, in records: weak, for a part has few of them."""


class Base(Protocol):
    """Trains one member and predicts at all points."""

    def classes(self, vectors: FloatArray, cells: IntArray, labels: int, points: FloatArray) -> IntArray:
        """A label for each point. cells: labels of the rows, of which there are at least two kinds."""
        ...

    def numbers(self, vectors: FloatArray, values: FloatArray, points: FloatArray) -> FloatArray:
        """A number for each point. values: targets in [-1, 1], at least one."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RidgeBase:
    """Least squares with a weak penalty; one label against the others, the largest value wins."""

    ridge: float = RIDGE

    def classes(self, vectors: FloatArray, cells: IntArray, labels: int, points: FloatArray) -> IntArray:
        kinds = np.unique(cells)
        signs = np.where(cells[:, None] == kinds, 1.0, -1.0)
        chosen: IntArray = kinds[np.argmax(points @ self._solved(vectors, signs), axis=1)]
        return chosen

    def numbers(self, vectors: FloatArray, values: FloatArray, points: FloatArray) -> FloatArray:
        return points @ self._solved(vectors, values)

    def _solved(self, vectors: FloatArray, targets: FloatArray) -> FloatArray:
        """By whichever of the two normal equations is smaller."""
        rows, width = vectors.shape
        if rows < width:
            gram = vectors @ vectors.T
            gram[np.diag_indices(rows)] += self.ridge
            return np.asarray(vectors.T @ np.linalg.solve(gram, targets), dtype=np.float64)
        normal = vectors.T @ vectors
        normal[np.diag_indices(width)] += self.ridge
        return np.asarray(np.linalg.solve(normal, vectors.T @ targets), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignBase:
    """An estimator that the user named, with `fit` and `predict`. It is trusted with the rows, not with the noise:
    whatever it does with a part, it moves one vote. What it prints is swallowed, what it raises makes the part fail.
    """

    maker: Any = field(repr=False)
    options: dict[str, Any]

    def classes(self, vectors: FloatArray, cells: IntArray, labels: int, points: FloatArray) -> IntArray:
        found = np.asarray(self._predicted(vectors, cells, points))
        whole = found.astype(np.int64)
        if whole.shape != (len(points),) or not (whole == found).all() or not ((whole >= 0) & (whole < labels)).all():
            raise ValueError("no labels")
        return whole

    def numbers(self, vectors: FloatArray, values: FloatArray, points: FloatArray) -> FloatArray:
        found = np.asarray(self._predicted(vectors, values, points), dtype=np.float64)
        if found.shape != (len(points),):
            raise ValueError("no numbers")
        return found

    def _predicted(self, vectors: FloatArray, targets: Any, points: FloatArray) -> Any:
        estimator = self.maker(**self.options)
        estimator.fit(vectors, targets)
        return estimator.predict(points)


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Standard output and error go nowhere, for Python and for compiled code: what an estimator prints may quote its
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
    """A file descriptor that leads nowhere; one that the caller closed stays so."""
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


def read_base(given: str) -> Base:
    """`least-squares`, or an estimator as "package.module.Class" or "package.module.Class(option=value)", the values
    plain Python literals. Errors: UsageFault."""
    if given == BUILT_IN:
        return RidgeBase()
    name, options = _parsed(given)
    module, _, kind = name.rpartition(".")
    try:
        maker = getattr(import_module(module), kind)
        made = maker(**options)
    except ImportError:
        raise UsageFault(
            f"--base {given}: {module!r} cannot be imported; for scikit-learn's estimators: pip install 'dpqr[predict]'"
        ) from None
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise UsageFault(f"--base {given}: it cannot be made ({reason}); check its name and options") from None
    if not (callable(getattr(made, "fit", None)) and callable(getattr(made, "predict", None))):
        raise UsageFault(f"--base {given}: an estimator needs fit and predict, as scikit-learn's have")
    return ForeignBase(maker=maker, options=options)


def _parsed(given: str) -> tuple[str, dict[str, Any]]:
    fault = UsageFault(
        f"--base {given}: give {BUILT_IN}, or an estimator such as sklearn.tree.DecisionTreeClassifier(max_depth=5)"
    )
    try:
        tree = ast.parse(given, mode="eval").body
        call = tree if isinstance(tree, ast.Call) else None
        if call is not None and (call.args or any(each.arg is None for each in call.keywords)):
            raise fault
        options = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords} if call else {}
        name = ast.unparse(call.func if call else tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise fault from None
    if "." not in name or not all(part.isidentifier() for part in name.split(".")):
        raise fault
    return name, options
