"""What holds for every test: on a busy machine an example of Hypothesis may take its time; `pytest` alone leaves out
the tests marked slow and those marked quality, and says so in its last lines. Figures are computed with the
instructions that processors share, as by the command line (tests/machines.py has others). Bytecode is kept, for some
hundred processes import what the last one has compiled. Garbage is looked for seldom: there are thousands of tests
to walk over, and little of it. Their files lie in memory where there is room for them: a ledger syncs at every
entry, and a process that is killed loses no page on either kind of disk.
"""

import gc
import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from dpqr.cli.arithmetic import NAME, choose_common_instructions

choose_common_instructions()
if os.environ.get(NAME) == "portable":
    del os.environ[NAME]  # no command starts pytest again; processes inherit the instructions themselves
os.environ.pop("COLUMNS", None)  # set by pytest-xdist in its processes; a text in a pipe would be as narrow
gc.set_threshold(50_000, 50, 100)
gc.disable()  # until all tests are found
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
MEMORY, ROOM = "/dev/shm", 4 * 2**30
if (
    os.access(MEMORY, os.W_OK)
    and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
    and shutil.disk_usage(MEMORY).free > ROOM
):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)  # pytest's own name for where tmp_path lies
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

PLAIN = pytest.StashKey[bool]()
"""Whether this run names no tests, and so leaves out those of LATER."""
LATER = {
    "slow": "left out: {} slow tests; run them with: python -m pytest -n auto -m slow",
    "quality": "left out: {} tests of lint and types; run them with: python -m pytest -m quality",
}
LEFT_OUT = pytest.StashKey[dict[str, int]]()
"""How many tests of each marker of LATER."""


def pytest_configure(config: pytest.Config) -> None:
    """Paths, -k and -m name what to run, slow or not. The workers of xdist are given the same arguments."""
    if config.getoption("dist", "no") == "no":  # a process that hands out tests to others runs none
        config.pluginmanager.import_plugin("support.fixtures")
    named = config.args_source is pytest.Config.ArgsSource.ARGS or config.option.markexpr or config.option.keyword
    config.stash[PLAIN] = not named
    config.stash[LEFT_OUT] = dict.fromkeys(LATER, 0)
    if config.stash[PLAIN]:
        config.option.markexpr = " and ".join(f"not {marker}" for marker in LATER)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    """A plain run gives each file to one process, which makes the file's fixtures and fills its caches once."""
    if config.stash[PLAIN] and config.getoption("dist") == "load":
        from xdist.scheduler import LoadFileScheduling

        config.option.loadscopereorder = False  # the order of pytest_collection_modifyitems
        return LoadFileScheduling(config, log)
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the whole repository first: they take longest, and at the end no worker waits for another.

    Groups: pytest-xdist 3.8 writes a test's group behind its name, into a field that pytest 9.2 no longer reads, so
    that `--dist loadgroup` groups nothing (pytest-dev/pytest-xdist#1386). Here it is read.
    """
    items.sort(key=lambda item: item.path.parent != Path(__file__).parent)
    for item in items:
        grouped = getattr(item, "_nodeid", item.nodeid)
        if grouped != item.nodeid:
            item._id = type(item.id).parse(grouped)


def pytest_collection_finish() -> None:
    """What was found stays: garbage is looked for among what comes later alone."""
    gc.freeze()
    gc.enable()


def pytest_deselected(items: list[pytest.Item]) -> None:
    for item in items:
        for marker in LATER:
            item.config.stash[LEFT_OUT][marker] += item.get_closest_marker(marker) is not None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session):
    """A worker of xdist passes on how many tests it left out; the last lines of a plain run tell."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = config.stash[LEFT_OUT]
    ended = yield
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if config.stash[PLAIN] and reporter:
        for marker, count in config.stash[LEFT_OUT].items():
            if count:
                reporter.write_line(LATER[marker].format(count))
    return ended


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:
    """Every worker of xdist collects all tests, so the last one's numbers are everybody's."""
    found = getattr(node, "workeroutput", {})
    if "left_out" in found:
        node.config.stash[LEFT_OUT] = found["left_out"]
