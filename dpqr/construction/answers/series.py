"""Series: the answers of one block at several points in time, and how they change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.construction.answers.answered import AnsweredBlock
from dpqr.data.arrays import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trend:
    """One block of answers at every point, earliest first.

    points: the same answers, in the same order. change: from the point before, in records, shape (points, rows).
    change_error: its standard error. NaN at the first point, and where no error is known.
    """

    points: tuple[AnsweredBlock, ...]
    change: FloatArray
    change_error: FloatArray

    @property
    def name(self) -> str:
        return self.points[0].name

    @property
    def rows(self) -> int:
        return self.points[0].rows


def trend(points: Sequence[AnsweredBlock], shared: Sequence[FloatArray] | None = None) -> Trend:
    """Return the changes of a block from point to point.

    The error of a change is that of both answers: their noise is independent, so squares add up.

    Args:
        shared: errors of the noise that each point shares with the one before, in records, each of shape (rows,);
            None: they share none. Shared noise cancels in a change.

    Privacy:
        Post-processing.
    """
    values, errors = (np.stack([getattr(point, name) for point in points]) for name in ("estimate", "precision"))
    common = np.zeros_like(errors) if shared is None else np.stack(shared)
    change, change_error = np.full_like(values, np.nan), np.full_like(values, np.nan)
    change[1:] = np.diff(values, axis=0)
    squares = errors[1:] ** 2 + errors[:-1] ** 2 - 2 * common[1:] ** 2
    change_error[1:] = np.sqrt(np.maximum(squares, 0))
    return Trend(points=tuple(points), change=change, change_error=change_error)
