"""Engine: what a database must do to be a source of a private table."""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard

from dpqr.io.tables.counting import Counted, Counting
from dpqr.plugins import lacking


class Engine(Protocol):
    """A private table in a database, or wherever it can be counted.

    name: what messages call it. public: what the plan and the record say of it, such as the query's text; None:
    nothing. Neither may hold a credential: those come from the environment or the database's own files, and stand
    nowhere else.
    names: the table's columns.

    An engine that can hand out rows as Arrow record batches implements `count` in one line:
    `return asked.counted(lambda: BATCHES)`, with the columns `asked.columns` in that order, a stream that is never held
    as a whole. One that counts on other machines calls `asked.counted` for each part of the rows there, and adds the
    parts up by `asked.together`, which keeps none of them: give it an iterator. Where the unit is a person, all rows of
    a person go to one part, best in the order of persons (`in_order`). Which of them are kept is a function of those
    rows and of `asked.key`, so a part may be counted again.

    >>> class Lines:
    ...     name, public, names = "lines", None, ("sex",)
    ...     def kind(self, name): return pyarrow.string()
    ...     def count(self, asked):
    ...         rows = pyarrow.record_batch({"sex": ["f", "m", "f"]})
    ...         return asked.counted(lambda: [rows.select(list(asked.columns))])

    An engine whose rows all lie in local files may say which (`local_files`): then a killed release can be continued.

    Test it with `dpqr.testing.check_engine`, and give it to `dpqr.release` in the place of a table.

    **Privacy** Before the budget is reserved only `name`, `public`, `names` and `kind` are asked, which must be
    functions of the schema: no row decides them. `count` is called once, after the reservation. It must count every row
    exactly once, whatever is tried again after a failure. It may raise anything: what it raises is reported as a
    constant line with the exception's class, for its text may quote rows.
    """

    @property
    def name(self) -> str: ...
    @property
    def public(self) -> str | None: ...
    @property
    def names(self) -> tuple[str, ...]: ...

    def kind(self, name: str) -> Any:
        """The Arrow type of a column."""
        ...

    def count(self, asked: Counting) -> Counted:
        """Count the table's rows. Raises: anything; a DpqrError keeps its words."""
        ...


def is_engine(table: object) -> TypeGuard[Engine]:
    """Whether the caller's table has all of the protocol."""
    return lacking(Engine, table) is None
