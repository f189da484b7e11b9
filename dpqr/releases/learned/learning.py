"""Labels and bounds that nobody has listed, and the rows of each person that runs may use, learned from the table as a
paid run: its plan, its draws, and the domain file that it writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import Any, Literal

from msgspec import Struct, to_builtins

from dpqr import __version__
from dpqr.domain.attribute import FAULTS, Attribute, Bins, Labels
from dpqr.domain.domain import Domain, LearnedRows
from dpqr.domain.domain_file import PLACEHOLDER, decode_domain, learned_part
from dpqr.domain.form import UnitForm
from dpqr.domain.text.decoding import Location
from dpqr.kernel.accountants.accountant import summed_cost
from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import NO_COST, Pricing, PrivacyBudget, exact_decimal, upward_text
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.events import Composition
from dpqr.kernel.gate import measure
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.kernel.wording import count_words
from dpqr.ledger.codec import JSON
from dpqr.ledger.ledger import NO_REASON, Reason, Reservation
from dpqr.mechanisms.learning import LabelSelection, LearnedCells, geometric_grid, grid_counts
from dpqr.mechanisms.noisy_answers import LaplaceAnswers
from dpqr.releases.documents import MadeDomain
from dpqr.releases.files.atomic import SingleFile, write_text
from dpqr.releases.learned.person_rows import RowChoice, chosen_words, used_words
from dpqr.releases.paying import Bill, PaidRun, paid_run
from dpqr.releases.planning import failing_notes, open_part
from dpqr.releases.reading import TableReading, require_source, resolve_reading
from dpqr.releases.record.parts import LEARNING_PLAN_FORMAT, BudgetPart, Part, events_part, learned_digest, written
from dpqr.releases.record.plan_document import SEAL, seal_document
from dpqr.releases.requests import LedgerRequest
from dpqr.releases.sentences import budget_words
from dpqr.strategies.problem import PublicInputs
from dpqr.tables.label_counts import LONGEST_LABEL, count_labels, require_listable
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.policy import require_learning
from dpqr.tables.source import TableSource
from dpqr.tables.structure import check_table

DOUBLINGS = 40
"""Of the grid: it ends at 2^40 steps on either side."""
MOST_BINS = 1000
STAND_IN = "(any label)"
"""The one label of a column whose labels are not known: cells are not compared with it."""


class OpenColumn(Struct, frozen=True, kw_only=True):
    """A column that is learned. form: its field of the domain file. part: what nobody knows of it. grid, bins, cuts: of
    numbers, max_labels: of labels, as in `LearnRequest`. quantiles: those that the queries ask of it, at which bins are
    cut, too."""

    form: JSON
    part: Literal["labels", "bounds"]
    grid: str = "1"
    bins: int = 10
    cuts: str = "equal"
    max_labels: int = 1
    quantiles: frozenset[Fraction] = frozenset()


class LabelColumn(Struct, frozen=True, kw_only=True):
    """A column whose labels are learned, and by which draw. attribute: how its texts are read. most: in which a unit
    counts, at most."""

    attribute: Attribute
    selection: LabelSelection
    most: int

    @property
    def events(self) -> Composition:
        return ((self.selection.event, 1),)

    def words(self, unit: PrivacyUnit) -> str:
        """What is paid for it, and what is likely kept."""
        law, whom = self.selection.law, f"{unit.noun}s"
        counted = f"; a {unit.noun} counts in at most {count_words(self.most, 'label')}" if unit.columns else ""
        half = next(count for count in range(law.certain + 1) if law.probability(count) >= Fraction(1, 2))
        return (
            f"labels of {self.attribute.name!r}: kept with probability 1/2 from {half} {whom} on, surely from "
            f"{law.certain} on; all others are one cell{counted}"
        )


class NumberColumn(Struct, frozen=True, kw_only=True):
    """A column whose bounds are learned, and the quantiles at which its bins are cut.

    attribute: its bins are the grid. epsilon: of the noisy counts of its cells. bins: of equal width, before these
    cuts. shares: the quantiles.
    """

    attribute: Attribute
    grid: tuple[Fraction, ...]
    integral: bool
    epsilon: Fraction
    unit: PrivacyUnit
    bins: int
    shares: tuple[Fraction, ...] = ()

    def draw(self, axis: int) -> LaplaceAnswers:
        """The column's one draw, where it is this axis of the table."""
        return grid_counts(axis, self.attribute.size, self.epsilon, self.unit)

    @property
    def events(self) -> Composition:
        return ((self.draw(0).event, 1),)

    @property
    def words(self) -> str:
        """What is paid for it, and what it aims at."""
        cut = f"; {self.bins} bins of equal width" if self.bins > 1 or not self.shares else ""
        cut += f"; {count_words(len(self.shares), 'quantile')} as inner edges" if self.shares else ""
        error = self.draw(0).law.deviation
        return (
            f"bounds of {self.attribute.name!r}: where clipping costs a sum as much as its noise, by counts of "
            f"{len(self.grid) - 1} cells with an error of {error:.3g} rows each{cut}"
        )


