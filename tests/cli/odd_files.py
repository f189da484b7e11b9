"""Files that no line of text shows, for the conversations of `test_messages`."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet
from support.command_desk import DOMAIN, QUERIES, TABLE
from support.guide_rule import LEARNER, LOSS


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
    "fake_rules-1.5.dist-info/METADATA": METADATA,
    "fake_rules-1.5.dist-info/entry_points.txt": ENTRY_POINTS,
    "fake_rules/__init__.py": "",
    "fake_rules/hedge.py": HEDGE,
    "fake_rules/fair.py": FAIR,
    "fake_rules/half.py": HALF,
    "fake_rules/broken.py": "import no_such_module_anywhere\n",
}


# One that brings losses and learners: those of the guide, and some that are wrong.

LEARNERS_DOMAIN = {
    "fields": [
        {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}, "dpqr": {"otherwise": "drop"}},
        {
            "name": "age",
            "type": "integer",
            "constraints": {"minimum": 0, "maximum": 99},
            "dpqr": {"width": 1, "outside": "clip", "otherwise": "drop"},
        },
    ],
}
LEARNERS_TABLE = (
    "\n".join(["sex,age", *(f"{'FM'[old % 2]},{30 + 40 * (old % 2) + old % 9}" for old in range(400))]) + "\n"
)
LEARNERS_CODE = (
    "\n\n".join([LOSS, LEARNER])
    + """

class Steep(LogCosh):
    name, lipschitz = "steep", Fraction(1, 2)


class Loose(Centroids):
    name = "loose"

    def learner(self, examples, scale):
        return type("Unbounded", (), {"bound": 1.0, "fit": None})()
"""
)
LEARNERS_POINTS = """
[dpqr.losses]
log-cosh = fake_learners:LogCosh
steep = fake_learners:Steep
missing = fake_learners:Missing
centroids-as-loss = fake_learners:Centroids

[dpqr.learners]
centroids = fake_learners:Centroids
loose = fake_learners:Loose
"""
LEARNERS = {
    "fake_learners-1.5.dist-info/METADATA": METADATA.replace("fake-rules", "fake-learners"),
    "fake_learners-1.5.dist-info/entry_points.txt": LEARNERS_POINTS,
    "fake_learners.py": LEARNERS_CODE,
}
LEARNERS_DESK = {
    "train.csv": LEARNERS_TABLE,
    "d.json": LEARNERS_DOMAIN,
    "sex.csv": "sex\nF\nM\n",
    "age.csv": "age\n35\n75\n",
}
