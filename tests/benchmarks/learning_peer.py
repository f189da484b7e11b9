"""OpenDP and PipelineDP on counted labels and on a table: `learning.py beside --peer` runs it with their Python.

python learning_peer.py EPSILON DELTA K TABLES LABELS SIZE[,SIZE...]

Prints one line of JSON: recall by package and size, and the deviation of a cell's noise by package; a package that is
not installed has null.
"""

import json
import sys
from typing import Any

import numpy as np

Found = dict[str, Any]


def opendp(epsilon: float, delta: float, cells: int, tables: int, labels: int, sizes: list[int]) -> Found:
    """Laplace noise with a threshold, and Gaussian noise, each of the least scale and threshold for the budget."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    counts = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T="i64"))
    distance = dp.l01inf_distance(dp.absolute_distance(T="i64"))
    one_label = (1, 1, 1)

    def kept(threshold: int) -> Any:
        return dp.m.make_laplace_threshold(counts, distance, 1 / epsilon, threshold)

    threshold = dp.binary_search(lambda least: kept(least).map(one_label)[1] <= delta, bounds=(1, 10_000), T=int)
    choose = kept(threshold)
    recall = {size: len(choose({str(label): size for label in range(labels)})) / labels for size in sizes}

    def noisy(scale: float) -> Any:
        vector = dp.vector_domain(dp.atom_domain(T="i64"))
        gaussian = dp.m.make_gaussian(vector, dp.l2_distance(T=float), scale)
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(gaussian), delta)

    def deviation(distance: float) -> float:
        scale = dp.binary_search_param(noisy, d_in=distance, d_out=(epsilon, delta), T=float)
        table = dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float), scale)
        return float(np.std([table([0] * 100) for _ in range(tables)]))

    return {"recall": recall, "persons": deviation(cells**0.5), "rows": deviation(float(cells))}


def pipelinedp(epsilon: float, delta: float, cells: int, tables: int, labels: int, sizes: list[int]) -> Found:
    """Its truncated geometric selection, and its Gaussian counts of public partitions."""
    import pipeline_dp
    from pydp.algorithms.partition_selection import create_truncated_geometric_partition_strategy

    strategy = create_truncated_geometric_partition_strategy(epsilon, delta, 1)
    recall = {size: sum(strategy.should_keep(size) for _ in range(labels)) / labels for size in sizes}

    def deviation(metric: Any, **limits: int) -> float:
        found = []
        for _ in range(tables):
            budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=delta)
            engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
            gaussian = pipeline_dp.NoiseKind.GAUSSIAN
            params = pipeline_dp.AggregateParams(noise_kind=gaussian, metrics=[metric], **limits)
            columns = pipeline_dp.DataExtractors(
                privacy_id_extractor=lambda row: row[0],
                partition_extractor=lambda row: row[1],
                value_extractor=lambda _: 0,
            )
            answers = engine.aggregate([(0, 0)], params, columns, public_partitions=list(range(100)))
            budget.compute_budgets()
            found += [row[1][0] - (row[0] == 0) for row in answers]
        return float(np.std(found))

    persons = {"max_partitions_contributed": cells, "max_contributions_per_partition": 1}
    return {
        "recall": recall,
        "persons": deviation(pipeline_dp.Metrics.PRIVACY_ID_COUNT, **persons),
        "rows": deviation(pipeline_dp.Metrics.COUNT, max_contributions=cells),
    }


def main() -> None:
    epsilon, delta, cells, tables, labels = map(float, sys.argv[1:6])
    sizes, found = list(map(int, sys.argv[6].split(","))), dict[str, Found | None]()
    for package in (opendp, pipelinedp):
        try:
            found[package.__name__] = package(epsilon, delta, int(cells), int(tables), int(labels), sizes)
        except ImportError:
            found[package.__name__] = None
    print(json.dumps(found))


if __name__ == "__main__":
    main()
