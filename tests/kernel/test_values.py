"""Copies and fields of values of both kinds."""

from dataclasses import dataclass

import pytest
from msgspec import Struct
from support.cases import in_one_test

from dpqr.kernel.values import field_names, is_frozen, replace


class Plain(Struct, frozen=True):
    width: int
    name: str = ""

    def __post_init__(self):
        require_width(self)


@dataclass(frozen=True, slots=True)
class WithCache:
    width: int
    name: str = ""

    def __post_init__(self):
        require_width(self)


def require_width(made):
    if made.width < 0:
        raise ValueError("negative")


KINDS = pytest.mark.parametrize("kind", [Plain, WithCache])


@KINDS
def test_a_copy_has_the_other_fields_and_is_checked_as_a_new_value_is(kind):
    made = kind(1, "a")
    assert replace(made, width=2) == kind(2, "a")
    assert made == kind(1, "a")
    with pytest.raises(ValueError, match="negative"):
        replace(made, width=-1)
    with pytest.raises(TypeError):
        replace(made, height=1)


@KINDS
def test_fields_of_values_and_of_their_classes(kind):
    assert field_names(kind) == field_names(kind(1)) == ("width", "name")
    assert is_frozen(kind)


@in_one_test("other", [object(), int, "text", None])
def test_what_is_no_value_has_no_fields(other):
    assert field_names(other) == ()
    assert not is_frozen(type(other))


def test_what_can_change_is_not_frozen():
    class Open(Struct):
        width: int

    assert not is_frozen(Open)
    assert not is_frozen(dataclass(type("Loose", (), {"__annotations__": {"width": int}})))
