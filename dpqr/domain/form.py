"""The form of the domain file.

The domain file is a Frictionless Table Schema, with one `dpqr` block a field, and beside the fields the rule for
malformed rows and two lists of public facts: `impossible` and `totals`. Standard keys that do not change which value a
cell holds are accepted and have no effect: of the schema `$schema`, `name`, `title`, `description`, `primaryKey`,
`foreignKeys`, `uniqueKeys`, `fieldsMatch`; of a field `title`, `description`, `example`, `examples`, `rdfType`,
`format` of other columns than dates and times; of constraints `required`, `unique`, `pattern`, `minLength`,
`maxLength`. `unit` says whom the guarantee protects. `learned` says what its labels and bounds have cost, where they
were learned from a table.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from dpqr.domain.domain import LearnedEntry, LearnedPart, LearnedRows
from dpqr.kernel.budget import PrivacyBudget, exact_decimal
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.kernel.unit import DeclaredPersons, Every

DOMAIN_VERSION = "domain/1"

FieldType = Literal["integer", "number", "string", "boolean", "date", "datetime"]
Bound = Annotated[Any, Meta(extra_json_schema={"type": ["number", "string"]})]
Number = Annotated[Any, Meta(extra_json_schema={"type": "number"})]
Label = Annotated[Any, Meta(extra_json_schema={"type": ["string", "integer", "boolean"]})]
Anything = Annotated[Any, Meta(description="accepted, without effect")]
Text = Annotated[str, Meta(description="accepted, without effect")]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Kept = Literal["cell", "drop", "fail"]
Clipped = Literal["cell", "clip", "drop", "fail"]
Texts = Annotated[tuple[str, ...], Meta(min_length=1)]
FigureText = Annotated[str, Meta(min_length=1, max_length=100)]
Mark = Annotated[str, Meta(min_length=1, max_length=1)]


class DocumentPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A part of a document: unknown keys are refused, absent ones are UNSET."""


class Constraints(DocumentPart, frozen=True, kw_only=True):
    """Frictionless constraints of one field."""

    enum: tuple[Label, ...] | UnsetType = UNSET
    minimum: Bound | UnsetType = UNSET
    maximum: Bound | UnsetType = UNSET
    required: bool | UnsetType = UNSET
    unique: bool | UnsetType = UNSET
    pattern: Text | UnsetType = UNSET
    min_length: int | UnsetType = UNSET
    max_length: int | UnsetType = UNSET


class Category(DocumentPart, frozen=True, kw_only=True):
    """A value as it stands in the table, and the label that answers print for it (by default the value)."""

    value: str | int
    label: str | UnsetType = UNSET


class MissingValue(DocumentPart, frozen=True, kw_only=True):
    """A text that means null. label: accepted, without effect."""

    value: str
    label: Text | UnsetType = UNSET


MissingValues = tuple[str | MissingValue, ...]


class Treatment(DocumentPart, frozen=True, kw_only=True):
    """The `dpqr` block: how the values are binned, and the rule for every kind of cell that does not fit.

    otherwise: the rule of the faults that have none of their own.
    trim: blanks at both ends of a text are ignored. case_sensitive, aliases: other texts for the same labels.
    labels, bounds: nobody knows them; `dpqr release` learns them first. grid: the smallest step of numbers that
    matters; cuts: whether learned bins are of equal width, or hold nearly equally many records. max_labels: in which a
    person counts at most, while labels are learned.
    """

    bins: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    width: Number | UnsetType = UNSET
    edges: tuple[Bound, ...] | UnsetType = UNSET
    every: Every | UnsetType = UNSET
    closed: Literal["left", "right"] | UnsetType = UNSET
    null: Kept | UnsetType = UNSET
    unparsable: Kept | UnsetType = UNSET
    nan: Kept | UnsetType = UNSET
    infinite: Clipped | UnsetType = UNSET
    outside: Clipped | UnsetType = UNSET
    otherwise: Kept | UnsetType = UNSET
    trim: bool = False
    case_sensitive: bool | UnsetType = UNSET
    aliases: dict[str, Texts] | UnsetType = UNSET
    labels: Literal["learn"] | UnsetType = UNSET
    bounds: Literal["learn"] | UnsetType = UNSET
    grid: Number | UnsetType = UNSET
    cuts: Literal["equal", "quantiles"] | UnsetType = UNSET
    max_labels: Annotated[int, Meta(ge=1, le=2**20)] | UnsetType = msgspec.field(default=UNSET, name="max_labels")


