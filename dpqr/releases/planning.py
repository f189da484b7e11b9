"""Plan a release: from documents, options and public facts to a plan, before any data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeVar

from dpqr.domain.attribute import Codes, Rule
from dpqr.domain.domain import Domain, failing_attributes, may_drop_rows, unstated_faults
from dpqr.domain.domain_file import list_items, open_document
from dpqr.domain.proposals import identifier_hint
from dpqr.domain.text.documents import read_document
from dpqr.domain.text.sources import states_sql
from dpqr.kernel.budget import PrivacyBudget, exact_decimal
from dpqr.kernel.errors import DocumentError, DpqrError, InfeasiblePlan, UsageFault
from dpqr.kernel.unit import DeclaredPersons, Every, Neighbours, PrivacyUnit, unit_columns
from dpqr.kernel.values import replace
from dpqr.ledger.codec import JSON
from dpqr.releases.counters import counter_notes, period_note, period_rows, with_counter_step, with_counter_strategies
from dpqr.releases.requests import WITHOUT_BUDGET, GivenDocument, PlanRequest
from dpqr.releases.roles import (
    allowed_strategies,
    foreign_notes,
    is_rivalled,
    make_schedule,
    refuse_unused_options,
    resolve_auto_schedule,
    roles_named_by_user,
    schedule_row,
)
from dpqr.releases.start import require_started, start_notes, started_from
from dpqr.strategies.guard import Wishes
from dpqr.strategies.known import SCHEDULE_ROWS
from dpqr.strategies.plan import Plan, Planner
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.planner import Auto, choose_plan
from dpqr.strategies.schedules.split import FREE_SHARE, Split
from dpqr.strategies.updates.interface import ConstrainedRule
from dpqr.tables.limits import CELL_ROWS_UNKNOWN, Limits
from dpqr.tables.wanted import refuse_published_unit
from dpqr.workload.queries_file import QueriesDocument, read_queries

Made = TypeVar("Made")

NUMBER = 8
"""Bytes of one count, probability or answer."""

SIZES_SHOWN = 6

RIVALS = {name: row.rival for name, row in SCHEDULE_ROWS.items() if row.rival}
"""What may take the place of a plan, in this order, and the notes that say so."""

SMALLEST_SHARE = Fraction(1, 10**12)
"""Smallest alpha, beta and share of the budget: below it a tail's double-precision figure would mean nothing."""


def read_documents(
    queries: GivenDocument, domain: GivenDocument | Domain | None, *, strict: bool = False
) -> QueriesDocument:
    """The queries compiled over their domain; a DocumentError says how to get a domain where there is none."""
    if states_sql(queries):
        from dpqr.workload.sql.reading import read_sql

        return read_sql(queries, domain, strict=strict)
    return read_queries(queries, domain, strict=strict)


def open_domain(request: PlanRequest, *, closed: bool = False) -> JSON | None:
    """The document of the domain, as far as it is needed here, where it leaves labels or bounds open: such a release
    learns them first (`learned_release`). None where it leaves nothing open, or cannot be read, as its reader will say.

    closed: also the document that leaves nothing open.

    Raises:
        DocumentError: it leaves something open, and has not the shape of a domain.
    """
    domain: Any = request.domain
    fields: list[Any] = []
    with suppress(DpqrError):
        if domain is None and not states_sql(request.queries):
            given = request.queries
            queries = given if isinstance(given, dict) else read_document(Path(given))
            domain = queries.get("domain") if isinstance(queries, dict) else None
            domain = str(Path(given).parent / domain) if isinstance(domain, str) and isinstance(given, str) else domain
        document = read_document(Path(domain)) if isinstance(domain, str) else domain
        fields = list_items(document, "fields") if isinstance(document, dict) else []
    return open_document(domain) if any(map(open_part, fields)) or (closed and fields) else None


def open_part(form: Any) -> Literal["labels", "bounds"] | None:
    """What a field of a domain file leaves open, to be learned."""
    own = form.get("dpqr") if isinstance(form, dict) else None
    if not isinstance(own, dict) or not isinstance(form.get("name"), str):
        return None
    return "labels" if own.get("labels") == "learn" else "bounds" if own.get("bounds") == "learn" else None


