"""`PYTHONPATH=tests python -m gallery DIRECTORY` makes the five releases in a folder, with their pages and labels."""

import sys
from pathlib import Path

from gallery.releases import make

if __name__ == "__main__":
    make(Path(sys.argv[1]))
