"""Losses and learners of an installed package, as a user of `dpqr predict` meets them: the two of the guide."""

import json
import sys

import pytest
from support.guide_rule import LEARNER, LOSS

DOMAIN = {
    "fields": [
        {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}, "dpqr": {"otherwise": "drop"}},
        {
            "name": "age",
            "type": "integer",
            "constraints": {"minimum": 0, "maximum": 99},
            "dpqr": {"width": 1, "outside": "clip", "otherwise": "drop"},
        },
    ],
}
TRAIN = "\n".join(["sex,age", *(f"{'FM'[old % 2]},{30 + 40 * (old % 2) + old % 9}" for old in range(400))]) + "\n"
CODE = (
    "\n\n".join([LOSS, LEARNER])
    + """

class Steep(LogCosh):
    name, lipschitz = "steep", Fraction(1, 2)


class Loose(Centroids):
    name = "loose"

    def learner(self, examples, scale):
        return type("Unbounded", (), {"bound": 1.0, "fit": None})()
"""
)
ENTRY_POINTS = """
[dpqr.losses]
log-cosh = fake_learners:LogCosh
steep = fake_learners:Steep
missing = fake_learners:Missing
centroids-as-loss = fake_learners:Centroids

[dpqr.learners]
centroids = fake_learners:Centroids
loose = fake_learners:Loose
"""


@pytest.fixture
def shop(desk, tmp_path_factory, monkeypatch):
    """The desk, with an installed distribution that brings losses and learners."""
    site = tmp_path_factory.mktemp("site")
    metadata = site / "fake_learners-1.5.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-learners\nVersion: 1.5\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    (site / "fake_learners.py").write_text(CODE)
    monkeypatch.syspath_prepend(site)
    desk.write(train__csv=TRAIN, d__json=DOMAIN, sex__csv="sex\nF\nM\n", age__csv="age\n35\n75\n")
    yield desk
    sys.modules.pop("fake_learners", None)


def predict(shop, learner, *more, target="age"):
    trust = () if "--untrusted" in more else ("--trust", learner)
    options = [each for each in more if each != "--untrusted"]
    given = ("--target", target, "--domain", "d.json", "--eps", "50", "--n", "400", "--learner", learner)
    return shop.run("predict", "train.csv", *given, *trust, *options)


@pytest.mark.parametrize(
    "more", [(), ("--method", "descent"), ("--lambda", "0.01"), ("--parts", "2"), ("--tune", "0.2")]
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


@pytest.mark.parametrize(
    ("learner", "more", "said"),
    [
        ("log-cosh", ("--untrusted",), "comes from fake-learners 1.5 and would run where the private data is"),
        ("steep", (), "fake-learners 1.5 states a Lipschitz constant of 1/2, and breaks it at prediction"),
        ("missing", (), "fake-learners 1.5 does not load (AttributeError"),
        ("centroids-as-loss", (), "fake-learners 1.5 lacks value"),
        ("loose", (), "fake-learners 1.5 states a bound that is no Fraction above 0"),
        ("log-cosh", ("--method", "objective"), "has output or descent"),
        ("log-cosh", ("--tau", "0.5"), "--tau goes with"),
        ("log-cosh", ("--base", "x"), "--base goes with"),
        ("centroids", ("--lambda", "0.1"), "has no lambda"),
        ("nobody", (), "there is logistic"),
    ],
)
def test_what_is_refused_takes_one_line_and_costs_nothing(shop, learner, more, said):
    target = "sex" if learner in ("centroids", "loose") else "age"
    done = predict(shop, learner, "--dry-run", "--predictions", "3", *more, target=target)
    assert done.code in (2, 3)
    assert said in " ".join(done.err.split())
    assert "Traceback" not in done.err


def test_the_listing_names_them_and_imports_nothing(shop):
    listed = {one["name"]: one for one in shop.run("strategies", "--json").json if one["origin"] != "dpqr"}
    assert {"log-cosh", "centroids"} <= set(listed)
    assert listed["centroids"]["role"] == "learner"
    assert "fake_learners" not in sys.modules