def queries_entries(request: PlanRequest) -> list[Any]:
    """The entries of the queries, as they were written or translated. Raises: as `read_documents`."""
    if states_sql(request.queries):
        from dpqr.workload.sql.reading import translated_sql

        return list(translated_sql(request.queries, request.domain).document["queries"])
    queries = request.queries if isinstance(request.queries, dict) else read_document(Path(request.queries))
    return list_items(queries, "queries") if isinstance(queries, dict) else []


def plan_release(request: PlanRequest, document: QueriesDocument | None = None) -> Plan:
    """The plan of least expected error that the request allows. Raises: UsageFault, DocumentError, InfeasiblePlan.

    document: what the queries file says, where it was read already.
    """
    return plan_with_documents(request, document)[0]


def plan_with_documents(request: PlanRequest, document: QueriesDocument | None = None) -> tuple[Plan, QueriesDocument]:
    """The same, and what the queries file says."""
    stated = PrivacyBudget.parse(request.epsilon, request.delta)
    request = with_counter_strategies(request)
    refuse_unused_options(request)
    # A wrong share or name is refused at once, before any document is read.
    split = _stated_split(request)
    _named_strategies(resolve_auto_schedule(request)[0])
    # The number that --n states: of rows, or of persons where these are replaced.
    replaced = Neighbours(request.neighbours) is Neighbours.REPLACE
    if replaced and request.n is None and request.cumulative is None:
        raise UsageFault("--neighbours replace makes n public, so it must be declared: add --n N")
    if request.n is not None and not replaced and not schedule_row(request.schedule).uses_n:
        raise UsageFault(
            "--n: the number of records is private under --neighbours add-remove, and "
            f"--schedule {request.schedule} does not need it; leave it out"
        )
    alpha, beta = fraction(request.alpha, "--alpha"), fraction(request.beta, "--beta") or Fraction(1, 20)
    document = document or read_documents(request.queries, request.domain, strict=request.strict)
    unit = unit_of(
        request.neighbours,
        request.unit,
        request.max_rows,
        request.counts,
        document.domain.unit,
        request.per,
        cell_rows=request.max_rows_per_cell,
    )
    if _of_persons(unit) and request.schedule == "theory":
        raise UsageFault(
            "--schedule theory needs the number of rows, and under --neighbours replace with --unit that of persons "
            "alone is public; use --neighbours add-remove with a declared --n N0"
        )
    chosen, reasons = resolve_auto_schedule(request, document.workload)
    schedule, wishes, foreign = _named_strategies(chosen)
    require_explicit_rules(document.domain, unit)
    refuse_published_unit(document.domain, unit)
    unit = replace(unit, drops=may_drop_rows(document.domain))
    # A declared number bounds the records that a run counts, or tells it.
    bounds = replaced and not unit.rows_public
    problem = with_counter_step(
        Problem(
            domain=document.domain,
            workload=document.workload,
            unit=unit,
            n=None if bounds else request.n,
            most=request.n * unit.rows if bounds and request.n else None,
            persons=request.n if _of_persons(unit) else None,
            alpha=alpha,
            beta=beta,
            seed=request.seed,
            period=period_rows(request, document.domain),
            start=started_from(request, document),
        ),
        request,
    )
    budget = problem.turn.counter.node if problem.turn else stated
    require_agreement(problem)
    if document.persons:
        problem, split = _with_persons(problem, split, document)
    if split.left_out is None and (request.no_count_dropped or not (unit.apart and unit.drops)):
        split = replace(split, left_out=Fraction(0))  # a count of what was left out would cost, or show nothing
    plan = _by_trust(foreign, lambda: choose_plan(problem, budget, schedule, wishes, split))
    for name in RIVALS if is_rivalled(request, document.workload) else ():
        # Marginals take the place of the plan, unless `auto` keeps it or they have none.
        other = replace(chosen, schedule=name)
        try:
            rival = choose_plan(plan.problem, plan.budget, make_schedule(other), allowed_strategies(other), split)
        except (InfeasiblePlan, UsageFault):
            continue
        if not Auto().keeps(plan, rival):
            plan, chosen, reasons = rival, other, (RIVALS[name],)
    require_started(plan)
    require_separate_tables(plan)
    notes = (
        *counter_notes(problem.turn),
        *(*foreign, *reasons, *plan.notes, *document.notes, *fact_notes(plan), *warnings(plan)),
        *unit_notes(unit, document.columns),
        *table_notes(plan),
        *([period_note(problem.period, unit)] if problem.period else []),
        *start_notes(problem),
    )
    memory = _by_trust(foreign, lambda: _memory(plan, request.cells))
    planned = replace(
        plan,
        notes=notes,
        named_roles=roles_named_by_user(chosen),
        bytes=max(plan.bytes, memory),
        error_bars=request.error_bars != "none",
    )
    return planned, document