class LearningPlan(Struct, frozen=True, kw_only=True):
    """All that is public of a run that learns. Each column has an equal share of epsilon, after what the choice of rows
    has, and each column of labels an equal share of delta.

    Attributes:
        made: the domain file with gaps.
        reading: which table is read, and how.
        choice: of the rows of each person; None: their bound is stated, and is that of the unit.
        inputs: what it was made from; None: it is a part of a release, whose plan no document holds.
    """

    made: MadeDomain
    unit: PrivacyUnit
    budget: PrivacyBudget
    reading: TableReading
    labels: tuple[LabelColumn, ...]
    numbers: tuple[NumberColumn, ...]
    choice: RowChoice | None = None
    reason: Reason = NO_REASON
    inputs: PublicInputs | None = None

    @property
    def columns(self) -> tuple[LabelColumn | NumberColumn, ...]:
        """All that are learned: first those of labels, then those of numbers."""
        return (*self.labels, *self.numbers)

    @property
    def events(self) -> Composition:
        chosen = ((self.choice.draw(1).event, 1),) if self.choice else ()
        return (*chosen, *(pair for column in self.columns for pair in column.events))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are learned."""
        return tuple(column.attribute.name for column in self.columns)

    @property
    def domain(self) -> Domain:
        """Of all columns that are read; labels and bounds of those that are learned mean nothing yet."""
        learned = tuple(column.attribute for column in self.columns)
        return Domain((*learned, *(self.choice.counted if self.choice else ())))

    def with_rows(self, rows: int) -> LearningPlan:
        """The plan once the bound on a person's rows is known. Prices stay; noise that grows with the rows follows."""
        unit = replace(self.unit, rows=rows)
        return replace(self, unit=unit, numbers=tuple(replace(column, unit=unit) for column in self.numbers))

    @property
    def bill(self) -> Bill:
        names = ", ".join([*self.names, *(["rows of each person"] if self.choice else [])])
        return Bill(
            events=self.events,
            unit=self.unit,
            pricing=Pricing(accountant=Basic.name, delta=self.budget.delta),
            guard=lambda: Basic().guard(self.budget, self.events),
            note=f"learned: {names}",
            plan="" if self.inputs is None else str(learning_document(self)[SEAL]),
            policy=self.reading.policy,
            reason=self.reason,
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """The plan in words, one line a fact."""
        budget = self.budget
        price = f"epsilon {upward_text(budget.epsilon)}"
        price += f", delta {upward_text(budget.delta)}" if budget.delta else ""
        return (
            f"{price} for {self.unit.whom if self.choice else self.unit.words}",
            *(self.choice.lines if self.choice else ()),
            *(column.words(self.unit) for column in self.labels),
            *(column.words for column in self.numbers),
            *failing_notes(self.domain),
            *self.reading.bits,
        )


class LearningPlanPart(Part, frozen=True, kw_only=True):
    """What a run learns alone, as its plan's document has it. columns: whose labels or bounds are learned. max_rows:
    whether the rows of each person are chosen. request, sha256: as of `PlanPart`."""

    dpqr: str
    version: str
    guarantee: str
    unit: str
    counts: str | None
    budget: BudgetPart
    accountant: str
    columns: tuple[str, ...]
    max_rows: bool
    events: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]
    request: Mapping[str, Any]


