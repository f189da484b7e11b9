"""The house's rooms, walls and guarded names, read from the syntax tree: nothing of the product is imported.

`breaches` is a function of source texts, so that the tests can also plant breaches and see them caught.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
Nodes = tuple[ast.AST, ...]

ROOMS = (
    "kernel",
    "domain",
    "tables",
    "workload",
    "models",
    "mechanisms",
    "strategies",
    "ledger",
    "releases",
    "prediction",
    "sessions",
    "published",
    "audit",
    "report",
    "checker",
    "python",
    "cli",
)
"""Each room imports its own modules and those of the rooms before it."""

FACE = "python"
"""The room whose names dpqr itself hands out, lazily, from below all rooms."""

DOORS = {"": ROOMS.index("kernel"), "extension": ROOMS.index("releases"), "testing": len(ROOMS), "__main__": len(ROOMS)}
"""Modules beside the rooms: dpqr itself imports none of them; the others import the rooms up to this place."""

UPWARD = {
    "domain.domain_file": {"models.fit.maximum_entropy"},  # whether impossible combinations leave any cell
}
"""Imports from a later room."""

GUARDED_IMPORTS = {
    "pandas": ("tables", "releases", "published", "python"),
    "pyarrow": (
        *(
            "tables",
            "domain.hierarchies",
            "workload.coefficients",
            "releases",
            "published",
            "report.series",
            "report.page.parts",
        ),
        "audit.conformance.engines",
    ),
    "duckdb": ("tables.engines", "published.export"),
    "psycopg": ("tables.engines", "ledger.postgres"),
    "pyspark": ("tables.engines",),
    "click": ("cli",),
    "rich": ("cli", "report"),
    "jinja2": ("report",),
    "matplotlib": ("report",),
    "secrets": ("kernel.noise.source", "kernel.noise.public"),
    "random": ("kernel.noise.source", "kernel.noise.public"),
    "numpy.random": ("kernel.noise.source", "kernel.noise.public"),
    "scipy.stats": ("kernel.noise.public",),
    "pickle": (),
}
"""Who may import what from outside the house."""

GUARDED_NAMES = {
    "urandom": ("kernel.noise.source",),
    "getrandom": ("kernel.noise.source",),
    "default_rng": ("kernel.noise.public",),
    "SystemRandom": ("kernel.noise.source",),
    "RandomState": (),
    "_unseal": ("kernel.sealed", "kernel.gate"),
    "SealKey": ("kernel.sealed", "kernel.gate"),
    "_Private__value": (),
    "ExactEvent": ("kernel.exact", "releases.forecast.exact_errors"),
    "PublicFilter": ("kernel.exact", "releases.forecast.exact_errors"),
    "true_answers": ("releases.forecast.exact_errors", "report.evaluation"),
    "public_cells": ("releases.forecast.exact_errors", "releases.forecast.by_epsilon"),
}
"""Who may write a name, as a variable, an attribute, an import or a text that could be handed to getattr."""

PLAIN = {"kernel.errors", "kernel.arrays", "kernel.unit", "kernel.values"}
WALLS = {
    "models.fit": {*PLAIN, "domain", "workload", "models"},
    "strategies.updates": {
        *PLAIN,
        "domain",
        "workload",
        "models",
        "kernel.noise.law",
        "kernel.noise.public",
        "strategies.problem",
        "strategies.updates",
    },
    "checker": set(),
}
"""All that a package may import of the house: neither a fit nor an update rule can reach private data, noise or the
gate; the checker shares no code with anything."""

CLOSED_DOORS = {
    "report": {"kernel.sealed", "kernel.gate", "domain.histogram"},
    "workload": {
        *("kernel.accountants", "kernel.budget", "kernel.currency", "kernel.events", "kernel.exact"),
        *("kernel.gate", "kernel.sealed"),
    },
}
"""What a package may not import, though it stands before it."""


def product() -> dict[str, str]:
    """Every source file of the product: path below dpqr -> text."""
    base = ROOT / "dpqr"
    return {path.relative_to(base).as_posix(): path.read_text(encoding="utf-8") for path in base.rglob("*.py")}


def breaches(files: dict[str, str]) -> list[str]:
    """One sentence for every breach of the rules above."""
    modules = {above for path in files for above in lineage(module_name(path))}
    found, graph = [], {}
    for path, source in sorted(files.items()):
        nodes, module = parsed(source), module_name(path)
        inside, outside = imports(nodes, modules)
        graph[f"dpqr.{module}"] = stated_imports(nodes, modules)
        found += [f"{path}: {fault}" for fault in relative_imports(nodes)]
        found += [f"{path}: {fault}" for name in inside for fault in misplaced(module, name)]
        found += [f"{path}: {fault}" for name in outside for fault in unguarded(module, name)]
        found += [f"{path}: {fault}" for fault in named(module, nodes)]
    return [*found, *circles(graph)]


@cache
def parsed(source: str) -> Nodes:
    """All nodes of a file's syntax tree, walked once a process: that takes longer than every look at a node."""
    nodes: list[ast.AST] = [ast.parse(source)]
    for node in nodes:  # in the order of `ast.walk`, in half its time
        for part in vars(node).values():
            if isinstance(part, ast.AST):
                nodes.append(part)
            elif isinstance(part, list):
                nodes += [each for each in part if isinstance(each, ast.AST)]
    return tuple(nodes)


