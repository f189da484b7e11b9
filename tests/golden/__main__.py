"""Golden files: what every command prints and writes, before and after a change that must not show.

    PYTHONPATH=.:tests python -m golden write DIRECTORY      # record this checkout
    PYTHONPATH=.:tests python -m golden compare REVISION     # record both on this machine, and print what differs

Nothing is kept in the repository: the last digits of a fit differ from one processor to another.
"""

import difflib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHOWN = 6
"""Lines of each difference that are printed."""


def main() -> int:
    """Exit code 1 where anything differs."""
    match sys.argv[1:]:
        case ["write", directory]:
            return _write(Path(directory))
        case ["compare", revision]:
            return _compare(revision)
    print(__doc__)
    return 2


def _write(directory: Path) -> int:
    from golden.cases import recorded

    with tempfile.TemporaryDirectory() as desk:
        for name, text in recorded(Path(desk)):
            place = directory / f"{name}.txt"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text.replace(desk, "DESK").replace(str(ROOT), "ROOT"))
    return 0


def _compare(revision: str) -> int:
    with tempfile.TemporaryDirectory() as made:
        before, after, tree = (Path(made) / name for name in ("before", "after", "tree"))
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, revision], cwd=ROOT, check=True)
        try:
            for source, target in ((tree, before), (ROOT, after)):
                # By the cases of this checkout, so that a new case or another order is no difference.
                environment = {**os.environ, "PYTHONPATH": f"{source}:{ROOT / 'tests'}"}
                command = [sys.executable, "-m", "golden", "write", str(target)]
                subprocess.run(command, cwd=source, env=environment, check=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)
        return _differences(before, after)


def _differences(before: Path, after: Path) -> int:
    names = sorted({str(path.relative_to(side)) for side in (before, after) for path in side.rglob("*.txt")})
    unlike = [name for name in names if _text(before / name) != _text(after / name)]
    for name in unlike:
        lines = difflib.unified_diff(_text(before / name), _text(after / name), lineterm="", n=0)
        shown = [line[:200] for line in lines if not line.startswith(("---", "+++", "@@"))]
        print(f"{name}: {len(shown)} lines differ", *(f"    {line}" for line in shown[:SHOWN]), sep="\n")
    print(f"{len(names)} golden files, {len(unlike)} differ")
    return int(bool(unlike))


def _text(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


if __name__ == "__main__":
    sys.exit(main())