def learning_document(plan: LearningPlan) -> JSON:
    """The plan of a run that learns alone, under its SHA-256. Plain JSON values. A run that follows a locked plan
    repeats its document, as `plan_document` does."""
    if plan.inputs is None:
        raise AssertionError("what a release learns first has no plan of its own")
    if plan.inputs.locked:
        return dict(plan.inputs.locked.document)
    part = LearningPlanPart(
        dpqr=LEARNING_PLAN_FORMAT,
        version=__version__,
        guarantee=f"{budget_words(plan.budget)}, for {plan.unit.words}.",
        unit=plan.unit.words,
        counts=plan.unit.counted,
        budget=BudgetPart.of(plan.budget),
        accountant=Basic.name,
        columns=plan.names,
        max_rows=plan.choice is not None,
        events=tuple(events_part(plan.events)),
        notes=plan.lines,
        request=plan.inputs.request,
    )
    return seal_document(written(part))


def plan_columns(
    columns: Sequence[OpenColumn],
    made: MadeDomain,
    budget: PrivacyBudget,
    unit: PrivacyUnit,
    source: TableSource,
    payer: LedgerRequest | None,
    *,
    limits: Limits | None = None,
    choice: RowChoice | None = None,
    reason: Reason = NO_REASON,
    locked: bool = False,
) -> LearningPlan:
    """Divide the budget among the columns, after the price of a choice of rows. made: the domain file with its gaps.
    source: as the owner has registered it. locked: as for `resolve_reading`.

    Raises, Privacy: as `plan_learning`.
    """
    if not unit.columns and any(column.max_labels != 1 for column in columns):
        raise UsageFault("max_labels (--max-labels): a row has one label; state the persons by --unit, or leave it out")
    listed = sum(column.part == "labels" for column in columns)
    if listed and budget.pure:
        raise UsageFault("learned labels need a delta above 0: a label of one person must not show; add --delta 1e-6")
    share = (budget.epsilon - (choice.epsilon if choice else 0)) / max(1, len(columns))
    labels: list[LabelColumn] = []
    numbers: list[NumberColumn] = []
    for column in columns:
        if column.part == "labels":
            most = column.max_labels
            selection = LabelSelection.within(share, budget.delta / listed, most=most, unit=unit)
            labels.append(LabelColumn(attribute=_label_attribute(column.form), selection=selection, most=most))
        else:
            numbers.append(_number_column(column, share, unit))
    _ = learned_price(made.document, (), budget, unit.whom)  # refused before anything is paid
    learned = (*(each.attribute for each in labels), *(each.attribute for each in numbers))
    domain = Domain((*learned, *(choice.counted if choice else ())))
    reading = resolve_reading(source, limits or Limits(), domain, payer, locked=locked)
    if payer is not None:
        require_learning(reading.policy)
    if labels:
        require_listable(reading.source)
    return LearningPlan(
        made=made,
        unit=replace(unit, counted=reading.source.count_column),
        budget=budget,
        reading=reading,
        labels=tuple(labels),
        numbers=tuple(numbers),
        choice=choice,
        reason=reason,
    )


def _label_attribute(form: JSON) -> Attribute:
    """How the texts of a column of labels are read; a row without a label of its own is kept, in some cell."""
    found = decode_column(form | {"constraints": {"enum": [STAND_IN]}, "dpqr": _spelling(form) | {"otherwise": "cell"}})
    assert isinstance(found.axis, Labels)
    return found


