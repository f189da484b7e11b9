"""Registry: strategies by name, built-ins and entry points alike. Lists from metadata, imports only what is chosen."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from itertools import chain
from typing import Any

from msgspec import Struct

from dpqr.kernel.errors import DpqrError, UsageFault

HOUSE = "dpqr"
"""Origin of the built-in strategies."""


class Builtin(Struct, frozen=True, kw_only=True):
    """One of dpqr's own strategies.

    Attributes:
        target: where its code is, "module:attribute".
        summary: what it is.
        use: what it is for.
    """

    target: str
    summary: str = ""
    use: str = ""


class RegistryEntry(Struct, frozen=True, kw_only=True):
    """One registered name: where its code is, and which distribution brought it."""

    name: str
    target: str
    origin: str


class Registry(Struct, frozen=True, kw_only=True):
    """The strategies of one role.

    role: what the user calls it, also the option's name. group: the entry-point group of third parties.
    protocol: "module:class" of what every strategy of the role must have. builtins: a row for each name.
    on_request: built-ins that are used only where a user names them.

    Whatever its role, a third party's code runs in this process, where nothing can keep it from private data. So none
    is imported without trust in its name.

    >>> median = Builtin(target="rules:Median")
    >>> rules = Registry(role="update", group="example", protocol="rules:Rule", builtins={"median": median})
    >>> rules.entry("median")
    RegistryEntry(name='median', target='rules:Median', origin='dpqr')
    """

    role: str
    group: str
    protocol: str
    builtins: Mapping[str, Builtin]
    on_request: tuple[str, ...] = ()

    @property
    def offered(self) -> tuple[str, ...]:
        """The built-ins to choose from where nobody named one."""
        return tuple(name for name in self.builtins if name not in self.on_request)

    def entries(self) -> tuple[RegistryEntry, ...]:
        """Every known name, built-ins first; nothing is imported. A plug-in may not take a built-in's name."""
        from importlib.metadata import entry_points

        own = [RegistryEntry(name=name, target=row.target, origin=HOUSE) for name, row in self.builtins.items()]
        foreign = [
            RegistryEntry(
                name=point.name,
                target=point.value,
                origin=f"{point.dist.name} {point.dist.version}" if point.dist else "an unnamed distribution",
            )
            for point in sorted(entry_points(group=self.group))
            if point.name not in self.builtins
        ]
        return (*own, *foreign)

    def entry(self, name: str) -> RegistryEntry:
        """The entry called `name`; nothing is imported. UsageFault: there is none.

        A built-in is found without a look at the installed distributions' metadata, 20 ms each time.
        """
        if name in self.builtins:
            return RegistryEntry(name=name, target=self.builtins[name].target, origin=HOUSE)
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
                f"--{self.role} {name}: comes from {entry.origin} and would run where the private data is; "
                f"add --trust {name} if you vouch for it"
            )
        return _attribute(entry.target)

    def made(self, name: str, *, trusted: bool = True, **options: Any) -> Any:
        """The strategy called `name`, with options. UsageFault: unknown, not trusted, does not load, is incomplete."""
        origin = self.entry(name).origin
        try:
            strategy = self.load(name, trusted=trusted)(**options)
            fault = None if origin == HOUSE else lacking(_attribute(self.protocol), strategy, name)
        except DpqrError:
            raise
        except Exception as error:
            if origin == HOUSE:
                raise
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise UsageFault(
                f"--{self.role} {name}: {origin} does not load ({reason}); fix it or leave it out"
            ) from None
        if fault is not None:
            raise UsageFault(f"--{self.role} {name}: {origin} {fault}; fix it or leave it out")
        return strategy


def is_builtin(strategy: object) -> bool:
    """Whether the strategy's class is dpqr's own."""
    return type(strategy).__module__.partition(".")[0] == HOUSE


def lacking(protocol: type[Any], strategy: Any, name: str | None = None) -> str | None:
    """The first thing that a strategy lacks of its role's protocol, as "lacks ..."; None: it is complete.

    name: what it must be called, where that is known.
    """
    # Public properties and methods, those that the protocol inherits first.
    for member, promised in chain.from_iterable(vars(kind).items() for kind in reversed(protocol.__mro__)):
        if member.startswith("_") or not (isinstance(promised, property) or callable(promised)):
            continue
        if not hasattr(strategy, member):
            return f"lacks {member}, which every {protocol.__name__} has"
        if isinstance(promised, property):
            continue
        found = getattr(strategy, member)
        if not callable(found):
            return f"has {member}, but not as a method"
        expected = list(inspect.signature(promised).parameters)[1:]
        try:
            inspect.signature(found).bind(*expected)
        except TypeError:
            return f"has a method {member} that does not take ({', '.join(expected)})"
    if name is not None and strategy.name != name:
        return f"has another name, {strategy.name!r}, than its entry point"
    return None


def _attribute(target: str) -> Any:
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)
