"""Faults of counters: the budget of a node, the rows that a person may use over a life, and what adds up."""

from faults.anchored import Anchored, at

_ROOM = "counters"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "Counter.node",
        ("self.life.epsilon / self.prices", "self.life.epsilon / self.tree.levels", "a replaced row pays for one node"),
        ("self.life.delta / self.prices", "self.life.delta", "delta is not divided over the nodes"),
        ("self.life.delta / self.prices", "self.life.delta / self.tree.levels", "delta of the other relation"),
        (
            "added.limit(self.life).amount / self.prices",
            "added.limit(self.life).amount / self.tree.levels",
            "rho or mu^2 of a replaced row is spent twice",
        ),
        (
            "added.limit(self.life).amount / self.prices",
            "2 * added.limit(self.life).amount / self.prices",
            "a life costs twice its rho or mu^2",
        ),
        ("self.prices == 1", "self.prices <= 2", "two nodes of rho or mu^2 have the whole life each"),
        ("self.prices == 1", "self.tree.levels == 1", "one level is one price under replace, too"),
        (
            "added.limit(self.life).amount / self.prices",
            "self.life.epsilon / self.prices",
            "an amount of rho or mu^2 is taken from epsilon",
        ),
        (
            'not isinstance(added, SumCurrency) or added.name == "epsilon"',
            'isinstance(added, SumCurrency) and added.name == "epsilon"',
            "pairs of epsilon and delta are divided as rho",
        ),
    ),
    *at(
        _ROOM,
        "Counter.prices",
        (
            "self.unit.neighbours is Neighbours.ADD_REMOVE",
            "self.unit.neighbours is Neighbours.ADD_REMOVE or self.unit.column is not None",
            "a replaced person pays for one node a level",
        ),
        ("2 * self.tree.levels", "self.tree.levels + 1", "a replaced row moves on one level only"),
        ("self.tree.levels", "self.tree.level(self.tree.periods) + 1", "the level of the last node", 0),
    ),
    *at(
        _ROOM,
        "Counter.of",
        ("accountant not in ADDITIVE_ACCOUNTANTS", "accountant == 'pld'", "accountants of fixed schedules are taken"),
        ("2 if accountant == 'basic' else 1", "1 if accountant == 'basic' else 2", "the tree of the other accountants"),
        ("PeriodTree.best(periods, power)", "PeriodTree.best(periods, 1)", "one tree for all accountants"),
    ),
    *at(
        _ROOM,
        "PeriodTree.levels",
        ("len(_digits(self.periods, self.base))", "1", "a tree of one level"),
        (
            "len(_digits(self.periods, self.base))",
            "len(_digits(self.periods - 1, self.base)) or 1",
            "the top level of a full tree is not counted",
        ),
    ),
    *at(
        _ROOM,
        "PeriodTree.span",
        (
            "range(node - self.base ** self.level(node) + 1, node + 1)",
            "range(node - self.base ** self.level(node), node + 1)",
            "a node holds the last period of the one before",
        ),
        (
            "range(node - self.base ** self.level(node) + 1, node + 1)",
            "range(node - max(1, self.base ** self.level(node) // 2) + 1, node + 1)",
            "a node holds half of its periods",
        ),
    ),
    *at(
        _ROOM,
        "PeriodTree.best",
        ("tree.levels ** power * tree.summed", "tree.summed", "levels cost nothing"),
        ("max(periods, 1) + 1", "max(periods, 1)", "no tree of a single level"),
    ),
    *at(
        _ROOM,
        "CounterStep.__post_init__",
        (
            "1 <= self.number <= self.counter.tree.periods",
            "self.number <= self.counter.tree.periods",
            "periods before the first are released",
        ),
        (
            "1 <= self.number <= self.counter.tree.periods",
            "1 <= self.number <= self.counter.tree.periods + 1",
            "one period more than was paid for",
        ),
    ),
    *at(
        _ROOM,
        "CounterStep.since",
        (
            "self.counter.tree.span(self.number).start - 1",
            "self.counter.tree.span(self.number).start",
            "a node lacks its first period",
        ),
    ),
    *at(
        _ROOM,
        "CounterStep.before",
        ("self.period.later(-1)", "self.since.later(-1)", "the release before the node, not before this one"),
    ),
    *at(
        _ROOM,
        "with_counter_step",
        ("not unit.apart", "unit.column is not None", "replaced rows may be certified, and their drops counted"),
        (
            "not unit.apart",
            "unit.neighbours is Neighbours.REPLACE",
            "persons may be certified, and their drops counted",
        ),
        ("replace(unit, drops=True)", "unit", "how many replaced rows a period has is public"),
        ("None if unit.column is None else turn.first", "None", "persons are bounded by each release alone"),
        (
            "None if unit.column is None else turn.first",
            "None if unit.column is None else turn.since",
            "persons are bounded by each node alone",
        ),
        ("first=first", "", "persons are bounded by each release alone, for the bound is lost"),
        ("request.first or rows.period.name", "rows.period.name", "each release begins a counter of its own"),
        ("unit=unit", "", "the problem keeps the unit whose number of rows is public"),
    ),
    *at(
        _ROOM,
        "with_counter_step",
        (
            '{"--count-dropped": request.count_dropped, "--certify": request.certify, "--error-bars": share}',
            '{"--count-dropped": request.count_dropped, "--certify": request.certify}',
            "paid error bars of persons are drawn from all rows",
        ),
        (
            '{"--count-dropped": request.count_dropped, "--certify": request.certify, "--error-bars": share}',
            '{"--certify": request.certify, "--error-bars": share}',
            "dropped rows of persons are counted",
        ),
    ),
    *at(
        _ROOM,
        "smallest_tickets",
        ("_runs(owners[rows], ranks[rows])", "ranks[rows].astype(np.int64)", "persons of equal rank are one person"),
        ("ranks is None", "True", "ranks are not looked at: any rows of a person, not the first ones"),
        ("places >= most", "places > most", "one row more than the bound"),
        ("sizes > most", "sizes > most + 1", "a person of one row too many keeps it", 0),
    ),
    *at(
        _ROOM,
        "_runs",
        (
            "(owners[1:] != owners[:-1]) | (ranks[1:] != ranks[:-1])",
            "ranks[1:] != ranks[:-1]",
            "neighbouring persons of equal rank are merged",
        ),
        (
            "(owners[1:] != owners[:-1]) | (ranks[1:] != ranks[:-1])",
            "owners[1:] != owners[:-1]",
            "a person's ranks are one",
        ),
        (
            "(owners[1:] != owners[:-1]) | (ranks[1:] != ranks[:-1])",
            "(owners[1:] != owners[:-1]) & (ranks[1:] != ranks[:-1])",
            "a person begins with a new rank only",
        ),
    ),
    *at(
        _ROOM,
        "FirstRows.ranked",
        ("np.uint64(1)", "np.uint64(2)", "counted rows come before those of earlier periods"),
        ("numbers >= self.since", "numbers > self.since", "the node's first period is not counted"),
        ("2 * numbers + 1", "np.ones(len(numbers), dtype=np.int64)", "rows of all periods are of one rank"),
    ),
    *at(
        _ROOM,
        "FirstRows.of",
        (
            "(rows.since or rows.period).index(rows.first)",
            "rows.period.index(rows.first)",
            "only the last period of a node is counted",
        ),
        ("(rows.since or rows.period).index(rows.first)", "0", "rows before the node are counted again"),
    ),
    *at(
        _ROOM,
        "FirstRows.counted",
        ("bounded.rows[0] % 2 == 0", "bounded.rows[0] % 2 <= 1", "rows that only fill the bound are counted too"),
    ),
    *at(
        _ROOM,
        "PeriodRows.days",
        (
            "self.period.index(self.first) + 1",
            "self.period.index(self.since or self.period) + 1",
            "the bound counts as many periods as the node has",
        ),
        ("(self.since or self.period).start", "self.period.start", "a node reads its last period alone"),
    ),
    *at(
        _ROOM,
        "Bounding.finish",
        ("held.rows[1, rows] if self.ranked else None", "None", "the ranks of rows are left out of the choice"),
        ("np.minimum(held.read - kept, self.most).sum()", "(held.read - kept).sum()", "lost rows of a person add up"),
    ),
    *at(
        _ROOM,
        "_added",
        ("np.hypot(own.precision, earlier.error)", "own.precision", "the error of earlier periods is forgotten"),
        ("np.hypot(own.precision, earlier.error)", "own.precision + earlier.error", "errors add up, not their squares"),
        ("own.estimate + earlier.estimate", "own.estimate", "earlier periods are not counted"),
    ),
    *at(
        _ROOM,
        "cumulative_table",
        ("level <= turn.level", "level < turn.level", "a node's own level hands on the count before it"),
        (
            "add_periods(own, earlier.get(turn.level))",
            "add_periods(own, earlier.get(0))",
            "counts of another level are added",
        ),
    ),
    *at(
        _ROOM,
        "handed_on",
        ("number >= tree.base ** level", "number > tree.base ** level", "the first node of a level hands nothing on"),
    ),
    *at(
        _ROOM,
        "handed_over",
        ("number > tree.base ** level", "number >= tree.base ** level", "a count before the first node of a level"),
    ),
    *at(
        _ROOM,
        "trend",
        ("2 * common[1:] ** 2", "common[1:] ** 2", "shared noise cancels once"),
        ("errors[1:] ** 2 + errors[:-1] ** 2", "errors[1:] ** 2 + errors[1:] ** 2", "the later error twice"),
    ),
    *at(
        _ROOM,
        "_points",
        (
            "before >= tree.span(number).start - 1",
            "before > tree.span(number).start - 1",
            "the release just before a node shares no noise with it",
        ),
        ("part.error * each", "part.error", "every two points share their noise"),
    ),
)
