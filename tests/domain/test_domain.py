import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.domain.attribute import FAULTS, Attribute, Axis, Bins, Codes, Labels, Rule
from dpqr.domain.domain import (
    Domain,
    KnownTotal,
    PublicFacts,
    Region,
    connected_totals,
    failing_attributes,
    possible_faults,
    record_bounds,
    unstated_faults,
)
from dpqr.domain.domain_file import read_domain
from dpqr.kernel.errors import DocumentError, UsageFault


def one(**field):
    return read_domain({"fields": [{"name": "a", **field}]}).attributes[0]


def test_labels() -> None:
    assert one(type="string", constraints={"enum": ["x", "y"]}).axis == Labels(("x", "y"))
    assert one(type="integer", constraints={"enum": [3, -1]}).axis == Labels(("3", "-1"))
    assert one(type="boolean").axis == Labels(("false", "true"), folded=True)
    assert one(type="boolean", constraints={"enum": [True]}).axis == Labels(("true",), folded=True)


def test_decimals_are_exact(tmp_path: Path) -> None:
    path = tmp_path / "domain.json"
    path.write_text('{"fields": [{"name": "x", "type": "number", "dpqr": {"edges": [0.1, 0.2, 3e1]}}]}')
    assert read_domain(path).attributes[0].axis == Bins((Fraction(1, 10), Fraction(1, 5), Fraction(30)))


def test_the_sizes_form() -> None:
    domain = read_domain({"age": 85, "income>50K": 2, "fields": 3})
    assert domain.names == ("age", "income>50K", "fields")
    assert [attribute.axis for attribute in domain.attributes] == [Codes(85), Codes(2), Codes(3)]


def test_stated_rules_are_kept_and_otherwise_fills_in_what_the_column_can_show() -> None:
    attribute = one(type="string", constraints={"enum": ["x"]}, dpqr={"null": "cell"})
    assert attribute.rules == {"null": Rule.CELL}
    assert attribute.titles() == ("x", "(null)")
    assert attribute.rule("outside") is Rule.DROP
    rules = {"null": "fail", "unparsable": "drop", "nan": "cell", "infinite": "clip", "outside": "clip"}
    attribute = one(type="number", dpqr={"edges": [0, 1], **rules})
    assert attribute.rules == {fault: Rule(rule) for fault, rule in rules.items()}
    assert attribute.size == 2
    number = one(type="number", dpqr={"edges": [0, 1], "otherwise": "drop", "outside": "clip"})
    assert number.rules == {**dict.fromkeys(FAULTS, Rule.DROP), "outside": Rule.CLIP}
    assert one(type="boolean", dpqr={"otherwise": "cell"}).rules == {"null": Rule.CELL, "outside": Rule.CELL}


def test_unstated_and_failing_rules_are_visible() -> None:
    domain = read_domain(
        {
            "fields": [
                {"name": "a", "type": "boolean", "dpqr": {"null": "fail"}},
                {"name": "b", "type": "boolean", "dpqr": {"otherwise": "drop"}},
                {"name": "c", "type": "number", "dpqr": {"edges": [0, 1], "nan": "drop"}},
            ]
        }
    )
    assert unstated_faults(domain) == {"a": ("outside",), "c": ("null", "unparsable", "infinite", "outside")}
    assert failing_attributes(domain) == {"a": ("null",)}


def test_missing_values_of_the_table_and_of_one_column() -> None:
    domain = read_domain(
        {
            "fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean", "missingValues": []}],
            "missingValues": ["", "NA"],
        }
    )
    assert [attribute.missing for attribute in domain.attributes] == [("", "NA"), ()]
    assert one(type="boolean").missing == ("",)
    assert one(type="string", constraints={"enum": [""]}, missingValues=["NA"]).titles() == ("",)


def test_standard_keys_without_effect_are_tolerated() -> None:
    plain = {"fields": [{"name": "a", "type": "string", "constraints": {"enum": ["x"]}}]}
    texts = {"title": "A", "description": "d"}
    field = {**texts, "format": "email", "example": "x", "examples": ["x"], "rdfType": "http://schema.org/a"}
    constraints = {"required": True, "unique": False, "pattern": ".*", "minLength": 0, "maxLength": 9}
    keys = {"primaryKey": ["a"], "foreignKeys": [], "uniqueKeys": [["a"]], "fieldsMatch": ["exact"]}
    schema = {"$schema": "https://datapackage.org/profiles/2.0/tableschema.json", "dpqr": "domain/1", "name": "n"}
    fields = [plain["fields"][0] | field | {"constraints": {"enum": ["x"], **constraints}}]
    assert read_domain({**schema, **texts, **keys, "fields": fields}) == read_domain(plain)


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "domain.json"
    path.write_text(json.dumps({"fields": []}))
    with pytest.raises(DocumentError, match=r"^domain\.json: \$\.fields: expected a list of length >= 1"):
        read_domain(str(path))
    with pytest.raises(UsageFault):
        read_domain(tmp_path / "none.json")


EDGES = (Fraction(0), Fraction(1), Fraction(2))


