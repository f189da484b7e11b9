"""The command line and the Python interface are two doors to one house: same answers, records, ledgers and refusals."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from support.cases import thinned
from support.command_desk import DOMAIN
from support.door_checks import without

import dpqr
from dpqr.kernel.noise.source import SeededNoise
from dpqr.releases import release as app_release
from dpqr.releases.reading import TABLE_FROM_MEMORY

OPTIONS = [
    {},
    {"delta": "1e-9", "accountant": "zcdp", "rounds": 2},
    {"neighbours": "replace", "n": 5},
    {"count_dropped": "0.3", "update": "multiplicative-weights", "replay": False, "max_records": 1000},
    {"unit": "day", "max_rows": 1, "schedule": "rounds"},
    {"certify": 0.05, "beta": 0.1, "rounds": 1},
]


@pytest.fixture
def seeded(monkeypatch):
    """Every run draws the same noise. No ledger pays for it knowingly: what it holds is compared, not protected."""
    monkeypatch.setattr(app_release, "SystemNoise", lambda: SeededNoise(7))


def arguments(options):
    """Options as the shell has them."""
    for name, value in options.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            yield f"--{option}" if value else f"--no-{option}"
        else:
            yield from (f"--{option}", str(value))


@pytest.mark.parametrize("options", thinned(OPTIONS, 3), ids=range(len(OPTIONS)))
@pytest.mark.parametrize("held", thinned(["path", "frame"], 2))
def test_both_doors_release_the_same(desk, frame, seeded, options, held):
    if "neighbours" in options:
        domain = json.loads(json.dumps(DOMAIN))
        desk.write(q__json={"domain": domain, "queries": [{"marginal": ["sex"]}]})
    ended = desk.release(*arguments(options), "--json")
    assert ended.code == 0, ended.err
    table = frame if held == "frame" else "table.csv"
    made = dpqr.release(table, queries="q.json", eps=1, **options)
    answers = [without(each) for each in ended.json.pop("answers")]
    document = ended.json
    del document["answers"]
    assert json.loads(json.dumps(made.record)) == document
    shown = made.answers.astype(object).where(made.answers.notna(), None).to_dict("records")
    assert [{**each} for each in shown] == answers
    planned = dpqr.plan(queries="q.json", eps=1, **options)
    dry = desk.release(*arguments(options), "--json", "--dry-run")
    assert json.loads(json.dumps(planned.record)) == dry.json


@pytest.mark.slow
def test_both_doors_leave_the_same_files_and_entries(desk, frame, seeded):
    shell = ("--dataset", "survey", "--ledger", "shell.sqlite")
    assert desk.run("budget", "init", "survey", "--eps", "5", "--ledger", "shell.sqlite").code == 0
    files = ("--out", "shell", "--format", "json", "--synthetic", "rows")
    assert desk.release(*shell, *files, "--purpose", "a test").code == 0
    ledger = dpqr.Ledger("python.sqlite")
    ledger.init("survey", eps=5)
    paid = {"dataset": "survey", "ledger": ledger, "out": "python", "format": "json", "synthetic": "rows"}
    dpqr.release("table.csv", queries="q.json", eps=1, purpose="a test", **paid)
    read = [
        {path.name: path.read_text() for path in sorted((desk.path / name).glob("*.json"))}
        for name in ("shell", "python")
    ]
    assert read[0]["answers.json"] == read[1]["answers.json"]
    assert without(json.loads(read[0]["release.json"])) == without(json.loads(read[1]["release.json"]))
    synthetic = [pd.read_parquet(desk.path / name / "synthetic.parquet") for name in ("shell", "python")]
    pd.testing.assert_frame_equal(*synthetic)
    entries = [
        desk.run("budget", "history", "--json", "--ledger", f"{name}.sqlite").json for name in ("shell", "python")
    ]
    assert [without(each | {"receipt": "", "transcript": ""}) for each in entries[0]] == [
        without(each | {"receipt": "", "transcript": ""}) for each in entries[1]
    ]


@pytest.mark.slow
def test_a_frame_is_released_as_its_file_is_and_noted(desk, frame, seeded):
    made = []
    for name, table in (("file", "table.csv"), ("frame", frame)):
        ledger = dpqr.Ledger(f"{name}.sqlite")
        ledger.init("survey", eps=5)
        made.append(dpqr.release(table, queries="q.json", eps=1, dataset="survey", ledger=ledger))
    pd.testing.assert_frame_equal(made[0].answers, made[1].answers)
    assert [each for each in made[1].trust if each != TABLE_FROM_MEMORY] == list(made[0].trust)
    assert TABLE_FROM_MEMORY in made[1].trust


REFUSALS = [
    {"eps": "0"},
    {"eps": "1", "rounds": 0},
    {"eps": "1", "neighbours": "replace"},
    {"eps": "1", "schedule": "nothing"},
    {"eps": "1", "queries": "missing.json"},
    {"eps": "1", "queries": "bad.json"},
    {"eps": "1", "table": "missing.csv"},
    {"eps": "1", "table": "narrow.csv"},
    {"eps": "9", "dataset": "survey", "ledger": "ledger.sqlite"},
    {"eps": "1", "dataset": "nobody", "ledger": "ledger.sqlite"},
    {"eps": "1", "dataset": "survey", "ledger": "table.csv"},
    {"eps": "1", "max_records": 3},
    {"eps": "1", "out": "table.csv"},
    {"eps": "1", "synthetic": "rows"},
]


@pytest.mark.parametrize("refused", thinned(REFUSALS, 4), ids=range(len(REFUSALS)))
def test_both_doors_refuse_alike(desk, refused):
    desk.write(bad__json={"domain": DOMAIN, "queries": [{"marginal": ["ages"]}]}, narrow__csv="sex,age\nF,1\n")
    dpqr.Ledger("ledger.sqlite").init("survey", eps=5)
    given = {"table": "table.csv", "queries": "q.json", **refused}
    told = {name: value for name, value in given.items() if name not in ("table", "queries", "eps")}
    ended = desk.release(*arguments(told), data=given["table"], queries=given["queries"], eps=given["eps"])
    with pytest.raises(dpqr.DpqrError) as raised:
        dpqr.release(given.pop("table"), **given)
    assert raised.value.exit_code == ended.code
    said = " ".join(ended.err.removeprefix("dpqr: ").split())
    if "rounds" not in refused:  # click counts in its own words
        assert " ".join(str(raised.value).split()) in said
