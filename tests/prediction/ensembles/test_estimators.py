"""Reading an estimator's name runs no code, and takes nothing but what is on the list or trusted."""

import sys

import pytest
from support.cases import in_one_test

from dpqr.kernel.errors import UsageFault
from dpqr.prediction.ensembles.member import CLASSIFIERS, LONGEST, REFUSED, REGRESSORS, parsed, read_estimator

NAMES = [f"{module}.{kind}" for listed in (CLASSIFIERS, REGRESSORS) for module in listed for kind in listed[module]]


@in_one_test(
    "given",
    [
        "tree",
        "",
        "a.b(**c)",
        "a.b(*c)",
        "a.b(1)",
        "a.b(x=__import__('os'))",
        "a.b(x=1 + 1)",
        "a.b(x=y)",
        "a.b(x=f'{1}')",
        "a.b(x=lambda: 1)",
        "a.b(x=[i for i in (1,)])",
        "a.b(x=1, x=2)",
        "a.b;c",
        "a[0].b",
        "a.b()()",
        "a.b().c",
        "(a or b).c()",
        "a.b(x=(y := 1))",
        "a.b(x=[[[[[1]]]]])",
        "a.b(x=" + "(" * 300 + "1" + ")" * 300 + ")",
        "a.b(x=" + "-" * 900 + "1)",
        "a.b(x='" + "y" * LONGEST + "')",
        "a.b(x={**{}})",
        "a.b(x='\0')",
        "a.b(\n1)",
    ],
)
def test_whatever_is_no_name_with_literals_is_refused_on_one_line(given):
    with pytest.raises(UsageFault, match="--base") as raised:
        read_estimator(given, ())
    assert "\n" not in str(raised.value)


def test_literals_are_read_as_they_stand():
    text = "a.b.C(x=1, y=-2.5, z='t', t=(1, None), d={'k': [True]}, e=-1)"
    assert parsed(text) == ("a.b.C", {"x": 1, "y": -2.5, "z": "t", "t": (1, None), "d": {"k": [True]}, "e": -1})
    assert parsed("a.b") == ("a.b", {})


@in_one_test("name", ["subprocess.Popen", "os.system", "builtins.eval", "sklearn.pipeline.Pipeline"])
def test_what_is_not_on_the_list_needs_trust_in_that_very_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = f"{name}(args='touch PWNED', shell=True)"
    for trust in ((), (given,), (name.upper(),)):
        with pytest.raises(UsageFault, match=f"add --trust {name} if you vouch for it"):
            read_estimator(given, trust)
    assert read_estimator(given, (name,)).trusted
    assert list(tmp_path.iterdir()) == []


def test_a_trusted_name_is_not_imported(tmp_path, monkeypatch):
    (tmp_path / "foreign_base.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    read_estimator("foreign_base.Base()", ("foreign_base.Base",))
    assert "foreign_base" not in sys.modules


def test_a_name_that_hides_behind_a_module_of_the_list_is_not_on_it():
    for name in ("sklearn.tree.__builtins__", "sklearn.tree._classes.DecisionTreeClassifier", "sklearn.tree.os.system"):
        with pytest.raises(UsageFault, match="--trust"):
            read_estimator(name, ())


@in_one_test("name", NAMES)
def test_every_estimator_on_the_list_is_what_the_list_says(name):
    pytest.importorskip("sklearn")
    found = read_estimator(name, ())
    assert not found.trusted
    assert found.predicts == ("labels" if name in NAMES[: sum(map(len, CLASSIFIERS.values()))] else "numbers")


@in_one_test(
    ("given", "says"),
    [
        ("sklearn.tree.DecisionTreeClassifier(max_depht=5)", r"no argument 'max_depht'; it takes criterion"),
        ("sklearn.tree.DecisionTreeClassifier(max_depth='x')", r"The 'max_depth' parameter"),
        ("sklearn.ensemble.RandomForestClassifier(n_estimators=-1)", r"The 'n_estimators' parameter"),
        *[(f"sklearn.ensemble.BaggingClassifier({each}=1)", f"{each} is not taken") for each in REFUSED],
    ],
)
def test_wrong_arguments_are_one_line(given, says):
    pytest.importorskip("sklearn")
    with pytest.raises(UsageFault, match=says) as raised:
        read_estimator(given, ())
    assert "\n" not in str(raised.value)


def test_an_unset_random_state_is_stated_for_each_part():
    pytest.importorskip("sklearn")
    assert read_estimator("sklearn.tree.DecisionTreeClassifier()", ()).seeded
    assert not read_estimator("sklearn.tree.DecisionTreeClassifier(random_state=3)", ()).seeded
    assert not read_estimator("sklearn.naive_bayes.GaussianNB()", ()).seeded
