"""Registry: strategies by name, built-ins and entry points alike. Lists from metadata, imports only what is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from dpqr.errors import UsageFault

HOUSE = "dpqr"
"""Origin of the built-in strategies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One registered name: where its code is, and which distribution brought it."""

    name: str
    target: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """The strategies of one role.

    role: what the user calls it, also the option's name. group: the entry-point group of third parties.
    builtins: name -> "module:attribute". on_request: built-ins that are used only where a user names them.
    """

    role: str
    group: str
    builtins: Mapping[str, str]
    on_request: tuple[str, ...] = ()

    @property
    def offered(self) -> tuple[str, ...]:
        """The built-ins to choose from where nobody named one."""
        return tuple(name for name in self.builtins if name not in self.on_request)

    def entries(self) -> tuple[Entry, ...]:
        """Every known name, built-ins first; nothing is imported. A plug-in may not take a built-in's name."""
        own = [Entry(name=name, target=target, origin=HOUSE) for name, target in self.builtins.items()]
        foreign = [
            Entry(name=point.name, target=point.value, origin=_origin(point))
            for point in sorted(entry_points(group=self.group))
            if point.name not in self.builtins
        ]
        return (*own, *foreign)

    def entry(self, name: str) -> Entry:
        """The entry called `name`; nothing is imported. UsageFault: there is none.

        A built-in is found without a look at the installed distributions' metadata, 20 ms each time.
        """
        if name in self.builtins:
            return Entry(name=name, target=self.builtins[name], origin=HOUSE)
        known = {entry.name: entry for entry in self.entries()}
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            raise UsageFault(f"--{self.role} {name}: no such {self.role}; {hint}")
        return known[name]

    def load(self, name: str, *, trusted: bool = True) -> Any:
        """The class or factory called `name`. UsageFault: unknown, or foreign code that nobody vouched for."""
        entry = self.entry(name)
        if entry.origin != HOUSE and not trusted:
            raise UsageFault(
                f"--{self.role} {name}: comes from {entry.origin} and would meet the private data; "
                f"add --trust {name} if you vouch for it"
            )
        module, _, attribute = entry.target.partition(":")
        return getattr(import_module(module), attribute)


def _origin(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unnamed distribution"