def _named_strategies(request: PlanRequest) -> tuple[Planner, Wishes, tuple[str, ...]]:
    """The schedule that a request names, what may be used beside it, and what the plan says of third parties' code."""
    foreign = foreign_notes(request)
    return make_schedule(request), allowed_strategies(request), foreign


def _by_trust(foreign: tuple[str, ...], work: Callable[[], Made]) -> Made:
    """What `work` makes. UsageFault where a third party's code fails on the way; no data is open, so that is public."""
    try:
        return work()
    except (DpqrError, MemoryError):
        raise
    except Exception as error:
        if not foreign:
            raise
        failure = type(error).__name__
    raise UsageFault(f"a third party's strategy ended with {failure} while the run was planned; fix it or leave it out")


def _with_persons(problem: Problem, split: Split, document: QueriesDocument) -> tuple[Problem, Split]:
    """With the tables of persons and their share: as many tables as they are among all that are asked for, so that each
    has the budget of one. Where nobody asks for anything else, the number of rows has the share that counts have.

    Raises:
        UsageFault: no column says whose row it is, or an entry names another one; or a counter is released.
    """
    unit, tables = problem.unit, document.persons
    if not unit.columns:
        raise UsageFault(
            f"{tables[0].block.name!r} counts persons: add --unit COLUMN, which says whose row it is, and --max-rows K"
        )
    for table in tables:
        if table.column is not None and (table.column,) != unit.columns:
            raise UsageFault(
                f"{table.block.name!r} counts persons by column {table.column!r}, and the unit is {unit.named}; only "
                "those whom the run protects can be counted"
            )
    if problem.turn is not None:
        raise UsageFault("--cumulative counts rows over several periods; ask for tables of persons period by period")
    blocks = problem.workload.blocks
    share = 1 - FREE_SHARE if document.alone else Fraction(len(tables), len(tables) + len(blocks))
    steps = max(table.block.person_step for table in tables)
    workload = replace(
        problem.workload,
        persons=tuple(table.table(unit.rows, steps) for table in tables),
        person_figures=tuple(table.figure for table in tables if table.figure is not None),
    )
    return replace(problem, workload=workload), replace(split, persons=share)


def refuse_persons(document: QueriesDocument, whose: str) -> QueriesDocument:
    """The document. UsageFault where it asks for tables of persons. whose: what has none, for the message."""
    if document.persons:
        raise UsageFault(f"{document.persons[0].block.name!r} counts persons, and {whose}; leave it out")
    return document


def _of_persons(unit: PrivacyUnit) -> bool:
    """Whether a declared number is of persons: what is public then, while the number of their rows stays private."""
    return unit.neighbours is Neighbours.REPLACE and bool(unit.columns)


def _stated_split(request: PlanRequest) -> Split:
    """What is bought beside the schedule's draws, as far as options state it: a count of what was left out (None: it is
    made where it is free), errors of unmeasured blocks, and errors of all.

    Raises:
        UsageFault: options contradict each other, one draw serves both, or one states no share.
    """
    dropped = fraction(request.count_dropped, "--count-dropped")
    if dropped is not None and request.no_count_dropped:
        raise UsageFault("--count-dropped and --no-count-dropped contradict each other; leave one of them out")
    certify = fraction(request.certify, "--certify") or Fraction(0)
    if request.error_bars in WITHOUT_BUDGET:
        return Split(left_out=dropped, errors=Fraction(0), bounds=certify)
    try:
        errors = fraction(request.error_bars, "--error-bars")
    except UsageFault as fault:
        raise UsageFault(f"{fault}; --error-bars takes a share, free or none") from None
    if errors is not None and certify:
        raise UsageFault("--certify buys the errors of all blocks, for error bars too; leave --error-bars out")
    return Split(left_out=dropped, errors=errors, bounds=certify)


