"""The suite with the oldest dependencies that pyproject.toml allows: `python tests/oldest.py [PATH ...]`.

Every lower bound of the dependencies and of the test extra is pinned, from wheels alone. A bound that fails here is
too low: raise it in pyproject.toml.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOWER = (">=", "==")
TYPES = "--deselect=tests/test_quality.py::test_tool_is_content[mypy]"
"""mypy judges dpqr by the annotations of the numpy that is installed, and the oldest one's are not those of today."""


def environment(name: str, python: str, pins: Sequence[str] = ()) -> Path:
    """Python of an environment with this project installed for editing, made once for each set of requirements."""
    said = "\n".join([python, (ROOT / "pyproject.toml").read_text(), *pins])
    folder = Path(tempfile.gettempdir()) / f"dpqr-{name}-{hashlib.sha256(said.encode()).hexdigest()[:12]}"
    found = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        install = [found, "-m", "pip", "install", "--quiet"]
        if pins:
            subprocess.run([*install, "--only-binary=:all:", *pins], check=True)
        subprocess.run([*install, "--editable", f"{ROOT}[test]", *pins], check=True)
        (folder / "complete").touch()
    return found


def lower_bounds() -> list[str]:
    """`name==version` for every requirement of the project and of its test extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    stated = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    return sorted({_pinned(requirement) for requirement in stated})


def _pinned(requirement: str) -> str:
    first = requirement.split(",")[0]
    sign = next((sign for sign in LOWER if sign in first), None)
    if sign is None:
        raise SystemExit(f"{requirement}: no lower bound; state one in pyproject.toml")
    return first.replace(sign, "==")


def main(paths: Sequence[str]) -> int:
    python = environment("oldest", sys.executable, lower_bounds())
    return subprocess.run([python, "-m", "pytest", TYPES, *paths], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
