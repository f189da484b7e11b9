"""The house's floors, walls and guarded names, read from the syntax tree: nothing of the product is imported.

`breaches` is a function of source texts, so that the tests can also plant breaches and see them caught.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent

FLOORS = {
    "": 0,
    "errors": 0,
    "data.arrays": 0,  # names of array types, which every package speaks
    "data": 1,
    "noise": 1,
    "plugins": 1,
    "workload": 2,
    "privacy": 2,
    "mechanisms": 3,
    "hypotheses": 3,
    "fitting": 4,
    "strategies": 5,
    "construction": 6,
    "prediction": 6,
    "evaluation": 6,
    "audit": 6,
    "extension": 6,
    "conformance": 7,
    "io": 7,
    "report": 7,
    "app": 8,
    "conformance.engines": 8,  # beside the core's own counting
    "audit.cases": 9,  # whole releases, as the use cases make them
    "audit.run": 9,
    "api": 10,
    "cli": 11,
    "testing": 11,
    "__main__": 12,
}
"""A module imports its own package or a lower floor. The longest matching name counts; "" is dpqr itself."""

FACE = "api"
"""The package whose names dpqr itself hands out, lazily, from its ground floor."""

GUARDED_IMPORTS = {
    "pandas": ("io", "api"),
    "pyarrow": ("io", "conformance.awkward"),
    "duckdb": ("io",),
    "psycopg": ("io",),
    "pyspark": ("io",),
    "click": ("cli",),
    "rich": ("cli", "report"),
    "jinja2": ("report",),
    "matplotlib": ("report",),
    "secrets": ("noise.source", "noise.public"),
    "random": ("noise.source", "noise.public"),
    "numpy.random": ("noise.source", "noise.public"),
    "scipy.stats": ("noise.public",),
    "pickle": (),
}
"""Who may import what from outside the house."""

GUARDED_NAMES = {
    "urandom": ("noise.source",),
    "getrandom": ("noise.source",),
    "default_rng": ("noise.public",),
    "SystemRandom": ("noise.source",),
    "RandomState": (),
    "_unseal": ("privacy.sealed", "privacy.gate"),
    "SealKey": ("privacy.sealed", "privacy.gate"),
    "_Private__value": (),
    "ExactEvent": ("privacy.exact", "evaluation"),
    "PublicFilter": ("privacy.exact", "evaluation"),
    "true_answers": ("evaluation", "app.evaluating.evaluate"),
    "public_cells": ("evaluation", "app.evaluating.evaluate", "app.evaluating.forecast"),
}
"""Who may write a name, as a variable, an attribute, an import or a text that could be handed to getattr."""

WALLS = {
    "fitting": {"errors", "data", "workload", "hypotheses", "fitting"},
    "strategies.updates": {
        "errors",
        "data",
        "workload",
        "hypotheses",
        "fitting",
        "noise.law",
        "noise.public",
        "strategies.problem",
        "strategies.footprint",
        "strategies.level",
        "strategies.updates",
    },
}
"""All that a package may import of the house: neither a fit nor an update rule can reach private data, noise or the
gate."""

CLOSED_DOORS = {
    "report": {"privacy.sealed", "privacy.gate", "data.histogram"},
    "workload": {"privacy"},
}
"""What a package may not import, though it stands on a lower floor or beside it."""


def product() -> dict[str, str]:
    """Every source file of the product: path below dpqr -> text."""
    base = ROOT / "dpqr"
    return {path.relative_to(base).as_posix(): path.read_text(encoding="utf-8") for path in base.rglob("*.py")}


def breaches(files: dict[str, str]) -> list[str]:
    """One sentence for every breach of the rules above."""
    modules = {above for path in files for above in lineage(module_name(path))}
    found, graph = [], {}
    for path, source in sorted(files.items()):
        tree, module = ast.parse(source), module_name(path)
        inside, outside = imports(tree, modules)
        graph[f"dpqr.{module}"] = stated_imports(tree, modules)
        found += [f"{path}: {fault}" for fault in relative_imports(tree)]
        found += [f"{path}: {fault}" for name in inside for fault in misplaced(module, name)]
        found += [f"{path}: {fault}" for name in outside for fault in unguarded(module, name)]
        found += [f"{path}: {fault}" for fault in named(module, tree)]
    return [*found, *circles(graph)]


def module_name(path: str) -> str:
    """ "privacy/gate.py" -> "privacy.gate"; a package by its own name, dpqr itself by ""."""
    return path.removesuffix(".py").removesuffix("__init__").rstrip("/").replace("/", ".")


def lineage(module: str) -> Iterator[str]:
    """The module and the packages that it lies in."""
    parts = module.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts) + 1))


def within(module: str, packages: object) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def imports(tree: ast.AST, modules: set[str]) -> tuple[set[str], set[str]]:
    """Modules of the house (without "dpqr.") and names from outside that a file imports, anywhere in it.

    A text such as "dpqr.strategies.known:UPDATES" counts as an import where it names a module: lazy loading is no
    way around the floors.
    """
    named_in_full = stated_imports(tree, modules)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            target = re.fullmatch(r"dpqr\.([\w.]+)(:\w+)?", node.value)
            named_in_full |= {f"dpqr.{target[1]}"} if target and target[1] in modules else set()
    inside = {name for name in named_in_full if name == "dpqr" or name.startswith("dpqr.")}
    return {name.removeprefix("dpqr").lstrip(".") for name in inside}, named_in_full - inside


def stated_imports(tree: ast.AST, modules: set[str]) -> set[str]:
    """The names, in full, of the import statements of a file, anywhere in it."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {resolved(node.module, alias.name, modules) for alias in node.names}
    return found


