"""Faults of periods: whose rows a release reads, which periods pay for it, and what a unit pays for all of them."""

from faults.anchored import Anchored, at

_ROOM = "periods"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "PeriodBudgets.total",
        (
            "spent.get(ALL_PERIODS, NO_COST) + joined",
            "joined",
            "releases of all rows are not part of the total",
        ),
        (
            "spent.get(ALL_PERIODS, NO_COST) + joined",
            "spent.get(ALL_PERIODS, NO_COST).most(joined)",
            "all rows and a period are paid by the dearer of both",
        ),
    ),
    *at(
        _ROOM,
        "PeriodBudgets.total",
        ("self.parallel", "True", "a person pays for the dearest period alone"),
        ("name != ALL_PERIODS", "True", "releases of all rows count twice"),
    ),
    *at(
        _ROOM,
        "_largest",
        (
            "reduce(Cost.most, (cost for name, cost in spent.items() if name != ALL_PERIODS), NO_COST)",
            "next((cost for name, cost in spent.items() if name != ALL_PERIODS), NO_COST)",
            "the first period, not the dearest",
        ),
        (
            "reduce(Cost.most, (cost for name, cost in spent.items() if name != ALL_PERIODS), NO_COST)",
            "max((cost for name, cost in spent.items() if name), key=lambda cost: cost.amount, default=NO_COST)",
            "the delta of the period of the largest epsilon",
        ),
    ),
    *at(
        _ROOM,
        "PeriodBudgets.paying",
        (
            "tuple((period.name for period in parse_periods(name, self.every)))",
            "(parse_periods(name, self.every)[-1].name,)",
            "the last period of several pays alone",
        ),
        (
            "tuple((period.name for period in parse_periods(name, self.every)))",
            "(name,)",
            "several periods pay as one of their own",
        ),
    ),
    *at(
        _ROOM,
        "PeriodBudgets.of",
        (
            "spent.get(ALL_PERIODS, NO_COST) + most",
            "most",
            "a period does not pay for releases of all rows",
        ),
        (
            ("_largest(spent) if period == ALL_PERIODS else NO_COST if period is None else spent.get(period, NO_COST)"),
            "NO_COST if not period else spent.get(period, NO_COST)",
            "a release of all rows overlooks what periods have spent",
        ),
    ),
    *at(
        _ROOM,
        "PeriodBudgets.room",
        ("own if self.parallel else own.least(left)", "own", "persons are offered more than is left for life"),
        ("self.share - self.of(period, spent)", "self.share", "what a period has spent is offered again"),
    ),
    *at(
        _ROOM,
        "AccountState.charged",
        ("spent.get(name, NO_COST) + cost", "cost", "a period's spend is overwritten"),
        (
            "spent | {name: spent.get(name, NO_COST) + cost for name in names}",
            "{name: spent.get(name, NO_COST) + cost for name in names}",
            "other periods' spend is forgotten",
        ),
        (
            "self.terms.periods.paying(paid.period) if self.terms.periods else (ALL_PERIODS,)",
            "(paid.period or ALL_PERIODS,)",
            "a dataset without periods keeps sums of periods",
        ),
        (
            "paid.layer is not None",
            "paid.period != WHOLE and self.terms.periods is None",
            "periods of an undivided budget are free",
        ),
    ),
    *at(
        _ROOM,
        "LedgerState.require_payable",
        (
            "terms.periods.paying(entry.period)",
            "terms.periods.paying(entry.period)[-1:]",
            "only the last period is checked",
        ),
        (
            "terms.periods.paying(entry.period)",
            "terms.periods.paying(entry.period)[:1]",
            "only the first period is checked",
        ),
        (
            "terms.periods.of(name, read) <= terms.periods.share",
            "entry.cost <= terms.periods.share",
            "each release alone is held against the share",
        ),
        (
            "terms.periods.of(name, read) <= terms.periods.share",
            "terms.periods.of(name, held.spent) <= terms.periods.share",
            "the share is compared before the release is added",
        ),
        (
            "terms.periods.of(name, read) <= terms.periods.share",
            "terms.periods.of(name, read).amount <= terms.periods.share.amount",
            "a share's delta is not compared",
        ),
        (
            "not terms.total(spent, nodes) <= terms.limit",
            "not terms.periods and (not terms.total(spent, nodes) <= terms.limit)",
            "periods have no budget for life",
        ),
        ("raise before_first(first, period)", "pass", "periods before the first are paid"),
    ),
    *at(
        _ROOM,
        "LedgerState.require_payable",
        (
            "parse_periods(entry.period, terms.periods.every)[0]",
            "parse_periods(entry.period, terms.periods.every)[-1]",
            "several periods may begin before the first",
        ),
        ("period.index(first) < 0", "period.index(first) <= 0", "the first period has no budget"),
        (
            "period.index(first) < 0",
            "period.index(first) < -1",
            "one period before the first has a budget",
        ),
    ),
    *at(
        _ROOM,
        "require_period",
        (
            "(period.column, period.period.every) == (held.column, held.every)",
            "period.period.every == held.every",
            "periods by another date column are paid",
        ),
        (
            "(period.column, period.period.every) == (held.column, held.every)",
            "period.column == held.column",
            "periods of another kind are paid",
        ),
    ),
    *at(
        _ROOM,
        "_periods",
        ("unit.column is None", "True", "periods of persons are parallel"),
        ("unit.neighbours is Neighbours.REPLACE", "False", "replaced rows have budgets of periods"),
        (
            "charged.limit(PrivacyBudget(epsilon, budget.delta))",
            "charged.limit(budget)",
            "a period's share is the whole budget",
        ),
        ("Period.parse(asked.first, asked.every, option='--first')", "None", "the first period is lost"),
        ("epsilon > budget.epsilon", "False", "a share may be above the budget for life"),
    ),
    *at(
        _ROOM,
        "PERIODS_FORMAT",
        ("attribute('parallel', read=_flag)", "attribute('parallel', read=lambda _: True)", "persons are read as rows"),
        (
            "None if text['first'] is None else Period.parse(text['first'], text['every'])",
            "None",
            "the first period is not read",
        ),
        (
            "attribute('share', cost_document, decode_cost)",
            "attribute('share', cost_document, lambda text: Cost(decode_cost(text).amount))",
            "the delta of a share is not read",
        ),
    ),
    *at(
        _ROOM,
        "_account_document",
        (
            "{name: sum_document(cost) for name, cost in held.spent.items() if name != ALL_PERIODS}",
            "{}",
            "a checkpoint forgets what periods have spent",
        ),
    ),
    *at(
        _ROOM,
        "Record.histories",
        ("{ALL_PERIODS, name} & {*paying}", "name in paying", "the history of a period lacks releases of all rows"),
        ("periods is None or not periods.parallel", "periods is None", "persons have a history for each period"),
    ),
    *at(
        _ROOM,
        "Charge.content",
        (
            "ALL_PERIODS if self.period is None else self.period.name",
            "ALL_PERIODS if self.period is None else self.period.period.name",
            "a release of several periods is recorded as of the last",
        ),
        (
            "ALL_PERIODS if self.period is None else self.period.name",
            "ALL_PERIODS",
            "every release is recorded as of all rows",
        ),
        ("require_period(terms, self.period)", "None", "any division of the table is paid"),
    ),
    *at(
        _ROOM,
        "period_rows",
        ("request.n is not None", "False", "a number of rows is stated of a period"),
        (
            "Neighbours(request.neighbours) is Neighbours.REPLACE and request.cumulative is None",
            "False",
            "replaced rows are released by period",
        ),
        (
            "period.start > datetime.now(UTC).date()",
            "period.end > datetime.now(UTC).date()",
            "the running period is refused",
        ),
        (
            "domain.facts.totals or domain.facts.least or domain.facts.most is not None",
            "domain.facts.totals",
            "known bounds of all rows are taken for those of a period",
        ),
        (
            "Period.parse(request.period, domain.period.every)",
            "Period.parse(request.period)",
            "periods of another kind than the domain's",
        ),
    ),
    *at(
        _ROOM,
        "PeriodFilter.of",
        (
            "Fraction(2 * (day - _EPOCH).days - 1, 2)",
            "Fraction(2 * (day - _EPOCH).days + 1, 2)",
            "the first day of a period is in the one before",
        ),
    ),
    *at(
        _ROOM,
        "PeriodFilter.records",
        (
            "(numbers >= 0) & (numbers < self.bins)",
            "(numbers >= -1) & (numbers < self.bins)",
            "rows of no period are read",
        ),
        ("(numbers >= 0) & (numbers < self.bins)", "numbers < self.bins", "rows before the period are read"),
    ),
    *at(
        _ROOM,
        "Period.index",
        ("self.every != first.every", "False", "periods of two kinds are compared"),
        (
            "(_month(self.start) - _month(first.start)) // _MONTHS[self.every]",
            "_month(self.start) - _month(first.start)",
            "quarters and years are counted in months",
        ),
    ),
    *at(
        _ROOM,
        "parse_periods",
        ("steps < 0 or (several and (not steps))", "steps < 0", "a period has two names"),
        ("range(steps + 1)", "range(steps)", "the last of several periods is left out"),
    ),
    *at(
        _ROOM,
        "_corrected",
        ("entry.number in finished", "True", "a run that released nothing is corrected"),
        ("entry.hash == before", "False", "a release corrects what came after it"),
        (
            "(entry.dataset, entry.period) == (dataset, period.name)",
            "entry.period == period.name",
            "a release of another dataset is corrected",
        ),
    ),
    *at(
        _ROOM,
        "Account.largest_of",
        (
            "periods.room(period, self.periods, self.left) if periods else self.left",
            "self.left",
            "a period is offered the budget for life",
        ),
    ),
)
