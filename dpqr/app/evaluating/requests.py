"""Requests of comparisons with a true table, and of releases of public ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dpqr.app.requests import PlanRequest
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.source import TableSource


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateRequest:
    """A comparison with the true table. release: a path. rows: judge synthetic rows, the release's or a table's.

    dataset: the truth's name in a ledger; ledger, anchor: paths, None: as configured. html: a new file for a page.
    """

    truth: TableSource
    release: str
    queries: str | dict[str, Any]
    domain: str | dict[str, Any] | None = None
    rows: bool = False
    dataset: str | None = None
    ledger: str | None = None
    anchor: str | None = None
    html: str | None = None

    def table_at(self, path: str) -> TableSource:
        """Rows in a file, read as the true table is."""
        return TableSource(paths=(path,), delimiter=self.truth.delimiter, encoding=self.truth.encoding)

    @property
    def sources(self) -> dict[str, TableSource]:
        """Whatever is compared, by path."""
        truth = ", ".join(self.truth.paths) or "the true table"
        return {truth: self.truth, self.release: TableSource(paths=(self.release,))}


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRequest:
    """Releases of one public table by several plans, each `repeats` times, and how far each is from the truth.

    source: None: rows drawn from the public domain, as a rehearsal draws them. dataset: the table's name in a ledger;
    ledger, anchor: paths, None: as configured.
    """

    source: TableSource | None
    plans: tuple[PlanRequest, ...]
    repeats: int = 1
    limits: Limits = field(default_factory=Limits)
    dataset: str | None = None
    ledger: str | None = None
    anchor: str | None = None

    @property
    def sources(self) -> dict[str, TableSource]:
        """The table, if there is one."""
        return {} if self.source is None else {"public": self.source}
