"""Policy: what the owner of a budget fixes for every run that the budget pays for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How the private table is read. The owner states it; a request that states otherwise is refused.

    records, bytes, memory: limits of the same names; None: the built-in defaults.
    delimiter: of CSV files; None: by the file's ending. counts: the count column; None: every row is one record.
    fail: whether a rule `fail` may occur.

    Privacy:
        Whether a table breaks a limit, a rule `fail`, a delimiter or a count column's contract shows in the exit code,
        which no noise protects. A requester who could choose them would learn the number of records or a largest value
        by bisection. So they are fixed once, by the owner, and each stated one is named as a bit that the guarantee
        does not cover.
    """

    records: int | None = None
    bytes: int | None = None
    memory: int | None = None
    delimiter: str | None = None
    counts: str | None = None
    fail: bool = False
