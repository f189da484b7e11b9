"""Files that no line of text shows, for the conversations of `test_messages`."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet
from support.command_desk import DOMAIN, QUERIES, TABLE


def columns(**changes):
    """A Parquet file with the desk's columns."""
    made = {
        "sex": pa.array(["F", "M", "PRIVATEVALUE"]),
        "age": pa.array([31, 64, 12]),
        "income": pa.array([100.5, 987654321.0, -77.125]),
    }
    file = io.BytesIO()
    parquet.write_table(pa.table({**made, **changes}), file)
    return file.getvalue()


def typed():
    """A Parquet file whose columns have types."""
    file = io.BytesIO()
    values = {"gr\u00f6\u00dfe": [987654321], "day": pa.array([1], pa.date32()), "who": ["PRIVATEVALUE"]}
    parquet.write_table(pa.table(values), file)
    return file.getvalue()


DOCUMENTS = {
    "typed.parquet": typed(),
    "clinic.sql": (Path(__file__).parents[2] / "sample_data" / "codebooks" / "clinic.sql").read_bytes(),
    "d.json": DOMAIN,
    "latin-1.json": json.dumps(QUERIES).replace("sex", "s\u00e9x").encode("latin-1"),
    "endless.json": {"domain": "d.json", "queries": [{"where": "(" * 20000 + "age > 25"}]},
}
TABLES = {
    "strict.json": {**QUERIES, "domain": {**DOMAIN, "malformed": "fail"}},
    "no-bytes.csv": b"",
    "no-bytes.parquet": b"",
    "both/b.parquet": columns(),
    "not-utf-8.csv": TABLE.encode() + b"PRIVATEVALUE\xff\xfe,3,4,5\n",
    "utf-16.csv": TABLE.encode("utf-16"),
    "binary.csv": b"\x00\x01\x02" * 1000,
    "cut-short.csv.gz": gzip.compress(TABLE.encode() * 50)[:-30],
    "damaged.csv.gz": gzip.compress(TABLE.encode())[:30] + b"PRIVATEVALUE",
    "parquet-by-another-name.csv": columns(),
    "endless-row.csv": TABLE.splitlines()[0] + "\n" + "x" * 2**21 + "\n",
    "damaged.parquet": columns()[:-100],
    "column-missing.parquet": columns().replace(b"income", b"incone"),
    "text-for-numbers.parquet": columns(age=pa.array(["PRIVATEVALUE"] * 3)),
    "lists.parquet": columns(sex=pa.array([["PRIVATEVALUE"]] * 3)),
    "numbers-for-labels.parquet": columns(sex=pa.array([1.5] * 3)),
    "dates-for-numbers.parquet": columns(income=pa.array([1, 2, 3], pa.date32())),
}
PAIRS = {"pairs.json": {**QUERIES, "queries": [{"marginals": [["sex", "age"], ["sex", "income"], ["age", "income"]]}]}}
"""Three pairs, of which one round can measure one."""


# An installed distribution that brings strategies.

METADATA = "Metadata-Version: 2.1\nName: fake-rules\nVersion: 1.5\n"
ENTRY_POINTS = """
[dpqr.update_rules]
hedge = fake_rules.hedge:Hedge
broken = fake_rules.broken:Rule
perceptron = fake_rules.hedge:Hedge
half = fake_rules.half:Half
misnamed = fake_rules.hedge:Hedge
nan = fake_rules.half:Nan
negative = fake_rules.half:Negative
raising = fake_rules.half:Raising
unplanned = fake_rules.half:Unplanned

[dpqr.distinguishers]
fair = fake_rules.fair:Fair

[dpqr.checks]
fair = fake_rules.fair:FairCheck
"""
HEDGE = """
from dataclasses import dataclass
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights

class Hedge(MultiplicativeWeights):
    name = "hedge"
"""
HALF = """
import numpy as np
from dataclasses import replace
from dpqr.extension import DenseDistribution
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights

class Half:
    name, trust, cumulative = "half", (), False
    def start(self, problem): ...
    def update(self, problem, hypothesis, history): ...
    def mistakes(self, problem, level): ...
    def footprint(self, problem): ...

class Nan(MultiplicativeWeights):
    name = "nan"
    def update(self, problem, hypothesis, history):
        return DenseDistribution(probabilities=np.full(problem.domain.shape, np.nan), total=5.0)

class Negative(MultiplicativeWeights):
    name = "negative"
    def update(self, problem, hypothesis, history):
        cells = np.full(problem.domain.shape, -1.0)
        cells.flat[0] = cells.size
        return DenseDistribution(probabilities=cells, total=50.0)

class Unplanned(MultiplicativeWeights):
    name = "unplanned"
    def footprint(self, problem):
        raise KeyError("footprint")

class Raising(MultiplicativeWeights):
    name = "raising"
    def update(self, problem, hypothesis, history):
        return 1 / 0
"""
FAIR = """
from dpqr.strategies.distinguishers import PermuteAndFlip

class Fair:
    name = "fair"
    _inner = PermuteAndFlip()
    def mechanism(self, *given): return self._inner.mechanism(*given)
    def event(self, *given): return self._inner.event(*given)
    def shortfall(self, *given): return self._inner.shortfall(*given)
"""
RULES = {
    "site/fake_rules-1.5.dist-info/METADATA": METADATA,
    "site/fake_rules-1.5.dist-info/entry_points.txt": ENTRY_POINTS,
    "site/fake_rules/__init__.py": "",
    "site/fake_rules/hedge.py": HEDGE,
    "site/fake_rules/fair.py": FAIR,
    "site/fake_rules/half.py": HALF,
    "site/fake_rules/broken.py": "import no_such_module_anywhere\n",
}
