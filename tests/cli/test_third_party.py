"""Losses and learners of an installed package, as a user of `dpqr predict` meets them: the two of the guide."""

import json
import sys

import pytest
from cli.odd_files import LEARNERS, LEARNERS_DESK
from support.cases import thinned


@pytest.fixture
def shop(desk, install):
    """The desk, with an installed distribution that brings losses and learners."""
    install(LEARNERS)
    for name, content in LEARNERS_DESK.items():
        desk.put(name, content)
    return desk


def predict(shop, learner, *more, target="age"):
    given = ("--target", target, "--domain", "d.json", "--eps", "50", "--n", "400", "--learner", learner)
    return shop.run("predict", "train.csv", *given, "--trust", learner, *more)


@pytest.mark.parametrize(
    "more", thinned([(), ("--method", "descent"), ("--lambda", "0.01"), ("--parts", "2"), ("--tune", "0.2")], 5)
)
def test_a_loss_of_a_package_predicts_numbers(shop, more):
    done = predict(shop, "log-cosh", "--points", "sex.csv", *more)
    assert done.code == 0, done.err
    young, old = map(float, done.out.splitlines())
    assert 0 <= young < old <= 99
    assert (
        "stated by fake-learners 1.5, vouched for by --trust, not proved here: the constants of the loss"
        in " ".join(done.err.split())
    )


def test_a_learner_of_a_package_releases_a_function_that_is_applied(shop):
    done = predict(shop, "centroids", "--release", "function", "--out", "m.json", target="sex")
    assert done.code == 0, done.err
    stated = json.loads((shop.path / "m.json").read_text())["plan"]["learner"]
    assert (stated["name"], stated["origin"], stated["classifies"]) == ("centroids", "fake-learners 1.5", True)
    applied = shop.run("predict", "--model", "m.json", "--points", "age.csv")
    assert applied.out.splitlines()[:2] == ["F", "M"], applied.err


def test_the_listing_names_them_and_imports_nothing(shop):
    listed = {one["name"]: one for one in shop.run("strategies", "--json").json if one["origin"] != "dpqr"}
    assert {"log-cosh", "centroids"} <= set(listed)
    assert listed["centroids"]["role"] == "learner"
    assert "fake_learners" not in sys.modules
