"""Task: a public table of codes, its sizes, and the marginals that are asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from dpqr.domain.domain_file import decode_domain
from dpqr.domain.text.decoding import Location
from dpqr.workload.queries_file import read_queries

MADE_UP_SEED = 20_240_817
MADE_UP_SIZES = (2, 3, 4, 6, 8, 12, 20, 30)
MADE_UP_RECORDS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """name: of the workload. codes: shape (records, columns). marginals: column names."""

    name: str
    sizes: dict[str, int]
    codes: np.ndarray
    marginals: tuple[tuple[str, ...], ...]

    @property
    def records(self) -> int:
        return len(self.codes)

    def truth(self) -> list[np.ndarray]:
        """Exact counts of every marginal, flat."""
        return [self.counted(self.codes, names) for names in self.marginals]

    def counted(self, codes: np.ndarray, names: Sequence[str]) -> np.ndarray:
        """The marginal of any table of codes, flat."""
        columns = list(self.sizes)
        shape = tuple(self.sizes[name] for name in names)
        cells = np.ravel_multi_index(tuple(codes[:, columns.index(name)] for name in names), shape)
        return np.bincount(cells, minlength=int(np.prod(shape))).astype(np.float64)

    def error(self, answers: Sequence[np.ndarray], truth: Sequence[np.ndarray]) -> float:
        """Mean over the marginals of the L1 distance between true and released counts, over the true n."""
        distances = [np.abs(one - other).sum() for one, other in zip(answers, truth, strict=True)]
        return float(np.mean(distances)) / self.records

    def written(self, folder: Path) -> None:
        """table.csv, q.json (the product's own forms) and task.npz, which every worker can read."""
        columns = list(self.sizes)
        table = pa.table({name: self.codes[:, place] for place, name in enumerate(columns)})
        pc.write_csv(table, folder / "table.csv")
        queries = [{"marginals": [list(names) for names in self.marginals]}]
        (folder / "q.json").write_text(json.dumps({"domain": self.sizes, "queries": queries}))
        axes = json.dumps([[columns.index(name) for name in names] for names in self.marginals])
        np.savez(folder / "task.npz", codes=self.codes, sizes=np.array(list(self.sizes.values())), axes=np.array(axes))


def read_task(data: Path, workload: Path) -> Task:
    """A CSV table of codes, and a JSON file with `domain` (sizes) and `marginals` (lists of columns) or `queries`, the
    product's own form with marginals alone."""
    document = json.loads(workload.read_text())
    names = _named(document, workload) if "queries" in document else document["marginals"]
    whole = decode_domain(document["domain"], Location(workload.name))
    asked = {name for marginal in names for name in marginal}
    sizes = {attribute.name: attribute.size for attribute in whole.attributes if attribute.name in asked}
    table = pc.read_csv(data)
    codes = np.stack([table[name].to_numpy() for name in sizes], axis=1)
    return Task(name=workload.stem, sizes=sizes, codes=codes, marginals=tuple(map(tuple, names)))


def _named(document: dict[str, Any], workload: Path) -> list[list[str]]:
    asked = read_queries(workload)
    if not all(block.is_marginal for block in asked.workload.blocks):
        raise SystemExit(f"{workload}: the peers answer marginals only; leave other queries out")
    return [[asked.domain.names[axis] for axis in block.axes] for block in asked.workload.blocks]


def made_up() -> Task:
    """20,000 records of 8 columns, 2 to 30 cells each, all three-way marginals. Each column leans on one or two
    before it, with skewed conditional laws; a public seed."""
    generator = np.random.default_rng(MADE_UP_SEED)
    columns: list[np.ndarray] = []
    for place, size in enumerate(MADE_UP_SIZES):
        parents = columns[max(0, place - 1) : place] + (columns[: max(0, place - 3)][-1:])
        group = sum((parent * (31**depth) for depth, parent in enumerate(parents)), np.zeros(MADE_UP_RECORDS, int))
        groups, member = np.unique(group, return_inverse=True)
        laws = generator.dirichlet(np.full(size, 0.4), len(groups)).cumsum(axis=1)
        drawn = (generator.random(MADE_UP_RECORDS)[:, None] > laws[member]).sum(axis=1)
        columns.append(np.minimum(drawn, size - 1))
    sizes = {f"c{place}": size for place, size in enumerate(MADE_UP_SIZES)}
    return Task(
        name="made-up",
        sizes=sizes,
        codes=np.stack(columns, axis=1),
        marginals=tuple(combinations(sizes, 3)),
    )