def _number_column(column: OpenColumn, share: Fraction, unit: PrivacyUnit) -> NumberColumn:
    form, step = column.form, exact_decimal(column.grid, option="--grid")
    if not step:
        raise UsageFault("--grid 0: the smallest step is above 0, for example 0.01")
    if not 1 <= column.bins <= MOST_BINS:
        raise UsageFault(f"--bins {column.bins}: give a whole number from 1 to {MOST_BINS}")
    integral = form["type"] == "integer"
    grid = geometric_grid(step, DOUBLINGS, whole=integral)
    rules = {"outside": "clip", "otherwise": "cell"} | ({} if integral else {"infinite": "clip"})
    bounds = {"minimum": 0, "maximum": 1}
    stated = decode_column(form | {"constraints": bounds, "dpqr": _spelling(form) | {"bins": 1} | rules})
    attribute = replace(stated, axis=Bins(grid, integral=integral), declared=None)
    quantiles = column.cuts == "quantiles"
    even = [Fraction(part, column.bins) for part in range(1, column.bins)] if quantiles else []
    shares = tuple(sorted({*even, *column.quantiles}))
    if column.bins + len(column.quantiles) > MOST_BINS:
        raise UsageFault(f"bins and the quantiles that are asked of {form['name']!r}: together at most {MOST_BINS}")
    found = NumberColumn(
        attribute=attribute,
        grid=grid,
        integral=integral,
        epsilon=share,
        unit=unit,
        bins=1 if quantiles else column.bins,
        shares=shares,
    )
    _ = found.events  # refused before anything is paid
    return found


def _spelling(form: JSON) -> JSON:
    """The keys that say how texts are written, and no rule and no cut."""
    return {key: value for key, value in form.get("dpqr", {}).items() if key in ("trim", "caseSensitive")}


def decode_column(form: JSON) -> Attribute:
    """The attribute of one field of a domain file. Raises: DocumentError."""
    name = form["name"]
    return decode_domain({"fields": [form]}, Location(f"column {name!r}")).attributes[0]


def draw_domain(
    plan: LearningPlan,
    payer: LedgerRequest | None,
    target: SingleFile | None,
    *,
    noise: NoiseSource,
    progress: Callable[[int], None] = lambda _: None,
) -> MadeDomain:
    """Pay, read rows, draw, and write the domain file, in that order. target: where it goes. Else as `learn_domain`."""
    held, source = plan.reading, noise

    def check_input() -> None:
        require_source(held.source)
        check_table(held.source, plan.domain, held.limits, plan.unit)

    with paid_run(payer, plan.bill, None, ready=check_input) as run:
        run.look(held.source)
        rows = _learned_rows(plan, run, source, progress)
        if plan.choice and rows:
            plan = plan.with_rows(plan.choice.best(rows))
        forms = {**_learned_labels(plan, run, source, progress), **_learned_bounds(plan, run, source, progress)}
        made = _completed(plan, forms, rows, run)
        if target is not None:
            target.write(lambda draft: write_text(draft, made.text))
        run.released(learned_digest(made.document))
    return made


def _learned_rows(
    plan: LearningPlan, run: PaidRun, noise: NoiseSource, progress: Callable[[int], None]
) -> LearnedRows | None:
    """Noisy counts of persons by how many of their rows the domain's rules let pass.

    Privacy:
        The first draw. All that follows depends on the bound that is chosen by it, which is a function of its result
        and of public forecasts; the prices of later draws were fixed before it (`person_counts`).
    """
    if plan.choice is None:
        return None
    draw = plan.choice.draw(plan.domain.shape[0])
    (block,) = draw.blocks
    assert block.person_table is not None, "persons are counted"
    table = load_table(
        plan.reading.source,
        plan.domain,
        plan.reading.limits,
        unit=plan.unit,
        noise=run.drawing(noise),
        column_sets=[()],
        persons=[block.person_table],
        progress=progress,
    )
    (counts,) = measure(table.persons, draw, accountant=run.guard, noise=noise).value.values
    return plan.choice.rows(counts)


