from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.cases import in_one_test

import dpqr
from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.errors import DocumentError
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.published.verify import VerifyRequest, verify
from dpqr.workload.queries_file import QueriesDocument, read_queries
from dpqr.workload.sensitivity import Norm, sensitivity

DOMAIN: dict[str, Any] = {
    "fields": [
        {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}},
        {"name": "pay", "type": "number", "dpqr": {"edges": [0, 10, 30, 100]}},
        {"name": "hours", "type": "integer", "constraints": {"minimum": 1, "maximum": 3}},
        {"name": "w", "type": "number", "dpqr": {"edges": [-4, 0, 1, 2, 5], "null": "cell"}},
    ]
}
WEIGHT = {"column": "w", "maximum": 2.5}
WEIGHTS = np.array([0, 0.5, 1.5, 2.5, 0])  # of the bins' midpoints, cut to 0 and 2.5; null weighs nothing
MIDPOINTS = np.array([5.0, 20.0, 65.0])


def read(*entries: dict[str, Any], **document: Any) -> QueriesDocument:
    return read_queries({"queries": list(entries), **document}, DOMAIN)


def answers_of(document: QueriesDocument, name: str, counts: np.ndarray) -> np.ndarray:
    block = next(each for each in document.workload.blocks if each.name == name)
    return np.asarray(block.answer(DenseHistogram(counts)) * float(block.scale))


def test_each_record_counts_with_its_weight_cut_to_the_bounds() -> None:
    entries = (
        {"marginal": ["sex"]},
        {"where": "pay >= 10", "by": ["sex"]},
        {"prefix": "pay"},
        {"sum": "pay", "where": "sex = 'f'"},
        {"ranges": "hours", "between": [[1, 2]]},
    )
    document = read(*entries, {"marginal": ["sex", "pay", "hours", "w"], "name": "all"} | {"weight": 1})
    weighted = read(*({**entry, "weight": WEIGHT} for entry in entries))
    counts = np.random.default_rng(3).integers(0, 9, document.domain.shape)
    left = np.einsum("sphw,w->sph", counts, WEIGHTS)
    name = "{} weighted by w up to 2.5".format
    assert answers_of(weighted, name("marginal(sex)"), counts) == pytest.approx(left.sum(axis=(1, 2)))
    assert answers_of(weighted, name("where(pay >= 10) by sex"), counts) == pytest.approx(left[:, 1:].sum(axis=(1, 2)))
    assert answers_of(weighted, name("prefix(pay)"), counts) == pytest.approx(np.cumsum(left.sum(axis=(0, 2))))
    assert answers_of(weighted, name("sum(pay) where sex = 'f'"), counts) == pytest.approx(
        [MIDPOINTS @ left[0].sum(axis=1)]
    )
    assert answers_of(weighted, name("ranges(hours)"), counts) == pytest.approx([left[:, :, :2].sum()])


@in_one_test("neighbours", Neighbours)
def test_one_record_moves_an_answer_by_at_most_the_largest_weight(neighbours: Neighbours) -> None:
    unit = PrivacyUnit(neighbours=neighbours)
    (block,) = read({"marginal": ["sex"], "weight": WEIGHT}).workload.blocks
    steps = np.stack(list(block.coefficients()), axis=1)  # one row a cell
    assert block.scale == Fraction(1, 2)
    pairs = [np.abs(one).sum() for one in steps]
    if neighbours is Neighbours.REPLACE:
        pairs = [np.abs(one - other).sum() for one in steps for other in steps]
    assert sensitivity((block,), Norm.L1, unit) == max(pairs) == (5 if neighbours is Neighbours.ADD_REMOVE else 10)


def test_the_documents_weight_is_that_of_every_entry_that_states_none() -> None:
    document = read(
        {"marginal": ["sex"]},
        {"marginal": ["pay"], "weight": 3},
        {"marginal": ["hours"], "name": "own", "weight": {"column": "w", "maximum": 1, "selection": 2}},
        weight=WEIGHT,
    )
    assert [(each.name, each.weight, each.largest_coefficient * each.scale) for each in document.workload.blocks] == [
        ("marginal(sex) weighted by w up to 2.5", 1, Fraction(5, 2)),
        ("marginal(pay) weighted by w up to 2.5", 3, Fraction(5, 2)),
        ("own", 2, 1),
    ]
    assert document.notes[0] == (
        "marginal(sex) weighted by w up to 2.5: weights of 'w' are midpoints of its bins, off by at most 2"
    )
    (error, _) = read({"mean": "pay", "weight": WEIGHT}).notes
    assert error.endswith("an error of at most 35 a record within the bounds, times its weight")


