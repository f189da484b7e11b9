"""How much a reader must hold in mind: `python tests/comprehension.py` prints it. `test_comprehension.py` lets it fall.

A plain release is README's first command, profiled in a process of its own.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import mean

from architecture import Nodes, parsed, product

ROOT = Path(__file__).resolve().parents[1]

PROFILED = """
import contextlib, cProfile, io, json, os, sys
package = os.path.join(os.getcwd(), "dpqr") + os.sep
sys.path.insert(0, os.getcwd())
from dpqr.__main__ import run
def leave(status):
    raise SystemExit(status)
os._exit = leave
ended = 0
profile = cProfile.Profile(builtins=False)
profile.enable()
try:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        run()
except SystemExit as stop:
    ended = stop.code or 0
finally:
    profile.disable()
run_functions = {
    (code.co_filename, code.co_name, code.co_firstlineno)
    for code in (each.code for each in profile.getstats() if not isinstance(each.code, str))
    if code.co_flags & 1 and code.co_filename.startswith(package) and "<" not in code.co_name
}
modules = sum(name == "dpqr" or name.startswith("dpqr.") for name in sys.modules)
print(json.dumps([ended, modules, len(run_functions), len({file for file, *_ in run_functions})]))
"""


def figures(files: Mapping[str, Nodes]) -> dict[str, float]:
    """Every figure by its name; the fewer, the better. files: the product's, as `walked_product` has them."""
    return {**_written(files), **_run()}


def walked_product() -> dict[str, Nodes]:
    """All nodes of every source file of the product, by its path below dpqr: walked once for all figures."""
    return {path: parsed(text) for path, text in product().items()}


def _written(files: Mapping[str, Nodes]) -> dict[str, float]:
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "dpqr").rglob("*.py")}
    functions = [each for nodes in files.values() for each in _functions(nodes)]
    classes = Counter(
        node.name
        for nodes in files.values()
        for node in nodes
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    once = sum(helpers_used_once(nodes) for nodes in files.values())
    return {
        "lines of the package": sum(text.count("\n") for text in texts.values()),
        "files": len(texts),
        "folders": len({path.parent for path in texts}),
        "files under 60 lines": sum(text.count("\n") < 60 for text in texts.values()),
        "private helpers used once in their file, %": round(100 * once / len(functions), 1),
        "public class names defined more than once": sum(count > 1 for count in classes.values()),
        "mean internal imports a file": round(mean(len(_imported(nodes)) for nodes in files.values()), 1),
        "dict[str, Any]": sum(text.count("dict[str, Any]") for text in texts.values()),
        "lines of the tests": sum(path.read_text("utf-8").count("\n") for path in (ROOT / "tests").rglob("*.py")),
    }


def _functions(nodes: Nodes) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def helpers_used_once(nodes: Nodes) -> int:
    """Private functions whose name stands once more in their file."""
    return sum(count == 1 for _, count in _uses_of_helpers(nodes))


def unused_helpers(nodes: Nodes) -> list[str]:
    """Private functions that nothing in their file names, and no decorator hands on."""
    return [each.name for each, count in _uses_of_helpers(nodes) if not count and not each.decorator_list]


def _uses_of_helpers(nodes: Nodes) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, int]]:
    uses: Counter[str] = Counter()
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            uses[node.id] += 1
        elif isinstance(node, ast.Attribute):
            uses[node.attr] += 1
    private = (each for each in _functions(nodes) if each.name.startswith("_") and not each.name.startswith("__"))
    return ((each, uses[each.name]) for each in private)


def _imported(nodes: Nodes) -> set[str]:
    froms = (node.module or "" for node in nodes if isinstance(node, ast.ImportFrom))
    return {name for name in froms if name.startswith("dpqr")}


def _run() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        job = ["release", "sample_data/survey.csv", "--queries", "sample_data/queries.json", "--eps", "1"]
        command = [sys.executable, "-c", PROFILED, *job, "--out", f"{folder}/out"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    ended, modules, functions, files = json.loads(done.stdout.splitlines()[-1])
    if ended:
        raise RuntimeError(f"the release ended with {ended}")
    return {
        "a plain release: modules imported": modules,
        "a plain release: functions run": functions,
        "a plain release: files they lie in": files,
    }


if __name__ == "__main__":
    for figure, value in figures(walked_product()).items():
        print(f"{figure:46} {value}")
