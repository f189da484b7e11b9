"""`dpqr`, and `python -m dpqr`: the program, quiet under Ctrl-C while its modules are loaded."""

from __future__ import annotations

import gc
import signal
from typing import NoReturn


def run() -> NoReturn:
    """`dpqr.cli.main.run`. While that is imported Ctrl-C ends the process by the signal itself: 130 in a shell.

    Garbage is looked for seldom: a short run makes little, and would walk over all modules to find none.
    """
    gc.set_threshold(200_000, 20, 50)
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from dpqr.cli import main

    if usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    main.run()


if __name__ == "__main__":
    run()
