"""A DuckDB file is there whole, or nothing is."""

import os

import pyarrow as pa
import pytest

from dpqr.kernel.errors import UsageFault
from dpqr.published.export import FACTS, SEAL, exported_seal, write_duckdb
from dpqr.releases.files import reserve_file

SEALED = pa.table({"fact": [SEAL], "value": ["abc"]})


def test_a_file_is_known_by_its_seal(tmp_path):
    place = reserve_file(str(tmp_path / "out.db"))
    write_duckdb(place, {FACTS: SEALED})
    assert exported_seal(place.path) == "abc"
    (tmp_path / "text").write_text("no database")
    assert exported_seal(tmp_path / "text") is None
    assert exported_seal(tmp_path / "nowhere") is None


def test_nothing_half_written_is_left(tmp_path):
    with pytest.raises(UsageFault, match="DuckDB cannot write it"):
        write_duckdb(reserve_file(str(tmp_path / "out.db")), {FACTS: SEALED, 'a"b': SEALED})
    assert os.listdir(tmp_path) == []


def test_a_file_of_the_same_name_that_came_meanwhile_stays(tmp_path):
    place = reserve_file(str(tmp_path / "out.db"))
    place.path.write_text("mine")
    with pytest.raises(UsageFault, match="the finished file is"):
        write_duckdb(place, {FACTS: SEALED})
    assert place.path.read_text() == "mine"
