"""What is synced, cut and renamed in a directory, in order: what a loss of power between two calls would leave."""

import os


def recorded(monkeypatch, directory):
    """The calls from now on, as (call, name of the file, its content then); the directory itself is "."."""
    calls = []

    def watch(call, name_of):
        original = getattr(os, call)

        def watched(*given):
            done = original(*given)
            name = name_of(given)
            calls.append((call, name, b"" if name == "." else (directory / name).read_bytes()))
            return done

        monkeypatch.setattr(os, call, watched)

    def opened(given):
        status = os.fstat(given[0])
        if os.path.samestat(status, directory.stat()):
            return "."
        return next(path.name for path in directory.iterdir() if os.path.samestat(status, os.lstat(path)))

    watch("fsync", opened)
    watch("ftruncate", opened)
    watch("replace", lambda given: os.path.basename(given[1]))
    return calls
