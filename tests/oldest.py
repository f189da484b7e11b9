"""The suite with the oldest dependencies that pyproject.toml allows: `python tests/oldest.py [PATH ...]`.

Every lower bound of the dependencies and of all extras is pinned, from wheels where there are any. A bound that fails
here is too low: raise it in pyproject.toml. Tests marked slow and quality are left out.
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
WITHOUT_WHEELS = "pyspark"
LEFT_OUT = ("-m", "not slow and not quality")


def environment(name: str, python: str, pins: Sequence[str] = (), extras: Sequence[str] = ("test",)) -> Path:
    """Python of an environment with this project installed for editing, made once for each set of requirements."""
    said = "\n".join([python, str(ROOT), (ROOT / "pyproject.toml").read_text(), *pins, *extras])
    folder = Path(tempfile.gettempdir()) / f"dpqr-{name}-{hashlib.sha256(said.encode()).hexdigest()[:12]}"
    found = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        install = [found, "-m", "pip", "install", "--quiet"]
        if pins:
            wheels = ["--only-binary=:all:", f"--no-binary={WITHOUT_WHEELS}"]
            subprocess.run([*install, *wheels, *pins], check=True)
        subprocess.run([*install, "--editable", f"{ROOT}[{','.join(extras)}]", *pins], check=True)
        (folder / "complete").touch()
    return found


def oldest() -> Path:
    """Python of the environment with every lower bound, and all extras."""
    return environment("oldest", sys.executable, lower_bounds(), sorted(_project()["optional-dependencies"]))


def lower_bounds() -> list[str]:
    """`name==version` for every requirement of the project and of all its extras."""
    project = _project()
    stated = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    pins = sorted({_pinned(requirement) for requirement in stated})
    names = [pin.split("==")[0] for pin in pins]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise SystemExit(f"{', '.join(twice)}: two lower bounds; state one in pyproject.toml")
    return pins


def _project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _pinned(requirement: str) -> str:
    first = requirement.split(",")[0]
    sign = next((sign for sign in LOWER if sign in first), None)
    if sign is None:
        raise SystemExit(f"{requirement}: no lower bound; state one in pyproject.toml")
    return first.replace(sign, "==")


def main(arguments: Sequence[str]) -> int:
    return subprocess.run([oldest(), "-m", "pytest", *LEFT_OUT, *arguments], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
