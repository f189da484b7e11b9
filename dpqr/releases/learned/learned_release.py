"""A release over a domain that leaves labels or bounds open: they are learned first, in the same run.

Two paid runs, one after the other. What the domain leaves open is learned for a share of the budget; then the release
is planned over what was learned, and made for the rest. The learned domain says what it has cost, so the release states
the price of both (`sentences.whole_budget`).

Privacy:
    Basic composition of two adaptive runs: the second depends on the table through its own draws, and through the
    domain that the first has released. So both are (eps1 + eps2, delta1 + delta2)-differentially private for their
    unit. A ledger pays for each by itself; nothing is opened unless it would pay for both.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from dpqr.domain.attribute import FAULTS
from dpqr.domain.domain import LearnedRows
from dpqr.domain.domain_file import decode_domain, learned_part
from dpqr.domain.open_columns import asked_quantiles, queried_columns
from dpqr.domain.text.decoding import Location
from dpqr.domain.text.documents import document_root, read_document
from dpqr.kernel.budget import PrivacyBudget, downward_text
from dpqr.kernel.errors import (
    LEARNED,
    LEARNED_UNPAID,
    RESUMABLE,
    STAYS_SPENT,
    AlreadyThere,
    BudgetRefused,
    DocumentError,
    InfeasiblePlan,
    UsageFault,
)
from dpqr.kernel.noise.source import NoiseSource, SystemNoise
from dpqr.kernel.values import replace
from dpqr.ledger.codec import JSON
from dpqr.releases.documents import MadeDomain
from dpqr.releases.files.atomic import reserve_file
from dpqr.releases.forecast.resources import Resources
from dpqr.releases.learned.learning import (
    LearningPlan,
    OpenColumn,
    draw_domain,
    learned_field,
    learned_price,
    plan_columns,
    with_bound,
)
from dpqr.releases.learned.person_rows import CHOICE_NEEDS_UNIT, ForecastErrors, RowChoice, choices, chosen_words
from dpqr.releases.paying import release_bill, require_affordable, waiting_receipt
from dpqr.releases.planning import fraction, open_domain, open_part, queries_entries, unit_of
from dpqr.releases.reading import LEARNED_DOMAIN, resolve_source
from dpqr.releases.release import ReleaseObserver, dry_run, release
from dpqr.releases.requests import PlanRequest, ReleaseRequest
from dpqr.releases.result import FinishedRun
from dpqr.releases.sentences import cost_words
from dpqr.strategies.plan import Plan

SHARE = Fraction(1, 5)
"""Of the budget, for what is learned. The answers then have 5/4 of the noise that the whole budget would buy them, and
a label is kept from 5 times as many units on: less would win the answers little, and lose many labels."""
ASSUMED_LABELS, ASSUMED_MAXIMUM = 20, 100
"""Labels, and bounds from 0 to this, of a plan that is made before anything is learned."""
NO_COUNTS = LearnedRows(numbers=(1, 2), persons=(0, 0), scale=Fraction(1))
"""In place of counts of persons, in the same plan."""
DIGITS = 30
"""To which the rest of a budget is rounded down."""


class LearnedRelease(Struct, frozen=True, kw_only=True):
    """Both runs, planned. learning: the first. rest: the budget of the second. assumed: its plan over a domain that is
    made up in place of what will be learned, and what that takes."""

    learning: LearningPlan
    rest: PrivacyBudget
    assumed: Plan
    taken: Resources

    @property
    def plan(self) -> Plan:
        """The plan of the second run, as far as it is known. It holds no request, so that no run can follow it."""
        learning, problem = self.learning, self.assumed.problem
        assumed = [f"{problem.unit.rows} rows of each {problem.unit.noun}"] if learning.choice else []
        assumed += [_assumed_words("labels", each.attribute.name) for each in learning.labels]
        assumed += [_assumed_words("bounds", each.attribute.name) for each in learning.numbers]
        notes = (
            *(f"learned first: {line}" for line in learning.lines),
            f"what is learned is not known yet: this plan assumes {', '.join(assumed)}; `dpqr plan` forecasts errors "
            "over a domain that `dpqr domain TABLE --learn COLUMN` has learned before",
        )
        assert problem.domain.learned is not None, "a domain that is made up states what learning it would cost"
        learned = replace(problem.domain.learned, unit=learning.unit.whom)
        problem = replace(problem, domain=replace(problem.domain, learned=learned))
        return replace(self.assumed, problem=problem, inputs=None, notes=(*notes, *self.assumed.notes))


def plan_both(request: ReleaseRequest) -> LearnedRelease:
    """Both runs of a request whose domain is open; no row is read, and nothing is paid.

    Raises:
        DpqrError: where `plan_learning` or `dry_run` would refuse, and for what a run that learns cannot do.
        BudgetRefused: the budget would not pay for both.

    Privacy:
        As `plan_learning`; the second plan is a function of the request alone.
    """
    _require_supported(request)
    document = open_domain(request.plan, closed=True)
    if document is None:
        raise UsageFault('--learn-max-rows: needs a domain file with "fields", which then states what was chosen')
    columns = _open_columns(request.plan, document)
    whole = PrivacyBudget.parse(request.plan.epsilon, request.plan.delta)
    # Figures of twelve digits, rounded down, so that the domain file states them exactly.
    share = fraction(request.learn_share, "--learn-share") or SHARE
    labelled = any(column.part == "labels" for column in columns)
    delta = Fraction(downward_text(whole.delta * share)) if labelled else Fraction(0)
    for_columns = Fraction(downward_text(whole.epsilon * share)) if columns else Fraction(0)
    for_rows = Fraction(downward_text(whole.epsilon * (fraction(request.learn_max_rows, "--learn-max-rows") or 0)))
    if for_columns + for_rows >= whole.epsilon:
        raise UsageFault("--learn-share, --learn-max-rows: leave nothing for the answers; together they are below 1")
    part = PrivacyBudget(for_columns + for_rows, delta)
    rest = PrivacyBudget(whole.epsilon - part.epsilon, whole.delta - part.delta)
    counts = None if request.learn_max_rows is None else NO_COUNTS
    made_up, choice = _made_up(document, columns, part, counts), None
    if request.learn_max_rows is not None:
        choice, made_up = _plan_choice(request, made_up, {column.form["name"] for column in columns}, for_rows, rest)
    assumed, taken = dry_run(over(request, made_up, rest))
    learning = plan_columns(
        columns,
        MadeDomain(document),
        part,
        replace(assumed.problem.unit, drops=False, cell_rows=None),
        resolve_source(request.source, request.payer),
        request.payer,
        limits=request.limits,
        choice=choice,
        reason=request.reason,
    )
    reading = learning.reading
    if reading.policy.approval:
        raise BudgetRefused(
            "the budget pays for approved plans only, and a release that learns first follows none\n"
            "learn by a plan of its own: dpqr domain TABLE --learn COLUMN --lock plan.json; then plan over the "
            "domain file that it writes"
        )
    bill = replace(release_bill(assumed, reading.policy, reading.source.encoding), reason=request.reason)
    require_affordable(request.payer, learning.bill, locked=True)
    require_affordable(request.payer, bill)
    try:
        require_affordable(request.payer, bill, after=learning.bill)
    except BudgetRefused:
        raise BudgetRefused(
            f"the budget would not pay for both: {cost_words(part)} to learn the domain, then {cost_words(rest)}\n"
            "ask for less; `dpqr budget show` prints what is left"
        ) from None
    return LearnedRelease(learning=learning, rest=rest, assumed=assumed, taken=taken)


def learn_and_release(
    request: ReleaseRequest,
    progress: ReleaseObserver,
    *,
    planned: Callable[[Plan], None],
    noise: NoiseSource | None,
) -> FinishedRun:
    """Learn what the domain leaves open, then release; arguments, errors and privacy as for `release`.

    What was learned lies beside the release's directory until the release is there. Where the second run fails or is
    killed, or finds that others have spent the rest of the budget meanwhile, it stays there, paid: --resume, or a run
    that is given that domain and the rest of the budget, goes on with it.
    """
    place, payer = kept_place(request), request.payer
    if payer and noise and not noise.private:
        raise UsageFault("a ledger pays for private noise only, and this source is for tests")
    if payer is not None and payer.resume:
        document, rest = _kept(request, place)
        if waiting_receipt(Path(os.path.abspath(request.output.directory or "")), payer) is None:
            # The second run had not begun.
            request = replace(request, payer=replace(payer, resume=False))
    else:
        if place is not None and place.exists():
            raise AlreadyThere(
                f"--out {request.output.directory}: a run to it has learned {place.name} and was not finished\n"
                "--resume goes on with it, or give it as --domain with the rest of the budget; or remove it"
            )
        kept, both = None if place is None else reserve_file(str(place)), plan_both(request)
        planned(both.plan)
        made = draw_domain(both.learning, payer, kept, noise=noise or SystemNoise(), progress=progress.read)
        document, rest = made.document, both.rest
    try:
        _require_all(request, document)
        learned = learned_part(document, Location("domain"))
        if request.learn_max_rows is not None and learned is not None and learned.rows is not None:
            share = chosen_words(learned.rows, document["unit"]["max_rows"])
            request = replace(request, notes=(*request.notes, share))
        finished = release(over(request, document, rest), progress, planned=planned, noise=noise)
    except BaseException as error:
        notes = getattr(error, "__notes__", ())
        if place is not None and RESUMABLE not in notes:
            error.add_note(LEARNED if payer else LEARNED_UNPAID)
        elif STAYS_SPENT not in notes:
            error.add_note(STAYS_SPENT)
        raise
    if place is not None:
        place.unlink(missing_ok=True)
    return finished


def _plan_choice(
    request: ReleaseRequest, made_up: JSON, learned: set[str], epsilon: Fraction, rest: PrivacyBudget
) -> tuple[RowChoice, JSON]:
    """The choice of the rows of each person, and a domain with the middle one of the numbers.

    Args:
        made_up: the domain, closed. learned: the columns that it leaves open. epsilon: the price of the choice.
        rest: the budget of the release, whatever is chosen.

    Raises:
        DpqrError: where a release with one of the numbers would be refused.
    """
    plan, stated = request.plan, decode_domain(made_up, Location("domain")).unit
    if plan.unit is None and stated is None:
        raise UsageFault(CHOICE_NEEDS_UNIT)
    most = [rows for rows in (plan.max_rows, stated.rows if stated else None) if rows is not None]
    numbers = choices(min(most) if most else None)
    bound = unit_of(plan.neighbours, plan.unit, numbers[-1], plan.counts, stated, plan.per)
    made = {rows: with_bound(made_up, replace(bound, rows=rows, cell_rows=None)) for rows in numbers}
    plans = {rows: dry_run(over(request, domain, rest))[0] for rows, domain in made.items()}
    problem = plans[numbers[-1]].problem
    choice = RowChoice(
        epsilon=epsilon,
        unit=problem.unit,
        numbers=numbers,
        forecasts={rows: ForecastErrors.of(each) for rows, each in plans.items()},
        counted=tuple(each for each in problem.domain.attributes if each.name not in learned),
    )
    return choice, made[numbers[len(numbers) // 2]]


def over(request: ReleaseRequest, domain: JSON, budget: PrivacyBudget) -> ReleaseRequest:
    """The release proper: over this domain, for this budget. The domain states the rows of each person that were
    chosen; a bound on those in one cell is no more than that."""
    delta = None if budget.pure else downward_text(budget.delta, DIGITS)
    plan = replace(request.plan, domain=domain, epsilon=downward_text(budget.epsilon, DIGITS), delta=delta)
    if request.learn_max_rows is not None:
        in_cell, rows = plan.max_rows_per_cell, domain["unit"]["max_rows"]
        plan = replace(plan, max_rows=None, max_rows_per_cell=None if in_cell is None else min(in_cell, rows))
    return replace(request, plan=plan, learn_share=None, learn_max_rows=None)


def kept_place(request: ReleaseRequest) -> Path | None:
    """Where what was learned lies until the release is there; None for a release without a directory."""
    if request.output.directory is None:
        return None
    directory = Path(os.path.abspath(request.output.directory))
    return directory.with_name(f"{directory.name}-{LEARNED_DOMAIN}")


def _kept(request: ReleaseRequest, place: Path | None) -> tuple[JSON, PrivacyBudget]:
    """What a run has learned that was not finished, and the rest of its budget. UsageFault where there is nothing."""
    if place is None:
        raise UsageFault("--resume: name the directory of the release that was killed: add --out DIR")
    if not place.is_file():
        raise UsageFault(f"--resume: {place.name}, what the run has learned, does not lie beside --out; leave it out")
    document: Any = read_document(place)
    learned = decode_domain(document, document_root(place)).learned
    whole = PrivacyBudget.parse(request.plan.epsilon, request.plan.delta)
    before = learned_part(open_domain(request.plan) or {}, Location("domain"))
    if learned is not None:
        # What the given domain had cost before is no part of this run's budget.
        epsilon = whole.epsilon + (before.budget.epsilon if before else 0) - learned.budget.epsilon
        delta = whole.delta + (before.budget.delta if before else 0) - learned.budget.delta
        if 0 < epsilon < whole.epsilon and 0 <= delta <= whole.delta:
            return document, PrivacyBudget(epsilon, delta)
    raise UsageFault(f"--resume: {place.name} was not learned for a part of that --eps and --delta")


def _require_supported(request: ReleaseRequest) -> None:
    """UsageFault for what a run that learns cannot do."""
    plan, source = request.plan, request.source
    stated = {
        "--plan": request.locked is not None,
        "--rehearse": request.rehearse,
        "--cumulative": plan.cumulative is not None,
        "--period": plan.period is not None,
        "--start": plan.start is not None,
        "--if-exists skip": request.output.if_exists == "skip",
        "standard input or a stream": source.named and source.engine is None and not source.repeatable,
    }
    for what, there in stated.items():
        if there:
            if request.learn_max_rows is not None:
                raise UsageFault(f"--learn-max-rows: goes without {what}; state --max-rows, or leave that out")
            raise UsageFault(
                f"the domain leaves labels or bounds open, and they are learned by a run without {what}\n"
                "learn them first, and give the domain file that is written: dpqr domain TABLE --learn COLUMN"
            )


def _open_columns(plan: PlanRequest, document: JSON) -> tuple[OpenColumn, ...]:
    """The columns that a domain leaves open. DocumentError where one states what is to be learned, or cannot be; or
    where a query names a value of one: it might be none of its cells."""
    columns, entries = [], queries_entries(plan)
    named, quantiles = queried_columns(entries).values, asked_quantiles(entries)
    shared = {key: document[key] for key in ("missingValues",) if key in document}  # of fields that state none
    for place, form in enumerate(document["fields"]):
        part = open_part(form)
        if part is None:
            continue
        at, own = Location("domain").key("fields").item(place), form["dpqr"]
        kinds = {"labels": ("string",), "bounds": ("integer", "number")}[part]
        if form.get("type") not in kinds:
            raise at.fault(f"{part} of columns of type {' or '.join(kinds)} are learned; state those of this one")
        how = ("bins", "grid", "cuts") if part == "bounds" else ("max_labels",)
        known = ("trim", "caseSensitive", *FAULTS, "otherwise", part, *how)
        stated = [*form.get("constraints", {}), *(key for key in ("categories", "parent") if key in form)]
        stated += [key for key in own if key not in known]
        if stated:
            raise at.fault(f"its {part} are to be learned, and {stated[0]!r} states them, or needs them; leave one out")
        columns.append(
            OpenColumn(
                form=shared | form,
                part=part,
                grid=str(own.get("grid", 1)),
                bins=own.get("bins", 10),
                cuts=own.get("cuts", "equal"),
                max_labels=own.get("max_labels", 1),
                quantiles=quantiles.get(form["name"], frozenset()),
            )
        )
    for column in columns:
        if (name := column.form["name"]) in named:
            raise DocumentError(
                f"a query compares {name!r} with {named[name][0].constant.text!r}, but its {column.part} are to be "
                "learned: that may be no cell of it\n"
                f"ask for all of its cells, state them, or learn them first: dpqr domain TABLE --learn {name!r}"
            )
    return tuple(columns)


def assumed_domain(plan: PlanRequest, document: JSON) -> tuple[JSON, list[str]]:
    """An open domain of a plan that is made without a table or a budget, closed by what is assumed; and that in words.

    Raises:
        DocumentError: it states what is to be learned, or a query names values of it.
    """
    columns = _open_columns(plan, document)
    words = [_assumed_words(column.part, column.form["name"]) for column in columns]
    return _made_up(document, columns, PrivacyBudget(SHARE), None), words


def _assumed_words(part: Literal["labels", "bounds"], name: str) -> str:
    """What is assumed of a column that is learned."""
    return f"{ASSUMED_LABELS} labels of {name!r}" if part == "labels" else f"bounds 0 and {ASSUMED_MAXIMUM} of {name!r}"


def _made_up(document: JSON, columns: tuple[OpenColumn, ...], part: PrivacyBudget, rows: LearnedRows | None) -> JSON:
    """The domain, closed by as much as is assumed; for whom it would be learned is not known yet. rows: stands for
    counts of persons that are made."""
    made_up = {}
    for column in columns:
        if column.part == "labels":
            labels = [f"(label {number})" for number in range(1, ASSUMED_LABELS + 1)]
            learned: JSON = {"constraints": {"enum": labels}, "dpqr": {"outside": "cell"}}
        else:
            bounds = {"minimum": 0, "maximum": ASSUMED_MAXIMUM}
            learned = {
                "constraints": bounds,
                "dpqr": {"bins": min(column.bins + len(column.quantiles), ASSUMED_MAXIMUM), "outside": "clip"},
            }
        made_up[column.form["name"]] = learned_field(column.form, learned)
    before = learned_part(document, Location("domain"))
    unit = before.unit if before else "not known yet"
    fields = [made_up.get(form["name"], form) for form in document["fields"]]
    return document | {"fields": fields, "learned": learned_price(document, [*made_up], part, unit, rows)}


def _require_all(request: ReleaseRequest, document: JSON) -> None:
    """InfeasiblePlan where no label was kept of a column, so that there is nothing to ask about."""
    there = {form["name"] for form in document["fields"]}
    for form in (open_domain(request.plan) or {"fields": []})["fields"]:
        if form["name"] not in there:
            raise InfeasiblePlan(
                f"no label of {form['name']!r} was kept, for too few have the same; ask about other columns over what "
                "was learned, or state its labels"
            )
