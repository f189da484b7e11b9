"""Column names of written tables: the domain's own, moved aside where the product needs a name for itself."""

from __future__ import annotations

from collections.abc import Sequence

PREFIX = "column_"


def beside(reserved: Sequence[str], name: str) -> str:
    """The column that attribute `name` gets in a table that also has the columns `reserved`.

    An attribute called like a reserved column is written with the prefix `column_` ("query" -> "column_query"), and
    so is one whose name is that already, so two attributes never meet. The rule looks at one name alone: an attribute
    has the same column in every release. Upper and lower case count as the same, for many readers fold them.
    """
    bare = name.casefold()
    while bare.startswith(PREFIX):
        bare = bare.removeprefix(PREFIX)
    return PREFIX + name if bare in reserved else name
