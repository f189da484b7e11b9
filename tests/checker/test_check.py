"""The second pair of eyes: it accepts honest records of every kind and version, and refuses what does not follow."""

from __future__ import annotations

import ast
import csv
import hashlib
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from fractions import Fraction
from itertools import combinations, islice, product
from pathlib import Path
from types import SimpleNamespace

import pytest
from checker import honest
from checker.forgeries import (
    canonical,
    changed_at,
    every_forgery,
    forged,
    is_said,
    kind_of,
    ledger_text,
    places,
    record_of,
    refused,
    reseal,
    table_of_forgeries,
    write,
)
from support.cases import in_one_test, slow_but, slow_one, thinned

import dpqr
import dpqr.releases.release as module
from dpqr.checker import check as checker
from dpqr.kernel.accountants.known import RELEASING
from dpqr.kernel.errors import DocumentError, GoalMissed
from dpqr.kernel.events import ExponentialEvent, PermuteAndFlipEvent
from dpqr.kernel.unit import PrivacyUnit
from dpqr.workload.queries_file import read_queries

FILE = honest.ROOT / "dpqr/checker/check.py"


class Made(dict):
    """Honest releases by their names, made when they are looked at first."""

    def __init__(self, where):
        self.where = where

    def __missing__(self, name):
        self[name] = honest.release(self.where, name)
        return self[name]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Made(tmp_path_factory.mktemp("made"))


@in_one_test("place", honest.OLD)
def test_old_releases_are_accepted(place):
    assert refused(place) == (0, "")


@in_one_test("path", sorted((honest.ROOT / "tests/old_ledgers").iterdir()))
def test_old_ledgers_add_up(path):
    found = checker.compared(SimpleNamespace(ledger=str(path)), "ledger's sums", [("", checker.claims_of_entries)])
    assert {state for state, _, _ in found} <= {"ok", "not checked"}


@pytest.mark.parametrize("name", thinned(honest.QUICK, 2))
def test_honest_releases_are_accepted(name, made):
    assert refused(*made[name]) == (0, "")


@pytest.mark.parametrize("name", thinned(honest.PREDICTIONS, 2))
def test_honest_predictions_are_accepted(name, tmp_path):
    assert refused(honest.prediction(tmp_path, name)) == (0, "")


@pytest.mark.parametrize("name", thinned(honest.SESSIONS, 2))
def test_honest_sessions_are_accepted(name, tmp_path):
    place, export = honest.session(tmp_path, name)
    assert json.loads(record_of(place).read_text(encoding="utf-8"))["questions"]["surprises"]
    assert refused(place, export) == (0, "")


def test_an_honest_counter_of_persons_is_accepted_whose_prices_add_up_to_more_than_its_budget(tmp_path):
    place, ledger = honest.counter(tmp_path)
    assert refused(place, ledger) == (0, "")
    reasons = [words for state, _, words in checker.check(str(place), str(ledger)) if state == "not checked"]
    assert any("over periods and counters" in each for each in reasons)


def test_a_session_that_drew_nothing_gives_its_delta_back_too(tmp_path):
    """In pairs of epsilon and delta, where the run's accountant proves a delta."""
    ledger = dpqr.Ledger(tmp_path / "b.sqlite")
    ledger.init("people", eps=8, delta="1e-5", accounting="basic")
    paid = {"dataset": "people", "ledger": ledger, "eps": 1, "delta": "1e-6"}
    learner = {"target": "income", "learner": "least-squares", "n": 600, "accountant": "zcdp"}
    dpqr.open_predictions(honest.table(), name="desk", domain=honest.DOMAIN, **paid, **learner).close()
    (tmp_path / "b.jsonl").write_text("".join(f"{line}\n" for line in ledger.export()), encoding="ascii")
    sums = [("", checker.claims_of_entries)]
    found = checker.compared(SimpleNamespace(ledger=str(tmp_path / "b.jsonl")), "ledger's sums", sums)
    states = {state for state, _, _ in found}
    assert "ok" in states
    assert states <= {"ok", "not checked"}


