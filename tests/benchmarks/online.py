"""Questions one at a time beside the offline default: random conjunctions in random order, same table and budget.

python tests/benchmarks/online.py --data adult-coded.csv [--questions 2000] [--ways 2 3] [--seeds 1 2] [--eps 1]
    [--delta 1e-9] [--surprises N] [--made-up]

Each line is one workload and one order: mean and largest absolute error in records, their ratio to those of an offline
release of the same queries, the share of free answers, the surprises that were spent of those that were paid for, how
often intervals held, and processor seconds. --made-up: a table of ten columns drawn from a public seed in the place of
--data. A workload of seed 1 on Adult set the default number of surprises (`interactive_planning.PART`); other seeds are
reported. The table is public, or made up: errors against its true counts are shown for that reason only.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
from adult import OTHERS, SIZES

from dpqr.domain.histogram import SparseHistogram
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.noise.source import SystemNoise
from dpqr.kernel.sealed import Private
from dpqr.models.rows import WeightedRows
from dpqr.releases.draws import Draws
from dpqr.releases.loop import SILENT, iterative_construction
from dpqr.releases.planning import read_documents
from dpqr.releases.questions import Online
from dpqr.releases.release import release
from dpqr.releases.requests import PlanRequest, ReleaseRequest
from dpqr.sessions.planning import OpenRequest, plan_session
from dpqr.sessions.session import split_into_queries
from dpqr.strategies.updates.multiplicative_weights import RowWeights
from dpqr.tables.source import TableSource

MADE_UP = {f"c{place}": size for place, size in enumerate((2, 3, 4, 5, 6, 8, 10, 20, 40, 80))}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    parser.add_argument("--made-up", action="store_true")
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--ways", type=int, nargs=2, default=[2, 3])
    parser.add_argument("--seeds", type=int, nargs="+", default=[2])
    parser.add_argument("--eps", default="1")
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--surprises", type=int)
    given = parser.parse_args()
    print("seed    mean  ratio  largest  ratio   free     spent   held    CPU")
    for seed in given.seeds:
        sizes = MADE_UP if given.made_up else SIZES | OTHERS
        codes = made_up_codes(seed) if given.made_up else codes_of(given.data, sizes)
        print(compared(codes, sizes, seed, given), flush=True)


def codes_of(path: Path, sizes: dict[str, int]) -> np.ndarray:
    table = pc.read_csv(path)
    return np.stack([table[name].to_numpy() for name in sizes], axis=1)


def made_up_codes(seed: int) -> np.ndarray:
    """30,000 records of ten columns, each of which depends on the two before it."""
    generator, sizes = np.random.default_rng(seed), list(MADE_UP.values())
    codes = np.zeros((30_000, len(sizes)), dtype=np.int64)
    for place, size in enumerate(sizes):
        parents = codes[:, max(0, place - 2) : place]
        case = (parents * np.array([7, 13])[: parents.shape[1]]).sum(axis=1) % 11
        shares = generator.dirichlet(np.full(size, 0.6), 11)
        edges = np.cumsum(shares, axis=1)[case]
        codes[:, place] = np.minimum((generator.random(len(codes))[:, None] > edges).sum(axis=1), size - 1)
    return codes


def compared(codes: np.ndarray, sizes: dict[str, int], seed: int, given: Any) -> str:
    queries = {"queries": [{"conjunctions": {"random": given.questions, "seed": seed, "ways": given.ways}}]}
    document = read_documents(queries, sizes, strict=True)
    whole = [list(sizes).index(name) for name in document.domain.names]
    cells, counts = np.unique(codes[:, whole], axis=0, return_counts=True)
    table = SparseHistogram(document.domain.shape, cells, counts)
    truth = np.concatenate([block.answer(table) for block in document.workload.blocks]).astype(float)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        pc.write_csv(pa.table({name: codes[:, place] for place, name in enumerate(sizes)}), path)
        source = TableSource(paths=(str(path),))
        offline = offline_errors(source, queries, sizes, truth, given)
        online = online_run(source, table, document, sizes, truth, seed, given)
    errors, mean, largest = online["errors"], offline.mean(), offline.max()
    figures = f"{errors.mean():>7.1f} {errors.mean() / mean:>6.2f} {errors.max():>8.0f} {errors.max() / largest:>6.2f}"
    shares = f"{online['free']:>6.3f} {online['spent']:>9} {online['held']:>6.4f} {online['seconds']:>6.0f}"
    return f"{seed:>4} {figures} {shares}"


def offline_errors(source: TableSource, queries: Any, sizes: Any, truth: np.ndarray, given: Any) -> np.ndarray:
    plan = PlanRequest(queries=queries, domain=sizes, epsilon=given.eps, delta=given.delta)
    made = release(ReleaseRequest(source=source, plan=plan), SILENT)
    return np.abs(np.concatenate([each.estimate for each in made.answers]) - truth)


def online_run(
    source: TableSource, table: SparseHistogram, document: Any, sizes: Any, truth: np.ndarray, seed: int, given: Any
) -> dict[str, Any]:
    """A session in one process: the same plan, terms and engine as the command's."""
    names = document.domain.names
    plan = PlanRequest(
        domain={name: sizes[name] for name in names},
        epsilon=given.eps,
        delta=given.delta,
        surprises=given.surprises,
        questions=given.questions,
    )
    asked = OpenRequest(name="online", run=ReleaseRequest(source=source, plan=plan))
    started = time.process_time()
    made = plan_session(asked)
    guard = made.accountant.filter(PrivacyBudget.parse(given.eps, given.delta))
    data, noise = Private(table), SystemNoise()
    model = iterative_construction(Draws(data=data, accountant=guard, noise=noise), made.plan, SILENT).hypothesis
    rows = WeightedRows.of(model, document.domain.shape, seed)
    session = Online(
        terms=made.terms,
        problem=made.plan.problem,
        rule=RowWeights(start_rows=rows),
        hypothesis=rows,
        data=data,
        accountant=guard,
        noise=noise,
    )
    session.open_watches()
    blocks = [each.block for each in split_into_queries(document.workload.blocks, document.domain)]
    answers = {int(place): session.ask(blocks[place]) for place in np.random.default_rng(seed).permutation(len(blocks))}
    return {
        "errors": np.abs(np.array([answers[place].estimate for place in range(len(blocks))]) - truth),
        "free": np.mean([each.free for each in answers.values()]),
        "spent": f"{session.surprises}/{made.terms.surprises}",
        "held": np.mean([held(answers[place], truth[place]) for place in range(len(blocks))]),
        "seconds": time.process_time() - started,
    }


def held(answer: Any, true: float) -> bool:
    """Whether the interval holds; an end that is not stated holds."""
    return (answer.low is None or answer.low <= true) and (answer.high is None or true <= answer.high)


if __name__ == "__main__":
    main()