def module_name(path: str) -> str:
    """ "kernel/gate.py" -> "kernel.gate"; a package by its own name, dpqr itself by ""."""
    return path.removesuffix(".py").removesuffix("__init__").rstrip("/").replace("/", ".")


def lineage(module: str) -> Iterator[str]:
    """The module and the packages that it lies in."""
    parts = module.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts) + 1))


def within(module: str, packages: object) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def imports(nodes: Nodes, modules: set[str]) -> tuple[set[str], set[str]]:
    """Modules of the house (without "dpqr.") and names from outside that a file imports, anywhere in it.

    A text such as "dpqr.strategies.known:UPDATES" counts as an import where it names a module: lazy loading is no
    way around the order of rooms.
    """
    named_in_full = stated_imports(nodes, modules)
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            target = re.fullmatch(r"dpqr\.([\w.]+)(:\w+)?", node.value)
            named_in_full |= {f"dpqr.{target[1]}"} if target and target[1] in modules else set()
    inside = {name for name in named_in_full if name == "dpqr" or name.startswith("dpqr.")}
    return {name.removeprefix("dpqr").lstrip(".") for name in inside}, named_in_full - inside


def stated_imports(nodes: Nodes, modules: set[str]) -> set[str]:
    """The names, in full, of the import statements of a file, anywhere in it."""
    found = set()
    for node in nodes:
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


def relative_imports(nodes: Nodes) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.level:
            yield "relative import; write the name from dpqr on"


def misplaced(module: str, target: str) -> Iterator[str]:
    """Faults of importing `target`, a module of the house, into `module`."""
    here, there = place(module), place(target)
    if here is None or there is None:
        yield f"{module if here is None else target} lies in no room"
    elif there > here and not (module == "" and package(target) == FACE) and target not in UPWARD.get(module, ()):
        yield f"imports {target} of a later room"
    for walled, allowed in WALLS.items():
        if within(module, (walled,)) and not within(target, allowed):
            yield f"{walled} may not import {target}"
    for closed, doors in CLOSED_DOORS.items():
        if within(module, (closed,)) and within(target, doors):
            yield f"{closed} may not import {target}"


def place(module: str) -> int | None:
    """Of the room that a module lies in, among ROOMS; None: in none."""
    room = package(module)
    return ROOMS.index(room) if room in ROOMS else DOORS.get(module)


def package(module: str) -> str:
    return module.split(".")[0]


def unguarded(module: str, target: str) -> Iterator[str]:
    for guarded, allowed in GUARDED_IMPORTS.items():
        if within(target, (guarded,)) and not within(module, allowed):
            yield f"imports {guarded}, which only {', '.join(allowed) or 'nobody'} may"


def named(module: str, nodes: Nodes) -> Iterator[str]:
    for name in written(nodes):
        if name in GUARDED_NAMES and not within(module, GUARDED_NAMES[name]):
            yield f"names {name}, which only {', '.join(GUARDED_NAMES[name]) or 'nobody'} may"
        if name in {"np.random", "numpy.random"} and not within(module, GUARDED_IMPORTS["numpy.random"]):
            yield f"names {name}, which only kernel.noise.source, kernel.noise.public may"


def written(nodes: Nodes) -> Iterator[str]:
    """Every name in a file, and "np.random" for the attribute of the library."""
    for node in nodes:
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


GIVES = "Other rooms import these modules, and no others:"
FACES = re.compile(r"^    ([\w.]+)  +\S", re.MULTILINE)
"""A module of a room, and what it holds, as the room's introduction lists it."""


def faces(files: dict[str, str]) -> list[str]:
    """One sentence for every module that another room imports and its own does not give, and for every module that no
    room's introduction tells of."""
    modules = {above for path in files for above in lineage(module_name(path))}
    given, told = {}, {}
    for room in ROOMS:
        text = ast.get_docstring(ast.parse(files[f"{room}/__init__.py"])) or ""
        face, _, _ = text.partition("\nInside:\n")
        given[room] = {f"{room}.{name}" for name in FACES.findall(f"\n{face}")} if GIVES in face else set()
        told[room] = {f"{room}.{name}" for name in FACES.findall(f"\n{text}")}
    found, imported = [], set()
    for path, source in sorted(files.items()):
        inside, _ = imports(parsed(source), modules)
        for name in sorted(inside):
            room = package(name)
            if room in given and room != package(module_name(path)) and name != room:
                imported.add(name)
                if name not in given[room]:
                    found.append(f"{path}: imports {name}, which its room gives to no other")
    for room in ROOMS:
        own = {module_name(path) for path in files if path.startswith(f"{room}/") and not path.endswith("__init__.py")}
        found += [f"{room}/__init__.py: does not tell of {name}" for name in sorted(own - told[room])]
        found += [f"{room}/__init__.py: tells of {name}, which is not there" for name in sorted(told[room] - own)]
        found += [f"{room}/__init__.py: gives {name}, which no room takes" for name in sorted(given[room] - imported)]
    return found
