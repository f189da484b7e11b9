"""Mutants: the refunds and the freedoms that a build without policies had."""

from __future__ import annotations

from typing import Any

from dpqr.releases.paying import PaidRun


def refunds(monkeypatch: Any) -> None:
    """A run that ends before its first draw gets its reservation back, whatever rows it has looked at."""
    kept = PaidRun.failed

    def failed(self: PaidRun, error: BaseException) -> None:
        if not self.done and not self.guard.charged and not (self.kept and self.kept.begun):
            self.looked = False
        kept(self, error)

    monkeypatch.setattr(PaidRun, "failed", failed)


def freedoms(monkeypatch: Any) -> None:
    """Whoever asks may choose limits, count column, delimiter and rules `fail`, whatever the policy says."""
    monkeypatch.setattr("dpqr.releases.reading.resolve_policy", lambda _, stated: stated)
