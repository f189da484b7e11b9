"""Estimators: which ones a part may be trained by, as a user names them. Reading a name runs no code of anybody.

An estimator is a dotted name with literal keyword arguments, `sklearn.tree.DecisionTreeClassifier(max_depth=5)`. The
text is parsed, never evaluated. A name on the list below is scikit-learn's own: its class is imported, checked, and
made once with the arguments, so that wrong ones are a usage error. Any other name is a third party's: it needs
`--trust` with that very name, and nothing here imports it.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from dpqr.errors import UsageFault

Predicts = Literal["labels", "numbers"]

LONGEST = 1000
"""Most characters of a name with its arguments."""
DEEPEST = 4
"""Deepest nesting of lists, tuples and mappings in an argument."""

CLASSIFIERS: Mapping[str, tuple[str, ...]] = {
    "sklearn.discriminant_analysis": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "sklearn.dummy": ("DummyClassifier",),
    "sklearn.ensemble": (
        "AdaBoostClassifier",
        "BaggingClassifier",
        "ExtraTreesClassifier",
        "GradientBoostingClassifier",
        "HistGradientBoostingClassifier",
        "RandomForestClassifier",
    ),
    "sklearn.linear_model": ("LogisticRegression", "Perceptron", "RidgeClassifier", "SGDClassifier"),
    "sklearn.naive_bayes": ("BernoulliNB", "ComplementNB", "GaussianNB", "MultinomialNB"),
    "sklearn.neighbors": ("KNeighborsClassifier", "NearestCentroid", "RadiusNeighborsClassifier"),
    "sklearn.neural_network": ("MLPClassifier",),
    "sklearn.svm": ("LinearSVC", "NuSVC", "SVC"),
    "sklearn.tree": ("DecisionTreeClassifier", "ExtraTreeClassifier"),
}
REGRESSORS: Mapping[str, tuple[str, ...]] = {
    "sklearn.dummy": ("DummyRegressor",),
    "sklearn.ensemble": (
        "AdaBoostRegressor",
        "BaggingRegressor",
        "ExtraTreesRegressor",
        "GradientBoostingRegressor",
        "HistGradientBoostingRegressor",
        "RandomForestRegressor",
    ),
    "sklearn.kernel_ridge": ("KernelRidge",),
    "sklearn.linear_model": (
        "ARDRegression",
        "BayesianRidge",
        "ElasticNet",
        "HuberRegressor",
        "Lars",
        "Lasso",
        "LassoLars",
        "LinearRegression",
        "OrthogonalMatchingPursuit",
        "QuantileRegressor",
        "Ridge",
        "SGDRegressor",
        "TheilSenRegressor",
    ),
    "sklearn.neighbors": ("KNeighborsRegressor", "RadiusNeighborsRegressor"),
    "sklearn.neural_network": ("MLPRegressor",),
    "sklearn.svm": ("LinearSVR", "NuSVR", "SVR"),
    "sklearn.tree": ("DecisionTreeRegressor", "ExtraTreeRegressor"),
}
"""scikit-learn's estimators that need no --trust, by module: they read and write no files, take no objects but
literals, and start no processes once `REFUSED` is left out. Meta-estimators, searches and pipelines are not among
them: they are made of other objects."""

REFUSED = {
    "n_jobs": "parts are trained side by side already",
    "verbose": "what an estimator prints is dropped",
    "warm_start": "every part is trained once",
    "estimator": "it is an object, and arguments are literals",
    "init": "it may be an object",
}
"""Arguments of these estimators that are refused, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimator:
    """An estimator as the user wrote it.

    Attributes:
        text: as given.
        name: the dotted name in it.
        predicts: None where it is unknown.
        trusted: a third party's, for which the user vouches.
        seeded: whether it takes a `random_state` that the user left to the run, which then states a public one per
            part.
    """

    text: str
    name: str
    predicts: Predicts | None = None
    trusted: bool = False
    seeded: bool = False


def read_estimator(given: str, trust: tuple[str, ...]) -> Estimator:
    """The estimator that the user wrote.

    Args:
        given: a dotted name with literal keyword arguments.
        trust: names of third parties' estimators that the user vouches for.

    Raises:
        UsageFault: on one line.

    Privacy:
        No table is open yet. What is not on the list is neither imported nor called.
    """
    name, options = parsed(given)
    found = predicted_by(name)
    if found is None:
        if name not in trust:
            raise UsageFault(
                f"--base {name}: it is not one of scikit-learn's estimators that dpqr knows, and its code would meet "
                f"the rows of every part; add --trust {name} if you vouch for it"
            )
        return Estimator(text=given, name=name, trusted=True)
    for option, why in REFUSED.items():
        if option in options:
            raise UsageFault(f"--base {name}: {option} is not taken: {why}; leave it out")
    kind = _checked(name, found)
    _require_made(name, kind, options)
    seeded = "random_state" in inspect.signature(kind).parameters and "random_state" not in options
    return Estimator(text=given, name=name, predicts=found, seeded=seeded)


