"""The command `dpqr` for sample_data/publish.sh. The run that the script kills waits, in front of its files, for it.

    python publisher.py ARGUMENTS OF dpqr

So the kill never comes too late, however busy the machine is. Everything else is as it is for users.
"""

import signal
import sys

from dpqr.cli.main import main
from dpqr.releases import release

KILLED = {"release", "third", "none"}
"""Arguments of that run: `--out third --progress none`."""


def wait(*ignored, **stated):
    signal.pause()


if __name__ == "__main__":
    if KILLED.issubset(sys.argv):
        release._write = wait
    main()
