"""dpqr.toml: where it is looked for, and what may stand in it."""

from __future__ import annotations

import os

import pytest

from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.python.settings import FILE, find_settings, read_settings, settings_keys


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Below a repository: top/.git, top/jobs/today, the last being the working directory."""
    today = tmp_path / "top" / "jobs" / "today"
    today.mkdir(parents=True)
    (tmp_path / "top" / ".git").mkdir()
    monkeypatch.chdir(today)
    return today


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_the_nearest_file_up_to_the_top_of_the_repository(place):
    top = place.parent.parent
    write(top.parent / FILE, "")  # beyond the repository
    assert find_settings(place, {}) is None
    upper = write(top / FILE, "")
    assert find_settings(place, {}) == upper
    nearest = write(place / FILE, "")
    assert find_settings(place, {}) == nearest


def test_outside_of_a_repository_only_the_directory_itself(tmp_path):
    (tmp_path / "a").mkdir()
    write(tmp_path / FILE, "")
    assert find_settings(tmp_path / "a", {}) is None
    assert find_settings(tmp_path, {}) == tmp_path / FILE


def test_a_variable_names_the_file_or_none(place):
    write(place / FILE, "")
    assert find_settings(place, {"DPQR_SETTINGS": "none"}) is None
    assert str(find_settings(place, {"DPQR_SETTINGS": "other.toml"})) == "other.toml"


def test_paths_are_relative_to_the_file_and_delta_is_its_exact_text(place):
    found = read_settings(
        write(
            place.parent / FILE,
            'domain = "d/domain.json"\nledger = "/srv/l.sqlite"\ndelta = 1.0e-9\nmax-rows = 3\ndataset = "s"\n',
        )
    )
    assert found.file == os.path.join("..", FILE)
    assert found.values == {
        "domain": os.path.join("..", "d", "domain.json"),
        "ledger": os.path.relpath("/srv/l.sqlite"),
        "delta": "1.0e-9",
        "max-rows": 3,
        "dataset": "s",
    }


@pytest.mark.parametrize("text", ["datset = 's'", "n = 1.5", "dataset = s", "a = " + "[" * 5000], ids=range(4))
def test_anything_else_is_refused(place, text):
    with pytest.raises(DocumentError, match=r"^dpqr.toml: \$"):
        read_settings(write(place / FILE, text))


def test_what_is_no_file_is_refused(place):
    (place / FILE).mkdir()
    with pytest.raises(UsageFault, match="is no regular file"):
        read_settings(place / FILE)
    with pytest.raises(UsageFault, match="cannot be read"):
        read_settings(place / "nowhere.toml")
    (place / "latin.toml").write_bytes(b'by = "\xe9"')
    with pytest.raises(DocumentError, match="no UTF-8"):
        read_settings(place / "latin.toml")


def test_no_setting_loosens_what_a_policy_fixes():
    """Limits, the delimiter, the count column and rules belong to the budget's owner."""
    assert not {"max-records", "max-bytes", "max-memory", "delimiter", "counts", "eps", "allow-fail"} & set(
        settings_keys()
    )


def test_an_address_of_a_ledger_is_no_path_and_holds_no_password(tmp_path):
    path = tmp_path / "dpqr.toml"
    path.write_text('ledger = "postgresql://jobs@db/b"\n')
    assert read_settings(path).values["ledger"] == "postgresql://jobs@db/b?schema=dpqr"
    path.write_text('ledger = "postgresql://jobs:xyzzy@db/b"\n')
    with pytest.raises(UsageFault, match="the address holds a password") as met:
        read_settings(path)
    assert "xyzzy" not in str(met.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
@pytest.mark.parametrize("what", ["file", "link", "target"])
def test_a_file_of_another_user_is_not_taken_unasked(place, what):
    path = place / FILE
    if what == "file":
        os.chown(write(path, "delta = 0"), 12345, -1)
    else:
        path.symlink_to(write(place / "other.toml", "delta = 0"))
        os.chown(path if what == "link" else place / "other.toml", 12345, -1, follow_symlinks=False)
    with pytest.raises(
        UsageFault, match=r"^dpqr\.toml: belongs to another user.*\nDPQR_SETTINGS=dpqr\.toml takes them"
    ):
        read_settings(path, {})
    assert read_settings(path, {"SUDO_UID": "12345"}).values == {"delta": "0"}
    assert read_settings(path, {"DPQR_SETTINGS": str(path)}).values == {"delta": "0"}
