"""Likeness: how much alike two tables are, in the figures that SDNist reports. For public and synthetic tables only.

References:
    NIST Collaborative Research Cycle, SDNist Deidentified Data Report: univariates, pairwise correlation differences,
    k-marginals, propensity.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from dpqr.domain.domain import Domain
from dpqr.kernel.arrays import AnyArray, Axes, FloatArray, IntArray
from dpqr.kernel.wording import amount, count_words
from dpqr.releases.exact_errors import Accuracy
from dpqr.report.page.charts import FILL, SECOND, bar_chart, draw_chart, label, panel, shades
from dpqr.report.page.parts import Card, Cards, Items, Paragraph, Part, ReportPage, ReportTable, Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure


TRIPLES, CELLS = 40, 2**20
"""Three-way marginals that are compared, and cells of the largest one."""
LEAF, MOST = 50, 200_000
"""Rows of a tree's smallest leaf, and the most rows of either table that a tree sees."""


class CellCounts(Struct, frozen=True, eq=False):
    """A table's cells with their counts. codes: shape (cells, columns); counts: shape (cells,)."""

    codes: AnyArray
    counts: IntArray


class Univariate(Struct, frozen=True, kw_only=True, eq=False):
    """One column's shares in both tables, shape (cells,)."""

    name: str
    titles: tuple[str, ...]
    true: FloatArray
    given: FloatArray

    @property
    def distance(self) -> float:
        """Total variation: 0 for equal shares, at most 1."""
        return float(np.abs(self.true - self.given).sum() / 2)


class Likeness(Struct, frozen=True, kw_only=True, eq=False):
    """Figures of two tables.

    univariates: furthest first. correlations: Cramer's V of every pair of columns, given minus true, shape (columns,
    columns). scores: by k, 1000 x (1 - mean total variation of k-way marginals): 1000 for equal tables. told_apart:
    area under the curve of a tree that tells the tables' rows apart, on rows it has not seen: 0.5 where it cannot, 1
    where it always does; None: scikit-learn is not installed, or a table is too small.
    """

    univariates: tuple[Univariate, ...]
    names: tuple[str, ...]
    correlations: FloatArray
    scores: dict[int, float]
    told_apart: float | None


