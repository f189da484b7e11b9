"""`dpqr release` as a user meets it: what is printed, what is written, what is refused to be opened."""

from __future__ import annotations

import gzip
import io
import json
import math
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from support.cases import slow_but
from support.command_desk import PRIVATE, QUERIES, TABLE

ROOT = Path(__file__).resolve().parents[2]
CERTAIN = "1000"
"""An epsilon at which the chance of any noise is below 1e-36: answers can be compared with the table by eye."""

MEASURED = [0, 2, 0, 0, 0, 0, 0, 1, 0, 1, 1, 2, 4]


def measured(document):
    return [answer["measured"] for answer in document["answers"]]


def test_json_is_all_that_stdout_holds(desk):
    ended = desk.release("--json", eps=CERTAIN)
    document = ended.json
    assert measured(document) == MEASURED
    assert document["plan"]["dpqr"] == "plan/1"
    assert document["ledger"] == "none"
    assert [event["count"] for event in document["events"]] == [1, 1]
    # After the plan's notes: how the model came to be, where several were averaged.
    assert document["trust"][: len(document["plan"]["notes"])] == document["plan"]["notes"]
    assert "Guarantee" in ended.err


def test_the_files(desk):
    ended = desk.release("--out", "out", eps=CERTAIN)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.endswith("released to out\n")
    assert desk.everything() == {"table.csv", "q.json", "out", "out/answers.csv", "out/release.json"}
    assert csv.read_csv(desk.path / "out/answers.csv")["measured"].to_pylist() == MEASURED
    record = json.loads((desk.path / "out/release.json").read_text())
    assert record["files"] == ["answers.csv"]
    for path in ("out/answers.csv", "out/release.json"):
        assert not any(hidden in (desk.path / path).read_text() for hidden in PRIVATE)


def test_synthetic_rows(desk):
    assert desk.release("--out", "out", "--synthetic", "rows", "--bins", "midpoint", eps=CERTAIN).code == 0
    rows = parquet.read_table(desk.path / "out/synthetic.parquet")
    assert rows.column_names == ["sex", "age", "income"]
    assert rows.num_rows == 4
    assert set(rows["age"].to_pylist()) <= {12, 37, 62, 87, None}
    assert json.loads((desk.path / "out/release.json").read_text())["synthetic"]["form"] == "rows"


def parquet_bytes(rows=slice(None)):
    read = csv.read_csv(io.BytesIO(TABLE.encode()), convert_options=csv.ConvertOptions(strings_can_be_null=True))
    file = io.BytesIO()
    parquet.write_table(pa.table(read.to_pydict()).take(list(range(5))[rows]), file)
    return file.getvalue()


SOURCES = {
    "gzip": ("t.csv.gz", {"t.csv.gz": gzip.compress(TABLE.encode())}, ()),
    "byte-order-mark": ("t.csv", {"t.csv": b"\xef\xbb\xbf" + TABLE.encode()}, ()),
    "tab": ("t.txt", {"t.txt": TABLE.replace(",", "\t")}, ("--delimiter", r"\t")),
    "utf-16": ("t.csv", {"t.csv": TABLE.encode("utf-16")}, ("--encoding", "UTF-16")),
    "tsv": ("t.tsv", {"t.tsv": TABLE.replace(",", "\t")}, ()),
    "semicolon": ("t.csv", {"t.csv": TABLE.replace(",", ";")}, ("--delimiter", ";")),
    "quoted": ("t.csv", {"t.csv": "\n".join(f'"{line}"' for line in TABLE.split("\n")[:-1]).replace(",", '","')}, ()),
    "windows-lines": ("t.csv", {"t.csv": TABLE.replace("\n", "\r\n")}, ()),
    "parquet": ("t.parquet", {"t.parquet": parquet_bytes()}, ()),
    "directory": ("t", {"t/a.parquet": parquet_bytes(slice(2)), "t/b.parquet": parquet_bytes(slice(2, None))}, ()),
    "glob": ("t/?.pq", {"t/a.pq": parquet_bytes(slice(2)), "t/b.pq": parquet_bytes(slice(2, None))}, ()),
}


@pytest.mark.parametrize(("data", "files", "options"), slow_but({0, 5}, SOURCES.values()), ids=SOURCES)
def test_every_kind_of_table(desk, data, files, options):
    for name, content in files.items():
        desk.put(name, content)
    assert measured(desk.release("--json", *options, data=data, eps=CERTAIN).json) == MEASURED


def test_standard_input(desk):
    (desk.path / "table.csv").unlink()
    ended = desk.release("--json", data="-", stdin=TABLE, eps=CERTAIN)
    assert measured(ended.json) == MEASURED


def test_a_histogram(desk):
    desk.put("t.csv", "age,income,n,sex\n31,150,1000,F\n64,250,7,M\n31,50,0,F\n")
    ended = desk.release("--json", "--counts", "n", data="t.csv", eps=CERTAIN)
    assert measured(ended.json) == [0, 1000, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1000, 1007]


@pytest.mark.slow
def test_replace_with_the_declared_number(desk):
    ended = desk.release("--json", "--neighbours", "replace", "--n", "5", eps=CERTAIN)
    assert (ended.json["plan"]["n"], ended.json["plan"]["most"]) == (None, 5)
    assert ended.json["hypothesis"]["total"] == 4
    assert "one row of the table replaced by another" in ended.json["guarantee"]


