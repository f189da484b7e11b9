"""Address: where a table lies in an engine, as it is named on the command line and registered by a budget's owner."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from msgspec import Struct

from dpqr.kernel.errors import UsageFault

QUERY = "?query="
"""How a query is shown in plans and records. No address that somebody asks with holds one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineAddress:
    """SCHEME:PLACE?table=NAME, or SCHEME:PLACE.

    place: a file, a server, or nothing; no part of a plan. table: a name, with its schema before a dot where it needs
    one. query: one SELECT, which only the budget's owner can have registered.
    registered: whether the budget's owner registered it; only then may it name a view or hold a query.
    """

    scheme: str
    place: str = field(repr=False)
    table: str | None = None
    query: str | None = None
    registered: bool = False

    @property
    def text(self) -> str:
        """The address as one types it; of a registered query its place."""
        return f"{self.scheme}:{self.place}" + ("" if self.table is None else f"?table={self.table}")

    @property
    def public(self) -> str:
        """The part that plan and record hold."""
        if self.query is not None:
            return f"{self.scheme}:{QUERY}{self.query}"
        return f"{self.scheme}:" if self.table is None else f"{self.scheme}:?table={self.table}"


def is_query(public: str | None) -> bool:
    """Whether what a plan says of its table is a query's text (`EngineAddress.public`)."""
    return public is not None and public.partition(":")[2].startswith(QUERY)


# Credentials in addresses: an address is a public text, so one that holds a password is refused and never repeated.

_NAMES = r"pass(?:word|wd|phrase|key|code)?|pwd|secret|token|credentials?|(?:api|access|account|private|shared)[_-]?key"
_USER = re.compile(r"//[^?]*:[^?]*@")
"""user:password@, also with a slash or a second @ in the password."""
_ASSIGNED = re.compile(rf"(?:^|[^A-Za-z0-9])[\w.-]*(?:{_NAMES})[\w.-]*[\"']?\s*=", re.IGNORECASE)
"""password=... as an option of an address, or among keywords with values."""
_KEYWORD = re.compile(r"(?:^|[\s;])\w*(?:password|passwd|pwd)\w*\s*=", re.IGNORECASE)
_TEXTS = re.compile(r"'(?:[^']|'')*'|\$(\w*)\$.*?\$\1\$", re.DOTALL)
"""The texts of a statement in SQL; a comparison with a column that is called token stands outside of them."""
_SET = re.compile(rf"\b(?:{_NAMES})\s+'", re.IGNORECASE)
_DECODED = 5
"""Times that percent signs are decoded; who encodes an address more often hides something."""


def holds_credentials(text: str) -> bool:
    """Whether an address holds a password, in any form that a program reads one in, or looks as if it did.

    Forms: user:password@, password=... as an option or as a keyword, and each of them percent-encoded, also repeatedly.
    """
    return any(_USER.search(each) or _ASSIGNED.search(each) for each in _readings(text))


def names_password(text: str) -> bool:
    """Whether a text that shall be a path is an address by keywords, one of them a password: host=... password=..."""
    return any(_KEYWORD.search(each) for each in _readings(text))


def spells_credentials(sql: str) -> bool:
    """The same of a query: within one of its texts, or as PASSWORD '...'."""
    return bool(_SET.search(sql)) or any(holds_credentials(found[0]) for found in _TEXTS.finditer(sql))


def _readings(text: str) -> Iterator[str]:
    """The text, and what it is when it is percent-decoded, until nothing changes."""
    for _ in range(_DECODED):
        yield text
        decoded = unquote(text)
        if decoded == text:
            return
        text = decoded
    yield "password="


# Addresses of ledgers on a server: postgresql://HOST/DATABASE?schema=NAME, without a password.
#
# An address is a public text: it may stand in a command line, a settings file, a message and a ledger's own
# entries. So one that holds a password is refused, and an address that is refused is never repeated: it may hold
# one.

SCHEMES = ("postgresql", "postgres")
SCHEMA = "dpqr"
"""The schema of a ledger whose address names none."""
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_PORTS = re.compile(r"[0-9,]*")
_SECRET = re.compile(r"passw|secret|token|scram.*key", re.IGNORECASE)
WHERE_PASSWORDS_GO = "~/.pgpass, a service file (PGSERVICE, PGSERVICEFILE) or PGPASSWORD"


class LedgerAddress(Struct, frozen=True, kw_only=True):
    """Where a ledger lies on a server. text: as it is shown; server: what libpq connects to; schema: of its tables."""

    text: str
    server: str
    schema: str


def is_address(text: str) -> bool:
    """Whether a text is meant as an address, not as the path of a file."""
    return "://" in text or text.lower().startswith(tuple(f"{scheme}:" for scheme in SCHEMES)) or names_password(text)


def require_displayable(text: str, origin: str) -> str:
    """The text of a path, or of an address that holds no password. UsageFault otherwise."""
    return read_address(text, origin).text if is_address(text) else text


def read_address(text: str, origin: str) -> LedgerAddress:
    """The address that a text states.

    Args:
        origin: the option or variable that states it, for messages.

    Raises:
        UsageFault: another scheme, a password, a schema whose name needs quotes, or no address at all.
    """
    parts = None
    with suppress(ValueError):
        parts = urlsplit(text) if "://" in text and text.isprintable() else None
    if parts is None or parts.scheme.lower() not in SCHEMES or parts.fragment:
        raise UsageFault(f"{origin}: give the path of a file, or postgresql://HOST/DATABASE?schema=NAME")
    options = parse_qsl(parts.query, keep_blank_values=True)
    require_no_password(parts.netloc, parts.path, [name for name, _ in options], origin)
    schemas = [value for name, value in options if name == "schema"] or [SCHEMA]
    if len(schemas) > 1 or not _NAME.fullmatch(schemas[0]):
        raise UsageFault(f"{origin}: schema=NAME is one name of small letters, digits and '_'; correct it there")
    rest = [(name, value) for name, value in options if name != "schema"]
    server = f"postgresql://{parts.netloc}{parts.path}"
    return LedgerAddress(
        text=_with(server, [*rest, ("schema", schemas[0])]), server=_with(server, rest), schema=schemas[0]
    )


def _with(server: str, options: list[tuple[str, str]]) -> str:
    return f"{server}?{urlencode(options, quote_via=quote, safe='/')}" if options else server


def require_no_password(netloc: str, path: str, options: list[str], origin: str) -> None:
    """UsageFault for a password, also one whose signs put it in the place of a port or a database."""
    user, _, hosts = netloc.rpartition("@")
    ports = [host.rpartition("]")[2].partition(":")[2] for host in hosts.split(",")]
    if (
        holds_credentials(f"//{netloc}")
        or "@" in user
        or "@" in path
        or any(map(_SECRET.search, options))
        or not all(map(_PORTS.fullmatch, ports))
    ):
        raise UsageFault(
            f"{origin}: the address holds a password, or signs that are not escaped; addresses are shown and recorded\n"
            f"leave the password out and put it into {WHERE_PASSWORDS_GO}"
        )
