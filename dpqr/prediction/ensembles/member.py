"""Member: the process in which an estimator is trained on one part, and the server that such processes fork from.

A server imports the estimator and is given the public points. It reads no part. For each part it forks a process,
which reads that part alone, trains, predicts, writes the predictions and ends; then it forks the next one.
`dpqr.prediction.ensembles.bases` starts servers and says what that proves.

The messages: an order (JSON) and the points, each after its length in 8 bytes; answered by READY, or by FAILED, a
length and a reason. Then parts, each after its length; answered by FOUND and one float64 a point if all went well, and
then always by ENDED.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import os
import resource
import signal
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import FloatArray
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.noise.public import seed_everybody

READY, FAILED, FOUND, ENDED = b"R", b"F", b"P", b"E"
CLOSED = 99
"""A process' exit status where there was no further part."""
HEADER = 4
"""Integers before a part's arrays: its number, whether it has labels, rows and width."""


class Work(Struct, frozen=True, kw_only=True):
    """What every part is trained by.

    Attributes:
        maker, options: the estimator's class and arguments.
        seeded: whether `random_state` is the part's number.
        points: features of the points, shape (predictions, width); public.
        seconds: of processor time before a part counts as failed; by the clock ten times as many.
    """

    maker: Any
    options: dict[str, object]
    seeded: bool
    points: FloatArray
    seconds: int

    def predicted(self, part: bytes) -> bytes:
        """Predictions at the points, as bytes. Private."""
        number, labelled, rows, width = np.frombuffer(part, dtype=np.int64, count=HEADER).tolist()
        body = memoryview(part)[8 * HEADER :]
        vectors = np.frombuffer(body, dtype=np.float64, count=rows * width).reshape(rows, width).copy()
        kind = np.int64 if labelled else np.float64
        targets = np.frombuffer(body[8 * rows * width :], dtype=kind, count=rows).copy()
        seed_everybody(number)
        estimator = self.maker(**self.options, **({"random_state": number} if self.seeded else {}))
        estimator.fit(vectors, targets)
        found = np.asarray(estimator.predict(self.points), dtype=np.float64)
        if found.shape != (len(self.points),):
            raise ValueError("not one number a point")
        return found.tobytes()


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a server is started with.

    Attributes:
        text: the estimator, as the user wrote it.
        width: features of a point.
        seeded, seconds: as of `Work`.
    """

    text: str
    width: int
    seeded: bool
    seconds: int

    def work(self, points: bytes) -> Work:
        """Import the estimator and make it once, which shows whether the arguments fit."""
        name, options = parsed(self.text)
        module, _, kind = name.rpartition(".")
        maker = getattr(import_module(module), kind)
        made = maker(**options)
        if not (callable(getattr(made, "fit", None)) and callable(getattr(made, "predict", None))):
            raise TypeError("an estimator needs fit and predict, as scikit-learn's have")
        at = np.frombuffer(points, dtype=np.float64).reshape(-1, self.width) if points else np.zeros((0, self.width))
        return Work(maker=maker, options=options, seeded=self.seeded, points=at.copy(), seconds=self.seconds)


def main() -> None:
    """A server's whole life."""
    source, sink = _kept(0, os.O_RDONLY), _kept(1, os.O_WRONLY)
    order, points = _message(source), _message(source)
    if order is None or points is None:
        return
    try:
        work = msgspec.json.decode(order, type=Order).work(points)
    except BaseException as error:
        reason = short(error).encode(errors="replace")
        _write(sink, FAILED + len(reason).to_bytes(8, "little") + reason)
        return
    _write(sink, READY)
    while _one_part(work, source, sink):
        _write(sink, ENDED)


def _one_part(work: Work, source: int, sink: int) -> bool:
    """Fork, and wait for the end. False: there are no more parts. This process reads nothing of the part."""
    child = os.fork()
    if not child:
        _trained(work, source, sink)
    _, status = os.waitpid(child, 0)
    return not (os.WIFEXITED(status) and os.WEXITSTATUS(status) == CLOSED)


def _trained(work: Work, source: int, sink: int) -> None:
    """In a process of its own: never returns. No later part can be read from here."""
    try:
        part = _message(source)
        if part is None:
            os._exit(CLOSED)
        os.close(source)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(10 * work.seconds)
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (work.seconds, most))
        found = work.predicted(part)
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
        _write(sink, FOUND + found)
        os._exit(0)
    except BaseException:
        os._exit(1)


def _kept(descriptor: int, mode: int) -> int:
    """The same stream under another number, which no estimator knows; the usual one leads nowhere."""
    kept, nowhere = os.dup(descriptor), os.open(os.devnull, mode)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
    return kept


def _message(source: int) -> bytes | None:
    """The next one; None at the end of the stream."""
    length = _exactly(source, 8)
    return None if length is None else _exactly(source, int.from_bytes(length, "little"))


def _exactly(source: int, count: int) -> bytes | None:
    """This many bytes and not one more: what follows is another process' to read."""
    found = bytearray()
    while len(found) < count:
        more = os.read(source, min(count - len(found), 2**20))
        if not more:
            return None
        found += more
    return bytes(found)


def _write(sink: int, message: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):
        while message:
            message = message[os.write(sink, message) :]


# Estimators: which ones a part may be trained by, as a user names them. Reading a name runs no code of anybody.
#
# An estimator is a dotted name with literal keyword arguments, `sklearn.tree.DecisionTreeClassifier(max_depth=5)`.
# The text is parsed, never evaluated. A name on the list below is scikit-learn's own: its class is imported,
# checked, and made once with the arguments, so that wrong ones are a usage error. Any other name is a third
# party's: it needs `--trust` with that very name, and nothing here imports it.

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


class Estimator(Struct, frozen=True, kw_only=True):
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
    # Arguments that the class does not take, or takes with other values.
    known = inspect.signature(kind).parameters
    for option in options:
        if option not in known:
            taken = ", ".join(each for each in known if each not in REFUSED)
            raise UsageFault(f"--base {name}: it has no argument {option!r}; it takes {taken}")
    try:
        kind(**options)._validate_params()
    except Exception as error:
        raise UsageFault(f"--base {name}: {short(error)}") from None
    seeded = "random_state" in known and "random_state" not in options
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


def parsed(given: str) -> tuple[str, dict[str, object]]:
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
        call = tree if isinstance(tree, ast.Call) else None
        # "a.b.C" of names and attributes, with a module.
        name, parts = call.func if call else tree, list[str]()
        while isinstance(name, ast.Attribute):
            parts.append(name.attr)
            name = name.value
        if not isinstance(name, ast.Name) or not parts:
            raise fault
        # Keyword arguments: none positional, starred, repeated or deeply nested.
        options: dict[str, object] = {}
        if call and call.args:
            raise fault
        for each in call.keywords if call else ():
            if each.arg is None or each.arg in options or _depth(each.value) > DEEPEST:
                raise fault
            options[each.arg] = ast.literal_eval(each.value)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise fault from None
    return ".".join((name.id, *reversed(parts))), options


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


def short(error: BaseException) -> str:
    """An error of code that has seen no data, on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
