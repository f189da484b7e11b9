"""Where a user's files lie, on every platform."""

from pathlib import Path

from dpqr.io.user_directories import data_directory

HOME = Path.home()


def test_the_custom_of_each_platform():
    assert data_directory({"XDG_DATA_HOME": "/data"}, "linux") == Path("/data/dpqr")
    assert data_directory({"XDG_DATA_HOME": "relative"}, "linux") == HOME / ".local/share/dpqr"
    assert data_directory({}, "linux") == HOME / ".local/share/dpqr"
    assert data_directory({}, "darwin") == HOME / "Library/Application Support/dpqr"
    assert data_directory({"LOCALAPPDATA": "/app"}, "win32") == Path("/app/dpqr")
    assert data_directory({"USERPROFILE": "/me"}, "win32") == Path("/me/AppData/Local/dpqr")