@in_one_test(
    ("entry", "common", "fault"),
    [
        ({}, {"column": "v", "maximum": 4}, r"\$\.weight\.column: the domain has no column 'v'"),
        ({}, 4, r"\$\.weight: expected an object, got a whole number"),
        ({"weight": {"column": "sex", "maximum": 4}}, None, r"weight\.column: column 'sex' holds labels"),
        ({"weight": {"column": "w"}}, None, "the key 'maximum' is missing"),
        ({"weight": {"column": "w", "maximum": 0}}, None, r"weight\.maximum: must be above 0"),
        ({"weight": {"column": "w", "maximum": 1, "selection": 0}}, None, r"weight\.selection: must be above 0"),
        ({"where": "w >= 1", "weight": WEIGHT}, None, "'w' weighs the records, and the entry asks about it"),
    ],
)
def test_what_is_no_weight_is_refused_by_its_place(entry: dict[str, Any], common: Any, fault: str) -> None:
    with pytest.raises(DocumentError, match=fault) as caught:
        read({"marginal": ["sex"], **entry}, **({} if common is None else {"weight": common}))
    assert len(caught.value.faults) == 1


def test_what_the_intervals_need_is_weighted_as_the_figure_is() -> None:
    document = read({"mean": "pay", "by": ["sex"], "weight": WEIGHT})
    (figure,), counts = document.workload.figures, np.random.default_rng(1).integers(0, 9, (2, 3, 5))
    answers = answers_of(document, figure.blocks[0], counts)[figure.rows]
    assert figure.tested is not None
    tested = figure.tested.answer(DenseHistogram(counts)) * float(figure.tested.scale)
    assert tested[figure.test_rows] == pytest.approx(answers @ figure.tests.T)


def test_conjunctions_are_not_weighted() -> None:
    drawn = {"random": 5, "seed": 1, "ways": [2, 2], "columns": ["sex", "hours"]}
    with pytest.raises(DocumentError, match="cannot be weighted; use where"):
        read({"conjunctions": drawn, "weight": WEIGHT})


@pytest.mark.slow
def test_weighted_figures_are_those_of_the_table_and_are_verified(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    table = pd.DataFrame(
        {
            "sex": random.choice(["f", "m"], 400),
            "pay": random.choice(MIDPOINTS, 400),
            "hours": random.integers(1, 4, 400),
            "w": random.choice([-1.0, 0.5, 1.5, 3.5, np.nan], 400),
        }
    )
    queries = dpqr.queries().mean("pay", by="sex", weight=WEIGHT).proportion("hours > 1", weight=WEIGHT)
    queries = queries.ratio("pay", "hours", weight=WEIGHT).quantiles("pay", [0.5], weight=WEIGHT)
    made = dpqr.release(table, queries=queries, domain=DOMAIN, eps=1000, out=tmp_path / "out")
    weights = table["w"].clip(0, 2.5).fillna(0)
    sums = table[["pay", "hours"]].mul(weights, axis=0).assign(w=weights, sex=table["sex"])
    means = sums.groupby("sex")[["pay", "w"]].sum()
    expected = [
        *(means["pay"] / means["w"]),
        weights[table["hours"] > 1].sum() / weights.sum(),
        sums["pay"].sum() / sums["hours"].sum(),
    ]
    assert made.figures["estimate"].to_numpy()[:4] == pytest.approx(expected, rel=1e-2)
    lower, upper = made.figures[["lower", "upper"]].to_numpy()[4]
    ordered = table.assign(w=weights).sort_values("pay")
    median = ordered["pay"][ordered["w"].cumsum() >= weights.sum() / 2].iloc[0]
    assert lower <= median <= upper
    assert all(check.code == 0 for check in verify(VerifyRequest(release=str(tmp_path / "out"))).checks)
    again = dpqr.answer(tmp_path / "out", queries=queries)
    assert again.figures["estimate"].tolist() == made.figures["estimate"].tolist()
