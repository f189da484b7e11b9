import ast

from architecture import DOORS, GIVES, ROOMS, breaches, faces, module_name, package, product
from support.cases import in_one_test

HOUSE = {
    "__init__.py": "def __getattr__(name):\n    return load('dpqr.python.release:release')",
    "kernel/errors.py": "class DpqrError(Exception): ...",
    "kernel/arrays.py": "",
    "domain/histogram.py": "from dpqr.kernel.arrays import Axes",
    "kernel/noise/source.py": "import os, random\nos.urandom(1)",
    "kernel/noise/law.py": "from dpqr.kernel.arrays import IntArray",
    "kernel/noise/public.py": "import numpy as np\nnp.random.default_rng(1)",
    "workload/block.py": "from dpqr.domain import histogram",
    "kernel/sealed.py": "class SealKey: ...\nclass Private:\n    def _unseal(self): ...",
    "kernel/gate.py": "from dpqr.kernel.sealed import Private, SealKey",
    "mechanisms/selection.py": "from dpqr.kernel.gate import measure",
    "mechanisms/votes.py": "def f():\n    from dpqr.mechanisms.selection import g",
    "models/hypothesis.py": "from dpqr.workload.block import QueryBlock",
    "strategies/problem.py": "from dpqr.workload.block import QueryBlock",
    "strategies/updates/perceptron.py": (
        "import numpy\nfrom dpqr.strategies.problem import Problem\nfrom dpqr.kernel.noise.law import NoiseLaw"
    ),
    "releases/loop.py": "from dpqr.kernel.gate import measure\nfrom dpqr.strategies import problem",
    "tables/load.py": "import pyarrow.parquet as pq\nfrom dpqr.kernel.sealed import Private",
    "report/table.py": "from rich.table import Table\nfrom dpqr.releases.loop import run",
    "releases/release.py": "from dpqr.tables.load import read",
    "python/release.py": "import pandas as pd\nfrom dpqr.releases.release import release",
    "cli/main.py": "import click\nfrom rich import print\nfrom dpqr.releases.release import release",
    "__main__.py": "from dpqr.cli.main import main",
}
"""A small house in order, in which breaches are planted."""