class ParentForm(DocumentPart, frozen=True, kw_only=True):
    """The parents of a column's labels, and of their parents: in a file of two columns, or as a map.

    levels: names of the levels, the parents of labels first.
    """

    file: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET
    map: dict[str, Any] | UnsetType = UNSET
    levels: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=32)] | UnsetType = UNSET


Parents = Annotated[
    dict[str, Any],
    Meta(
        min_length=1, description="the parent of each label and of each parent; or {'file'} or {'map'}, and {'levels'}"
    ),
]


class Field(DocumentPart, frozen=True, kw_only=True):
    """One column."""

    name: Name
    type: FieldType
    constraints: Constraints = Constraints()
    missing_values: MissingValues | UnsetType = UNSET
    categories: Annotated[tuple[str | int | Category, ...], Meta(min_length=1)] | UnsetType = UNSET
    categories_ordered: bool = False
    true_values: Texts | UnsetType = UNSET
    false_values: Texts | UnsetType = UNSET
    decimal_char: Mark | UnsetType = UNSET
    group_char: Mark | UnsetType = UNSET
    bare_number: bool | UnsetType = UNSET
    parent: Parents | UnsetType = UNSET
    dpqr: Treatment = Treatment()
    title: Text | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    format: str | UnsetType = UNSET
    example: Anything | UnsetType = UNSET
    examples: Anything | UnsetType = UNSET
    rdf_type: Text | UnsetType = UNSET


class ImpossibleForm(DocumentPart, frozen=True, kw_only=True):
    """No record of any table fulfils this predicate."""

    where: Annotated[str, Meta(min_length=1)]


class TotalForm(DocumentPart, frozen=True, kw_only=True):
    """The number of records that fulfil the predicate; of all records where there is none."""

    count: Annotated[int, Meta(ge=0, le=2**36)]
    where: Annotated[str, Meta(min_length=1)] | UnsetType = UNSET


class UnitForm(DocumentPart, frozen=True, kw_only=True):
    """Persons are protected, not rows, and at most so many rows of each are used, in all and in one cell of a table.


    columns: in the place of one column, several whose values together say whose a row is, that of persons first. per:
    the last of them is a date, and stands for its day, week, month, quarter or year.
    """

    column: Name | UnsetType = UNSET
    columns: Annotated[tuple[Name, ...], Meta(extra_json_schema={"minItems": 2})] | UnsetType = UNSET
    per: Every | UnsetType = UNSET
    max_rows: Annotated[int, Meta(ge=1, le=2**36)] = msgspec.field(name="max_rows")
    max_rows_per_cell: Annotated[int, Meta(ge=1, le=2**36)] | UnsetType = msgspec.field(
        default=UNSET, name="max_rows_per_cell"
    )

    @classmethod
    def of(cls, columns: tuple[str, ...], per: Every | None, rows: int) -> UnitForm:
        """The form of a unit's columns."""
        if len(columns) == 1:
            return cls(column=columns[0], max_rows=rows)
        return cls(columns=columns, per=UNSET if per is None else per, max_rows=rows)

    @property
    def declared(self) -> DeclaredPersons:
        """The unit. Raises: DocumentError where the columns name none."""
        columns = () if isinstance(self.columns, UnsetType) else self.columns
        if len(columns) == 1:
            raise DocumentError(f"'columns' names several columns; write one as \"column\": {json.dumps(columns[0])}")
        if not isinstance(self.column, UnsetType):
            columns = () if columns else (self.column,)
        per = None if isinstance(self.per, UnsetType) else self.per
        if not columns or len(set(columns)) < len(columns) or (per and len(columns) < 2):
            raise DocumentError(
                "a unit has one 'column', or several different 'columns', and not both; 'per' needs 'columns', that of "
                "persons first and that of dates last"
            )
        cell_rows = None if isinstance(self.max_rows_per_cell, UnsetType) else self.max_rows_per_cell
        if cell_rows is not None and cell_rows > self.max_rows:
            raise DocumentError(f"'max_rows_per_cell' must be at most 'max_rows', {self.max_rows}")
        return DeclaredPersons(columns=columns, rows=self.max_rows, cell_rows=cell_rows, per=per)


class PeriodForm(DocumentPart, frozen=True, kw_only=True):
    """The date column that says which day, week, month, quarter or year a row is in."""

    column: Name
    every: Every


