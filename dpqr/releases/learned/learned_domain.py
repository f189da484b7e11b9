"""`dpqr domain --learn`: labels and bounds that nobody has listed, and the rows of each person that runs may use,
learned from the table as a paid run by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Literal

from msgspec import Meta, Struct, convert, to_builtins

from dpqr.domain.domain_file import PLACEHOLDER
from dpqr.domain.form import UnitForm
from dpqr.domain.text.decoding import Location, decode
from dpqr.domain.text.sources import parse_plain, plain
from dpqr.kernel.budget import PrivacyBudget, exact_decimal
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.noise.source import NoiseSource, SystemNoise
from dpqr.kernel.unit import DeclaredPersons, Every, PrivacyUnit, unit_columns
from dpqr.kernel.values import replace
from dpqr.ledger.codec import JSON
from dpqr.ledger.ledger import NO_REASON, Reason
from dpqr.releases.documents import DomainRequest, MadeDomain, domain_file
from dpqr.releases.files.atomic import reserve_file
from dpqr.releases.learned.learning import (
    LearningPlan,
    OpenColumn,
    decode_column,
    draw_domain,
    has_gap,
    learning_document,
    plan_columns,
)
from dpqr.releases.learned.person_rows import CHOICE_NEEDS_UNIT, RowChoice, choices
from dpqr.releases.locked_plan import plan_file, read_plan, require_unchanged, save_document, source_of_plan
from dpqr.releases.paying import require_affordable
from dpqr.releases.planning import fraction, open_part, unit_of
from dpqr.releases.reading import ReadingForm, reading_part, refuse_unknown, resolve_source
from dpqr.releases.record.parts import LEARNING_PLAN_FORMAT
from dpqr.strategies.problem import PublicInputs
from dpqr.tables.source import TableSource


class LearnRequest(Struct, frozen=True, kw_only=True):
    """What is learned of a table's columns, and what it may cost; figures are decimal text.

    Attributes:
        described: what is known of the columns, with the table, the unit and the payer.
        columns: whose labels or bounds are learned.
        learn_max_rows: the share of epsilon for noisy counts of persons, by which the rows of each that runs may use
            are chosen, at most `described.max_rows`; None: these are stated.
        max_labels: m, labels of a column in which a person counts, at most.
        grid: the smallest step of numbers that matters; None: 1.
        bins: of a column of numbers.
        cuts: whether bins are of equal width, or hold nearly equally many records.
        plan: the file of a locked plan, which states all of these but the table and the payer; None: they are stated.
    """

    described: DomainRequest
    columns: tuple[str, ...] = ()
    epsilon: str = ""
    delta: str | None = None
    learn_max_rows: str | None = None
    neighbours: str = "add-remove"
    max_labels: int = 1
    grid: str | None = None
    bins: int = 10
    cuts: Literal["equal", "quantiles"] = "equal"
    reason: Reason = NO_REASON
    plan: str | None = None


def plan_learning(request: LearnRequest, *, locked: bool = False) -> LearningPlan:
    """Check everything public, and divide the budget; no row is read.

    Args:
        locked: the plan is written to be reviewed.

    Raises:
        UsageFault: options that do not go together, a column that the table lacks or whose cells are stated.
        BudgetRefused: the budget's owner does not allow it, or another table.
        InfeasiblePlan: epsilon is too small.
        DocumentError, DataError: as `domain_file`.

    Privacy:
        A function of the request, the ledger's policy, and the names and types of the table's columns.
    """
    if request.plan is not None:
        return follow_learning(request)
    described, stated = request.described, None
    if described.unit is None and described.codebooks:
        stated = _stated_unit(replace(described, max_rows=None))
    if stated is not None:
        described = replace(described, unit=stated.columns, per=stated.per, max_rows=described.max_rows or stated.rows)
    if request.learn_max_rows is not None:
        if described.unit is None:
            raise UsageFault(CHOICE_NEEDS_UNIT)
        described = replace(described, max_rows=choices(described.max_rows)[-1])
    unit = _unit(request.neighbours, described)
    if len(set(request.columns)) < len(request.columns):
        raise UsageFault("--learn: names a column twice; name it once")
    made = domain_file(described)
    if stated is not None and stated.cell_rows is not None:
        in_cell = {"max_rows_per_cell": min(stated.cell_rows, unit.rows)}
        made = replace(made, document=made.document | {"unit": made.document["unit"] | in_cell})
    # The table that the request names, or the one that the budget's owner has registered.
    return _plan_described(replace(request, described=described), made, described.source, locked=locked)


def _unit(neighbours: str, described: DomainRequest) -> PrivacyUnit:
    return unit_of(neighbours, described.unit, described.max_rows, per=described.per)


def _plan_described(request: LearnRequest, made: MadeDomain, source: TableSource, *, locked: bool) -> LearningPlan:
    """The plan over a domain file with its gaps. source: as the request names it. locked: the plan is written to be
    reviewed, or follows one that was."""
    described, budget = request.described, PrivacyBudget.parse(request.epsilon, request.delta)
    unit = _unit(request.neighbours, described)
    numbers = () if request.learn_max_rows is None else choices(described.max_rows)
    fields = {str(each["name"]): each for each in made.document["fields"]}
    missing = [name for name in request.columns if name not in fields]
    if missing:
        raise UsageFault(f"--learn: the table has no column {missing[0]!r}; its columns: {', '.join([*fields][:20])}")
    listed = [name for name in request.columns if _open_part(fields[name]) == "labels"]
    columns = []
    for name in request.columns:
        # What a field states of how it is learned, where the options leave that as it is usual.
        own = fields[name].get("dpqr", {}) if open_part(fields[name]) else {}
        columns.append(
            OpenColumn(
                form=fields[name],
                part="labels" if name in listed else "bounds",
                grid=request.grid or str(own.get("grid", 1)),
                bins=own.get("bins", 10) if request.bins == 10 else request.bins,
                cuts=own.get("cuts", "equal") if request.cuts == "equal" else request.cuts,
                max_labels=own.get("max_labels", 1) if request.max_labels == 1 else request.max_labels,
            )
        )
    choice = _choice_of_rows(request, budget, unit, numbers, fields.values()) if numbers else None
    plan = plan_columns(
        columns,
        made,
        budget,
        unit,
        resolve_source(source, described.payer),
        described.payer,
        choice=choice,
        reason=request.reason,
        locked=locked,
    )
    return replace(plan, inputs=_public_inputs(request, plan))


# Locked plans of learning: written to be reviewed, approved, and followed or refused.


class LearningOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fields of `LearnRequest` and of what it describes, as a plan's document holds them."""

    columns: tuple[str, ...]
    epsilon: str
    delta: str | None
    learn_max_rows: str | None
    neighbours: str
    unit: tuple[str, ...]
    per: Every | None
    max_rows: int | None
    max_labels: Annotated[int, Meta(ge=1)]
    grid: str | None
    bins: int
    cuts: Literal["equal", "quantiles"]


class LearningRequestForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that is public and decides what is learned: the domain file with its gaps, options, and how the table is
    read."""

    dpqr: Literal["learning-request/1"]
    domain: JSON
    options: LearningOptions
    reading: ReadingForm


def _public_inputs(request: LearnRequest, plan: LearningPlan) -> PublicInputs:
    described = request.described
    options = LearningOptions(
        unit=unit_columns(described.unit),
        per=described.per,
        max_rows=described.max_rows,
        **{name: getattr(request, name) for name in LearnRequest.__struct_fields__ if name in OWN_OPTIONS},
    )
    return PublicInputs(
        request={
            "dpqr": "learning-request/1",
            "domain": plain(plan.made.document),
            "options": to_builtins(options),
            "reading": reading_part(plan.reading),
        }
    )


OWN_OPTIONS = {*LearningOptions.__struct_fields__} - {"unit", "per", "max_rows"}
"""Fields of `LearnRequest` itself."""


def follow_learning(request: LearnRequest, *, opened: bool = True) -> LearningPlan:
    """The locked plan in the file `request.plan`, made again under the budget's policy of today.

    Args:
        request: the table, the payer and the reason; all else is the plan's to say.
        opened: as for `following`.

    Raises:
        UsageFault, DocumentError: the file is no such plan, or it would be another one now. Else as `plan_learning`.
    """
    assert request.plan is not None, "a plan is named"
    given, locked = request.described, read_plan(request.plan, LEARNING_PLAN_FORMAT)
    with refuse_unknown():
        found = convert(locked.document["request"], LearningRequestForm)
    stated = found.options
    described = replace(given, unit=stated.unit or None, per=stated.per, max_rows=stated.max_rows)
    own = {name: getattr(stated, name) for name in OWN_OPTIONS}
    base, paid = found.reading.of(TableSource.unnamed()), given.payer is not None
    plan = _plan_described(
        replace(request, described=described, **own),
        MadeDomain(parse_plain(found.domain)),
        source_of_plan(given.source, base, paid=paid, opened=opened),
        locked=True,
    )
    require_unchanged(locked, learning_document(plan))
    assert plan.inputs is not None, "the plan of a run that learns alone has its inputs"
    return replace(plan, inputs=replace(plan.inputs, locked=locked))


def lock_learning(request: LearnRequest, place: str) -> MadeDomain:
    """Write the plan to be reviewed into a new file; the domain file with its gaps, and the plan as remarks.

    Raises:
        DpqrError: as `dry_learning`. AlreadyThere: the file exists.
    """
    target = plan_file(place, "--lock")
    plan = plan_learning(request, locked=True)
    require_affordable(request.described.payer, plan.bill)
    digest = save_document(learning_document(plan), plan.inputs, target)
    return replace(plan.made, remarks=(*plan.lines, f"planned into {target.given}, sha256 {digest}"))


def _stated_unit(described: DomainRequest) -> DeclaredPersons | None:
    """The unit that a codebook states. Raises: as `domain_file`."""
    stated = domain_file(described).document.get("unit")
    return None if stated is None else decode(stated, UnitForm, Location("unit")).declared


def _choice_of_rows(
    request: LearnRequest, budget: PrivacyBudget, unit: PrivacyUnit, numbers: tuple[int, ...], fields: Iterable[JSON]
) -> RowChoice:
    """The choice of the rows of each person, among these numbers. Rows are counted by the rules of the columns that are
    described. UsageFault for a share that leaves nothing, or what nobody spends; where no column is described."""
    share = exact_decimal(request.learn_max_rows or "", option="--learn-max-rows")
    if request.columns:
        fraction(request.learn_max_rows, "--learn-max-rows")
    elif share != 1:
        raise UsageFault("--learn-max-rows: without --learn nothing else is bought; state 1, the whole of --eps")
    counted = [form for form in fields if form["name"] not in request.columns and not has_gap(form)]
    if not counted and not request.columns:
        raise UsageFault(
            "--learn-max-rows: no column is described, and a domain file has one at least; describe one by --types or "
            "--from, or learn it by --learn"
        )
    return RowChoice(
        epsilon=budget.epsilon * share,
        unit=unit,
        numbers=numbers,
        counted=tuple(decode_column(form) for form in counted),
    )


def _open_part(form: JSON) -> Literal["labels", "bounds"]:
    """What a field of a domain file with gaps leaves open. UsageFault where nothing is, or what cannot be learned."""
    constraints, kind = form.get("constraints", {}), form["type"]
    asked = open_part(form)
    if asked is not None:
        return asked
    if constraints.get("enum") == [PLACEHOLDER]:
        return "labels"
    ends = [constraints.get("minimum"), constraints.get("maximum")]
    if kind in ("integer", "number") and ends == [PLACEHOLDER] * 2:
        return "bounds"
    if has_gap(form):
        raise UsageFault(
            f"--learn {form['name']!r}: of a column of type {kind} that is partly stated, or of dates, nothing is "
            "learned; state its bounds or labels"
        )
    raise UsageFault(f"--learn {form['name']!r}: its labels or bounds are stated already; leave it out")


def learn_domain(
    request: LearnRequest,
    *,
    out: str | None = None,
    noise: NoiseSource | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> MadeDomain:
    """A domain file with learned labels and bounds; columns that stay open are left out.

    Order: everything public is checked, then the table's structure; then the budget is reserved, durably where a ledger
    pays; then rows are read, drawn from through the gate, the file is written, and the run is settled at what was
    drawn.

    Args:
        out: a new file.
        noise: the operating system's, unless a test passes another.

    Raises:
        DpqrError: as `plan_learning` and `paid_run`.

    Privacy:
        `request.epsilon` and `request.delta`, for the plan's unit. Released are the kept labels, the two ends, the
        cuts, and noisy counts of persons where the rows of each are chosen; no other count, no score, and no seed of a
        draw. All else of the result is public or a function of these.
    """
    if request.described.payer and noise and not noise.private:
        raise UsageFault("a ledger pays for private noise only, and this source is for tests")
    plan = plan_learning(request)
    target = None if out is None else reserve_file(out, option="--out")
    return draw_domain(plan, request.described.payer, target, noise=noise or SystemNoise(), progress=progress)


def dry_learning(request: LearnRequest) -> MadeDomain:
    """The domain file with its gaps, and the plan as remarks.

    Raises:
        DpqrError: where `learn_domain` would refuse before it opens the table.
    """
    plan = plan_learning(request)
    require_affordable(request.described.payer, plan.bill, locked=request.plan is not None)
    return replace(plan.made, remarks=plan.lines)