def _learned_labels(
    plan: LearningPlan, run: PaidRun, noise: NoiseSource, progress: Callable[[int], None]
) -> dict[str, JSON]:
    """The constraints and rules of each column of labels."""
    if not plan.labels:
        return {}
    counted = count_labels(
        plan.reading.source,
        Domain(tuple(column.attribute for column in plan.labels)),
        plan.reading.limits,
        unit=plan.unit,
        most=[column.most for column in plan.labels],
        noise=run.drawing(noise),
        progress=progress,
    )
    found = {}
    for column, private in zip(plan.labels, counted, strict=True):
        kept = measure(private, column.selection, accountant=run.guard, noise=noise).value
        found[column.attribute.name] = {"constraints": {"enum": list(kept)}, "dpqr": {"outside": "cell"}}
    return found


def _learned_bounds(
    plan: LearningPlan, run: PaidRun, noise: NoiseSource, progress: Callable[[int], None]
) -> dict[str, JSON]:
    """The constraints and cuts of each column of numbers."""
    if not plan.numbers:
        return {}
    table = load_table(
        plan.reading.source,
        Domain(tuple(column.attribute for column in plan.numbers)),
        plan.reading.limits,
        unit=plan.unit,
        noise=run.drawing(noise),
        column_sets=[(axis,) for axis in range(len(plan.numbers))],
        progress=progress,
    )
    found: dict[str, JSON] = {}
    for axis, column in enumerate(plan.numbers):
        draw = column.draw(axis)
        (counts,) = measure(table.counts, draw, accountant=run.guard, noise=noise).value.values
        cells = LearnedCells(
            edges=column.grid,
            counts=counts[: len(column.grid) - 1],  # those of values that are no numbers come after them
            scale=float(draw.scale),
            whole=column.integral,
        )
        low, high = cells.bounds()
        if column.integral:
            high = max(high, low + 1)  # a column of one value
        bins = min(column.bins, int(high - low) + 1) if column.integral else column.bins
        if column.shares:
            # Cuts that are equal, or not between the bounds, go.
            even = [low + (high - low + column.integral) * Fraction(part, bins) for part in range(1, bins)]
            cuts = {*cells.cuts(column.shares), *(map(Fraction, map(floor, even)) if column.integral else even)}
            edges = [low, *sorted(cut for cut in cuts if low < cut < high), high]
            found[column.attribute.name] = {"dpqr": {"edges": list(map(_figure, edges)), "outside": "clip"}}
        else:
            bounds = {"minimum": _figure(low), "maximum": _figure(high)}
            found[column.attribute.name] = {"constraints": bounds, "dpqr": {"bins": bins, "outside": "clip"}}
    return found


def _figure(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)


def _completed(plan: LearningPlan, forms: dict[str, JSON], rows: LearnedRows | None, run: PaidRun) -> MadeDomain:
    """The domain file: learned columns as they were learned, described ones as they are, and no open ones. rows: by
    which the unit's bound was chosen."""
    fields, left_out, empty = list[JSON](), list[str](), list[str]()
    for stated in plan.made.document["fields"]:
        name = stated["name"]
        if name not in forms:
            if has_gap(stated):
                left_out.append(name)
            else:
                fields.append(stated)
            continue
        learned = forms[name]
        if learned.get("constraints", {}).get("enum") == []:
            empty.append(name)
            continue
        fields.append(learned_field(stated | {"description": _paid_words(plan, name)}, learned))
    remarks = list(plan.lines)
    if rows:
        remarks += [chosen_words(rows, plan.unit.rows), used_words(rows)]
    if empty:
        remarks.append(f"left out, for no label was kept: {', '.join(empty)}; give more --eps, or state the labels")
    if left_out:
        remarks.append(f"left out, for their labels or bounds are not known: {', '.join(left_out)}")
    if run.paid is None:
        remarks.append("no ledger adds this up with other releases of the table: their epsilons and deltas add up")
    else:
        entry = f"entry {run.paid.number} of dataset {run.paid.dataset!r}"
        remarks.append(f"paid: {run.paid.currency.words(run.paid.cost, upward_text)}, {entry}")
    learned = learned_price(plan.made.document, plan.names, plan.budget, plan.unit.whom, rows, run.paid)
    bounded = with_bound(plan.made.document, plan.unit) if rows else plan.made.document
    return MadeDomain(bounded | {"learned": learned, "fields": fields}, tuple(remarks))