def likeness(domain: Domain, true: CellCounts, given: CellCounts) -> Likeness:
    """Compare two tables over one domain. Privacy: none; both are public by declaration."""
    shape, columns = domain.shape, range(len(domain.shape))
    pairs = {axes: _shares(shape, axes, true, given) for axes in combinations(columns, 2)}
    correlations = np.zeros((len(shape), len(shape)))
    for (first, second), (here, there) in pairs.items():
        correlations[[first, second], [second, first]] = _association(there) - _association(here)
    found = []
    for axis, attribute in enumerate(domain.attributes):
        here, there = _shares(shape, (axis,), true, given)
        titles = tuple(attribute.titles())
        found.append(Univariate(name=attribute.name, titles=titles, true=here, given=there))
    scores = {2: _score([_distance(*both) for both in pairs.values()])} if pairs else {}
    # Triples of columns, evenly chosen of all that are small enough.
    sizes = np.array(shape)
    fitting: list[Axes] = [axes for axes in combinations(range(len(shape)), 3) if sizes[list(axes)].prod() <= CELLS]
    if triples := fitting[:: max(-(-len(fitting) // TRIPLES), 1)]:
        scores[3] = _score([_distance(*_shares(shape, axes, true, given)) for axes in triples])
    return Likeness(
        univariates=tuple(sorted(found, key=lambda one: -one.distance)),
        names=domain.names,
        correlations=correlations,
        scores=scores,
        told_apart=_area_under_curve(true, given),
    )


def _shares(shape: tuple[int, ...], axes: Axes, *tables: CellCounts) -> tuple[FloatArray, ...]:
    """The marginal over `axes` of each table, as shares of its rows."""
    sizes = tuple(shape[axis] for axis in axes)
    found = []
    for table in tables:
        places = np.ravel_multi_index(tuple(table.codes[:, axis].astype(np.int64) for axis in axes), sizes)
        counts = np.bincount(places, weights=table.counts, minlength=int(np.prod(sizes)))
        found.append(counts.reshape(sizes) / max(counts.sum(), 1.0))
    return tuple(found)


def _distance(here: FloatArray, there: FloatArray) -> float:
    return float(np.abs(here - there).sum() / 2)


def _score(distances: Sequence[float]) -> float:
    return 1000 * (1 - float(np.mean(distances)))


def _association(joint: FloatArray) -> float:
    """Cramer's V: 0 for independent columns, 1 where one decides the other."""
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    taken = expected > 0
    chi = float((np.square(joint - expected)[taken] / expected[taken]).sum())
    least = min(int((joint.sum(axis=axis) > 0).sum()) for axis in (0, 1)) - 1
    return float(np.sqrt(chi / least)) if least > 0 else 0.0


def _area_under_curve(true: CellCounts, given: CellCounts) -> float | None:
    """Of a tree that tells rows of the two tables apart, on the half of the rows that it has not seen."""
    try:
        from sklearn.metrics import roc_auc_score
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        return None
    here, there = _rows(true), _rows(given)
    if min(len(here), len(there)) < 2 * LEAF:
        return None
    rows, labels = np.concatenate([here, there]), np.repeat([0, 1], [len(here), len(there)])
    weights = np.where(labels, 1 / len(there), 1 / len(here))
    seen = np.arange(len(rows)) % 2 == 0
    tree = DecisionTreeClassifier(min_samples_leaf=LEAF, random_state=0)
    tree.fit(rows[seen], labels[seen], sample_weight=weights[seen])
    told = tree.predict_proba(rows[~seen])[:, 1]
    return float(roc_auc_score(labels[~seen], told, sample_weight=weights[~seen]))


def _rows(table: CellCounts) -> IntArray:
    """Row by row, in the order of their cells, at most MOST evenly chosen: every second one is a fair half."""
    rows = np.repeat(table.codes.astype(np.int64), table.counts, axis=0)
    return rows[:: max(-(-len(rows) // MOST), 1)]


# The page of an evaluation: exact errors of a release, and how much alike its rows and the true ones are.

WORST, COLUMNS, CELL_LINES = 14, 6, 24
"""Blocks of the chart, columns that are drawn, and cells of each."""
STAMP = "NOT FOR RELEASE"
MEANING = (
    "Every figure is exact. Of a private table this page would be a disclosure that no budget covers.",
    "Errors are in records, or in the unit of a summed column; over n: as a share of the largest answer that the "
    "table's n records could give.",
    "The figures speak of this one table and this one draw of the noise; another draw gives others.",
)
WITHOUT = "This compares tables of rows, and answers alone were judged: dpqr evaluate --rows --html FILE judges rows."


def evaluation_page(found: Accuracy, alike: Likeness | None, notice: str) -> ReportPage:
    """alike: None where no rows were judged."""
    worst = found.blocks[:WORST]
    shares = [block.l1 / block.reach / found.n for block in worst]
    alt = f"Bars of L1 error over n of {count_words(len(worst), 'block')}; largest {shares[0]:.3g} ({worst[0].name})."
    chart = bar_chart([block.name for block in worst], shares, alt=alt, salt="errors")
    table = ReportTable(
        caption=f"{count_words(len(found.blocks), 'block')}, the largest L1 error over n first",
        head=("block", "queries", "L1", "L2", "largest", "L1 / n", "largest / n"),
        rows=[
            (
                block.name,
                f"{block.queries:,}",
                *(amount(figure) for figure in (block.l1, block.l2, block.largest)),
                *(f"{figure / block.reach / found.n:.4g}" for figure in (block.l1, block.largest)),
            )
            for block in found.blocks
        ],
    )
    return ReportPage(
        title="Exact errors of a release",
        subtitle="Beside the true table, which is public or made up",
        lead=(
            ("records", f"{found.records:,}"),
            ("mean L1 error / n", f"{found.mean_l1:.4g}"),
            ("mean L2 error / n", f"{found.mean_l2:.4g}"),
            ("largest error / n", f"{found.largest:.4g}"),
            *((("2-marginal score", f"{alike.scores[2]:.0f} of 1000"),) if alike and 2 in alike.scores else ()),
        ),
        sections=(
            Section(
                name="notice",
                title="What this page is",
                parts=(
                    Paragraph(text=notice, strong=True),
                    Items(lines=MEANING),
                ),
            ),
            Section(name="errors", title="Errors of every block", parts=(chart, table)),
            *_likeness_rows(alike),
        ),
        stamp=STAMP,
    )


def _likeness_rows(alike: Likeness | None) -> Sequence[Section]:
    """SDNist's figures."""
    if alike is None:
        return (Section(name="rows", title="Rows beside rows", parts=(Paragraph(text=WITHOUT),)),)
    words = "Total variation between the shares of both tables: 0 where they are equal, at most 1. Furthest first."
    cards = [_univariate_rows(one) for one in alike.univariates[:COLUMNS]]
    rows = [(one.name, f"{one.distance:.4f}") for one in alike.univariates]
    table = ReportTable(caption="Distance of each column", head=("column", "total variation"), rows=rows)
    means = "1000 x (1 - mean total variation) over marginals of k columns: 1000 for equal tables, 0 for disjoint ones."
    scores = ReportTable(
        caption="Scores; k = 2: all pairs, k = 3: triples evenly chosen of all that are small enough",
        head=("k", "score"),
        rows=[(str(k), f"{score:.1f}") for k, score in alike.scores.items()],
    )
    if alike.told_apart is None:
        verdict = "Not computed: it needs scikit-learn (pip install 'dpqr[predict]') and a hundred rows a table."
    else:
        verdict = (
            "A decision tree that was shown half of the rows of both tables tells the others apart with an area under "
            f"the curve of {alike.told_apart:.3f}: 0.5 is chance, 1 is always right. Lower is better."
        )
    univariates = (Paragraph(text=words), Cards(cards=cards), table)
    return (
        Section(name="univariates", title="Univariates: column by column", parts=univariates),
        Section(name="correlations", title="Pairwise correlation differences", parts=_correlations(alike)),
        Section(name="marginals", title="k-marginals", parts=(Paragraph(text=means), scores)),
        Section(name="classifier", title="A classifier's view", parts=(Paragraph(text=verdict),)),
    )


def _univariate_rows(one: Univariate) -> Card:
    """Bars of the release, marks of the truth; of many cells the most frequent."""
    cells = np.sort(np.argsort(-one.true, kind="stable")[:CELL_LINES])

    def draw(figure: Figure) -> None:
        axes = panel(figure, 40, 6, 288, 110)
        places = np.arange(len(cells))
        axes.bar(places, one.given[cells], 0.7, color=FILL)
        axes.plot(places, one.true[cells], "_", color=SECOND, markersize=max(170 / len(cells), 4), markeredgewidth=2.2)
        step = max(len(cells) // 8, 1)
        names = [label(one.titles[cell], 12) for cell in cells[::step]]
        axes.set_xticks(places[::step], names, rotation=40, ha="right", rotation_mode="anchor")

    alt = (
        f"Shares of {one.name} in the release (bars) and in the true table (marks); total variation {one.distance:.3f}."
    )
    chart = draw_chart(draw, height=172, alt=alt, salt=f"column {one.name}")
    part = f", the {CELL_LINES} most frequent of {len(one.titles):,} cells" if len(one.titles) > CELL_LINES else ""
    words = f"total variation {one.distance:.4f}; bars: judged, marks: true{part}"
    return Card(title=one.name, words=words, chart=chart, table=None)


def _correlations(alike: Likeness) -> Sequence[Part]:
    differences, count = np.abs(alike.correlations), len(alike.names)

    def draw(figure: Figure) -> None:
        axes = panel(figure, 96, 6, 226, 190)
        most = float(differences.max(initial=0.0))
        axes.imshow(shades(differences, most), interpolation="none", aspect="auto", extent=(0, count, count, 0))
        names = [label(name, 14) for name in alike.names]
        axes.set_yticks(np.arange(count) + 0.5, names)
        axes.set_xticks(np.arange(count) + 0.5, names, rotation=60, ha="right", rotation_mode="anchor")

    rows = sorted(
        ((alike.names[a], alike.names[b], float(alike.correlations[a, b])) for a in range(count) for b in range(a)),
        key=lambda row: -abs(row[2]),
    )
    alt = f"Heat map of {count} by {count} columns; largest difference {differences.max(initial=0.0):.3f}. Table below."
    table = ReportTable(
        caption="Cramer's V, judged table minus true one; largest first",
        head=("column", "column", "difference"),
        rows=[(first, second, f"{value:+.4f}") for first, second, value in rows],
        texts=2,
    )
    words = "How strongly two columns go together (Cramer's V, 0 to 1): the difference of both tables, pair by pair."
    return Paragraph(text=words), draw_chart(draw, height=276, alt=alt, salt="correlations"), table
