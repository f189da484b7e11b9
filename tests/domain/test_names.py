from __future__ import annotations

import json
from typing import Any

import pytest
from support.cases import in_one_test

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.domain.predicates import parse, parse_over
from dpqr.domain.text.decoding import Location
from dpqr.kernel.errors import DocumentError

NAMES = ("age", "home region", "home region (old)", "2020", "a/b")
DOMAIN = Domain(tuple(Attribute(name=name, axis=Codes(3)) for name in NAMES))
PLACE = Location("q").key("where")


@in_one_test(
    ("text", "quoted"),
    [
        ("home region = 1", "`home region` = 1"),
        ("age = 1 and home region (old) in (1, 2)", "age = 1 and `home region (old)` in (1, 2)"),
        ("a/b > 0 or home region > 0", "`a/b` > 0 or `home region` > 0"),
        ("2020 = 1", "`2020` = 1"),
        ("age = 1 and a/b = 2 or `home region` = 0", "age = 1 and `a/b` = 2 or `home region` = 0"),
    ],
)
def test_names_without_their_quotes_are_shown_with_them(text: str, quoted: str) -> None:
    with pytest.raises(DocumentError, match="stands in quotes: `") as caught:
        parse_over(DOMAIN, text, PLACE)
    (fault,) = caught.value.faults
    assert fault.fix is not None
    assert json.loads(fault.fix.text) == quoted
    parse(quoted, PLACE)


def test_a_second_fault_is_left_to_the_writer() -> None:
    with pytest.raises(DocumentError, match="stands in quotes: `home region`") as caught:
        parse_over(DOMAIN, "home region = 1 and age >", PLACE)
    assert caught.value.faults[0].fix is None


@in_one_test("text", ["age =", "age = 'home region", "`home region` = 1 and", "age > home region"])
def test_other_faults_are_explained_as_ever(text: str) -> None:
    def said(read: Any) -> str:
        with pytest.raises(DocumentError) as caught:
            read()
        return str(caught.value)

    assert said(lambda: parse_over(DOMAIN, text, PLACE)) == said(lambda: parse(text, PLACE))


def test_what_can_be_read_is_not_touched() -> None:
    assert parse_over(DOMAIN, "age in (1, 2)", PLACE) == parse("age in (1, 2)", PLACE)
