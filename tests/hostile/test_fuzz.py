"""Damaged Parquet files: each gives a release of whatever table is left in it, or a refusal in one or two lines."""

import json

import pytest
from hostile.fuzz import fuzz
from support.command_desk import PRIVATE

MEGABYTES = 3000


@pytest.mark.slow
@pytest.mark.parametrize("count", [20, 300])
def test_damage_ends_in_a_release_or_a_refusal(tmp_path, count):
    told, peak = fuzz(tmp_path, count, 7)
    assert len(told) == count
    for ended in told:
        words = ended["err"]
        assert ended["code"] in (0, 5), ended
        if ended["code"] == 0:
            assert len(json.loads(ended["out"])["answers"]) == 13, ended
        else:
            assert json.loads(ended["out"])["error"]["code"] == 5, ended
            assert words.startswith("dpqr: t.parquet "), ended
            assert len(words.splitlines()) <= 2, ended
        for hidden in ("Traceback", "fault", *PRIVATE):
            assert hidden not in words, ended
            assert ended["code"] == 0 or hidden not in ended["out"].replace('"faults"', ""), ended
    assert {ended["code"] for ended in told if "cut at" in ended["done"]} == {5}
    assert {ended["code"] for ended in told} == {0, 5}
    assert peak < MEGABYTES
