"""Fixtures of the command line's tests."""

import sys

import pytest


@pytest.fixture
def install(tmp_path_factory, monkeypatch):
    """Installs a distribution for one test, given its files by their paths."""
    site = tmp_path_factory.mktemp("site")

    def installed(files):
        for name, content in files.items():
            (site / name).parent.mkdir(parents=True, exist_ok=True)
            (site / name).write_text(content)
        monkeypatch.syspath_prepend(site)

    yield installed
    for name, module in list(sys.modules.items()):
        if str(site) in str(getattr(module, "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def released(desk):
    """A desk with a release in `out`."""
    assert desk.release("--out", "out").code == 0
    return desk
