"""Faults of figures, survey weights, views, hierarchies and SQL."""

from faults.fault import planted_in

FAULTS = (
    *planted_in(
        "workload/figure_entries.py",
        ("min(max(bins.midpoint(index), Fraction(0)), most)", "max(bins.midpoint(index), Fraction(0))", "no maximum"),
        ("min(max(bins.midpoint(index), Fraction(0)), most)", "min(bins.midpoint(index), most)", "negative weights"),
        ("block.scale * self.grid", "block.scale", "sums of weights in steps"),
        (
            "tested=None if figure.tested is None else found.of(figure.tested, ending)",
            "tested=figure.tested",
            "errors of counts",
        ),
    ),
    *planted_in(
        "workload/figure_entries.py",
        (
            "rows = np.stack([line.steps - line.places, line.places])",
            "rows = np.stack([line.places, line.steps - line.places])",
            "a mean from the other end",
        ),
        (
            "rows = np.stack([above**2, 2 * line.places * above, line.places**2])",
            "rows = np.stack([above**2, line.places * above, line.places**2])",
            "half of the middle sum",
        ),
        ("square=(NONE, NONE, ONE)", "square=(NONE, ONE, ONE)", "a square too large"),
        (
            "table = np.stack([mask.reshape(-1), ~mask.reshape(-1)])",
            "table = np.stack([mask.reshape(-1), mask.reshape(-1)])",
            "a proportion of half",
        ),
        ("if (high - low) / grid > MOST_STEPS ** (1 / power):", "if False:", "steps beyond 64 bits"),
    ),
    *planted_in(
        "workload/figures.py",
        (
            "(part.denominator * below - part.numerator * last",
            "(part.denominator * below - last",
            "any part is the lowest",
        ),
    ),
    *planted_in(
        "releases/answers/figures.py",
        (
            "c = bottom**2 - square * second, top * bottom - square * mixed, top**2 - square * first",
            "c = bottom**2, top * bottom - square * mixed, top**2 - square * first",
            "a sure denominator",
        ),
        ("mixed = -one * other", "mixed = one * other", "errors that cancel"),
        (
            "lower=values - factor * error, upper=values + factor * error",
            "lower=values - error, upper=values + error",
            "one deviation",
        ),
        (">= 0.0\n    before =", "> 0.0\n    before =", "a bin that holds the quantile is left out"),
        (
            "    last = before.shape[1] - 1 - before[:, ::-1].argmax(axis=1)\n",
            "    last = reached.argmax(axis=1)\n",
            "the first bin alone",
        ),
    ),
    *planted_in(
        "releases/answers/figures.py",
        ("if all(name in direct for name in figure.blocks) and", "if", "sums of draws as single ones"),
        ("- 1  # its own upper end is no rival", "- 2", "a cell that has a rival is sure"),
        ("curve + above[:, own])", "curve + 0 * above[:, own])", "half an interval"),
        ("excess = top - floor * bottom", "excess = top + floor * bottom", "a mean below its floor"),
    ),
    *planted_in(
        "releases/answers/adding_up.py",
        ("    return whole + (ranks < (totals - sums)[parents])\n", "    return whole\n", "what is left over is lost"),
        (
            "wider.take(above.nodes, axis=place)",
            "wider.take(np.zeros_like(above.nodes), axis=place)",
            "all children of one node",
        ),
        (
            "        shared = seen & _held(one, levels)\n        if shared and",
            "        shared = seen & _held(one, levels)\n        if False and",
            "a cycle is no cycle",
        ),
        ("np.where((sums > totals)[parents], lowered, raised)", "raised", "parts below 0 are taken from all"),
    ),
    *planted_in(
        "releases/views.py",
        (
            "held = [each for each in release.answers if each.block.is_marginal or each.block.name in nodes.asked]",
            "held = list(release.answers)",
            "sums among the counts",
        ),
        (
            "block.precision > UNSURE * np.abs(block.estimate)",
            "block.precision > np.abs(block.estimate)",
            "small cells without a mark",
        ),
    ),
    *planted_in(
        "published/show.py",
        ("{column.name for column in block.columns} == set(entry.columns)", "True", "whatever is in the answers"),
    ),
    *planted_in(
        "releases/release.py",
        (
            "    if output.views is not None and views and",
            "    if False and views and",
            "views of another base are skipped",
        ),
    ),
    *planted_in(
        "strategies/designs/trees.py",
        (
            "weight = found[place].weight * part * common / found[place].rows",
            "weight = found[place].weight",
            "hardly a budget at the top",
        ),
        ("if count == lowest else TUNING.above", "if count != lowest else TUNING.above", "little for the lowest level"),
    ),
    *planted_in(
        "domain/hierarchies.py",
        (
            "nodes, height = tuple(stated.parents[node] for node in nodes), height + 1",
            "nodes, height = tuple(stated.parents[nodes[0]] for _ in nodes), height + 1",
            "one parent for all",
        ),
        (
            "for node in (*nodes, *own)], dtype",
            "for node in (*nodes, *(nodes[:1] * len(own)))], dtype",
            "fault cells in the first node",
        ),
    ),
    *planted_in(
        "workload/queries_file.py",
        (
            "restricted((*others, found[level]), entry.where, frame)",
            "restricted((*others, found[level]), UNSET, frame)",
            "records that the predicate excludes",
        ),
    ),
    *planted_in(
        "workload/trees.py",
        (
            "after - self.down(level - 1, self._corrections[level - 1]) * after**2",
            "after",
            "levels above help nobody",
        ),
    ),
    *planted_in(
        "workload/sql/conditions.py",
        ('">": "<=", ">=": "<"}\n\n\ndef _leaf', '">": "<", ">=": "<"}\n\n\ndef _leaf', "not above is below"),
        ('">": "<", ">=": "<="}', '">": ">", ">=": "<="}', "5 > x as x > 5"),
        ("    if column in known or not words.has_null(column):\n", "    if True:\n", "ELSE without the unknown"),
    ),
    *planted_in(
        "workload/sql/aggregates.py",
        ("all_of(*others, met) or met", "met", "a record in two branches"),
        (
            "    sizes = range(len(parts), -1, -1)\n",
            "    sizes = range(len(parts), 0, -1)\n",
            "a rollup without its total",
        ),
    ),
    *planted_in(
        "workload/sql/reading.py",
        (
            "where = all_of(condition, group.where, found.where)",
            "where = all_of(condition, group.where)",
            "FILTER is passed over",
        ),
        ("    single = len(figures) == 1 and", "    single =", "LIMIT of several aggregates"),
    ),
    *planted_in(
        "workload/sql/aggregates.py",
        (
            "return replace(found, where=all_of(found.where, true(node.expression.this, words)))",
            "return found",
            "all records, not those of FILTER",
        ),
    ),
)
