import pytest
from architecture import parsed
from comprehension import figures, helpers_used_once, unused_helpers, walked_product

CEILINGS = {
    "lines of the package": 102552,
    "files": 387,
    "folders": 39,
    "files under 60 lines": 45,
    "private helpers used once in their file, %": 9.7,
    "public class names defined more than once": 6,
    "mean internal imports a file": 9.0,
    "dict[str, Any]": 107,
    "lines of the tests": 105577,
    "a plain release: modules imported": 216,
    "a plain release: functions run": 1258,
    "a plain release: files they lie in": 152,
}
"""They may fall. A commit that lets one rise says why, and what it makes unnecessary elsewhere."""


@pytest.fixture(scope="module")
def files():
    return walked_product()


def test_no_figure_rises(files):
    now = figures(files)
    assert set(now) == set(CEILINGS)
    assert {name: value for name, value in now.items() if value > CEILINGS[name]} == {}


def test_a_helper_used_once_is_seen():
    once = "def f():\n    return _g()\n\ndef _g(): ..."
    assert helpers_used_once(parsed(once)) == 1
    assert helpers_used_once(parsed(f"{once}\n\ndef h():\n    return _g()")) == 0


def test_no_helper_is_left_without_a_use(files):
    # Jupyter calls the one kind, and the gate, a file of its own, opens the seal.
    left = {name for nodes in files.values() for name in unused_helpers(nodes) if not name.startswith("_repr_")}
    assert left == {"_unseal"}
    assert unused_helpers(parsed("def _g(): ...\ndef _h(): ...\n_h()")) == ["_g"]
