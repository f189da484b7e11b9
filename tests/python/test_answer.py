"""New questions from Python, on a release in memory or on disk."""

import pandas as pd
import pytest

import dpqr

DOMAIN = {"a": 3, "b": 2}


@pytest.fixture(scope="module")
def made():
    table = pd.DataFrame({"a": [0, 1, 2, 1] * 50, "b": [0, 1] * 100})
    return dpqr.release(table, queries=dpqr.queries().marginal("a", "b"), domain=DOMAIN, eps=1)


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