def resolved(base: str, name: str, modules: set[str]) -> str:
    """`from base import name` imports the module base.name where there is one; outside the house both are told."""
    joined = f"{base}.{name}"
    if base.split(".")[0] != "dpqr":
        return joined
    return joined if joined.removeprefix("dpqr.") in modules else base


def circles(graph: dict[str, set[str]]) -> Iterator[str]:
    """A circle of files that import each other, for their types alone or not; what is loaded by its name is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = [f"{name.removeprefix('dpqr.').replace('.', '/')}.py" for name in error.args[1]]
        yield f"{min(circle)}: a circle of imports: {' <- '.join(circle)}"


def relative_imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield "relative import; write the name from dpqr on"


def misplaced(module: str, target: str) -> Iterator[str]:
    """Faults of importing `target`, a module of the house, into `module`."""
    here, there = floor(module), floor(target)
    if here is None or there is None:
        yield f"{module if here is None else target} stands on no floor"
    elif module == "" and package(target) == FACE:
        pass
    elif there > here or (there == here and there and package(module) != package(target)):
        yield f"floor {here} imports {target} of floor {there}"
    for walled, allowed in WALLS.items():
        if within(module, (walled,)) and not within(target, allowed):
            yield f"{walled} may not import {target}"
    for closed, doors in CLOSED_DOORS.items():
        if within(module, (closed,)) and within(target, doors):
            yield f"{closed} may not import {target}"


def floor(module: str) -> int | None:
    """Number of the floor of the longest name in FLOORS that `module` lies within."""
    fitting = [name for name in FLOORS if name == module or (name and module.startswith(f"{name}."))]
    return FLOORS[max(fitting, key=len)] if fitting else None


def package(module: str) -> str:
    return module.split(".")[0]


def unguarded(module: str, target: str) -> Iterator[str]:
    for guarded, allowed in GUARDED_IMPORTS.items():
        if within(target, (guarded,)) and not within(module, allowed):
            yield f"imports {guarded}, which only {', '.join(allowed) or 'nobody'} may"


def named(module: str, tree: ast.AST) -> Iterator[str]:
    for name in written(tree):
        if name in GUARDED_NAMES and not within(module, GUARDED_NAMES[name]):
            yield f"names {name}, which only {', '.join(GUARDED_NAMES[name]) or 'nobody'} may"
        if name in {"np.random", "numpy.random"} and not within(module, GUARDED_IMPORTS["numpy.random"]):
            yield f"names {name}, which only noise.source, noise.public may"


def written(tree: ast.AST) -> Iterator[str]:
    """Every name in a file, and "np.random" for the attribute of the library."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
            yield f"{node.value.id}.{node.attr}" if isinstance(node.value, ast.Name) else ""
        elif isinstance(node, ast.alias):
            yield from node.name.split(".")
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def mirrors(path: str, tests: Iterable[str]) -> list[str]:
    """The test files of one source file: FOLDER/test_NAME.py, and those in the folder FOLDER/NAME.

    tests: paths below tests/.
    """
    place = path.removesuffix(".py")
    folder, _, name = place.rpartition("/")
    own = f"{folder}/test_{name}.py".lstrip("/")
    return sorted(test for test in tests if test == own or test.startswith(f"{place}/test_"))
