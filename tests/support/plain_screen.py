"""What a renderable looks like on a plain screen of 100 columns, and what it shall look like."""

import io
from pathlib import Path

from rich.console import Console


def printed(renderable, width=100):
    console = Console(file=io.StringIO(), width=width, color_system=None, highlight=False)
    console.print(renderable, crop=False)
    return "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())


def kept(name):
    """The screen of that name, as a reviewer has read it."""
    return (Path(__file__).parents[1] / "report" / "screens" / f"{name}.txt").read_text("utf-8")
