import ast

import pytest
from architecture import FLOORS, breaches, module_name, package, product

HOUSE = {
    "__init__.py": "def __getattr__(name):\n    return load('dpqr.api.release:release')",
    "errors.py": "class DpqrError(Exception): ...",
    "data/arrays.py": "",
    "data/histogram.py": "from dpqr.data.arrays import Axes",
    "noise/source.py": "import os, random\nos.urandom(1)",
    "noise/law.py": "from dpqr.data.arrays import IntArray",
    "noise/public.py": "import numpy as np\nnp.random.default_rng(1)",
    "workload/block.py": "from dpqr.data import histogram",
    "privacy/sealed.py": "class SealKey: ...\nclass Private:\n    def _unseal(self): ...",
    "privacy/gate.py": "from dpqr.privacy.sealed import Private, SealKey",
    "mechanisms/scores.py": "from dpqr.privacy.gate import measure",
    "mechanisms/scores_of.py": "def f():\n    from dpqr.mechanisms.scores import g",
    "hypotheses/hypothesis.py": "from dpqr.workload.block import QueryBlock",
    "strategies/problem.py": "from dpqr.workload.block import QueryBlock",
    "strategies/updates/perceptron.py": (
        "import numpy\nfrom dpqr.strategies.problem import Problem\nfrom dpqr.noise.law import NoiseLaw"
    ),
    "construction/loop.py": "from dpqr.privacy.gate import measure\nfrom dpqr.strategies import problem",
    "io/tables.py": "import pyarrow.parquet as pq\nfrom dpqr.privacy.sealed import Private",
    "report/table.py": "from rich.table import Table\nfrom dpqr.construction.loop import run",
    "app/releasing/release.py": "from dpqr.io.tables import read\nimport dpqr.report.table",
    "api/release.py": "import pandas as pd\nfrom dpqr.app.releasing.release import release",
    "cli/main.py": "import click\nfrom rich import print\nfrom dpqr.app.releasing.release import release",
    "__main__.py": "from dpqr.cli.main import main",
}
"""A small house in order, in which breaches are planted."""

