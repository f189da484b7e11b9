"""The sample survey: repeatable, the same in both formats, and with everything that a loader has to cope with."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from dpqr.kernel.sealed import SealKey
from dpqr.tables.limits import Limits
from dpqr.tables.load import load_table
from dpqr.tables.source import TableSource
from dpqr.workload.form import FIGURES, KINDS
from dpqr.workload.queries_file import read_queries

SAMPLE = Path(__file__).parent.parent / "sample_data"


@pytest.fixture(scope="module")
def survey() -> pa.Table:
    return parquet.read_table(SAMPLE / "survey.parquet")


@pytest.mark.slow
def test_the_script_writes_what_is_committed(tmp_path, survey) -> None:
    subprocess.run([sys.executable, str(SAMPLE / "make_sample.py"), str(tmp_path)], check=True)
    assert (tmp_path / "survey.csv").read_bytes() == (SAMPLE / "survey.csv").read_bytes()
    assert parquet.read_table(tmp_path / "survey.parquet").equals(survey)


def test_both_formats_hold_the_same_histogram() -> None:
    domain = read_queries(SAMPLE / "queries.json").domain
    tables = [TableSource(paths=(str(SAMPLE / f"survey.{kind}"),)) for kind in ("csv", "parquet")]
    one, other = (load_table(table, domain, Limits()).counts._unseal(SealKey()) for table in tables)
    everything = tuple(range(len(domain.names)))
    assert (one.marginal(everything) == other.marginal(everything)).all()
    assert 20_000 < int(one.marginal(())) < 24_307


def test_it_has_what_a_loader_must_cope_with(survey) -> None:
    assert (survey.num_rows, survey.num_columns) == (24_307, 8)
    assert all(survey[name].null_count for name in ("sex", "education", "income", "hours"))
    assert Counter(survey["region"].to_pylist())["Islands"] < 0.01 * survey.num_rows
    assert Counter(Counter(survey["person_id"].to_pylist()).values()).keys() == {1, 2, 3, 4}
    assert sum(path.stat().st_size for path in SAMPLE.glob("survey.*")) < 2 * 2**20


def test_its_queries_are_of_every_kind_on_a_modest_domain() -> None:
    text = (SAMPLE / "queries.json").read_text(encoding="utf-8")
    assert all(f'"{kind}":' in text for kind in KINDS if kind not in (*FIGURES, "hierarchy", "persons"))
    document = read_queries(SAMPLE / "queries.json")
    assert document.domain.size == 50_400
    assert "person_id" not in document.domain.names
