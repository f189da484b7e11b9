"""Faults of layers: which release may join which others, and what a person pays for all of them."""

from faults.anchored import Anchored, at

_ROOM = "layers"

FAULTS: tuple[Anchored, ...] = (
    *at(
        _ROOM,
        "free_layer",
        (
            "first=rows.first.name",
            "first=(rows.since or rows.period).name",
            "rows are counted from the release's own periods on",
        ),
        ("read=rows.read", "read=''", "releases that find other rows malformed share a layer"),
        ("rows=most", "rows=1", "bounds of all sizes share a layer"),
        ("column=rows.column", "column=''", "layers of all date columns are one"),
        ("is_free(one, rows.name, nodes, waiting)", "is_free(one, rows.name, nodes, ())", "open runs are joined"),
        (
            "is_free(one, rows.name, nodes, waiting)",
            "is_free(one, rows.period.name, nodes, waiting)",
            "the last period of a release is compared, not its first",
        ),
        ("rows.first is None", "rows.since is None", "releases of one period are in no layer"),
    ),
    *at(
        _ROOM,
        "is_free",
        (
            "start.index(parse_periods(node.period, every)[-1]) > 0",
            "start.index(parse_periods(node.period, every)[-1]) >= 0",
            "a release made again joins the layer of the first",
        ),
        (
            "start.index(parse_periods(node.period, every)[-1]) > 0",
            "start.index(parse_periods(node.period, every)[0]) > 0",
            "releases that overlap share a layer",
        ),
        ("parse_periods(period, every)[0]", "parse_periods(period, every)[-1]", "a release starts at its last period"),
        ("all(later)", "any(later) or not held", "later than one of them is enough"),
        ("node.layer == layer", "node.layer.number == layer.number", "layers of other bounds are joined by number"),
        (
            "{one.entry for one in held} & set(waiting)",
            "{one.entry for one in held[:-1]} & set(waiting)",
            "the newest open run is overlooked",
        ),
        ("{one.entry for one in held} & set(waiting)", "set()", "open runs are joined"),
        ("start.index(Period.parse(layer.first)) >= 0", "True", "releases before the first period join"),
        (
            "start.index(Period.parse(layer.first)) >= 0",
            "start.index(Period.parse(layer.first)) >= -1",
            "one period before the first joins",
        ),
    ),
    *at(
        _ROOM,
        "of_layers",
        ("costs[-largest:]", "costs[:largest]", "the cheapest releases of a layer are paid"),
        ("costs[-largest:]", "costs[-1:]", "under replace one of two releases is paid"),
        (
            "total += sum(costs[-largest:], NO_COST)",
            "total = sum(costs[-largest:], NO_COST)",
            "one layer is paid for all",
        ),
        (
            "total += sum(costs[-largest:], NO_COST)",
            "total = total.most(sum(costs[-largest:], NO_COST))",
            "the dearest layer is paid, not all of them",
        ),
        (
            "{node.layer for node in nodes}",
            "{node.layer.number: node.layer for node in nodes}.values()",
            "one layer a number",
        ),
        ("lambda cost: cost.amount", "lambda cost: -cost.amount", "the dearest come first"),
    ),
    *at(
        _ROOM,
        "BudgetTerms.total",
        ("2 if self.neighbours is Neighbours.REPLACE else 1", "1", "replaced persons pay for one release of two"),
        (
            "2 if self.neighbours is Neighbours.REPLACE else 1",
            "1 if self.neighbours is Neighbours.REPLACE else 2",
            "the relations are exchanged",
        ),
        (
            "whole + of_layers(nodes, 2 if self.neighbours is Neighbours.REPLACE else 1)",
            "whole",
            "layers are not part of the total",
        ),
        (
            "whole + of_layers(nodes, 2 if self.neighbours is Neighbours.REPLACE else 1)",
            "whole.most(of_layers(nodes, 2 if self.neighbours is Neighbours.REPLACE else 1))",
            "layers and other releases are paid by the dearer of both",
        ),
    ),
    *at(
        _ROOM,
        "AccountState.noded",
        ("before + cost", "cost", "a settlement overwrites what its reservation has paid"),
        ("node.entry == paid.number", "node.period == paid.period", "releases of one period are one node", 0),
        ("(*others, node) if node.cost else others", "(*others, node)", "a release that drew nothing keeps its layer"),
        ("other.entry != paid.number", "other.layer != paid.layer", "a layer holds its last release alone"),
        ("paid.layer is None", "paid.layer is None or not self.nodes", "the first release of a counter is free"),
    ),
    *at(
        _ROOM,
        "AccountState.account",
        (
            "self.terms.total(self.spent, self.nodes)",
            "self.terms.total(self.spent)",
            "what counters have spent is not shown, and not taken off",
        ),
        ("node.entry in self.runs", "node.entry not in self.runs", "settled counters are shown as pending"),
    ),
    *at(
        _ROOM,
        "LedgerState.require_payable",
        ("not is_free(entry.layer, entry.period, held.nodes, held.runs)", "False", "a forged layer is admitted"),
        (
            "not is_free(entry.layer, entry.period, held.nodes, held.runs)",
            "not is_free(entry.layer, entry.period, held.nodes, ())",
            "a forged entry joins a layer with an open run",
        ),
        (
            "terms.currency is PAIR or not is_free(entry.layer, entry.period, held.nodes, held.runs)",
            "not is_free(entry.layer, entry.period, held.nodes, held.runs)",
            "pairs are paid by layers",
        ),
    ),
    *at(
        _ROOM,
        "LedgerState.layer",
        ("rows is None or held.terms.currency is PAIR", "rows is None", "pairs are given layers"),
        (
            "free_layer(rows, most, held.nodes, held.runs)",
            "free_layer(rows, most, (), held.runs)",
            "every release has the first layer",
        ),
    ),
    *at(
        _ROOM,
        "LedgerState.require_payable",
        (
            "terms.total(spent, nodes) <= terms.limit",
            "terms.total(spent, held.nodes) <= terms.limit",
            "the layer's new release is not held against the limit",
        ),
        (
            "terms.total(spent, nodes) <= terms.limit",
            "terms.total(spent) <= terms.limit",
            "layers are not held against the limit",
        ),
        (
            "terms.periods.read(spent, nodes)",
            "terms.periods.read(spent, held.nodes)",
            "a share does not see this release",
        ),
        ("terms.periods.read(spent, nodes)", "spent", "shares of periods ignore layers"),
    ),
    *at(
        _ROOM,
        "LedgerState._settle",
        (
            "held.noded(paid, entry.cost - paid.cost)",
            "held.noded(paid, entry.cost)",
            "a settled counter pays twice",
        ),
        ("held.nodes = held.noded(paid, entry.cost - paid.cost)", "", "a counter gets nothing back"),
    ),
    *at(
        _ROOM,
        "PeriodBudgets.read",
        ("found.get(name, NO_COST) + node.cost", "node.cost", "a layer's node overwrites what its period has spent"),
        ("self.paying(node.period)", "self.paying(node.period)[-1:]", "the last period of a node pays alone"),
        ("dict(spent)", "{}", "other releases of the period are forgotten"),
    ),
    *at(
        _ROOM,
        "_read_rows",
        ("encoding or UTF_8", "UTF_8", "releases of other encodings share a layer"),
        (
            "[encoding or UTF_8, *sorted(problem.domain.names)]",
            "[encoding or UTF_8]",
            "releases of other columns share a layer",
        ),
    ),
    *at(
        _ROOM,
        "NODE_FORMAT",
        ("attribute('entry')", "attribute('entry', read=lambda _: 0)", "a checkpoint forgets whose node it is"),
    ),
    *at(
        _ROOM,
        "LAYER_FORMAT",
        (
            "attribute('number', read=lambda value: _whole(value, 0))",
            "attribute('number', read=lambda _: 0)",
            "every layer is read as the first",
        ),
        ("text_part('read')", "attribute('read', read=lambda _: '')", "what was read is lost on reading"),
    ),
    *at(
        _ROOM,
        "Charge.content",
        ("self.unit.rows", "1", "all bounds are one bound", 0),
    ),
)
