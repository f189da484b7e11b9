"""A terminal without a process: commands that click runs here believe that a person looks on."""

import click.testing


def watch(patch, columns=80, lines=24, **environment):
    """What the environment of such a command must hold. patch: pytest's monkeypatch, or one of its contexts."""
    patch.setattr(click.testing._NamedTextIOWrapper, "isatty", lambda _: True, raising=False)
    plain = {"COLUMNS": str(columns), "LINES": str(lines), "NO_COLOR": "1", "TERM": "xterm"}
    return {**plain, "CI": "1", **environment}
