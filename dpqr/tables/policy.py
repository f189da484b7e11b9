"""Policy: how the owner of a budget fixes the reading of the private table for every run."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from hashlib import sha256

from msgspec import Struct

from dpqr.kernel.errors import BudgetRefused, UsageFault
from dpqr.kernel.values import replace


def require_delimiter(mark: str | None) -> None:
    """Raise UsageFault unless `mark` can separate the cells of a CSV row."""
    if mark is not None and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n\0' or mark.isalnum()):
        raise UsageFault(f"--delimiter {mark!r}: give one character, for example ';' or a tab")


UTF_8 = "utf-8"
_ENCODINGS = re.compile(
    r"utf-8(-sig)?|utf-(16|32)(-[lb]e)?|ascii|iso8859-\d+|cp\d+|koi8-[rtu]|mac-\w+|gb(2312|k|18030)|big5(hkscs)?|euc_(jp|kr)|"
    r"shift_jis"
)


def known_encoding(name: str) -> str:
    """Return the one name of a text encoding that has several ("latin1", "windows-1252"); an unknown one as it is."""
    try:
        return codecs.lookup(name).name
    except (LookupError, ValueError):
        return name


def require_encoding(name: str | None) -> None:
    """Raise UsageFault unless `name` is an encoding of plain text."""
    if name is not None and not _ENCODINGS.fullmatch(known_encoding(name)):
        raise UsageFault(f"--encoding {name!r}: give an encoding such as utf-8, cp1252, latin-1 or utf-16")


class Source(Struct, frozen=True, kw_only=True):
    """The table of an engine that the owner of a budget has bound it to: a public text.

    address: scheme, place and table, as `dpqr.tables.engines.known.source_at` writes them; empty in a change of policy:
    files by path again. query: one SELECT in the place of the table; empty: there is none.

    Raises:
        UsageFault: a text that cannot be shown in one piece.

    Privacy:
        Who chooses the place, the table or the text of a query chooses what a row is and when a foreign program runs.
        A view can multiply one person's rows, or end with an error where a row is there; no epsilon covers that. So
        the owner chooses, and vouches that the source gives each person at most the stated rows.

    >>> len(Source(address="duckdb:/data/survey.duckdb?table=people").digest)
    64
    """

    address: str
    query: str = ""

    def __post_init__(self) -> None:
        if not self.address.isprintable() or "\0" in self.query or (self.query and not self.address):
            raise UsageFault("--source: give the address of an engine's table, of printable characters")

    @property
    def words(self) -> str:
        """Address and query, for people."""
        return f"{self.address}, query: {' '.join(self.query.split())}" if self.query else self.address

    @property
    def digest(self) -> str:
        """SHA-256 of all of it, by which a plan is bound to the place too, which it does not show."""
        return sha256(json.dumps([self.address, self.query]).encode()).hexdigest()


OWNER_VOUCHES = "the owner vouches that it gives each person at most the stated rows"
"""What stands wherever a registered source is shown."""
FILES = Source(address="")
"""In a change of policy: no source any more, but files by path."""


class Policy(Struct, frozen=True, kw_only=True):
    """How the private table is read, as the owner of a budget fixes it, or as a request states it.

    records, bytes, memory: limits of the same names; None: the built-in defaults.
    delimiter: of CSV files; None: by the file's ending. encoding: of CSV files; None: UTF-8.
    counts: the count column; None: every row is one record.
    fail: whether a rule `fail` may occur (policy), or occurs in the domain (request).
    approval: whether releases need an approval by somebody else (policy).
    learning: whether labels and bounds may be learned from the table, for a price (policy).
    source: the engine's table that every run reads (policy); None: files by path.

    Raises:
        UsageFault: a limit below 1, no delimiter of a CSV row, no encoding, no name of a column.

    Privacy:
        Whether a table breaks a limit or a rule `fail` shows in the exit code, which no noise protects. A requester who
        could choose these, a delimiter, an encoding or a count column would learn the number of records or a largest
        value by bisection. So they are fixed once, by the owner, and each stated limit is named as a bit that the
        guarantee does not cover (`uncovered_bits`).

    >>> [option for option, stated, _ in Policy(records=10**6).stated if stated is not None]
    ['--max-records']
    """

    records: int | None = None
    bytes: int | None = None
    memory: int | None = None
    delimiter: str | None = None
    encoding: str | None = None
    counts: str | None = None
    fail: bool = False
    approval: bool = False
    learning: bool = False
    source: Source | None = None

    def __post_init__(self) -> None:
        for option, limit in self._limits():
            if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
                raise UsageFault(f"{option}: a limit is a whole number of at least 1")
        require_delimiter(self.delimiter)
        require_encoding(self.encoding)
        if self.counts is not None and not (self.counts and self.counts.isprintable()):
            raise UsageFault(f"--counts {self.counts!r}: give a column's name, of printable characters")

    @property
    def stated(self) -> Iterator[tuple[str, int | str | None, int | str | None]]:
        """Every option with its stated value (None: not stated) and the value that holds then."""
        for (option, limit), (_, default) in zip(self._limits(), BUILT_IN._limits(), strict=True):
            yield option, limit, default if limit is None else limit
        yield "--delimiter", self.delimiter, self.delimiter
        yield "--encoding", self.encoding, self.encoding or UTF_8
        yield "--counts", self.counts, self.counts

    def _limits(self) -> tuple[tuple[str, int | None], ...]:
        return ("--max-records", self.records), ("--max-bytes", self.bytes), ("--max-memory", self.memory)


BUILT_IN = Policy(records=2**36, bytes=2**40, memory=2**32)
"""The limits that hold if none is stated."""


class PolicyChange(Struct, frozen=True, kw_only=True):
    """A change of policy; None: unchanged. The count column is part of the unit, and so fixed for life.

    source: FILES ends the binding to an engine's table.

    >>> PolicyChange(records=10**5).applied(Policy(records=10**6)) == Policy(records=10**5)
    True
    """

    records: int | None = None
    bytes: int | None = None
    memory: int | None = None
    delimiter: str | None = None
    encoding: str | None = None
    fail: bool | None = None
    approval: bool = False
    learning: bool | None = None
    source: Source | None = None

    def applied(self, policy: Policy) -> Policy:
        """Return the policy after the change."""
        return replace(
            policy,
            records=policy.records if self.records is None else self.records,
            bytes=policy.bytes if self.bytes is None else self.bytes,
            memory=policy.memory if self.memory is None else self.memory,
            delimiter=policy.delimiter if self.delimiter is None else self.delimiter,
            encoding=policy.encoding if self.encoding is None else self.encoding,
            fail=policy.fail if self.fail is None else self.fail,
            approval=policy.approval or self.approval,
            learning=policy.learning if self.learning is None else self.learning,
            source=policy.source if self.source is None else None if self.source == FILES else self.source,
        )


def resolve_policy(policy: Policy, stated: Policy) -> Policy:
    """Resolve how a run reads its table under a policy.

    Args:
        policy: of the budget that pays.
        stated: by the request; None in a field: not stated.

    Returns:
        The policy's values, with `fail` from the domain.

    Raises:
        BudgetRefused: the request states other values.

    Privacy:
        The result, and every refusal, is a function of the policy and the request alone. Two accepted requests read the
        table alike, so no choice of options observes anything of it.
    """
    for (option, wanted, _), (_, _, fixed) in zip(stated.stated, policy.stated, strict=True):
        if wanted is not None and wanted != fixed:
            raise BudgetRefused(
                f"{option} {_value(wanted)}: the owner of the budget fixed {_fixed(option, fixed)}\n"
                f"leave {option} out; only the owner sets it, with `dpqr budget init` or `dpqr budget policy`"
            )
    if stated.fail and not policy.fail:
        raise BudgetRefused(
            "the domain has a rule `fail`, and the budget's policy has none: the exit code would depend on the data\n"
            "use another rule, such as drop; the owner can allow it with `dpqr budget init --allow-fail`"
        )
    return replace(policy, fail=stated.fail)


def require_learning(policy: Policy) -> None:
    """Raise BudgetRefused unless the budget's owner lets labels, bounds and the rows of each person be learned."""
    if not policy.learning:
        raise BudgetRefused(
            "the budget's policy allows nothing to be learned from the table, and nothing was opened\n"
            "the owner can allow it: dpqr budget policy NAME --allow-learning; labels need a budget that counts "
            "epsilon and delta: dpqr budget init NAME --eps E --delta D --accounting basic --allow-learning"
        )


