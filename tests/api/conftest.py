import pandas as pd
import pytest
from support.command_desk import QUERIES, TABLE, Desk


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A directory with table.csv and q.json, which is also the working directory."""
    monkeypatch.chdir(tmp_path)
    made = Desk(tmp_path)
    made.write(table__csv=TABLE, q__json=QUERIES)
    return made


@pytest.fixture
def frame(desk):
    """The same table in memory."""
    return pd.read_csv(desk.path / "table.csv", keep_default_na=False, dtype=object)
