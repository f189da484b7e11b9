"""What a renderable looks like on a plain screen of 100 columns."""

import io

from rich.console import Console


def printed(renderable, width=100):
    console = Console(file=io.StringIO(), width=width, color_system=None, highlight=False)
    console.print(renderable, crop=False)
    return "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())