def require_stricter(policy: Policy, later: Policy) -> None:
    """Raise BudgetRefused if `later` admits a run that `policy` refuses; a first delimiter or encoding may come.

    The source is the owner's to change: no request chooses it, before the change or after, and the history shows it.
    So is `learning`: what it admits is a draw that the budget pays for in full, and no bit beyond that.
    """
    for (option, before, fixed), (_, wanted, after) in zip(policy.stated, later.stated, strict=True):
        if isinstance(fixed, int) and isinstance(after, int):
            if after > fixed:
                raise _looser(option, wanted, f"at most {_value(fixed)}")
        elif wanted != before and not (option in ("--delimiter", "--encoding") and before is None):
            raise _looser(option, wanted, _fixed(option, fixed))
    if later.fail and not policy.fail:
        raise BudgetRefused("--allow-fail: the budget's policy forbids a rule `fail`, and stays so")
    if policy.approval and not later.approval:
        raise BudgetRefused("the budget's policy asks for approvals, and stays so")


def uncovered_bits(reading: Policy) -> tuple[str, ...]:
    """Return one sentence for each stated limit and for `fail`: the bits of the exit code beyond the guarantee.

    Args:
        reading: of a run (`resolve_policy`), or as a request without a ledger states it.
    """
    found = [
        (reading.records, f"whether there are more than {_value(reading.records)} records (--max-records)"),
        (reading.bytes, f"whether the table has more than {_value(reading.bytes)} bytes (--max-bytes)"),
        (
            reading.memory,
            f"whether persons' rows take more than {_value(reading.memory)} bytes of memory (--max-memory)",
        ),
        (reading.fail or None, "whether a row breaks a rule `fail`"),
    ]
    return tuple(
        f"the exit code tells one bit that the guarantee does not cover: {bit}" for stated, bit in found if stated
    )


def _looser(option: str, wanted: int | str | None, words: str) -> BudgetRefused:
    stated = option if wanted is None else f"{option} {_value(wanted)}"
    return BudgetRefused(f"{stated}: the budget's policy says {words}, and changes only towards stricter")


def _fixed(option: str, value: int | str | None) -> str:
    if value is None:
        return "that of the file's ending" if option == "--delimiter" else "no count column"
    return _value(value)


def _value(value: int | str | None) -> str:
    """2^36 for large powers of two; texts in quotes."""
    if isinstance(value, int) and value >= 2**20 and value.bit_count() == 1:
        return f"2^{value.bit_length() - 1}"
    return str(value) if value is None or isinstance(value, int) else repr(value)
