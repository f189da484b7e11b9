"""The structure of the source in figures: how much there is to read, and how far a release travels through it.

PYTHONPATH=.:tests python tests/structure.py            # this checkout
PYTHONPATH=.:tests python tests/structure.py REVISION   # and another one beside it
"""

import ast
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
SHORT = 60
"""Lines of a file that is too short to be read by itself."""


def main() -> None:
    """Print a table: a figure a line, a checkout a column."""
    if sys.argv[1:] == ["--one"]:
        for name, figure in figures(Path.cwd()):
            print(f"{name}\t{figure}")
        return
    with tempfile.TemporaryDirectory() as made:
        columns = {"here": _measured(ROOT)}
        for revision in sys.argv[1:2]:
            tree = Path(made) / "tree"
            subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, revision], cwd=ROOT, check=True)
            try:
                columns = {revision: _measured(tree), **columns}
            finally:
                subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)
    print(f"{'':40}", *(f"{name[:20]:>20}" for name in columns))
    for name in columns["here"]:
        print(f"{name:40}", *(f"{column[name]:>20}" for column in columns.values()))


def _measured(tree: Path) -> dict[str, str]:
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    command = [sys.executable, str(Path(__file__).resolve()), "--one"]
    printed = subprocess.run(command, cwd=tree, env=environment, check=True, capture_output=True, text=True).stdout
    return dict(line.split("\t") for line in printed.splitlines())


def figures(tree: Path) -> Iterator[tuple[str, object]]:
    """Names and figures of the source below `tree`/dpqr."""
    sources = {path.relative_to(tree / "dpqr"): path.read_text() for path in (tree / "dpqr").rglob("*.py")}
    lengths = [text.count("\n") for text in sources.values()]
    functions = [node for text in sources.values() for node in ast.walk(ast.parse(text)) if _is_function(node)]
    yield "files", len(sources)
    yield "lines", sum(lengths)
    yield f"files under {SHORT} lines", sum(length < SHORT for length in lengths)
    yield "lines of the largest function", max((node.end_lineno or 0) - node.lineno + 1 for node in functions)
    yield "longest argument list", max(len(node.args.args) + len(node.args.kwonlyargs) for node in functions)
    yield "imports between rooms", len(set(_imports(sources)))
    yield "folders, and their depth", f"{len({path.parent for path in sources})}, {max(_depths(sources))}"
    yield "names in dpqr.__all__", len(_public_names(tree))
    yield from _hops(tree)


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _imports(sources: dict[Path, str]) -> Iterator[tuple[str, str]]:
    """File to file, where the two lie in different rooms (folders right below dpqr)."""
    for path, text in sources.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpqr."):
                room = (node.module or "").split(".")[1]
                if room != path.parts[0]:
                    yield str(path), node.module or ""


def _depths(sources: dict[Path, str]) -> Iterator[int]:
    return (len(path.parts) - 1 for path in sources)


def _public_names(tree: Path) -> list[str]:
    for node in ast.parse((tree / "dpqr" / "__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets):
            return list(ast.literal_eval(node.value))
    return []


def _hops(tree: Path) -> Iterator[tuple[str, object]]:
    """A release of the sample table: files that it runs through, and the longest chain of calls from file to file."""
    from click.testing import CliRunner

    from dpqr.cli.main import main as command

    sample, watch = tree / "sample_data", _Watch(str(tree / "dpqr"))
    arguments = ["release", str(sample / "survey.csv"), "--queries", str(sample / "queries.json"), "--eps", "1"]
    with tempfile.TemporaryDirectory() as out:
        watched(watch, lambda: CliRunner().invoke(command, [*arguments, "--out", f"{out}/release"]))
    yield "files that a release runs through", len(watch.seen)
    yield "deepest chain from file to file", watch.deepest


def watched(watch: Callable[[FrameType, str, object], None], work: Callable[[], object]) -> None:
    """Do the work while every call is passed to `watch`."""
    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)


class _Watch:
    """seen: files in which a function ran. deepest: most changes of file on one stack of calls."""

    def __init__(self, base: str) -> None:
        self.base, self.seen, self.deepest, self.stack = base, set[str](), 0, list[str]()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if not file.startswith(self.base) or event not in ("call", "return"):
            return
        if event == "return":
            if self.stack:
                self.stack.pop()
            return
        self.stack.append(file)
        if frame.f_code.co_name != "<module>":
            self.seen.add(file)
            changes = sum(one != two for one, two in zip(self.stack, self.stack[1:], strict=False))
            self.deepest = max(self.deepest, changes)


if __name__ == "__main__":
    main()
