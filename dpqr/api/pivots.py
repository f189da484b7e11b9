"""Pivots: the answers of one query as a table."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from dpqr.errors import UsageFault
from dpqr.io.outputs.releases.release_files import BASIS, FIGURES

if TYPE_CHECKING:
    import pandas as pd


def pivot(answers: pd.DataFrame, query: str, values: str = "estimate") -> pd.DataFrame:
    """The answers of `query`: of two columns and more the last one across, else one row an answer.

    Raises:
        UsageFault: no such query, or no such figure.
    """
    names = list(answers["query"].cat.categories)
    if query not in names:
        near = get_close_matches(str(query), names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(map(repr, names[:20]))}"
        raise UsageFault(f"pivot: no query {query!r}; {hint}")
    if values not in FIGURES:
        raise UsageFault(f"pivot: no figure {values!r}; known: {', '.join(FIGURES)}")
    rows = answers[answers["query"] == query].drop(columns="query")
    keys = [name for name in rows.columns if name not in (*FIGURES, BASIS) and rows[name].notna().any()]
    if "detail" in keys:
        rows = rows.assign(detail=_ordered(rows["detail"]))
    if len(keys) < 2:
        held: pd.DataFrame = rows[[*keys, *FIGURES, BASIS]]
        return held.set_index(keys) if keys else held.reset_index(drop=True)
    table: pd.DataFrame = rows.pivot(index=keys[:-1] if len(keys) > 2 else keys[0], columns=keys[-1], values=values)
    return table


def _ordered(details: pd.Series) -> pd.Series:
    """Details sort as they come: "<= 9" before "<= 10"."""
    import pandas as pd

    return pd.Series(pd.Categorical(details, categories=details.unique(), ordered=True), index=details.index)
