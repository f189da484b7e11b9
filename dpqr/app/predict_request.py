"""PredictRequest: what the user asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictRequest:
    """As typed: every field is one option of the same name. None: not stated.

    penalty: --lambda. predictions: how many, where no points are read. form: --release.
    """

    target: str
    epsilon: str
    domain: str | None
    learner: str = "logistic"
    delta: str | None = None
    neighbours: str = "add-remove"
    n: int | None = None
    unit: str | None = None
    max_rows: int | None = None
    counts: str | None = None
    form: Literal["predictions", "function"] = "predictions"
    positive: str | None = None
    penalty: str | None = None
    smoothness: str | None = None
    tune: str | None = None
    tau: str | None = None
    kernel: str | None = None
    bandwidth: str | None = None
    degree: int | None = None
    features: int | None = None
    theta: str | None = None
    t0: int | None = None
    releases: int | None = None
    base: str | None = None
    parts: int | None = None
    target_error: str | None = None
    vote: str | None = None
    trust: tuple[str, ...] = ()
    accountant: str | None = None
    predictions: int | None = None
    seed: int = 0