def test_it_imports_the_standard_library_alone_is_written_for_python_3_9_and_switches_no_rule_off():
    text = FILE.read_text(encoding="utf-8")
    tree = ast.parse(text, feature_version=(3, 9))
    imports = {
        node.module if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert {name.split(".")[0] for name in imports} <= sys.stdlib_module_names
    assert not any(isinstance(node, ast.Match) for node in ast.walk(tree))
    assert not re.search("noqa|type: ignore|mypy:", text)


def python_3_9():
    for place in (shutil.which("python3.9"), *map(str, Path.home().glob(".pyenv/versions/3.9*/bin/python"))):
        if place and subprocess.run([place, "-V"], capture_output=True, text=True).stdout.startswith("Python 3.9"):
            return place
    return None


@pytest.mark.skipif(python_3_9() is None, reason="there is no Python 3.9 on this machine; its syntax is checked above")
def test_it_runs_under_python_3_9_without_a_package(made):
    place, ledger = made["counts, persons"]
    command = [python_3_9(), "-S", "-I", FILE, place, "--ledger", ledger]
    ran = subprocess.run(command, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
    assert ran.returncode == 0, ran.stdout + ran.stderr
    lines = ran.stdout.splitlines()
    assert all(line.startswith(("ok: ", "not checked: ")) for line in lines)
    assert "ok: ledger's sums" in ran.stdout
    assert "not checked: beyond: what the fit estimates" in ran.stdout


def test_a_release_may_be_named_by_its_record_and_its_reader_may_leave_early(made):
    place, _ = made["counts, persons"]
    command = [sys.executable, str(FILE), str(place / "release.json")]
    ran = subprocess.run(f"{shlex.join(command)} | true", shell=True, capture_output=True, text=True)
    assert (ran.stderr, ran.returncode) == ("", 0)
    ran = subprocess.run(command, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.startswith("ok: record")) == (0, True)


def test_what_changes_a_price_a_sensitivity_an_answer_an_interval_a_hash_or_the_ledger_is_refused(made, tmp_path):
    place, ledger = made["counts, persons"]
    found = list(every_forgery(place, tmp_path, ledger))
    assert len(found) > 100
    honest_words = checker.check(str(place), str(ledger))
    assert [leaf for leaf, code, _ in found if code == 0 and not is_said(leaf, honest_words)] == []


@pytest.mark.parametrize("name", thinned(honest.QUICK, 7))
def test_of_other_records_a_share_of_the_forgeries(name, made, tmp_path):
    place, _ = made[name]
    few = iter(range(10**6))
    wanted = ("price", "event", "noise law", "hash or seal")
    found = every_forgery(place, tmp_path, None, lambda leaf: kind_of(leaf) in wanted and next(few) % 6 == 0)
    honest_words = checker.check(str(place))
    assert [leaf for leaf, code, _ in found if code == 0 and not is_said(leaf, honest_words)] == []


def as_left_out(document, place, draw):
    """A charged event, and the draw that it pays for, stated as one from left-out rows."""
    for events in (document["events"], document["plan"]["events"]):
        event = events[place].get("event", events[place])
        events[place] = {"kind": "left-out", "event": {k: v for k, v in event.items() if k != "count"}, "count": 1}
    draw["parallel"] = True


def all_rounds_left_out(document):
    as_left_out(document, -1, document["transcript"][0])


def rows_of_persons_left_out(document):
    """They would cost nothing beside the others: 0.9 in all, where the run cost 1."""
    as_left_out(document, 0, document["dropped"])
    plan, lower = document["plan"], {"exact": "9/10", "float": 0.9}
    for stated, name in [(document["spent"]["epsilon"], each) for each in document["spent"]["epsilon"]]:
        stated[name] = stated[name] and lower
    plan["budget"]["epsilon"], plan["proved_epsilon"], plan["request"]["options"]["epsilon"] = lower, lower, "0.9"
    for part in (document, plan):
        part["guarantee"] = part["guarantee"].replace("epsilon = 1 ", "epsilon = 0.9 ")


def persons_without_their_fields(document):
    """Words of persons of 5 rows, and noise for one row."""
    unit, before = document["plan"]["unit"], document["unit"]
    words = PrivacyUnit(columns=("person",), rows=5).words
    for part in (document, document["plan"]):
        part["guarantee"] = part["guarantee"].replace(before, words)
    document["unit"], unit["words"] = words, words
    del unit["column"], unit["max_rows"], document["plan"]["request"]


def counts_without_noise(document):
    part = {"name": "cells(region)", "grid": "1", "values": [200, 400]}
    document["transcript"].append({"choice": None, "charges": [], "stopped": False, "law": None, "measured": [part]})


def no_request(document):
    del document["plan"]["request"]


def more_draws_than_can_be_walked_over(document):
    document["events"][0]["count"] = 10**15


def half_a_row_of_each(document):
    """Half the sensitivity, and with it half the noise at the same price."""
    words = document["unit"].replace("at most 3 rows of each are", "at most 1 row of each is")
    for part in (document, document["plan"]):
        part["guarantee"] = part["guarantee"].replace(document["unit"], words)
    document["unit"] = document["plan"]["unit"]["words"] = words
    document["plan"]["unit"]["max_rows"] = document["plan"]["request"]["options"]["max_rows"] = 0.5
    for law in (one["law"] for one in document["transcript"]):
        scale = Fraction(law["scale"]) / 6
        law |= {"scale": str(scale), "deviation": checker.deviation("discrete-laplace", scale)}
    for event in (*document["events"], *document["plan"]["events"]):
        event |= {"sensitivity": "1/2", "scale": str(Fraction(event["scale"]) / 6)}


def labels_that_cost_nothing(document):
    for events in (document["events"], document["plan"]["events"]):
        events.append({"kind": "label-selection", "epsilon": "1", "delta": "0", "labels": 0, "count": 1})


def a_session_without_a_rule(document):
    """Its draws would be in no record, and its answers could not be checked."""
    document["plan"]["schedule"]["name"] = "interactive"
    for one in document["transcript"]:
        one["charges"] = []


def an_accountant_of_its_own(document):
    plan, lower = document["plan"], {"exact": "1/100", "float": 0.01}
    plan["accountant"] = document["spent"]["charged"] = plan["request"]["options"]["accountant"] = "exact"
    plan["budget"]["epsilon"] = plan["proved_epsilon"] = document["spent"]["epsilon"]["exact"] = lower
    plan["request"]["options"]["epsilon"] = "0.01"
    for part in (document, plan):
        part["guarantee"] = part["guarantee"].replace("epsilon = 1 ", "epsilon = 0.01 ")


def no_phases(document):
    del document["spent"]["phases"]


def private_in_other_words(document):
    document["private"] = "yes"


def a_number_that_takes_hours(document):
    document["plan"]["request"]["options"]["epsilon"] = "1e99999"


def a_grid_that_takes_hours(document):
    document["transcript"][0]["measured"][0]["grid"] = "1e99999"


def more_cells_than_can_be_walked_over(document):
    for column in document["plan"]["domain"]["columns"]:
        column["cells"] = 10**4
    document["transcript"][0]["measured"][0]["name"] = "table of all columns"


@pytest.mark.parametrize(
    ("forge", "name", "words"),
    [
        (half_a_row_of_each, "columns, persons", "0.5 is no number of rows"),
        (labels_that_cost_nothing, "counts", "draws nothing"),
        (private_in_other_words, "counts", "private: stated yes"),
        (a_session_without_a_rule, "counts", "questions.rule is missing"),
        (an_accountant_of_its_own, "columns", "there is no accountant 'exact'"),
        (no_phases, "columns", "spent.phases: whether they are there"),
        (a_number_that_takes_hours, "counts", "is no number"),
        (a_grid_that_takes_hours, "counts", "is no exact figure"),
        (more_cells_than_can_be_walked_over, "counts", "has not a value for each cell"),
        (more_draws_than_can_be_walked_over, "counts", "charges that no draw names"),
        (all_rounds_left_out, "counts", "no charged event is for discrete-laplace noise"),
        (rows_of_persons_left_out, "rows left out, persons", "draws from left-out rows, in parallel"),
        (persons_without_their_fields, "counts", "plan.unit.words"),
        (counts_without_noise, "counts", "numbers without noise"),
        (no_request, "counts", "plan.request, or questions"),
    ],
)
def test_fields_that_are_forged_together_are_refused(forge, name, words, made, tmp_path):
    """Each leaf follows from the others, and the whole is false."""
    shutil.copytree(made[name][0], tmp_path / "out")
    document = json.loads(record_of(tmp_path / "out").read_text())
    forge(document)
    write(reseal(document), tmp_path / "out/release.json")
    code, said = refused(tmp_path / "out")
    assert (code, words in said) == (6, True)


def with_answers(place, document, names, texts):
    """A release whose record lists these files with these texts."""
    document["files"], document["hashes"] = names, {}
    for name, text in texts.items():
        (place / name).write_text(text)
        document["hashes"][name] = hashlib.sha256(text.encode()).hexdigest()
    write(reseal(document), place / "release.json")
    return refused(place)


def test_answers_are_in_the_one_file_that_readers_open(made, tmp_path):
    """The draws fit a file of another name, or one of two formats, and readers see the other one."""
    shutil.copytree(made["counts"][0], tmp_path / "out")
    document, text = json.loads(record_of(tmp_path / "out").read_text()), (tmp_path / "out/answers.csv").read_text()
    other = text.replace('"total"', '"all"')
    assert with_answers(tmp_path / "out", document, ["answers.csv"], {"answers.csv": text})[0] == 0
    for names in (["fits.csv", "answers.csv"], ["answers.csv", "answers.json"]):
        code, words = with_answers(tmp_path / "out", document, names, {names[0]: text, names[1]: other})
        assert (code, "files: of answers" in words) == (6, True)
        (tmp_path / "out" / next(name for name in names if name != "answers.csv")).unlink()


def test_intervals_do_not_follow_from_an_error_without_end(made, tmp_path):
    """Every number is within a part in 1e9 of infinity, where that part is infinite."""
    place = tmp_path / "out"
    shutil.copytree(made["pairs, searched"][0], place)
    found = restated(
        place, lambda row: row["basis"] == "estimate", lambda _: {"error": "inf", "lower": "1", "upper": "2"}
    )
    assert {code for _, code in found} == {6}
    assert not checker.agrees(1.0, math.inf)


def test_predictions_are_those_that_the_record_names(tmp_path):
    """Without a hash of their file any others would do."""
    place = honest.prediction(tmp_path, "least squares")
    document = json.loads(record_of(place).read_text())
    assert refused(place)[0] == refused(record_of(place))[0] == 0
    place.write_text('"prediction"\n1\n1\n1\n1\n')
    write(reseal({**document, "hashes": {}}), record_of(place))
    code, words = refused(place)
    assert (code, "hashes: how many" in words) == (6, True)


def test_how_far_a_certificate_reaches_is_said_not_to_be_checked(made):
    found = checker.check(str(made["counts, theory"][0]))
    assert any(state == "not checked" and "how far a certificate reaches" in words for state, _, words in found)


def balance(**rules):
    return {"name": "balance", "type": "number", "dpqr": {"outside": "clip", "otherwise": "drop", **rules}}


def with_balance(**rules):
    """The made-up table's columns, and one in which most values lie below 0."""
    domain = honest.DOMAIN | {"fields": [*honest.DOMAIN["fields"], balance(**rules)]}
    return honest.table().assign(balance=lambda table: table.age - 50), domain


def restated(place, wanted, ends):
    """(a row's query, the checker's exit code), with the interval of each wanted row stated otherwise in turn."""
    document, path = json.loads(record_of(place).read_text()), place / "answers.csv"
    rows = list(csv.DictReader(path.read_text().splitlines()))
    for number in (number for number, row in enumerate(rows) if wanted(row)):
        changed = [row | ends(row) if number == each else row for each, row in enumerate(rows)]
        lines = [[*rows[0]], *([*row.values()] for row in changed)]
        text = "".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in lines)
        path.write_text(text)
        document["hashes"]["answers.csv"] = hashlib.sha256(text.encode()).hexdigest()
        write(reseal(document), record_of(place))
        yield rows[number]["query"], refused(place)[0]


def test_intervals_begin_at_0_only_where_nothing_below_0_is_added_up(tmp_path):
    """Each of the three sums lies, in some cell, thirty scales of its noise and more below 0."""
    table, domain = with_balance(edges=[-40, -10, 0, 10])
    sums = [{"sum": "balance", "by": ["sex"]}, {"sum": "balance", "name": "x", "where": "age < 38"}]
    weighted = {"sum": "balance", "weight": {"column": "income", "maximum": 40}}
    total = {"persons": {"by": ["region"], "mean": {"sum": "balance", "within": [-900, 900]}}}
    document = {"queries": [*sums, weighted, {"mean": "balance"}, {"where": "age < 19", "name": "few"}, total]}
    dpqr.release(table, queries=document, domain=domain, eps=4, unit="person", max_rows=2, out=tmp_path / "out")
    assert refused(tmp_path / "out") == (0, "")
    lower = {
        row["query"]: float(row["lower"])
        for row in csv.DictReader((tmp_path / "out/answers.csv").read_text().splitlines())
    }
    assert all(lower[name] >= 0 for name in ("mean(balance)", "few", "mean total balance per person by region"))
    names = ("sum(balance) by sex", "x", "sum(balance) weighted by income up to 40")
    forged = restated(tmp_path / "out", lambda row: float(row["lower"]) < 0, lambda _: {"lower": "0.0"})
    assert {*forged} == {(name, 6) for name in names}


def test_intervals_of_a_sessions_free_answers_begin_at_0(tmp_path):
    place, _ = honest.session(tmp_path, "session")
    for version, code in ((dpqr.__version__, 6), ("0.11.0", 0)):  # those that 0.11 wrote began below 0
        text = record_of(place).read_text().replace(f'"{dpqr.__version__}"', f'"{version}"')
        write(reseal(json.loads(text)), record_of(place))
        stated = restated(place, lambda row: row["basis"] == "compared", lambda _: {"lower": "-0.5"})
        assert {found for _, found in stated} == {code}


EDGES = [({"edges": edges}, {}) for edges in combinations((-7, -2, -1, 0, 1, 2, 8), 3)]
BINS = [{}, *({"bins": number} for number in (1, 2, 5)), *({"width": width} for width in (1, 2, 3, 40))]
ENDS = [{"minimum": low, "maximum": high} for low, high in combinations((-7, -2, -1, 0, 1, 8), 2)]


def test_whether_a_sum_can_be_negative_is_what_its_bins_say():
    """It may be left open, and is said to be, where the lowest bin reaches from below 0 to as far above it."""
    entry, left_open, read_columns = {"sum": "balance"}, 0, 0
    e = SimpleNamespace(request={"queries": {"queries": [entry]}})
    for kind, closed, (bins, ends) in product(
        ("integer", "number"), ({}, {"closed": "right"}), [*EDGES, *product(BINS, ENDS)]
    ):
        field = balance(**bins, **closed) | {"type": kind, "constraints": ends}
        e.request["domain"] = {"fields": [field]}
        try:
            read = read_queries({"queries": [entry]}, {"dpqr": "domain/1", "malformed": "drop", **e.request["domain"]})
        except DocumentError:
            continue
        read_columns += 1
        (block,) = read.workload.blocks
        least, beside = checker.lowest_bin(e, block.name)
        assert least + beside >= 0 or not block.is_non_negative, field
        if least + beside >= 0 and not block.is_non_negative:
            assert least < 0, field
            left_open += 1
    assert read_columns > 300
    assert 0 < left_open < read_columns / 4


def test_a_query_is_the_entry_of_its_own_name_not_of_one_that_begins_it():
    """Else a sum would be taken for a table of counts, in which a row counts 1."""
    entries = [{"name": "q", "marginal": ["sex"]}, {"name": "q: x", "sum": "income"}]
    assert checker.kind_of("q: x", SimpleNamespace(request={"queries": {"queries": entries}})) == "sum"


def test_a_leaf_without_new_seals_is_refused(made, tmp_path):
    shutil.copytree(made["counts"][0], tmp_path / "out")
    document = checker.read_json(record_of(tmp_path / "out").read_text())
    for leaf, _ in islice(places(document), 0, None, 12):
        write(changed_at(document, leaf), tmp_path / "out/release.json")
        assert refused(tmp_path / "out")[0] == 6


def test_a_key_that_stands_twice_a_missing_file_and_another_ledger_are_refused(made, tmp_path):
    place, ledger = made["counts, persons"]
    text = record_of(place).read_text()
    shutil.copytree(place, tmp_path / "out")
    (tmp_path / "out/release.json").write_text(text.replace('"version":', '"version": "9.9.9", "version":', 1))
    assert refused(tmp_path / "out")[0] == 6
    shutil.copytree(place, tmp_path / "bare")
    (tmp_path / "bare/answers.csv").unlink()
    assert refused(tmp_path / "bare")[0] == 6
    assert refused(place, honest.ROOT / "tests/old_ledgers/0.10.0.jsonl")[0] == 6
    (tmp_path / "cut.jsonl").write_text("\n".join(ledger.read_text().splitlines()[1:]))
    assert refused(place, tmp_path / "cut.jsonl")[0] == 7


@pytest.mark.parametrize(("rejected", "code"), [(False, 7), (True, 0)])
def test_an_entry_that_the_rules_refuse_is_void_once_it_is_rejected(rejected, code, made, tmp_path):
    place, ledger = made["counts, persons"]
    lines = [checker.read_json(line) for line in ledger.read_text().splitlines()]
    number, before = len(lines), lines[-1]["seal"]
    void = {
        "text": "a reservation of a job that is none",
        "seal": checker.sha256(f"{before}\na reservation of a job that is none"),
    }
    entry = {
        "entry": "reject",
        "number": number + 1,
        "rejects": [number] if rejected else [],
        "time": "2026-01-01T00:00:00Z",
    }
    last = {"entry": entry, "seal": checker.sha256(f"{void['seal']}\n{canonical(entry)}")}
    text = f"{ledger_text(lines)}{canonical(void)}\n{ledger_text([last])}"
    (tmp_path / "ledger.jsonl").write_text(text)
    assert refused(place, tmp_path / "ledger.jsonl")[0] == code
    (tmp_path / "ledger.jsonl").write_text(text.replace("that is none", "that is one"))
    assert refused(place, tmp_path / "ledger.jsonl")[0] == 7


def test_what_a_ledger_calls_void_is_not_vouched_for(made, tmp_path):
    place, ledger = made["counts, persons"]
    reason = "that rejected entries broke the rules"
    assert not any(reason in words for _, _, words in checker.check(str(place), str(ledger)))
    lines = [checker.read_json(line) for line in ledger.read_text().splitlines()]
    number = next(place for place, line in enumerate(lines) if line["entry"]["entry"] == "reserve")
    # An honest reservation, called one that the rules refuse, under the seal that it had.
    void = {"text": canonical(lines[number]["entry"]), "seal": lines[number]["seal"]}
    entry = {"entry": "reject", "number": number + 1, "rejects": [number], "time": "2026-01-01T00:00:00Z"}
    last = {"entry": entry, "seal": checker.sha256(f"{void['seal']}\n{canonical(entry)}")}
    (tmp_path / "void.jsonl").write_text("".join(f"{canonical(line)}\n" for line in (*lines[:number], void, last)))
    evidence = SimpleNamespace(ledger=str(tmp_path / "void.jsonl"))
    found = checker.compared(evidence, "ledger's sums", [("", checker.claims_of_entries)])
    assert {state for state, _, _ in found} == {"ok", "not checked"}
    assert any(reason in words for _, _, words in found)


def twins(line):
    """An entry that is hidden: of a kind that looks like another one."""
    line["entry"]["entry"] = line["entry"]["entry"].replace("e", "\u0435")


def of_rows(line):
    """A budget for rows, which persons must not draw on."""
    if line["entry"]["entry"] == "init":
        line["entry"]["unit"] = PrivacyUnit().whom


def test_a_line_of_a_ledger_is_the_entry_that_its_seal_is_of(made, tmp_path):
    """A text that the seals fit, and beside it an entry that states another limit."""
    place, ledger = made["counts, persons"]
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    for line in lines:
        if line["entry"]["entry"] == "init":
            line["text"] = canonical(line["entry"])
            line["entry"] |= {"limit": "400", "epsilon": "400"}
    (tmp_path / "ledger.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert refused(place, tmp_path / "ledger.jsonl")[0] == 7


@pytest.mark.parametrize(("forge", "kinds"), [(twins, ("reserve", "record", "settle")), (of_rows, ("init",))])
def test_entries_that_are_hidden_and_budgets_of_others_are_refused(forge, kinds, made, tmp_path):
    """Every seal follows. Of the record the seal of the entry that paid too."""
    place, ledger = made["counts, persons"]
    lines, before = [checker.read_json(line) for line in ledger.read_text().splitlines()], ""
    for line in lines:
        if line["entry"]["entry"] in kinds:
            forge(line)
        line["seal"] = before = checker.sha256(f"{before}\n{canonical(line['entry'])}")
    (tmp_path / "ledger.jsonl").write_text(ledger_text(lines))
    shutil.copytree(place, tmp_path / "out")
    document = json.loads(record_of(place).read_text())
    document["ledger"]["seal"] = lines[document["ledger"]["entry"]]["seal"]
    write(reseal(document), tmp_path / "out/release.json")
    code, words = refused(tmp_path / "out", tmp_path / "ledger.jsonl")
    assert code == (7 if forge is twins else 6)
    assert ("is no kind of entry" if forge is twins else "unit, as of the budget") in words


@in_one_test(
    "figure",
    [
        {"exact": "1", "float": 0.5, "note": ""},  # what a reader takes for the figure is half of it
        {"exact": "\u0661", "float": 1.0},
        True,
    ],
)
def test_a_figure_is_written_in_one_way(figure, made, tmp_path):
    shutil.copytree(made["counts"][0], tmp_path / "out", dirs_exist_ok=True)
    document = json.loads(record_of(made["counts"][0]).read_text())
    document["plan"]["proved_epsilon"] = document["plan"]["budget"]["epsilon"] = figure
    write(reseal(document), tmp_path / "out/release.json")
    assert refused(tmp_path / "out")[0] == 6


def in_other_digits(row):
    return re.sub(r"(?<=,)[0-9]", lambda digit: chr(0x660 + int(digit[0])), row)


@in_one_test(
    "change",
    [
        lambda header, rows: (f"{header},estimate", [f"{row},1" for row in rows]),  # readers take one of the two
        lambda header, rows: (header, [*map(in_other_digits, rows)]),
        lambda header, rows: (header, [f"{row},1" for row in rows]),
    ],
)
def test_answers_are_read_in_one_way(change, made, tmp_path):
    shutil.copytree(made["counts"][0], tmp_path / "out")
    lines = (tmp_path / "out/answers.csv").read_text(encoding="utf-8").splitlines()
    header, rows = change(lines[0], lines[1:])
    assert [header, *rows] != lines
    text = "\n".join((header, *rows, ""))
    (tmp_path / "out/answers.csv").write_text(text, encoding="utf-8")
    document = json.loads(record_of(made["counts"][0]).read_text())
    document["hashes"]["answers.csv"] = hashlib.sha256(text.encode()).hexdigest()
    write(reseal(document), tmp_path / "out/release.json")
    assert refused(tmp_path / "out")[0] == 6


@pytest.mark.parametrize("session", [True, False])
def test_intervals_that_nothing_states_are_of_sessions_alone(session):
    """A basis of their free answers: how far these reach is not in the record."""
    line = {"estimate": "5", "error": "9", "measured": "", "lower": "4.9", "upper": "5.1", "basis": "compared"}
    evidence = SimpleNamespace(session=session, version=(0, 12), document={})
    claims = checker.claims_of_answer(evidence, "here", line, None, False, 0.0)
    assert session == all(
        isinstance(follows, checker.NotChecked) or checker.agrees(stated, follows) for _, stated, follows in claims
    )


def test_names_with_ends_of_lines_are_read(tmp_path):
    asked = [
        {"where": "age >= 38", "name": f"older{end}than 37"} for end in ("\n", "\r", "\x0b", "\x1c", "\x85", "\u2028")
    ]
    dpqr.release(honest.table(), queries={"queries": asked}, domain=honest.DOMAIN, eps=1, out=tmp_path / "out")
    assert refused(tmp_path / "out") == (0, "")


def test_tables_of_persons_that_a_crash_has_lost_stay_paid(monkeypatch, tmp_path):
    drawn = module.measure_persons
    monkeypatch.setattr(module, "measure_persons", lambda *given: drawn(*given) and None)
    place, _ = honest.release(tmp_path, "people")
    assert dpqr.verify(place).passed
    assert refused(place) == (0, "")
    assert ("not checked", "draws", "draws that were paid, and lost in a crash") in checker.check(str(place))


def test_the_entry_that_paid_for_learned_labels_is_followed(tmp_path):
    """Its price is a pair of epsilon and delta; another ledger may have paid, so an unknown seal is not refused."""
    place, ledger = honest.release(tmp_path, "learned, ledger")
    assert refused(place, ledger) == (0, "")
    rules = [("", lambda e: checker.claims_of_learned(e, checker.lines_of(e.ledger)))]

    def states(path, value):
        e = checker.Evidence(str(place), str(ledger))
        (stated,) = e.plan["domain"]["learned"]["ledger"]
        *above, last = path
        for name in above:
            stated = stated[name]
        stated[last] = value
        return {state for state, _, _ in checker.compared(e, "learned", rules)}

    assert states(["entry"], 2) == {"ok"}
    assert states(["seal"], "0" * 64) == {"not checked"}
    below = {"epsilon": "399/1000", "delta": "1/5000001"}  # a fifth of 2 and of 1e-6 paid for it
    for path, value in [(["entry"], 3), (["dataset"], "others"), *((["budget", n, "exact"], below[n]) for n in below)]:
        assert "refused" in states(path, value)
    e = checker.Evidence(str(place), None)
    stated = e.plan["domain"]["learned"]["budget"]
    rules = [("plan.domain.learned?.budget.*", checker.learned_price)]
    assert {state for state, _, _ in checker.compared(e, "guarantee", rules)} == {"ok"}
    for name, least in below.items():
        stated[name]["exact"] = least
    assert len([state for state, _, _ in checker.compared(e, "guarantee", rules) if state == "refused"]) == 2


def test_another_plan_than_the_reviewed_one_is_refused(made, tmp_path):
    place, _ = made["counts"]
    plan = checker.read_json(record_of(place).read_text())["plan"]
    write(plan, tmp_path / "plan.json")
    assert ("ok", "plan", "1 fields follow") in checker.check(str(place), None, str(tmp_path / "plan.json"))
    for text in (canonical({**plan, "seed": 1}), '{"dpqr":', "[" * 10**5):
        (tmp_path / "plan.json").write_text(text)
        assert "refused" in {state for state, _, _ in checker.check(str(place), None, str(tmp_path / "plan.json"))}


def test_dpqr_verify_independent_opens_it(made, tmp_path):
    place, ledger = made["counts, persons"]
    for paid in (ledger, ledger.with_suffix(".sqlite")):
        found = dpqr.verify(place, ledger=paid, independent=True)
        assert found.passed
        assert {check.state for check in found.checks} == {"ok", "not checked"}
    shutil.copytree(place, tmp_path / "out")
    write(
        forged(checker.read_json(record_of(place).read_text()), ("spent", "epsilon", "basic")),
        record_of(tmp_path / "out"),
    )
    forgery = dpqr.verify(tmp_path / "out", independent=True)
    assert not forgery.passed
    with pytest.raises(GoalMissed, match=r"plan\.proved_epsilon: stated 1, follows 1\.0"):
        forgery.require()


NEAR_ONE = [Fraction(1, 10), 1 - Fraction(1, 10**6), 1 - Fraction(1, 10**9)]
SCHEDULES = {
    "one draw": (("permute-and-flip", Fraction(1, 20), 1),),
    "equal draws": (("exponential", Fraction(2, 5), 40),),
    "unlike draws": (("permute-and-flip", Fraction(3), 2), ("exponential", Fraction(1, 10), 7)),
}
DRAWS = {"exponential": ExponentialEvent, "permute-and-flip": PermuteAndFlipEvent}


@in_one_test("delta", NEAR_ONE)
@pytest.mark.parametrize("schedule", SCHEDULES.values())
def test_prices_at_a_delta_near_1_are_those_of_the_theorems(schedule, delta):
    stated = tuple((DRAWS[kind](epsilon=epsilon), count) for kind, epsilon, count in schedule)
    read = tuple((checker.Event(kind, (("epsilon", epsilon),)), count) for kind, epsilon, count in schedule)
    for name in ("advanced", "optimal", "zcdp", "gdp", "pld"):
        found, follows = RELEASING[name].epsilon(stated, delta), checker.priced(name, read, delta)
        assert checker.agrees(str(found), follows), name
        if found and name != "pld":  # what a forger states
            assert not checker.agrees(str(found * (1 - Fraction(1, 10**6))), follows), name


@pytest.mark.parametrize("accountant", ["optimal", slow_one("pld")])
def test_a_release_at_a_delta_near_1_is_accepted(accountant, tmp_path, monkeypatch):
    options = {"eps": 1, "delta": "0.999999", "accountant": accountant}
    monkeypatch.setitem(honest.RELEASES, "near 1", ("counts", options))
    assert refused(honest.release(tmp_path, "near 1")[0]) == (0, "")


PLANTED = {
    "epsilon": (
        'coordinates?", epsilon=lambda p: p["sensitivity"] / p',
        'coordinates?", epsilon=lambda p: p["sensitivity"] / 2 / p',
    ),
    "deviation": ("return math.sqrt(2) * math.exp(-rate / 2)", "return math.sqrt(2) * math.exp(-rate)"),
    "tail": ("(Decimal(beta) * (1 + log_q.exp()) / 2)", "(Decimal(beta) * (1 + log_q.exp()))"),
    "seal": ('if key != "sha256"}', 'if key != "version"}'),
    "rows": ("columns_of(block, e), e.rows**power", "columns_of(block, e), 1"),
    "persons": ("(2 if e.replace else 1)", "2"),
    "sums": ("tuple(before + each - returned", "tuple(before + each + 40 - returned"),
}


@pytest.mark.parametrize(("right", "wrong"), slow_but({0, 3}, PLANTED.values()), ids=PLANTED)
def test_a_fault_in_the_checker_refuses_honest_records(right, wrong, made):
    source = FILE.read_text(encoding="utf-8")
    assert right in source
    space = {"__name__": "faulty"}
    exec(compile(source.replace(right, wrong, 1), str(FILE), "exec"), space)
    names = {**made, **honest.RELEASES}  # those that are made already come first
    found = (space["check"](str(place), ledger and str(ledger)) for place, ledger in (made[name] for name in names))
    assert any(state in checker.CODES for each in found for state, _, _ in each)


@pytest.mark.slow
def test_all_honest_records_are_accepted(tmp_path):
    found = {str(place): refused(place, ledger) for place, ledger in honest.everything(tmp_path)}
    assert len(found) >= 45
    assert {place: words for place, (code, words) in found.items() if code} == {}


@pytest.mark.slow
def test_forgeries_of_all_honest_records_are_refused():
    made, refused_, said, accepted = table_of_forgeries(30)
    assert sum(made.values()) >= 400
    assert accepted == []
    for kind in ("hash or seal", "noise law", "unit and request", "ledger"):
        elsewhere = said[kind] if kind == "hash or seal" else 0  # of another ledger, which nobody gave
        assert refused_[kind] + elsewhere == made[kind]
    assert sum(refused_.values()) >= 0.9 * sum(made.values())
    assert sum(said.values()) == sum(made.values()) - sum(refused_.values())