def fraction(text: str | None, option: str) -> Fraction | None:
    """A number between 0 and 1 from its text; None stays None. Raises: UsageFault."""
    if text is None:
        return None
    value = exact_decimal(text, option=option)
    if not SMALLEST_SHARE <= value < 1:
        example = "0.95" if option == "--confidence" else "0.05"
        raise UsageFault(f"{option} {text.strip()[:40]}: must be at least 1e-12 and below 1, for example {example}")
    return value


def require_explicit_rules(domain: Domain, unit: PrivacyUnit) -> None:
    """Under `replace` nothing is dropped silently: every fault that a column can have needs a stated rule, and so do
    malformed rows."""
    unstated = unstated_faults(domain) if unit.neighbours is Neighbours.REPLACE else {}
    for name, faults in unstated.items():
        coded = isinstance(domain.attributes[domain.axis(name)].axis, Codes)
        form = ' (a domain of sizes states none: write it with "fields")' if coded else ""
        raise DocumentError(
            f"column {name!r}: --neighbours replace needs a stated rule for {', '.join(faults)}\n"
            f'add it to the column\'s "dpqr" block in the domain file, for example "otherwise": "drop"{form}'
        )
    if unit.neighbours is Neighbours.REPLACE and domain.malformed is None:
        raise DocumentError(
            "--neighbours replace needs a stated rule for malformed rows\n"
            'add it to the top level of the domain file: "malformed": "drop"'
        )


def _memory(plan: Plan, most_cells: int | None) -> int:
    """Bytes that the arrays of a run take: hypothesis and update, dense histogram, largest marginal.

    A table of few rows is kept by its occupied cells, mostly less. A histogram beyond the dense limit is left out:
    its size is that of the occupied cells, which is private.
    InfeasiblePlan where the update rule cannot keep that many cells.
    """
    problem = plan.problem
    footprint = plan.roles.update.footprint(problem)
    if footprint.refusal:
        # The columns' cells, largest first: what there is to merge or to leave out.
        largest, sizes = sorted(problem.domain.attributes, key=lambda attribute: -attribute.size), ""
        if str(problem.domain.size) in footprint.refusal and len(largest) > 1:
            shown = " x ".join(f"{attribute.name} {attribute.size:,}" for attribute in largest[:SIZES_SHOWN])
            others = math.prod(attribute.size for attribute in largest[SIZES_SHOWN:])
            sizes = f"\ncells: {shown}{f' x others {others:,}' if len(largest) > SIZES_SHOWN else ''}"
        raise InfeasiblePlan(f"{footprint.refusal}{sizes}")
    dense = problem.domain.size <= (most_cells or Limits().cells)
    histogram = problem.domain.size if dense else 0
    return footprint.bytes + NUMBER * (histogram + max(block.cells for block in problem.workload.blocks))


def require_separate_tables(plan: Plan) -> None:
    """InfeasiblePlan where a person's rows in one cell are bounded, and the tables of which are not all known before
    the run: a counter's, a session's, those of `theory` and of third parties' strategies."""
    if plan.problem.unit.cell_rows is not None and (plan.column_sets is None or plan.problem.turn is not None):
        raise InfeasiblePlan(f"{CELL_ROWS_UNKNOWN}\n{_NOT_SEPARATE}")


_NOT_SEPARATE = (
    "it goes with every schedule but theory and with dpqr's own strategies, not with --cumulative; "
    "leave --max-rows-per-cell out"
)


