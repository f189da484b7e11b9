"""Answers: the tidy table of a release, one row a linear query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from dpqr.construction.release import BlockAnswers, Release
from dpqr.data.arrays import FloatArray
from dpqr.data.domain import Domain
from dpqr.io.outputs.column_names import beside
from dpqr.workload.naming import row_names

FIGURES = ("estimate", "measured", "noise_deviation", "lower", "upper")
OWN_COLUMNS = ("query", "detail", *FIGURES)
NOTHING = -1
"""Dictionary index of a null."""


def answers_table(release: Release) -> Any:
    """The answers of `release` as an Arrow table, rows in workload order.

    query: the block's name. One column for every attribute that some block keeps apart, in domain order, with the
    titles of its cells; null where the query sums over it. detail: what else tells the query from its neighbours
    ("<= 30"). estimate: the hypothesis' answer. measured, noise_deviation: the unbiased noisy answer and its noise's
    standard deviation; null where the query was not measured. lower, upper: they enclose the true answer with the
    probability that release.json states, query by query; null where the query was not measured, or more than once.
    Figures are in records, or in the unit of a summed column. Names that clash with attributes: `column_names`.

    Privacy: post-processing of a release.
    """
    domain = release.plan.problem.domain
    draft = _Draft(domain=domain, rows=sum(answers.block.rows for answers in release.answers))
    for answers in release.answers:
        draft.add(answers)
    return pa.table(dict(draft.columns()))


def answer_records(release: Release) -> list[dict[str, Any]]:
    """The same rows as plain dicts, for JSON: strings, finite floats and None."""
    return table_records(answers_table(release))


def table_records(table: Any) -> list[dict[str, Any]]:
    """Rows of an Arrow table as dicts, built column by column."""
    names = table.column_names
    columns = [column_values(column) for column in table.columns]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def column_values(column: Any) -> list[Any]:
    """The column as Python values. Dictionary texts are looked up by array: Arrow makes an object of each scalar."""
    if not pa.types.is_dictionary(column.type):
        values: list[Any] = column.to_pylist()
        return values
    array = column.combine_chunks()
    texts = np.array([*array.dictionary.to_pylist(), None], dtype=object)
    looked_up: list[Any] = texts[array.indices.fill_null(len(texts) - 1).to_numpy()].tolist()
    return looked_up


@dataclass(slots=True, kw_only=True)
class _Draft:
    """The columns while they are filled, block after block: dictionary indices and floats."""

    domain: Domain
    rows: int
    filled: int = 0
    names: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    codes: dict[int | str, Any] = field(default_factory=dict)
    figures: dict[str, FloatArray] = field(default_factory=dict)

    def add(self, answers: BlockAnswers) -> None:
        place = slice(self.filled, self.filled + answers.block.rows)
        self._indices("query", len(self.names))[place] = len(self.names)
        self.names.append(answers.block.name)
        names = row_names(answers.block)
        for axis, codes in names.cells.items():
            self._indices(axis, self.domain.attributes[axis].size)[place] = codes
        if names.detail is not None:
            self.details.extend(names.details)
            first = len(self.details) - len(names.details)
            self._indices("detail", len(self.details))[place] = names.detail + first
        noisy = answers.noisy
        self._floats(FIGURES[0])[place] = answers.estimate
        if not np.isnan(noisy.values).all():
            shown = (noisy.values, noisy.deviation, noisy.lower, noisy.upper)
            for name, values in zip(FIGURES[1:], shown, strict=True):
                self._floats(name)[place] = values
        self.filled = place.stop

    def columns(self) -> Iterator[tuple[str, Any]]:
        yield "query", _dictionary(self._indices("query"), self.names)
        for axis, attribute in enumerate(self.domain.attributes):
            if axis in self.codes:
                yield beside(OWN_COLUMNS, attribute.name), _dictionary(self.codes[axis], list(attribute.titles()))
        yield "detail", _dictionary(self._indices("detail"), self.details)
        for name in FIGURES:
            values = self._floats(name)
            values += 0.0  # no negative zeros
            yield name, pa.array(values, from_pandas=True)

    def _indices(self, column: int | str, texts: int = 0) -> Any:
        """The column's indices, of a type with room for that many texts.

        As narrow as it goes: 14 million answers about 45 attributes would take 2.5 GB in words of four bytes.
        """
        room = next(kind for kind in (np.int8, np.int16, np.int32) if texts < np.iinfo(kind).max)
        known = self.codes.get(column)
        if known is None:
            self.codes[column] = np.full(self.rows, NOTHING, dtype=room)
        elif np.dtype(room).itemsize > known.dtype.itemsize:
            self.codes[column] = known.astype(room)
        return self.codes[column]

    def _floats(self, column: str) -> FloatArray:
        if column not in self.figures:
            self.figures[column] = np.full(self.rows, np.nan)
        return self.figures[column]


def _dictionary(indices: Any, titles: list[str]) -> Any:
    """A column of texts; every text is stored once. Texts may repeat (details of several blocks)."""
    distinct = list(dict.fromkeys(titles))
    if len(distinct) < len(titles):
        position = {title: index for index, title in enumerate(distinct)}
        moved = np.array([position[title] for title in titles], dtype=np.int32)
        indices = np.where(indices == NOTHING, NOTHING, moved[indices])
    shown = pa.array(indices, mask=indices == NOTHING)
    return pa.DictionaryArray.from_arrays(shown, pa.array(distinct, type=pa.string()))