PLANTED = [
    ("kernel/budget.py", "from dpqr.releases.loop import run", "imports releases.loop of a later room"),
    ("kernel/budget.py", "def f():\n    import dpqr.releases.loop", "imports releases.loop"),
    ("kernel/budget.py", "if TYPE_CHECKING:\n    from dpqr.releases import release", "imports releases.release"),
    ("kernel/budget.py", "load('dpqr.releases.release:release')", "imports releases.release"),
    ("kernel/budget.py", "from dpqr.workload.block import QueryBlock", "imports workload.block of a later room"),
    ("models/laplace.py", "from dpqr.mechanisms import selection", "imports mechanisms.selection of a later room"),
    (
        "kernel/noise/laplace.py",
        "from dpqr.domain.histogram import DenseHistogram",
        "imports domain.histogram of a later",
    ),
    ("kernel/arrays.py", "from dpqr.domain.histogram import Histogram", "imports domain.histogram of a later room"),
    ("domain/domain.py", "from dpqr import mechanisms", "imports mechanisms of a later room"),
    ("__init__.py", "from dpqr.releases.release import release", "imports releases.release of a later room"),
    ("releases/release.py", "from dpqr.report import table", "imports report.table of a later room"),
    ("releases/release.py", "from dpqr.prediction import plan", "imports prediction of a later room"),
    ("releases/release.py", "from dpqr.cli import main", "imports cli.main"),
    ("helpers/tools.py", "from dpqr.kernel.errors import DpqrError", "helpers.tools lies in no room"),
    ("kernel/budget.py", "from . import sealed", "relative import"),
    ("kernel/budget.py", "def f():\n    from ..tables import load", "relative import"),
    (
        "strategies/updates/bad.py",
        "from dpqr.kernel.gate import measure",
        "strategies.updates may not import kernel.gate",
    ),
    ("strategies/updates/bad.py", "import dpqr.kernel.sealed", "strategies.updates may not import kernel.sealed"),
    ("strategies/updates/bad.py", "from dpqr.kernel.noise.source import S", "may not import kernel.noise.source"),
    ("strategies/updates/bad.py", "from dpqr.mechanisms.selection import S", "may not import mechanisms.selection"),
    ("strategies/updates/bad.py", "load('dpqr.kernel.gate:measure')", "may not import kernel.gate"),
    ("models/fit/bad.py", "from dpqr.kernel.gate import measure", "models.fit may not import kernel.gate"),
    ("models/fit/bad.py", "from dpqr.strategies.problem import Problem", "imports strategies.problem of a later room"),
    ("workload/query.py", "from dpqr.kernel import gate", "workload may not import kernel.gate"),
    ("checker/check.py", "from dpqr.kernel.budget import Price", "checker may not import kernel.budget"),
    (
        "checker/check.py",
        "def f():\n    from dpqr.kernel.errors import DpqrError",
        "checker may not import kernel.errors",
    ),
    ("report/bad.py", "from dpqr.kernel.sealed import Private", "report may not import kernel.sealed"),
    ("report/bad.py", "from dpqr.kernel import gate", "report may not import kernel.gate"),
    ("report/bad.py", "from dpqr.domain.histogram import DenseHistogram", "report may not import domain.histogram"),
    ("workload/bad.py", "import pandas as pd", "imports pandas, which only tables, releases, published, python may"),
    ("sessions/bad.py", "def f():\n    from pyarrow.parquet import read_table", "imports pyarrow, which only tables"),
    ("releases/bad.py", "import click", "imports click, which only cli may"),
    ("releases/bad.py", "from rich.console import Console", "imports rich, which only cli, report"),
    ("mechanisms/bad.py", "import secrets", "imports secrets"),
    ("kernel/noise/laplace.py", "from random import Random", "imports random"),
    ("mechanisms/bad.py", "from numpy.random import default_rng", "imports numpy.random"),
    ("mechanisms/bad.py", "from numpy import random", "imports numpy.random"),
    ("mechanisms/bad.py", "import numpy as np\nnp.random.laplace(0, 1)", "names np.random"),
    ("mechanisms/bad.py", "import numpy\nnumpy.random.laplace(0, 1)", "names numpy.random"),
    ("mechanisms/bad.py", "import os\nos.urandom(8)", "names urandom, which only kernel.noise.source may"),
    ("kernel/noise/public.py", "from os import urandom as draw", "names urandom"),
    ("kernel/noise/public.py", "import os\ngetattr(os, 'urandom')(8)", "names urandom"),
    ("tables/bad.py", "import pickle", "imports pickle, which only nobody may"),
    ("mechanisms/bad.py", "def f(private, key):\n    return private._unseal(key)", "names _unseal"),
    ("mechanisms/bad.py", "def f(private, key):\n    return getattr(private, '_unseal')(key)", "names _unseal"),
    ("kernel/bad.py", "from dpqr.kernel.sealed import SealKey as Key", "names SealKey"),
    ("kernel/gate.py", "def f(private):\n    return private._Private__value", "names _Private__value"),
    ("releases/bad.py", "from dpqr.kernel.exact import PublicFilter", "names PublicFilter"),
    ("releases/bad.py", "from dpqr.releases.forecast.exact_errors import true_answers", "names true_answers"),
    ("mechanisms/bad.py", "if TYPE_CHECKING:\n    from dpqr.mechanisms.bad import Bad", "a circle of imports"),
    ("mechanisms/selection.py", "from dpqr.mechanisms.votes import f", "a circle of imports"),
]


def test_the_house_stands():
    assert breaches(product()) == []


def test_the_small_house_stands():
    assert breaches(HOUSE) == []


@in_one_test(("path", "source", "said"), PLANTED)
def test_a_planted_breach_is_caught(path, source, said):
    found = breaches({**HOUSE, path: source})
    assert any(breach.startswith(f"{path}: ") and said in breach for breach in found), found


def test_every_package_is_a_room_with_an_introduction_and_nothing_else():
    files = product()
    assert {package(module_name(path)) for path in files} <= {*ROOMS, *DOORS}
    introductions = {path: ast.parse(source) for path, source in files.items() if path.endswith("/__init__.py")}
    assert introductions
    assert [path for path, tree in introductions.items() if not ast.get_docstring(tree)] == []
    assert [path for path, tree in introductions.items() if len(tree.body) != 1] == []


def test_every_room_tells_what_it_gives_and_gives_no_more():
    assert faces(product()) == []


def test_what_a_room_does_not_give_or_tell_is_seen():
    rooms = {f"{room}/__init__.py": '"""A room."""' for room in ROOMS}
    inside = {"kernel/gate.py": "", "domain/domain.py": "from dpqr.kernel.gate import measure"}
    told = f'"""What is trusted.\n\n{GIVES}\n\n    gate    the gate\n    sealed  the seal\n"""'
    assert faces({**rooms, **inside}) == [
        "domain/domain.py: imports kernel.gate, which its room gives to no other",
        "kernel/__init__.py: does not tell of kernel.gate",
        "domain/__init__.py: does not tell of domain.domain",
    ]
    assert faces({**rooms, **inside, "kernel/__init__.py": told}) == [
        "kernel/__init__.py: tells of kernel.sealed, which is not there",
        "kernel/__init__.py: gives kernel.sealed, which no room takes",
        "domain/__init__.py: does not tell of domain.domain",
    ]