def require_agreement(problem: Problem) -> None:
    """DocumentError where the domain's known totals cannot be true of the records that a run counts.

    Under `replace` these are the declared n, or no more than that where rules may leave some out.
    """
    facts, unit = problem.domain.facts, problem.unit
    if unit.columns and (facts.totals or facts.least or facts.most is not None):
        raise DocumentError(
            "the domain's known totals count all rows, and --unit leaves rows of persons out; "
            'leave "totals" out of the domain file'
        )
    n, exact = problem.declared, unit.rows_public
    if n is not None and not (facts.least <= n and (not exact or facts.most is None or n <= facts.most)):
        most = "" if facts.most is None or not exact else f" and at most {facts.most:,}"
        raise DocumentError(
            f"--n {n}: the domain's known totals need at least {facts.least:,}{most} records; correct one of them"
        )


# Notes of a plan: public facts that bind the fit, and warnings of what is allowed and yet weaker than it looks.

LARGE_DELTA = Fraction(1, 10**5)
"""Above it a plan warns of delta by itself."""
LARGE_EPSILON = 20
"""The same of epsilon: odds of exp(20) whether a record is there are next to certainty."""


def fact_notes(plan: Plan) -> Iterator[str]:
    """One sentence where the domain declares public facts."""
    facts, update = plan.problem.domain.facts, plan.roles.update
    if not facts:
        return
    combinations = {region.text for region in facts.impossible}
    parts = [
        _count_words(len(combinations), "impossible combination"),
        _count_words(len(facts.totals), "known total"),
        f"{facts.records:,} records in all" if facts.records is not None else "",
    ]
    listed = ", ".join(part for part in parts if part) or "bounds on the number of records"
    if isinstance(update, ConstrainedRule) and update.applies_constraints(plan.problem):
        yield (
            f"public facts of the domain file bind the fit ({listed}); they are constants of the run, and the "
            "guarantee does not cover what they tell"
        )
    else:
        yield (
            f"public facts of the domain file ({listed}) are not used: the fit of multiplicative-weights alone obeys "
            "them"
        )


def _count_words(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}" if number else ""


def warnings(plan: Plan) -> Iterator[str]:
    """What is allowed, and yet weaker than the figures look."""
    problem = plan.problem
    known = problem.declared or problem.n or problem.domain.facts.most
    what = "persons" if problem.persons else "records"
    yield from budget_warnings(plan.budget, known, what)
    if known is not None and not problem.persons and _mostly_noise(plan, known):
        yield (
            f"warning: the noise of most answers exceeds the {known:,} records that there are at most, so they say "
            "next to nothing; ask fewer queries, or a larger --eps"
        )
    yield from failing_notes(problem.domain)


def _mostly_noise(plan: Plan, records: int) -> bool:
    """Whether the noise of at least half of the answers, if measured, is more than all records can add up to."""
    largest = {block.name: records * block.largest_coefficient for block in plan.problem.workload.blocks}
    rows = sum(block.rows for block in plan.forecast if block.deviation > largest[block.name])
    return 2 * rows > sum(block.rows for block in plan.forecast)


def budget_warnings(budget: PrivacyBudget, known: int | None, what: str = "records") -> Iterator[str]:
    """A sentence where epsilon is large, and where delta is, by itself or beside the known number of units."""
    delta = float(budget.delta)
    if budget.epsilon > LARGE_EPSILON:
        yield (
            f"warning: a guarantee with epsilon {float(budget.epsilon):g} promises next to nothing; "
            "most releases choose 10 or less"
        )
    if known and budget.delta * known * 10 > 1:
        yield f"warning: delta {delta:g} is not far below 1/n; it lets a mechanism reveal single {what}"
    elif budget.delta > LARGE_DELTA:
        yield (
            f"warning: delta {delta:g} is large: with that probability the bound by epsilon may fail altogether; "
            "choose at most 1e-5, and far below 1/n"
        )


def failing_notes(domain: Domain) -> Iterator[str]:
    """One sentence a rule `fail`, of a column or of malformed rows."""
    if domain.malformed is Rule.FAIL:
        yield (
            "warning: malformed rows have the rule `fail`: the exit code tells one bit of the data that the guarantee "
            "does not cover"
        )
    for name in failing_attributes(domain):
        yield (
            f"warning: column {name!r} has a rule `fail`: the exit code tells one bit of the data that the guarantee "
            "does not cover"
        )


