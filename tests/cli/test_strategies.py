"""`dpqr strategies`, and strategies that other distributions bring."""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module

import pytest
from cli.odd_files import METADATA, RULES
from support.guide_rule import EXTENDING, RULE, TEST
from support.refusal_form import assert_refusal

from dpqr.strategies.known import ROLES

ROUNDS = ("--rounds", "1")
LISTED = """\
  hedge [fake-rules 1.5]: fake_rules.hedge:Hedge
    runs with --trust hedge only, for its code would run where the private data is
"""
TRUSTED = """\
  fair [fake-rules 1.5]: fake_rules.fair:Fair
    runs with --trust fair only, for its code would run where the private data is
"""
VOUCHED = (
    "distinguisher 'fair' comes from fake-rules 1.5 and was vouched for by --trust fair: the guarantee holds only if "
    "its code is right"
)
HEDGED = (
    "update 'hedge' comes from fake-rules 1.5 and was vouched for by --trust hedge: it is handed released values only, "
    "but runs where the private data is; the guarantee holds only if its code keeps to them"
)


@pytest.fixture
def foreign(desk, install):
    """The desk, with an installed distribution that brings strategies."""
    install(RULES)
    return desk


def test_every_strategy_of_the_house_says_what_it_is_and_what_for(desk):
    ended = desk.run("strategies")
    assert (ended.code, ended.err) == (0, "")
    listed = desk.run("strategies", "--json").json
    own = [(registry.role, name) for registry in ROLES for name in registry.builtins]
    assert [(one["role"], one["name"]) for one in listed if one["origin"] == "dpqr"] == own
    for one in listed:
        assert one["what"]
        assert one["use"].startswith("for ")
        assert f"  {one['name']}: {one['what']}\n    {one['use']}\n" in ended.out


def test_foreign_strategies_are_listed_without_being_imported(foreign):
    ended = foreign.run("strategies")
    assert LISTED in ended.out
    assert TRUSTED in ended.out
    assert "fake_rules" not in sys.modules
    origins = {(one["role"], one["name"]): one["origin"] for one in foreign.run("strategies", "--json").json}
    assert origins["update", "hedge"] == "fake-rules 1.5"
    assert origins["update", "perceptron"] == "dpqr", "a plug-in may not take a name of the house"


def test_a_foreign_update_rule_that_is_trusted_is_named(foreign):
    ended = foreign.release("--json", "--update", "hedge", "--trust", "hedge", *ROUNDS)
    assert ended.code == 0, ended.err
    assert ended.json["trust"] == [HEDGED]
    assert ended.json["plan"]["update"]["name"] == "hedge"


def test_whose_word_a_mistake_bound_is(foreign):
    theory = ("--schedule", "theory", "--variant", "sharp", "--n", "10000000", "--dry-run", "--json")
    plan = foreign.release(*theory, "--update", "hedge", "--trust", "hedge")
    assert plan.code == 0, plan.err
    says = "the mistake bound of 'hedge' is as stated by fake-rules 1.5, not proved here: "
    assert [note for note in plan.json["notes"] if note.startswith(says)]
    assert plan.json["promise"] == "stated"
    own = foreign.release(*theory, "--update", "multiplicative-weights")
    assert not [note for note in own.json["notes"] if "as stated by" in note]
    assert own.json["promise"] == "proved"


@pytest.fixture
def package(desk, install):
    """The desk, with the package of the guide's rule installed as a distribution."""
    points = re.search(r"```toml\n.*?(\[project\.entry-points.*?)```", EXTENDING, re.DOTALL)[1]
    install(
        {
            "my_package-0.1.dist-info/METADATA": METADATA.replace("fake-rules", "my-package").replace("1.5", "0.1"),
            "my_package-0.1.dist-info/entry_points.txt": points.replace(
                'project.entry-points."dpqr.update_rules"', "dpqr.update_rules"
            ).replace('"', ""),
            "my_package/__init__.py": "",
            "my_package/hedge.py": RULE,
            "my_package/test_hedge.py": TEST,
        }
    )
    return desk


@pytest.mark.slow
def test_the_rule_of_the_guide_is_installed_tested_and_trusted(package):
    import_module("my_package.test_hedge").test_hedge()
    assert "hedge [my-package 0.1]: my_package.hedge:Hedge" in package.run("strategies").out
    ended = package.release("--update", "hedge", "--trust", "hedge", "--out", "out", "--synthetic", "rows")
    assert ended.code == 0, ended.err
    record = json.loads((package.path / "out/release.json").read_text())
    assert record["plan"]["update"]["name"] == "hedge"
    assert "hedge: no bound on its error is proved" in record["trust"]
    assert any("my-package 0.1 and was vouched for by --trust hedge" in sentence for sentence in record["trust"])
    refused = package.release("--update", "hedge", "--trust", "hedge", "--schedule", "theory", "--n", "10000000")
    assert_refusal(refused, 3, "hedge has no proved mistake bound")


def test_a_foreign_distinguisher_that_is_trusted_is_named(foreign):
    ended = foreign.release("--distinguisher", "fair", "--trust", "fair", "--out", "out", *ROUNDS)
    assert ended.code == 0, ended.err
    record = json.loads((foreign.path / "out/release.json").read_text())
    assert VOUCHED in record["trust"]
    assert record["plan"]["distinguisher"]["name"] == "fair"
    assert "vouched for by --trust fair" in " ".join(ended.err.split())


def test_untrusted_code_is_not_even_imported(foreign):
    foreign.release("--distinguisher", "fair")
    assert "fake_rules.fair" not in sys.modules
