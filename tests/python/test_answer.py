"""New questions from Python, on a release in memory or on disk."""

from __future__ import annotations

import pandas as pd
import pytest

import dpqr

DOMAIN = {"a": 3, "b": 2}


@pytest.fixture(scope="module")
def made():
    table = pd.DataFrame({"a": [0, 1, 2, 1] * 50, "b": [0, 1] * 100})
    return dpqr.release(table, queries=dpqr.queries().marginal("a", "b"), domain=DOMAIN, eps=1)


@pytest.mark.slow
def test_a_release_in_memory_answers_as_its_files_do(made, tmp_path):
    made.save(tmp_path / "out")
    asked = dpqr.sql(
        "SELECT b, COUNT(*) AS n FROM t WHERE a >= 1 GROUP BY b; SELECT a, b, COUNT(*) FROM t GROUP BY a, b"
    )
    found = dpqr.answer(made, queries=asked)
    kept = dpqr.answer(tmp_path / "out", queries=asked)
    pd.testing.assert_frame_equal(found.answers, kept.answers)
    assert found.released == {"marginal(a,b)"}
    assert found.answers["estimate"].tolist()[2:] == made.answers["estimate"].tolist()
    read = dpqr.read_release(tmp_path / "out")
    assert dpqr.answer(read, queries=asked).document() == kept.document()


def test_a_predicate_and_columns(made, tmp_path):
    found = dpqr.answer(made, where="a = 1", by="b", out=tmp_path / "new.csv")
    assert list(found.answers.columns[:2]) == ["query", "b"]
    assert len((tmp_path / "new.csv").read_text().splitlines()) == 3
    assert len(dpqr.answer(made, by=["a"]).answers) == 3
    assert "<table" in found._repr_html_()


@pytest.mark.parametrize("options", [{}, {"where": "a = 1", "queries": {"queries": []}}, {"where": 3}])
def test_one_way_of_asking(made, options):
    with pytest.raises(dpqr.UsageFault):
        dpqr.answer(made, **options)


# Exports from Python.


def test_a_release_becomes_tables(tmp_path):
    table = pd.DataFrame({"a": [0, 1, 2]})
    made = dpqr.release(table, queries=dpqr.queries().marginal("a"), domain={"a": 3}, eps=1)
    made.save(tmp_path / "out")
    found = dpqr.export(tmp_path / "out", duckdb=tmp_path / "out.db")
    assert found.tables["answers"] == 3
    with pytest.raises(dpqr.AlreadyThere):
        dpqr.export(tmp_path / "out", duckdb=tmp_path / "out.db")
    with pytest.raises(dpqr.UsageFault):
        dpqr.export(tmp_path / "out", duckdb=tmp_path / "out.db", if_exists="maybe")


# A series in Python.


TABLE = pd.DataFrame({"sex": ["f", "m", "f", "f"]})
DOMAIN_SERIES = {"fields": [{"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}}]}


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    found = [tmp_path_factory.mktemp("series") / name for name in ("a", "b")]
    for place in found:
        dpqr.release(TABLE, queries=dpqr.queries().marginal("sex"), domain=DOMAIN_SERIES, eps=1, out=place)
    return found


def test_the_frame_holds_every_point(places):
    found = dpqr.series(places)
    assert found.points == tuple(map(str, places))
    assert found.frame["change"].isna().tolist() == [True, True, False, False]
    moved = found.frame["estimate"].to_numpy()
    assert found.frame["change"].to_numpy()[2:].tolist() == (moved[2:] - moved[:2]).tolist()
    assert found.frame["point"].cat.ordered
    assert found.document()["answers"][0]["sex"] == "f"
    assert str(found).startswith("marginal(sex): 2 answers")
    assert found._repr_html_()


def test_releases_that_were_read_or_made(places):
    made = dpqr.release(TABLE, queries=dpqr.queries().marginal("sex"), domain=DOMAIN_SERIES, eps=1)
    assert dpqr.series([dpqr.read_release(places[0]), places[1]]).points[0] == str(places[0])
    with pytest.raises(dpqr.UsageFault, match="save it"):
        dpqr.series([made, places[0]])
    with pytest.raises(dpqr.UsageFault, match="give a list"):
        dpqr.series(places[0])


def test_files(places, tmp_path):
    found = dpqr.series(places)
    found.save(tmp_path / "new.csv")
    assert (tmp_path / "new.csv").read_text().startswith('"query","point","sex","detail"')
    with pytest.raises(dpqr.AlreadyThere):
        found.save(tmp_path / "new.csv")
