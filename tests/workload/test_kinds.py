from __future__ import annotations

import pytest

from dpqr.domain.text.decoding import Location
from dpqr.workload.entry import OTHER_NAMES, missing_kind_fault
from dpqr.workload.form import KINDS

PLACE = Location("q")


@pytest.mark.parametrize(
    ("unknown", "words"),
    [
        ("average", '{"mean": COLUMN}'),
        ("Quartiles", '{"quantiles": COLUMN, "at": ['),
        ("cdf", '{"prefix": COLUMN}'),
        ("group_by", '{"marginal": [COLUMN, ...]}'),
        ("std-dev", '{"variance": COLUMN}'),
        ("margnial", "did you mean 'marginal'?"),
        ("Sum", "did you mean 'sum'?"),
        ("", "asks nothing: one of marginal, marginals"),
        ("xyz", "asks nothing: one of marginal, marginals"),
    ],
)
def test_unknown_kinds_name_the_way(unknown: str, words: str) -> None:
    assert words in missing_kind_fault(unknown, PLACE).faults[0].message


def test_only_a_misspelling_is_fixed() -> None:
    fix = missing_kind_fault("margnial", PLACE).faults[0].fix
    assert fix is not None
    assert (fix.path, fix.text, fix.key) == ("$.margnial", '"marginal"', True)
    assert missing_kind_fault("average", PLACE).faults[0].fix is None


def test_no_kind_has_two_meanings() -> None:
    assert not set(OTHER_NAMES) & set(KINDS)
