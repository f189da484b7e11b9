import hashlib
import json
import time
from fractions import Fraction

import numpy as np
import pytest
from pyarrow import parquet

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.values import replace
from dpqr.releases.answers.answered import BlockAnswers
from dpqr.releases.answers.noisy import Noisy
from dpqr.releases.files.atomic import reserve
from dpqr.releases.files.release_files import (
    ANSWER_COLUMNS,
    BASIS,
    FIGURES,
    answer_records,
    answer_tables,
    answers_table,
)
from dpqr.releases.files.tidy import plain_values
from dpqr.releases.receipt import receipt
from dpqr.releases.record.release_document import release_document
from dpqr.releases.release import write_release
from dpqr.releases.requests import OutputRequest
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.workload import Workload


@pytest.mark.parametrize("form", ["csv", "parquet", "json"])
def test_answers_and_record(release, tmp_path, form):
    write_release(release, reserve(str(tmp_path / "out")), OutputRequest(format=form))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [f"answers.{form}", "release.json"]
    record = json.loads((tmp_path / "out" / "release.json").read_text(encoding="utf-8"))
    name = f"answers.{form}"
    digest = hashlib.sha256((tmp_path / "out" / name).read_bytes()).hexdigest()
    assert record == release_document(release, files={name: digest}, receipt=receipt(release))


def test_synthetic_data_and_its_seed_stand_in_the_record(release, tmp_path):
    write_release(release, reserve(str(tmp_path / "out")), OutputRequest(synthetic="rows"))
    drawn = parquet.read_table(tmp_path / "out" / "synthetic.parquet")
    record = json.loads((tmp_path / "out" / "release.json").read_text(encoding="utf-8"))
    moved = record["synthetic"].pop("moved")
    assert 0.0 <= moved < 0.5
    assert record["synthetic"] == {
        "form": "rows",
        "bins": "title",
        "seed": 7,
        "rows": drawn.num_rows,
        "records_a_row": 1.0,
    }
    assert record["files"] == ["answers.csv", "synthetic.parquet"]


def test_one_release_always_makes_the_same_files(release, tmp_path):
    for name in ("one", "two"):
        write_release(release, reserve(str(tmp_path / name)), OutputRequest(synthetic="cells", bins="midpoint"))
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


def with_blocks(release, domain, blocks):
    """The same release over another workload, nothing measured, estimates 0, 1, 2, ..."""
    problem = replace(release.plan.problem, domain=domain, workload=Workload(blocks))
    answers = tuple(
        BlockAnswers(
            block=block,
            estimate=np.arange(block.rows, dtype=np.float64),
            error=np.full(block.rows, np.nan),
            noisy=Noisy.absent(block.rows),
        )
        for block in blocks
    )
    return replace(release, plan=replace(release.plan, problem=problem), answers=answers)


def test_every_row_says_what_it_answers(release):
    rows = answer_records(release)
    shown = [(row["query"], row["sex"], row["age"], row["detail"], row["estimate"]) for row in rows]
    assert shown == [
        ("sex by age", "F", "[0, 20)", None, 5.0),
        ("sex by age", "F", "[20, 40)", None, 4.5),
        ("sex by age", "F", "[40, 60]", None, 4.0),
        ("sex by age", "M", "[0, 20)", None, 5.0),
        ("sex by age", "M", "[20, 40)", None, 0.0),
        ("sex by age", "M", "[40, 60]", None, 7.0),
        ("sex by age", "(null)", "[0, 20)", None, 1.0),
        ("sex by age", "(null)", "[20, 40)", None, 0.0),
        ("sex by age", "(null)", "[40, 60]", None, 0.0),
        ("cdf", None, None, "< 20", 11.0),
        ("cdf", None, None, "< 40", 15.5),
        ("cdf", None, None, "<= 60", 26.5),
        ("young women", None, None, None, 9.5),
        ("years", "F", None, "sum of age", 385.0),
        ("years", "M", None, "sum of age", 400.0),
        ("years", "(null)", None, "sum of age", 10.0),
        ("boxes", None, None, "age < 20, region 0", 10.0),
        ("boxes", None, None, "age >= 20, any region", 15.5),
        ("all", None, None, None, 26.5),
    ]


