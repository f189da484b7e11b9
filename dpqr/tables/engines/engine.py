"""Engine: what a database must do to be a source of a private table."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeGuard, cast

import numpy as np

from dpqr.domain.histogram import (
    Counts,
    DenseHistogram,
    GroupedHistogram,
    SeparateTables,
    SparseHistogram,
    occupied_cells,
)
from dpqr.kernel.errors import DataError, DpqrError
from dpqr.kernel.plugins import lacking
from dpqr.kernel.values import replace
from dpqr.tables.counting import Counting, TableCounts


class Engine(Protocol):
    """A private table in a database, or wherever it can be counted.

    name: what messages call it. public: what the plan and the record say of it, such as the query's text; None:
    nothing. Neither may hold a credential: those come from the environment or the database's own files, and stand
    nowhere else.
    names: the table's columns.

    An engine that can hand out rows as Arrow record batches implements `count` in one line:
    `return counting.counted(lambda: BATCHES)`, with the columns `counting.columns` in that order, a stream that is
    never held as a whole. One that counts on other machines calls `counting.counted` for each part of the rows there,
    and adds the parts up by `counting.together`, which keeps none of them: give it an iterator. Where the unit is a
    person, all rows of a person go to one part, best in the order of persons (`in_order`). Which of them are kept is a
    function of those rows and of `counting.key`, so a part may be counted again.

    >>> class Lines:
    ...     name, public, names = "lines", None, ("sex",)
    ...     def kind(self, name): return pyarrow.string()
    ...     def count(self, counting):
    ...         rows = pyarrow.record_batch({"sex": ["f", "m", "f"]})
    ...         return counting.counted(lambda: [rows.select(list(counting.columns))])

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

    def count(self, counting: Counting) -> TableCounts:
        """Count the table's rows. Raises: anything; a DpqrError keeps its words."""
        ...


def is_engine(table: object) -> TypeGuard[Engine]:
    """Whether the caller's table has all of the protocol."""
    return lacking(Engine, table) is None


# Partial counts: what was counted in one part of a table, as bytes that an engine carries, and sums of such parts.
#
# The bytes are arrays (`numpy.savez`, nothing pickled), or the constant text of what went wrong in the part.

FAILED = "counting a part of the table failed; what was said of it may quote rows and is not shown"
_FIGURES = ("read", "units", "dropped", "malformed")


def encode_counts(count: Callable[[], TableCounts]) -> bytes:
    """The bytes of what `count` returns. Whatever it raises becomes a constant text: nothing of a row is in it."""
    try:
        counted = count()
        figures = np.array([int(getattr(counted, name)) for name in _FIGURES])
        arrays = {"figures": figures, "failed": np.array(sorted(counted.failed), dtype=str)}
        if isinstance(counted.counts, GroupedHistogram):
            arrays |= {f"cells{place}": each for place, each in enumerate(counted.counts.joints.values())}
        elif isinstance(counted.counts, SeparateTables):
            arrays |= {f"cells{place}": each for place, each in enumerate(counted.counts.tables.values())}
        elif isinstance(counted.counts, DenseHistogram):
            arrays["cells"] = counted.counts.counts
        else:
            arrays["codes"], arrays["records"] = occupied_cells(counted.counts)
        arrays |= {f"persons{place}": each for place, each in enumerate(counted.persons)}
    except DpqrError as public:
        arrays = {"error": np.array(str(public))}
    except Exception:
        arrays = {"error": np.array(FAILED)}
    found = io.BytesIO()
    np.savez(found, **cast("dict[str, Any]", arrays))  # their names are ours, and none is one of numpy's options
    return found.getvalue()


def add_counts(values: Iterable[bytes], counting: Counting) -> TableCounts:
    """The sum, each part being added as it comes. Raises: DataError for a part that failed, or beyond a limit."""
    empty = counting.counted(lambda: ())  # what no row gives, with counts of the same kind

    def parts() -> Iterator[TableCounts]:
        for value in values:
            with np.load(io.BytesIO(value), allow_pickle=False) as found:
                if "error" in found:
                    raise DataError(str(found["error"]))
                counts: Counts
                if isinstance(empty.counts, GroupedHistogram):
                    joints = {axes: found[f"cells{place}"] for place, axes in enumerate(empty.counts.joints)}
                    counts = GroupedHistogram(empty.counts.shape, joints)
                elif isinstance(empty.counts, SeparateTables):
                    tables = {axes: found[f"cells{place}"] for place, axes in enumerate(empty.counts.tables)}
                    counts = SeparateTables(empty.counts.shape, tables)
                elif isinstance(empty.counts, DenseHistogram):
                    counts = DenseHistogram(found["cells"])
                else:
                    counts = SparseHistogram(empty.counts.shape, found["codes"], found["records"])
                failed = frozenset(found["failed"].tolist())
                read, units, dropped, malformed = found["figures"].tolist()
                people = tuple(found[f"persons{place}"] for place in range(len(empty.persons)))
            figures = {"read": read, "units": units, "dropped": dropped, "malformed": bool(malformed)}
            yield replace(empty, counts=counts, failed=failed, persons=people, **figures)

    return counting.together(parts())
