import json
from fractions import Fraction
from pathlib import Path

import pytest

from dpqr.domain.attribute import Bins, Codes, Labels, Rule
from dpqr.domain.domain import failing_attributes, unstated_faults
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


def test_only_stated_rules_are_kept() -> None:
    attribute = one(type="string", constraints={"enum": ["x"]}, dpqr={"null": "cell"})
    assert attribute.rules == {"null": Rule.CELL}
    assert attribute.titles() == ("x", "(null)")
    assert attribute.rule("outside") is Rule.DROP


def test_every_rule_of_a_number() -> None:
    rules = {"null": "fail", "unparsable": "drop", "nan": "cell", "infinite": "clip", "outside": "clip"}
    attribute = one(type="number", dpqr={"edges": [0, 1], **rules})
    assert attribute.rules == {fault: Rule(rule) for fault, rule in rules.items()}
    assert attribute.size == 2


def test_otherwise_fills_in_what_the_column_can_show() -> None:
    number = one(type="number", dpqr={"edges": [0, 1], "otherwise": "drop", "outside": "clip"})
    assert number.rules == {
        "null": Rule.DROP,
        "unparsable": Rule.DROP,
        "nan": Rule.DROP,
        "infinite": Rule.DROP,
        "outside": Rule.CLIP,
    }
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
    field = {
        "title": "A",
        "description": "d",
        "format": "email",
        "example": "x",
        "examples": ["x"],
        "rdfType": "http://schema.org/a",
    }
    constraints = {"required": True, "unique": False, "pattern": ".*", "minLength": 0, "maxLength": 9}
    full = {
        "$schema": "https://datapackage.org/profiles/2.0/tableschema.json",
        "dpqr": "domain/1",
        "name": "n",
        "title": "t",
        "description": "d",
        "primaryKey": ["a"],
        "foreignKeys": [],
        "uniqueKeys": [["a"]],
        "fieldsMatch": ["exact"],
        "fields": [plain["fields"][0] | field | {"constraints": {"enum": ["x"], **constraints}}],
    }
    assert read_domain(full) == read_domain(plain)


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "domain.json"
    path.write_text(json.dumps({"fields": []}))
    with pytest.raises(DocumentError, match=r"^domain\.json: \$\.fields: expected a list of length >= 1"):
        read_domain(str(path))
    with pytest.raises(UsageFault):
        read_domain(tmp_path / "none.json")