def test_measured_values_carry_the_grid_and_their_intervals_and_are_null_elsewhere(release):
    rows = {(row["query"], row["sex"], row["age"]): row for row in answer_records(release)}
    assert rows["years", "F", None]["measured"] == 3.5
    assert rows["years", "F", None]["noise_deviation"] == release.answers[3].noisy.deviation[0]
    margin = release.answers[0].noisy.margin[4]
    assert margin == DiscreteLaplace(Fraction(5)).tail(0.05) > 0
    drawn = rows["sex by age", "M", "[20, 40)"]
    assert (drawn["measured"], drawn["lower"], drawn["upper"]) == (0.0, 0.0, margin)  # no count is negative
    other = rows["all", None, None]
    assert {other[name] for name in ("measured", "noise_deviation", "lower", "upper")} == {None}


def test_attributes_that_are_called_like_columns_of_the_answers_move_aside(release):
    names = (*ANSWER_COLUMNS, "column_query")
    domain = Domain(tuple(Attribute(name=name, axis=Codes(2)) for name in names))
    blocks = (QueryBlock(name="m", factors=tuple(Factor.identity(axis, 2) for axis in range(len(names)))),)
    table = answers_table(with_blocks(release, domain, blocks))
    moved = list(table.columns)[1 : -len(FIGURES) - 2]
    assert moved == [f"column_{name}" for name in ANSWER_COLUMNS] + ["column_column_query"]
    assert plain_values(table.columns["column_column_query"])[:3] == ["0", "1", "0"]


def test_columns_are_of_attributes_that_some_block_keeps_apart_and_nothing_is_minus_nothing(release):
    first = replace(release.answers[0], estimate=np.full(9, -0.0))
    table = answers_table(replace(release, answers=(first, *release.answers[1:])))
    assert list(table.columns) == ["query", "sex", "age", "detail", *FIGURES, BASIS]
    assert table.rows == release.plan.problem.workload.rows
    assert table.columns["sex"].places.dtype == np.int8
    assert str(plain_values(table.columns["estimate"])[0]) == "0.0"


def test_two_blocks_may_have_equal_details(release):
    prefix = release.answers[1].block.factors[0]
    blocks = tuple(QueryBlock(name=name, factors=(replace(prefix, labels=("a", "b", "a")),)) for name in "xy")
    table = answers_table(with_blocks(release, release.plan.problem.domain, blocks))
    assert plain_values(table.columns["detail"]) == ["a", "b", "a"] * 2


def test_a_large_workload_is_built_by_arrays_and_not_row_by_row(release):
    """132,500 rows; measured 0.015 s."""
    domain = Domain(tuple(Attribute(name=f"c{axis}", axis=Codes(50)) for axis in range(4)))
    cells = [Factor.identity(axis, 50) for axis in range(4)]
    cuts = Factor(axes=(3,), sizes=(50,), matrix=Prefix(50), labels=tuple(f"<= {cut}" for cut in range(50)))
    blocks = (
        QueryBlock(name="m", factors=tuple(cells[:3])),
        *(QueryBlock(name=f"p{axis}", factors=(cells[axis], cuts)) for axis in range(3)),
    )
    large = with_blocks(release, domain, blocks)
    start = time.process_time()
    table = answers_table(large)
    assert time.process_time() - start < 0.5
    assert table.rows == 125_000 + 3 * 2_500


def test_pieces_make_the_whole_table_and_share_its_columns(release):
    """Blocks of 9, 3, 1, 3, 2 and 1 rows; the fewest of a piece are 4."""
    pieces = list(answer_tables(release, 4))
    assert [piece.rows for piece in pieces] == [9, 4, 5, 1]
    whole = answers_table(release)
    assert {tuple(piece.columns) for piece in pieces} == {tuple(whole.columns)}
    assert [row for piece in pieces for row in piece.records()] == whole.records()


def test_places_are_of_the_narrowest_type_that_holds_the_texts_of_all_pieces(release):
    """One row a block, 300 blocks."""
    ones = tuple(QueryBlock(name=f"b{place}", factors=()) for place in range(300))
    pieces = list(answer_tables(with_blocks(release, release.plan.problem.domain, ones), 100))
    assert [piece.rows for piece in pieces] == [100] * 3
    assert {piece.columns["query"].places.dtype for piece in pieces} == {np.dtype(np.int16)}
    assert plain_values(pieces[2].columns["query"])[-1] == "b299"