# The unit of privacy of a run: from options, within what the domain file states; and the hint where rows are meant.


def unit_notes(unit: PrivacyUnit | DeclaredPersons | None, columns: Iterable[str]) -> Iterator[str]:
    """A hint where rows are protected and a column is named like an identifier of persons; and what a person has who
    has several units."""
    if isinstance(unit, PrivacyUnit) and unit.group_privacy:
        yield unit.group_privacy
    rows = unit is None or (isinstance(unit, PrivacyUnit) and unit.noun == "row" and unit.counted is None)
    if rows and (hint := identifier_hint(columns)):
        yield hint


def table_notes(plan: Plan) -> Iterator[str]:
    """What a bound on a person's rows in one cell means for the answers, and where it wins nothing."""
    unit = plan.problem.unit
    if not unit.tables_apart:
        return
    if plan.roles.check.pure:
        yield (
            f"--max-rows-per-cell {unit.cell_rows} wins nothing under Laplace noise, which follows the rows of a "
            "person in all; leave it out, or state a --delta for Gaussian noise"
        )
    yield (
        f"a table counts at most {unit.cell_rows} of a person's rows in one of its cells, so the fewer cells it has, "
        "the fewer rows it counts; what is measured, and its interval, is of the rows that its own table counts"
    )
    if len({frozenset(axes) for axes in plan.column_sets or () if axes}) > 1:
        yield (
            "warning: tables that count different rows are fitted together, so estimates lie between them; prefer what "
            "is measured"
        )


def unit_of(
    neighbours: str,
    column: str | Sequence[str] | None,
    rows: int | None,
    counts: str | None = None,
    stated: DeclaredPersons | None = None,
    per: Every | None = None,
    *,
    cell_rows: int | None = None,
) -> PrivacyUnit:
    """The privacy unit from options of the same names, within what the domain file states.

    Raises:
        UsageFault: the options do not go together.
        DocumentError: the domain file states another unit, or fewer rows of each person, or of these in one cell.
    """
    columns = unit_columns(column)
    if per is not None and not columns:
        raise UsageFault(f"--per {per}: says which rows of one person are a unit: add --unit PERSON,DATE")
    if stated is not None:
        # Fewer rows of each person than the domain file states are a tighter bound; anything else is refused.
        known = f"the unit {','.join(stated.columns)!r}{f' per {stated.per}' if stated.per else ''}"
        if columns and (columns, per) != (stated.columns, stated.per):
            given = f"{','.join(columns)!r}{f' --per {per}' if per else ''}"
            raise DocumentError(
                f"--unit {given}: the domain file states {known}; leave --unit out, or correct the file"
            )
        if rows is not None and rows > stated.rows:
            raise DocumentError(
                f"--max-rows {rows}: the domain file states at most {stated.rows} of each person; state no more, or "
                "leave --max-rows out"
            )
        if counts is not None:
            raise DocumentError(
                f"--counts {counts!r}: the domain file states {known}, and a row that stands for "
                "several records has no one person; leave one of them out"
            )
        if stated.cell_rows is not None and (cell_rows or 0) > stated.cell_rows:
            raise DocumentError(
                f"--max-rows-per-cell {cell_rows}: the domain file states at most {stated.cell_rows} of each person in "
                "one cell; state no more, or leave --max-rows-per-cell out"
            )
        columns, per, rows = stated.columns, stated.per, rows or stated.rows
        if cell_rows is None and stated.cell_rows is not None:
            cell_rows = min(stated.cell_rows, rows)
    if columns and rows is None:
        raise UsageFault("--unit needs a bound on the rows of each person that are used: add --max-rows K")
    if not columns and rows is not None:
        raise UsageFault("--max-rows bounds the rows of each person: add --unit COLUMN, or leave it out")
    return PrivacyUnit(
        neighbours=Neighbours(neighbours),
        columns=columns,
        per=per,
        rows=rows or 1,
        cell_rows=cell_rows,
        counted=counts,
    )