def predicted_by(name: str) -> Predicts | None:
    """What an estimator on the list predicts; None: it is not on the list.

    >>> predicted_by("sklearn.svm.SVC"), predicted_by("os.system")
    ('labels', None)
    """
    module, _, kind = name.rpartition(".")
    if kind in CLASSIFIERS.get(module, ()):
        return "labels"
    return "numbers" if kind in REGRESSORS.get(module, ()) else None


def parsed(given: str) -> tuple[str, dict[str, Any]]:
    """A dotted name and its literal keyword arguments.

    Raises:
        UsageFault: anything else.

    >>> parsed("sklearn.svm.SVC(C=2)")
    ('sklearn.svm.SVC', {'C': 2})
    """
    fault = UsageFault(
        f"--base {' '.join(given.split())[:80]}: give least-squares, or an estimator with literal keyword arguments, "
        "such as sklearn.tree.DecisionTreeClassifier(max_depth=5)"
    )
    if len(given) > LONGEST:
        raise fault
    try:
        tree = ast.parse(given.strip(), mode="eval").body
        name = _dotted(tree.func if isinstance(tree, ast.Call) else tree)
        options = _literals(tree) if isinstance(tree, ast.Call) else {}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise fault from None
    return name, options


def _dotted(tree: ast.expr) -> str:
    """ "a.b.C" of names and attributes; ValueError for anything else, and for a name without a module."""
    parts: list[str] = []
    while isinstance(tree, ast.Attribute):
        parts.append(tree.attr)
        tree = tree.value
    if not isinstance(tree, ast.Name) or not parts:
        raise ValueError("no dotted name")
    return ".".join((tree.id, *reversed(parts)))


def _literals(call: ast.Call) -> dict[str, Any]:
    """Keyword arguments by name; ValueError for positional, starred, repeated and deeply nested ones."""
    options: dict[str, Any] = {}
    if call.args:
        raise ValueError("positional")
    for each in call.keywords:
        if each.arg is None or each.arg in options or _depth(each.value) > DEEPEST:
            raise ValueError("keyword")
        options[each.arg] = ast.literal_eval(each.value)
    return options


def _depth(tree: ast.AST) -> int:
    """Of nested containers; a sign in front of a number counts as one too."""
    inner = (_depth(child) for child in ast.iter_child_nodes(tree) if isinstance(child, ast.expr))
    return 1 + max(inner, default=-1) if not isinstance(tree, ast.Constant) else 0


def _checked(name: str, predicts: Predicts) -> type[Any]:
    """The class on the list, once it is known to be what the list says. UsageFault: scikit-learn is not there."""
    module, _, kind = name.rpartition(".")
    try:
        from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

        found = getattr(import_module(module), kind)
    except (ImportError, AttributeError):
        raise UsageFault(
            f"--base {name}: it cannot be imported; pip install 'dpqr[predict]', or choose an estimator of the "
            "installed scikit-learn"
        ) from None
    mixin = ClassifierMixin if predicts == "labels" else RegressorMixin
    own = isinstance(found, type) and found.__module__.partition(".")[0] == "sklearn"
    if not own or not issubclass(found, BaseEstimator) or not issubclass(found, mixin):
        raise UsageFault(f"--base {name}: the installed scikit-learn has no such estimator; choose another")
    checked: type[Any] = found
    return checked


def _require_made(name: str, kind: type[Any], options: Mapping[str, Any]) -> None:
    """UsageFault for arguments that the class does not take, or takes with other values."""
    known = inspect.signature(kind).parameters
    for option in options:
        if option not in known:
            taken = ", ".join(each for each in known if each not in REFUSED)
            raise UsageFault(f"--base {name}: it has no argument {option!r}; it takes {taken}")
    try:
        kind(**options)._validate_params()
    except Exception as error:
        raise UsageFault(f"--base {name}: {short(error)}") from None


def short(error: BaseException) -> str:
    """An error of code that has seen no data, on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