PLANTED = [
    ("privacy/budget.py", "from dpqr.construction.loop import run", "floor 2 imports construction.loop of floor 6"),
    ("privacy/budget.py", "def f():\n    import dpqr.construction.loop", "imports construction.loop"),
    (
        "privacy/budget.py",
        "if TYPE_CHECKING:\n    from dpqr.app.releasing import release",
        "imports app.releasing.release",
    ),
    ("privacy/budget.py", "load('dpqr.app.releasing.release:release')", "imports app.releasing.release"),
    ("privacy/budget.py", "from dpqr.workload.block import QueryBlock", "floor 2 imports workload.block of floor 2"),
    ("mechanisms/laplace.py", "from dpqr.hypotheses import hypothesis", "imports hypotheses.hypothesis of floor 3"),
    ("noise/laplace.py", "from dpqr.data.histogram import DenseHistogram", "floor 1 imports data.histogram of floor 1"),
    ("data/domain.py", "from dpqr import noise", "floor 1 imports noise of floor 1"),
    ("data/arrays.py", "from dpqr.data.histogram import Histogram", "floor 0 imports data.histogram of floor 1"),
    (
        "__init__.py",
        "from dpqr.app.releasing.release import release",
        "floor 0 imports app.releasing.release of floor 8",
    ),
    ("io/tables.py", "from dpqr.report import table", "floor 7 imports report.table of floor 7"),
    ("app/releasing/release.py", "from dpqr.cli import main", "floor 8 imports cli.main"),
    ("helpers/tools.py", "from dpqr.errors import DpqrError", "helpers.tools stands on no floor"),
    ("privacy/budget.py", "from . import sealed", "relative import"),
    ("privacy/budget.py", "def f():\n    from ..io import tables", "relative import"),
    (
        "strategies/updates/bad.py",
        "from dpqr.privacy.gate import measure",
        "strategies.updates may not import privacy.gate",
    ),
    ("strategies/updates/bad.py", "import dpqr.privacy.sealed", "strategies.updates may not import privacy.sealed"),
    ("strategies/updates/bad.py", "from dpqr.noise.source import SystemNoise", "may not import noise.source"),
    ("strategies/updates/bad.py", "from dpqr.mechanisms.scores import Scores", "may not import mechanisms.scores"),
    ("strategies/updates/bad.py", "load('dpqr.privacy.gate:measure')", "may not import privacy.gate"),
    ("fitting/bad.py", "from dpqr.privacy.gate import measure", "fitting may not import privacy.gate"),
    ("fitting/bad.py", "from dpqr.strategies.problem import Problem", "floor 4 imports strategies.problem of floor 5"),
    ("workload/query.py", "from dpqr.privacy import gate", "workload may not import privacy.gate"),
    ("report/bad.py", "from dpqr.privacy.sealed import Private", "report may not import privacy.sealed"),
    ("report/bad.py", "from dpqr.privacy import gate", "report may not import privacy.gate"),
    ("report/bad.py", "from dpqr.data.histogram import DenseHistogram", "report may not import data.histogram"),
    ("workload/bad.py", "import pandas as pd", "imports pandas, which only io, api may"),
    ("app/bad.py", "def f():\n    from pyarrow.parquet import read_table", "imports pyarrow, which only io"),
    ("app/bad.py", "import click", "imports click, which only cli may"),
    ("app/bad.py", "from rich.console import Console", "imports rich, which only cli, report may"),
    ("mechanisms/bad.py", "import secrets", "imports secrets"),
    ("noise/laplace.py", "from random import Random", "imports random"),
    ("mechanisms/bad.py", "from numpy.random import default_rng", "imports numpy.random"),
    ("mechanisms/bad.py", "from numpy import random", "imports numpy.random"),
    ("mechanisms/bad.py", "import numpy as np\nnp.random.laplace(0, 1)", "names np.random"),
    ("mechanisms/bad.py", "import numpy\nnumpy.random.laplace(0, 1)", "names numpy.random"),
    ("mechanisms/bad.py", "import os\nos.urandom(8)", "names urandom, which only noise.source may"),
    ("noise/public.py", "from os import urandom as draw", "names urandom"),
    ("noise/public.py", "import os\ngetattr(os, 'urandom')(8)", "names urandom"),
    ("io/bad.py", "import pickle", "imports pickle, which only nobody may"),
    ("mechanisms/bad.py", "def f(private, key):\n    return private._unseal(key)", "names _unseal"),
    ("mechanisms/bad.py", "def f(private, key):\n    return getattr(private, '_unseal')(key)", "names _unseal"),
    ("privacy/bad.py", "from dpqr.privacy.sealed import SealKey as Key", "names SealKey"),
    ("privacy/gate.py", "def f(private):\n    return private._Private__value", "names _Private__value"),
    ("construction/bad.py", "from dpqr.privacy.exact import PublicFilter", "names PublicFilter"),
    ("app/bad.py", "from dpqr.evaluation import true_answers", "names true_answers"),
    ("mechanisms/bad.py", "if TYPE_CHECKING:\n    from dpqr.mechanisms.bad import Bad", "a circle of imports"),
    ("mechanisms/scores.py", "from dpqr.mechanisms.scores_of import f", "a circle of imports"),
]


def test_the_house_stands():
    assert breaches(product()) == []


def test_the_small_house_stands():
    assert breaches(HOUSE) == []


@pytest.mark.parametrize(("path", "source", "said"), PLANTED)
def test_a_planted_breach_is_caught(path, source, said):
    found = breaches({**HOUSE, path: source})
    assert any(breach.startswith(f"{path}: ") and said in breach for breach in found), found


def test_every_package_has_a_floor_and_an_introduction_and_nothing_else():
    files = product()
    assert {package(module_name(path)) for path in files} <= set(FLOORS)
    introductions = {path: ast.parse(source) for path, source in files.items() if path.endswith("/__init__.py")}
    assert introductions
    assert [path for path, tree in introductions.items() if not ast.get_docstring(tree)] == []
    assert [path for path, tree in introductions.items() if len(tree.body) != 1] == []