@in_one_test(
    ("axis", "faults"),
    [
        (Labels(("a",)), ("null", "outside")),
        (Codes(3), FAULTS),
        (Bins(EDGES), FAULTS),
        (Bins(EDGES, integral=True), FAULTS),
        (Bins(EDGES, integral=True, kind="date"), ("null", "unparsable", "outside")),
        (Bins(EDGES, kind="datetime"), ("null", "unparsable", "outside")),
    ],
)
def test_each_kind_of_column_has_its_faults(axis: Axis, faults: tuple[str, ...]) -> None:
    assert possible_faults(axis) == faults


CELLS = np.array([[True, False, False], [True, True, True]])
REGION = Region(text="r", axes=(1, 3), cells=CELLS)


def test_a_region_is_told_by_what_is_left_of_its_attributes():
    assert REGION.within((0, 1, 3)).axes == (1, 2)
    alone = REGION.within((0, 1))
    assert (alone.axes, alone.cells.tolist()) == ((1,), [False, True])
    assert REGION.within((3,)).cells.tolist() == [True, False, False]
    assert Region(text="r", axes=(1,), cells=np.array([True, False])).within((0,)) is None
    turned = REGION.within((3, 1))  # axes stay ascending
    assert (turned.axes, turned.cells.tolist()) == ((0, 1), CELLS.T.tolist())
    total = KnownTotal(region=REGION, count=7)
    assert (total.within((1,)), total.within((1, 3)).count) == (None, 7)


def test_facts_that_say_nothing_of_the_attributes_asked_about_are_named():
    part = Region(text="both", axes=(0, 1), cells=np.array([[True, False], [False, False]]))
    facts = PublicFacts(impossible=(part,), totals=(KnownTotal(region=REGION, count=3),), least=3)
    assert facts.silent((0, 1)) == ("r",)
    assert facts.silent((0,)) == ("both", "r")
    assert facts.axes == {(0, 1), (1, 3)}


def test_a_domain_keeps_what_its_columns_are_told():
    domain = Domain(
        tuple(Attribute(name=name, axis=Codes(size)) for name, size in zip("abcd", (2, 2, 2, 3), strict=True)),
        PublicFacts(impossible=(REGION,), least=5, most=5),
    )
    left = domain.project((3, 1))
    assert left.facts.axes == {(0, 1)}
    assert left.facts.records == 5
    assert not Domain(domain.attributes).facts
    assert domain.facts


SHAPE = (3, 2, 2)
EVERYBODY = Region(text="all", axes=(), cells=np.ones((), dtype=bool))


def on(axis, *codes):
    cells = np.zeros(SHAPE[axis], dtype=bool)
    cells[list(codes)] = True
    return Region(text="r", axes=(axis,), cells=cells)


def both(*axes):
    cells = np.zeros([SHAPE[axis] for axis in axes], dtype=bool)
    cells[0, 0] = True
    return Region(text="b", axes=axes, cells=cells)


def known(count, region):
    return KnownTotal(region=region, count=count)


@in_one_test(
    ("totals", "bounds"),
    [
        ([], (0, None)),
        ([known(4, on(0, 0))], (4, None)),
        ([known(4, on(0, 0)), known(5, on(0, 1, 2))], (9, 9)),
        ([known(4, on(0, 0, 1)), known(5, on(0, 1, 2))], (5, 9)),
        ([known(4, on(0, 0)), known(6, on(1, 0))], (6, None)),
        ([known(4, on(0, 0)), known(9, EVERYBODY)], (9, 9)),
        ([known(4, on(0, 0, 1, 2)), known(4, EVERYBODY)], (4, 4)),
        ([known(4, on(0, 0)), known(3, both(0, 1))], (4, None)),
        ([known(4, on(0, 0)), known(5, both(0, 1))], None),
        ([known(4, on(0, 0)), known(3, EVERYBODY)], None),
        ([known(4, EVERYBODY), known(5, EVERYBODY)], None),
        ([known(4, on(0, 0)), known(4, on(0, 1, 2)), known(9, on(1, 0))], None),
        ([known(2**36, on(0, 0)), known(2**36 - 1, both(0, 1))], (2**36, None)),
    ],
)
def test_what_totals_leave_for_the_number_of_records(totals, bounds):
    assert record_bounds([], totals, SHAPE) == bounds


def test_impossible_cells_hold_nobody():
    assert record_bounds([both(0, 1)], [known(1, both(0, 1))], SHAPE) is None
    assert record_bounds([on(0, 0)], [known(0, on(0, 0)), known(2, on(0, 1, 2))], SHAPE) == (2, 2)
    assert record_bounds([on(0, 1, 2)], [known(2, on(0, 0))], SHAPE) == (2, 2)


def test_only_totals_that_share_attributes_are_tied():
    parts = connected_totals([known(1, on(0, 0)), known(2, on(2, 0)), known(3, both(0, 1)), known(4, EVERYBODY)])
    assert {axes: len(totals) for axes, totals in parts.items()} == {(0, 1): 2, (2,): 1, (): 1}