def with_bound(document: JSON, unit: PrivacyUnit) -> JSON:
    """A domain file that states the unit's bound on the rows of each person; a bound on rows in one cell stays."""
    stated = {key: least for key, least in document.get("unit", {}).items() if key == "max_rows_per_cell"}
    in_cell = {key: min(least, unit.rows) for key, least in stated.items()}
    return document | {"unit": to_builtins(UnitForm.of(unit.columns, unit.per, unit.rows)) | in_cell}


def learned_price(
    document: JSON,
    columns: Sequence[str],
    budget: PrivacyBudget,
    unit: str,
    rows: LearnedRows | None = None,
    paid: Reservation | None = None,
) -> JSON:
    """What a domain file says that what was learned has cost, with what this run learns: both costs add up. rows: by
    which the bound on a person's rows was chosen, in this run; else what an earlier one has learned stays. paid: of
    this run; the entries that paid for earlier ones stay.

    Raises:
        UsageFault: the document states a cost for other units, which does not add to this one.
    """
    before = learned_part(document, Location("domain"))
    names, epsilon, delta = (before.columns, before.budget.epsilon, before.budget.delta) if before else ((), 0, 0)
    rows = rows or (before.rows if before else None)
    chosen: JSON = {}
    if rows is not None:
        chosen = {"numbers": [*rows.numbers], "persons": [*rows.persons], "scale": upward_text(rows.scale)}
    if before is not None and before.unit != unit:
        raise UsageFault(
            f"the domain was learned for {before.unit}, and these columns would be for {unit}\n"
            "learn all of them for the same units, or state what was learned before in a file of its own"
        )
    # Added up as they are stated, so that no rounding states less than the entries have paid.
    own = {"epsilon": upward_text(budget.epsilon), "delta": upward_text(budget.delta)}
    entries: list[JSON] = [*document["learned"].get("ledger", ())] if before else []
    if paid is not None:
        entries.append({"dataset": paid.dataset, "entry": paid.number, "seal": paid.receipt, **own})
    return {
        "columns": [*names, *(name for name in columns if name not in names)],
        "epsilon": upward_text(epsilon + Fraction(own["epsilon"])),
        "delta": upward_text(delta + Fraction(own["delta"])),
        "unit": unit,
        **({"max_rows": chosen} if chosen else {}),
        **({"ledger": entries} if entries else {}),
    }


def learned_field(form: JSON, learned: JSON) -> JSON:
    """A field of the domain file with what was learned, and the rules for all other values: those that it states."""
    kept = {key: value for key, value in form.items() if key not in ("constraints", "dpqr")}
    constraints = {"constraints": learned["constraints"]} if "constraints" in learned else {}
    stated = form.get("dpqr", {}) if open_part(form) else {}
    own = {key: stated[key] for key in (*FAULTS, "otherwise") if key in stated}
    return (
        kept | constraints | {"dpqr": _spelling(form) | learned["dpqr"] | {"null": "cell", "otherwise": "drop"} | own}
    )


def has_gap(form: Any) -> bool:
    """Whether a part of a domain file is still to be filled in."""
    if isinstance(form, dict):
        return any(map(has_gap, form.values()))
    if isinstance(form, list):
        return any(map(has_gap, form))
    return isinstance(form, str) and form.startswith(PLACEHOLDER)


def _paid_words(plan: LearningPlan, name: str) -> str:
    """What a field says of itself: learned, and for what price."""
    column = next(each for each in plan.columns if each.attribute.name == name)
    cost = summed_cost(column.events) or NO_COST
    paid = f"epsilon {upward_text(cost.amount)}" + (f", delta {upward_text(cost.delta)}" if cost.delta else "")
    what = f"labels of at most {LONGEST_LABEL} bytes" if isinstance(column, LabelColumn) else "bounds"
    return f"{what} learned from the table with {paid}, for {plan.unit.whom}"
