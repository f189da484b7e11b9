"""Pages as headless Chromium shows them: on a phone, on a desk, in the dark and on paper.

    python tests/report/page/screenshots.py PAGE.html DIRECTORY

writes 390.png, 1280.png, dark.png and paper.pdf. Needs Debian's package chromium. Nothing is asserted: look at them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
TALL = 16_000
"""Points: longer pages are cut."""


def shots(page, directory, tall=TALL):
    directory.mkdir(parents=True, exist_ok=True)
    address = page.resolve().as_uri()
    wanted = {
        "390.png": [f"--window-size=390,{tall}"],
        "1280.png": [f"--window-size=1280,{tall}"],
        "dark.png": [f"--window-size=1280,{tall}", "--blink-settings=preferredColorScheme=0"],
    }
    for name, more in wanted.items():
        chromium([*more, f"--screenshot={directory / name}", address])
    chromium(["--no-pdf-header-footer", f"--print-to-pdf={directory / 'paper.pdf'}", address])


def chromium(arguments):
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(["chromium", *FLAGS, f"--user-data-dir={profile}", *arguments], check=True, capture_output=True)


if __name__ == "__main__":
    shots(Path(sys.argv[1]), Path(sys.argv[2]))
