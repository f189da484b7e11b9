"""Every error that a user can meet, and the exit code that goes with it.

The text of an error is an output of the program: it names what, where, what is allowed and how to fix it, and it
holds public things only (options, files, documents, declared names), never a value, a row or a count of the private
table.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from msgspec import Struct

RESUMABLE = "the release is paid and waits: the same command with --resume continues it"
"""Note (`BaseException.add_note`) on whatever ended a release that can be continued."""

STAYS_SPENT = "the reserved budget stays spent: rows were read"
"""The same of a run that cannot be continued."""

LEARNED = "what was learned is paid, and waits beside --out: the same command with --resume goes on with it"
"""The same of a run that has learned a part of its domain, for which a ledger has paid."""

LEARNED_UNPAID = "what was learned is kept beside --out, with its cost: give it as --domain, and the rest of the budget"
"""The same, where no ledger pays."""

PUBLIC_NOTES = (RESUMABLE, LEARNED, LEARNED_UNPAID, STAYS_SPENT)
"""All notes that are shown; those of other packages may quote the table."""

UNEXPECTED = (
    "stopped by an internal fault; this is a bug in dpqr, please report it\n"
    "its text is withheld, for it may hold values of the private table"
)
NO_MEMORY = "there is not enough memory; ask about fewer columns, merge bins, or take a larger machine"


class DpqrError(Exception):
    """Root of the family; `exit_code` is what a command ends with (`dpqr guide ci`, "Exit codes")."""

    exit_code: ClassVar[int] = 1


class MechanismFailed(DpqrError):
    """A mechanism failed while it held private values; its own error is dropped, for it may hold them too."""


class HypothesisFailed(DpqrError):
    """An update rule failed, or answers with what no table could: not a number, infinite, or negative in a
    distribution. It depends on public and released values only."""

    exit_code = 6


class UsageFault(DpqrError):
    """An option, a path or an output that cannot be used as given."""

    exit_code = 2


class AlreadyThere(UsageFault):
    """What the command shall make is there already, and it was not asked to replace it. Nothing was spent.

    >>> AlreadyThere("--out release: exists; choose another directory").exit_code
    8
    """

    exit_code = 8


class Fix(Struct, frozen=True, kw_only=True):
    """The obvious fix of a fault in a JSON document: `text` replaces the value at `path`, or with `key` its key.

    Without a text, an item of a list is removed.

    >>> Fix(path="$.malformd", text='"malformed"', key=True).path
    '$.malformd'
    """

    path: str
    text: str = ""
    key: bool = False


class Fault(Struct, frozen=True, kw_only=True):
    """One fault of a public document, at a JSON path.

    file: where the document stands, and line: counted from 1, where it is a file. place: the path of the part that the
    line is of, where that is not `path`. A fault of no document has neither document nor path.

    >>> str(Fault(document="q.json", path="$.queries[0].weight", message="must be above 0", line=4))
    'q.json: $.queries[0].weight: must be above 0'
    """

    message: str
    document: str = ""
    path: str = ""
    place: str = ""
    file: Path | None = None
    line: int | None = None
    fix: Fix | None = None

    @property
    def by_hand(self) -> bool:
        """Whether the document is no JSON file: its fixes are not written for anybody."""
        return self.file is not None and self.file.suffix.lower() in (".yaml", ".yml", ".toml")

    def __str__(self) -> str:
        return f"{self.document}: {self.path}: {self.message}" if self.path else self.message


class DocumentError(DpqrError):
    """Public documents (domain, queries, coefficients) are malformed or contradict each other.

    faults: each fault with its place, as far as documents were checked; more: whether there are further ones.
    """

    exit_code = 3

    def __init__(self, message: str, faults: tuple[Fault, ...] = (), more: bool = False) -> None:
        super().__init__(message)
        self.faults = faults or (Fault(message=message),)
        self.more = more


class InfeasiblePlan(DpqrError):
    """The documents are sound, but no run can be planned from them (too many cells, a vacuous bound)."""

    exit_code = 3


class BudgetRefused(DpqrError):
    """A charge does not fit what was reserved."""

    exit_code = 4


class DataError(DpqrError):
    """The private table cannot be read, or breaks the contract that was declared for it."""

    exit_code = 5


class GoalMissed(DpqrError):
    """A check found what it looked for: an audit refuted a claim of this build, a goal was not reached."""

    exit_code = 6


class LedgerError(DpqrError):
    """The ledger is locked by others, damaged, edited or rolled back; nothing is spent from it until that is fixed."""

    exit_code = 7