class LearnedRowsForm(DocumentPart, frozen=True, kw_only=True):
    """Noisy counts of persons by how many rows they have, by which the unit's `max_rows` was chosen (`LearnedRows`)."""

    numbers: Annotated[tuple[Annotated[int, Meta(ge=1, le=2**20)], ...], Meta(min_length=2, max_length=100)]
    persons: tuple[Annotated[int, Meta(ge=-(2**62), le=2**62)], ...]
    scale: FigureText

    @property
    def rows(self) -> LearnedRows:
        """The same, the scale exact. Raises: DocumentError where numbers do not rise, or have not one count each."""
        try:
            scale = exact_decimal(self.scale, option="scale")
        except UsageFault as fault:
            raise DocumentError(f"what was learned of persons: {fault}") from None
        rising = all(one < two for one, two in pairwise(self.numbers))
        if not (rising and len(self.persons) == len(self.numbers) and scale):
            raise DocumentError("'max_rows' has 'numbers' that rise, as many 'persons', and a 'scale' above 0")
        return LearnedRows(numbers=self.numbers, persons=self.persons, scale=scale)


class LearnedEntryForm(DocumentPart, frozen=True, kw_only=True):
    """The entry of a ledger that paid for what one run has learned (`LearnedEntry`)."""

    dataset: Name
    entry: Annotated[int, Meta(ge=0, le=2**62)]
    seal: Annotated[str, Meta(min_length=1, max_length=200)]
    epsilon: FigureText
    delta: FigureText


class LearnedForm(DocumentPart, frozen=True, kw_only=True):
    """What the labels and bounds of these columns have cost, for this unit, when they were learned from a table, and
    the rows of each person that are used where these were chosen. ledger: which entries paid for it."""

    columns: tuple[Name, ...]
    epsilon: FigureText
    delta: FigureText
    unit: Annotated[str, Meta(min_length=1, max_length=2000)]
    max_rows: LearnedRowsForm | UnsetType = msgspec.field(default=UNSET, name="max_rows")
    ledger: Annotated[tuple[LearnedEntryForm, ...], Meta(max_length=1000)] = ()

    @property
    def part(self) -> LearnedPart:
        """The same, its figures exact. Raises: DocumentError where they are no budget."""
        try:
            budget = PrivacyBudget.parse(self.epsilon, self.delta)
            paid = [(one, PrivacyBudget.parse(one.epsilon, one.delta)) for one in self.ledger]
        except UsageFault as fault:
            raise DocumentError(f"what was learned costs epsilon and delta: {fault}") from None
        rows = None if isinstance(self.max_rows, UnsetType) else self.max_rows.rows
        if rows is None and not self.columns:
            raise DocumentError("'columns' must name what was learned, unless 'max_rows' says it")
        if sum(part.epsilon for _, part in paid) > budget.epsilon or sum(part.delta for _, part in paid) > budget.delta:
            raise DocumentError("'ledger' names entries that paid more than what was learned has cost")
        entries = tuple(
            LearnedEntry(dataset=one.dataset, number=one.entry, seal=one.seal, budget=part) for one, part in paid
        )
        return LearnedPart(columns=self.columns, budget=budget, unit=self.unit, rows=rows, entries=entries)


class TableSchema(DocumentPart, frozen=True, kw_only=True):
    """The document."""

    fields: Annotated[tuple[Field, ...], Meta(min_length=1, max_length=2000)]
    dpqr: Literal["domain/1"] | UnsetType = UNSET
    malformed: Literal["drop", "fail"] | UnsetType = UNSET
    unit: UnitForm | UnsetType = UNSET
    period: PeriodForm | UnsetType = UNSET
    learned: LearnedForm | UnsetType = UNSET
    impossible: Annotated[tuple[ImpossibleForm, ...], Meta(max_length=1000)] = ()
    totals: Annotated[tuple[TotalForm, ...], Meta(max_length=1000)] = ()
    missing_values: MissingValues = ("",)
    schema: Text | UnsetType = msgspec.field(default=UNSET, name="$schema")
    name: Text | UnsetType = UNSET
    title: Text | UnsetType = UNSET
    description: Text | UnsetType = UNSET
    primary_key: Anything | UnsetType = UNSET
    foreign_keys: Anything | UnsetType = UNSET
    unique_keys: Anything | UnsetType = UNSET
    fields_match: Anything | UnsetType = UNSET


Size = Annotated[int, Meta(ge=1, le=2**20)]
Sizes = Annotated[dict[Name, Size], Meta(min_length=1, max_length=2000)]
"""The sizes form: integer codes 0 .. size-1 of a table that is already coded."""