def test_a_dry_run_opens_nothing(desk, monkeypatch):
    monkeypatch.setattr("dpqr.releases.release.check_table", lambda *_: pytest.fail("the table was looked at"))
    monkeypatch.setattr("dpqr.releases.release.load_table", lambda *_, **__: pytest.fail("the table was read"))
    ended = [desk.release("--dry-run", data=data) for data in ("nowhere.csv", "table.csv", "-")]
    assert [(each.code, each.err) for each in ended] == [(0, "")] * 3
    assert len({each.out for each in ended}) == 1
    assert desk.everything() == {"table.csv", "q.json"}


def test_notes_reach_plan_receipt_and_record(desk):
    domain = {"malformed": "fail", "fields": [dict(field) for field in QUERIES["domain"]["fields"]]}
    domain["fields"][2]["dpqr"] = {**domain["fields"][2]["dpqr"], "null": "fail"}
    desk.write(q__json={"domain": domain, "queries": [{"sum": "income"}]})
    replaced = ("--neighbours", "replace", "--n", "5", "--delta", "0.05", "--accountant", "basic")
    options = (*replaced, "--schedule", "rounds")
    notes = desk.release("--dry-run", "--json", *options).json["notes"]
    assert notes == [
        "sum(income): counts each record with its bin's midpoint: an error of at most 100 a record within the bounds",
        "warning: delta 0.05 is not far below 1/n; it lets a mechanism reveal single records",
        "warning: the noise of most answers exceeds the 5 records that there are at most, so they say next to nothing; "
        "ask fewer queries, or a larger --eps",
        "warning: malformed rows have the rule `fail`: the exit code tells one bit of the data that the guarantee does "
        "not cover",
        "warning: column 'income' has a rule `fail`: the exit code tells one bit of the data that the guarantee does "
        "not cover",
    ]
    ended = desk.release("--json", *options)
    assert ended.json["trust"] == notes
    told = " ".join(ended.err.split())
    assert all(f"Warning {each.removeprefix('warning: ')}" in told for each in notes[1:])
    assert "each value counts as the middle of its interval, at most 100 away" in told


def test_progress_in_json_lines(desk):
    ended = desk.release("--progress", "json", "--schedule", "rounds", "--out", "out")
    events = [json.loads(line) for line in ended.err.splitlines()]
    assert events[:-1] == [
        *({"event": "read", "percent": percent} for percent in range(0, 101, 10)),
        {"event": "round", "rounds": 1, "planned": 2},
        {"event": "round", "rounds": 2, "planned": 2},
    ]
    assert events[-1]["event"] == "released"
    assert events[-1]["out"] == "out"
    assert events[-1]["guarantee"].startswith("Differentially private with epsilon = 1")


def test_silence_where_nobody_watches(desk):
    assert "reading" not in desk.release().err
    assert "reading" not in desk.release("--progress", "none").err


# --error-bars and --certify as a user meets them: plan, screen, record, refusals.


PAIRS = [["sex", "age"], ["sex", "income"], ["age", "income"]]


@pytest.fixture
def pairs(desk):
    """Three pairs, of which one round can measure one."""
    asked = json.loads((desk.path / "q.json").read_text())
    desk.write(pairs__json=json.dumps({**asked, "queries": [{"marginals": PAIRS}]}))
    return desk


def run(desk, *options, eps="1"):
    return desk.release("--rounds", "1", *options, queries="pairs.json", eps=eps)


@pytest.mark.slow
def test_a_record_holds_the_bounds_and_the_screen_the_first_of_them(pairs) -> None:
    ended = run(pairs, "--certify", "0.05", "--beta", "0.1", "--out", "release", eps="100")
    assert ended.code == 0
    record = json.loads((pairs.path / "release" / "release.json").read_text())
    assert [bound["name"] for bound in record["bounds"]["blocks"]] == [
        f"marginal({','.join(names)})" for names in PAIRS
    ]
    assert record["bounds"]["confidence"] == 0.9
    assert record["plan"]["beta"]["exact"] == "1/10"
    assert record["bounds"]["fraction"] is None
    assert all(math.isfinite(bound["records"]) for bound in record["bounds"]["blocks"])
    assert [draw["of"] for draw in record["errors"]["draws"]] == ["sum", "largest"]
    shown = pairs.run("show", "release", "--query", "marginal(sex,age)")
    assert "at most" in shown.out.splitlines()[1]
    assert "with probability at least 0.9" in shown.out.splitlines()[1]
    said = " ".join(ended.err.split())
    assert "Certificate: with probability at least 0.9, over the noise of this run, the mean L1 error of the 3" in said
    assert "Errors" in " ".join(line[0] for line in record["receipt"])


@pytest.mark.slow
def test_a_release_loads_no_masked_arrays(tmp_path):
    """They take a hundredth of its processor time to import."""
    words = ["release", "sample_data/survey.csv", "--queries", "sample_data/queries.json", "--eps", "1", "--out"]
    code = (
        "import sys\nfrom dpqr.cli.main import main\n"
        f"try:\n    main({[*words, str(tmp_path / 'out')]})\nexcept SystemExit as ended:\n"
        "    print(ended.code, 'numpy.ma' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 False"
