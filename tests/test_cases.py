import os

import pytest
from support.cases import in_one_test


@pytest.mark.parametrize("names", ["b, c", ("b", "c")])
def test_every_case_runs_and_the_one_that_fails_is_named(names):
    seen = []

    @in_one_test("a", [1, 2])
    @pytest.mark.parametrize(names, [("x", 3), ("y", 4)])
    def together(a, b, c):
        """One."""
        seen.append((a, b, c))
        assert (a, b) != (2, "y")

    with pytest.raises(AssertionError) as failure:
        together()
    assert seen == [(1, "x", 3), (1, "y", 4), (2, "x", 3), (2, "y", 4)]
    assert failure.value.__notes__ == ["in the case {'a': 2, 'b': 'y', 'c': 4}"]
    assert (together.__name__, together.__doc__) == ("together", "One.")


@in_one_test("name", ["a", pytest.param("b", id="other")])
def test_each_case_has_a_folder_and_patches_of_its_own(name, tmp_path, monkeypatch, capsys):
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text(name)
    assert "DPQR_CASE" not in os.environ
    monkeypatch.setenv("DPQR_CASE", name)
    print(name)
    assert capsys.readouterr().out == f"{name}\n"


def test_no_case_is_no_test_and_a_case_that_is_slow_stays_one_of_its_own():
    def alone(a): ...

    with pytest.raises(ValueError, match="alone has no case"):
        in_one_test("a", [])(alone)
    with pytest.raises(ValueError, match="a case has marks"):
        in_one_test("a", [pytest.param(1, marks=pytest.mark.slow)])
    with pytest.raises(ValueError, match="marks or fixtures"):
        in_one_test()(pytest.mark.slow(pytest.mark.parametrize("a", [1])(alone)))
