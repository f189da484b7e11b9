"""The registry: names, near misses, third parties, trust. Nothing is imported before it is chosen."""

from __future__ import annotations

import sys
from typing import Protocol

import pytest

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.plugins import HOUSE, Builtin, Registry, RegistryEntry, lacking


class Colour(Protocol):
    @property
    def name(self) -> str: ...

    def mixed(self, other, share): ...


COLOURS = Registry(
    role="colour",
    group="test.colours",
    protocol="test_plugins:Colour",
    builtins={
        "fraction": Builtin(target="fractions:Fraction"),
        "decimal": Builtin(target="decimal:Decimal"),
        "nowhere": Builtin(target="no_such_module:Thing"),
    },
)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A distribution with entry points on the path."""
    metadata = tmp_path / "paints-2.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: paints\nVersion: 2.0\n")
    (metadata / "entry_points.txt").write_text(
        "[test.colours]\nviolet = paints_code:Violet\nfraction = paints_code:Taken\nazure = paints_code:Azure\n"
        "[test.others]\nloud = paints_code:Loud\n"
    )
    (tmp_path / "paints_code.py").write_text("class Violet: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("paints_code", None)


def test_built_ins_come_in_their_order():
    assert [entry.name for entry in COLOURS.entries()] == ["fraction", "decimal", "nowhere"]
    assert {entry.origin for entry in COLOURS.entries()} == {HOUSE}


def test_load_gives_the_attribute():
    from decimal import Decimal

    assert COLOURS.load("decimal") is Decimal
    assert COLOURS.load("decimal", trusted=False) is Decimal, "the house's own code needs no trust"


def test_third_parties_follow_by_name_and_are_not_imported(installed):
    assert COLOURS.entries()[3:] == (
        RegistryEntry(name="azure", target="paints_code:Azure", origin="paints 2.0"),
        RegistryEntry(name="violet", target="paints_code:Violet", origin="paints 2.0"),
    )
    assert "paints_code" not in sys.modules


def test_no_plug_in_takes_a_name_of_the_house(installed):
    from fractions import Fraction

    assert COLOURS.entry("fraction").origin == HOUSE
    assert COLOURS.load("fraction") is Fraction


def test_trust_comes_before_the_import(installed):
    with pytest.raises(
        UsageFault, match=r"--colour violet: comes from paints 2\.0 and would run where the private data is; add"
    ):
        COLOURS.load("violet", trusted=False)
    assert "paints_code" not in sys.modules
    assert COLOURS.load("violet", trusted=True).__name__ == "Violet"


def test_one_group_does_not_see_another(installed):
    with pytest.raises(UsageFault, match="no such colour"):
        COLOURS.entry("loud")


def test_a_near_miss_is_named():
    with pytest.raises(UsageFault, match="--colour fracton: no such colour; did you mean 'fraction'\\?"):
        COLOURS.load("fracton")


def test_without_a_near_miss_all_are_named():
    with pytest.raises(UsageFault, match="known: fraction, decimal, nowhere"):
        COLOURS.load("x")


def test_a_near_miss_may_be_foreign(installed):
    with pytest.raises(UsageFault, match="did you mean 'violet'"):
        COLOURS.load("violett")


def test_code_that_is_missing_fails_when_it_is_loaded_only():
    assert COLOURS.entry("nowhere").target == "no_such_module:Thing"
    with pytest.raises(ModuleNotFoundError):
        COLOURS.load("nowhere")


def test_a_distribution_without_a_name(monkeypatch):
    class Point:
        name, value, dist = "odd", "odd:Odd", None

    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Point])
    assert COLOURS.entry("odd").origin == "an unnamed distribution"


class Whole:
    name = "whole"

    def mixed(self, other, share=1):
        return self


class Loose:
    name = "loose"

    def mixed(self, *given):
        return self


class Nameless:
    def mixed(self, other, share):
        return self


class Unmixed:
    name = "unmixed"


class Plain:
    name, mixed = "plain", 7


class Narrow:
    name = "narrow"

    def mixed(self, other):
        return self


class Demanding:
    name = "demanding"

    def mixed(self, other, share, more):
        return self


@pytest.mark.parametrize(
    ("strategy", "lacks"),
    [
        (Whole(), None),
        (Loose(), None),
        (Nameless(), "lacks name, which every Colour has"),
        (Unmixed(), "lacks mixed, which every Colour has"),
        (Plain(), "has mixed, but not as a method"),
        (Narrow(), "has a method mixed that does not take (other, share)"),
        (Demanding(), "has a method mixed that does not take (other, share)"),
    ],
)
def test_what_a_strategy_lacks_of_its_protocol(strategy, lacks):
    assert lacking(Colour, strategy) == lacks


def test_a_strategy_goes_by_the_name_of_its_entry_point():
    assert lacking(Colour, Whole(), "whole") is None
    assert lacking(Colour, Whole(), "half") == "has another name, 'whole', than its entry point"
