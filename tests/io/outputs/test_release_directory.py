import csv
import json
import stat

import pytest
from pyarrow import parquet

from dpqr.io.outputs.answers import answers_table
from dpqr.io.outputs.directory import reserve
from dpqr.io.outputs.release_directory import write_release
from dpqr.io.outputs.release_document import release_document


@pytest.mark.parametrize("form", ["csv", "parquet", "json"])
def test_answers_and_record(release, tmp_path, form):
    write_release(release, reserve(str(tmp_path / "out")), answers=form)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [f"answers.{form}", "release.json"]
    record = json.loads((tmp_path / "out" / "release.json").read_text(encoding="utf-8"))
    assert record == release_document(release, files=[f"answers.{form}"])


def test_synthetic_data_and_its_seed_stand_in_the_record(release, tmp_path):
    write_release(release, reserve(str(tmp_path / "out")), synthetic="rows")
    drawn = parquet.read_table(tmp_path / "out" / "synthetic.parquet")
    record = json.loads((tmp_path / "out" / "release.json").read_text(encoding="utf-8"))
    assert record["synthetic"] == {
        "form": "rows",
        "bins": "title",
        "seed": 7,
        "rows": drawn.num_rows,
        "records_a_row": 1.0,
        "moved": 0.0,
    }
    assert record["files"] == ["answers.csv", "synthetic.parquet"]


def test_one_release_always_makes_the_same_files(release, tmp_path):
    for name in ("one", "two"):
        write_release(release, reserve(str(tmp_path / name)), synthetic="cells", bins="midpoint")
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


def test_a_written_release_can_be_replaced_by_the_next(release, tmp_path):
    write_release(release, reserve(str(tmp_path / "out")), answers="csv", synthetic="rows")
    write_release(release, reserve(str(tmp_path / "out"), force=True), answers="json")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["answers.json", "release.json"]


def test_csv_has_one_line_an_answer(release, tmp_path):
    write_release(release, reserve(str(tmp_path / "out")))
    with (tmp_path / "out" / "answers.csv").open(newline="", encoding="utf-8") as file:
        assert len(list(csv.reader(file))) == answers_table(release).rows + 1


def test_files_can_be_read_as_the_umask_says(release, tmp_path):
    (tmp_path / "plain").mkdir()
    write_release(release, reserve(str(tmp_path / "out")))
    mode = stat.S_IMODE((tmp_path / "out").stat().st_mode)
    assert mode == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
