"""`dpqr domain --learn`: labels and bounds that nobody has listed, and the rows of each person that runs may use,
learned from the table as a paid run by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from msgspec import Struct

from dpqr.domain.domain_file import PLACEHOLDER
from dpqr.domain.form import UnitForm
from dpqr.domain.text.decoding import Location, decode
from dpqr.kernel.budget import PrivacyBudget, exact_decimal
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.noise.source import NoiseSource, SystemNoise
from dpqr.kernel.unit import DeclaredPersons, PrivacyUnit
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
    plan_columns,
)
from dpqr.releases.learned.person_rows import CHOICE_NEEDS_UNIT, RowChoice, choices
from dpqr.releases.paying import require_affordable
from dpqr.releases.planning import fraction, open_part, unit_of
from dpqr.releases.reading import resolve_source


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
    """

    described: DomainRequest
    columns: tuple[str, ...]
    epsilon: str
    delta: str | None = None
    learn_max_rows: str | None = None
    neighbours: str = "add-remove"
    max_labels: int = 1
    grid: str | None = None
    bins: int = 10
    cuts: Literal["equal", "quantiles"] = "equal"
    reason: Reason = NO_REASON


def plan_learning(request: LearnRequest) -> LearningPlan:
    """Check everything public, and divide the budget; no row is read.

    Raises:
        UsageFault: options that do not go together, a column that the table lacks or whose cells are stated.
        BudgetRefused: the budget's owner does not allow it, or another table.
        InfeasiblePlan: epsilon is too small.
        DocumentError, DataError: as `domain_file`.

    Privacy:
        A function of the request, the ledger's policy, and the names and types of the table's columns.
    """
    described, stated = request.described, None
    if described.unit is None and described.codebooks:
        stated = _stated_unit(replace(described, max_rows=None))
    if stated is not None:
        described = replace(described, unit=stated.columns, per=stated.per, max_rows=described.max_rows or stated.rows)
    budget = PrivacyBudget.parse(request.epsilon, request.delta)
    numbers: tuple[int, ...] = ()
    if request.learn_max_rows is not None:
        if described.unit is None:
            raise UsageFault(CHOICE_NEEDS_UNIT)
        numbers = choices(described.max_rows)
        described = replace(described, max_rows=numbers[-1])
    unit = unit_of(request.neighbours, described.unit, described.max_rows, per=described.per)
    if len(set(request.columns)) < len(request.columns):
        raise UsageFault("--learn: names a column twice; name it once")
    made = domain_file(described)
    if stated is not None and stated.cell_rows is not None:
        in_cell = {"max_rows_per_cell": min(stated.cell_rows, unit.rows)}
        made = replace(made, document=made.document | {"unit": made.document["unit"] | in_cell})
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
    # The table that the request names, or the one that the budget's owner has registered.
    return plan_columns(
        columns,
        made,
        budget,
        unit,
        resolve_source(described.source, described.payer),
        described.payer,
        choice=choice,
        reason=request.reason,
    )


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
    require_affordable(request.described.payer, plan.bill)
    return replace(plan.made, remarks=plan.lines)
