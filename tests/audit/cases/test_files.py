"""What the files of a release show: a sound build holds, an exact total and unbounded persons do not pass."""

import json

import numpy as np
import pytest
from audit.wrong_builds import exact_persons, exact_total_in_decimals, unbounded_persons

from dpqr.audit.attack import attack
from dpqr.audit.cases.files import file_cases, files_outcome
from dpqr.kernel.noise.source import SeededNoise, SystemNoise

CASES = {case.name: case for case in file_cases()}
RUNS, ALARM = 120, 1e-4
"""Thirty runs on each side test an event, and the noise is the same every time, so that this test always ends alike."""


def loss(name):
    case = CASES[name]
    one, two = (case.outcomes(side, RUNS, SeededNoise(side)) for side in (0, 1))
    return attack(one, two, case.claim, ALARM)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_every_case_makes_releases_of_neighbouring_tables(name):
    case = CASES[name]
    shown = [case.outcomes(side, 2, SystemNoise()) for side in (0, 1)]
    assert shown[0].derived.shape == shown[1].derived.shape
    assert (shown[0].derived[0] != shown[0].derived[1]).any()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("file-csv-row", exact_total_in_decimals),
        ("file-parquet-person", unbounded_persons),
        ("file-csv-rows-chosen", exact_persons),
    ],
)
def test_a_leak_in_the_files_is_found(name, wrong):
    with wrong():
        assert loss(name).breach


def test_every_digit_of_a_file_is_looked_at(tmp_path):
    (tmp_path / "a.csv").write_text("x,1.000000000000042\n")
    one = files_outcome(tmp_path)
    (tmp_path / "a.csv").write_text("x,1.000000000000043\n")
    two = files_outcome(tmp_path)
    assert one[0] == two[0]
    assert (np.array(one[2]) != np.array(two[2])).sum() == 1


def test_names_words_and_order_are_looked_at(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"a": 1, "b": 1}))
    one = files_outcome(tmp_path)
    (tmp_path / "a.json").write_text(json.dumps({"b": 1, "a": 1}))
    assert files_outcome(tmp_path)[0] != one[0]
    (tmp_path / "a.json").rename(tmp_path / "b.json")
    assert files_outcome(tmp_path)[0] != one[0]
