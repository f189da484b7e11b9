"""Addresses of ledgers on a server: postgresql://HOST/DATABASE?schema=NAME, without a password.

An address is a public text: it may stand in a command line, a settings file, a message and a ledger's own entries. So
one that holds a password is refused, and an address that is refused is never repeated: it may hold one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

from dpqr.errors import UsageFault
from dpqr.io.credentials import holds_credentials, names_password

SCHEMES = ("postgresql", "postgres")
SCHEMA = "dpqr"
"""The schema of a ledger whose address names none."""
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_PORTS = re.compile(r"[0-9,]*")
_SECRET = re.compile(r"passw|secret|token|scram.*key", re.IGNORECASE)
WHERE_PASSWORDS_GO = "~/.pgpass, a service file (PGSERVICE, PGSERVICEFILE) or PGPASSWORD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a ledger lies on a server. text: as it is shown; server: what libpq connects to; schema: of its tables."""

    text: str
    server: str
    schema: str


def is_address(text: str) -> bool:
    """Whether a text is meant as an address, not as the path of a file."""
    return "://" in text or text.lower().startswith(tuple(f"{scheme}:" for scheme in SCHEMES)) or names_password(text)


def shown(text: str, origin: str) -> str:
    """The text of a path, or of an address that holds no password. UsageFault otherwise."""
    return read_address(text, origin).text if is_address(text) else text


def read_address(text: str, origin: str) -> Address:
    """The address that a text states.

    Args:
        origin: the option or variable that states it, for messages.

    Raises:
        UsageFault: another scheme, a password, a schema whose name needs quotes, or no address at all.
    """
    parts = _split(text) if "://" in text else None
    if parts is None or parts.scheme.lower() not in SCHEMES or parts.fragment:
        raise UsageFault(f"{origin}: give the path of a file, or postgresql://HOST/DATABASE?schema=NAME")
    options = parse_qsl(parts.query, keep_blank_values=True)
    require_no_password(parts.netloc, parts.path, [name for name, _ in options], origin)
    schemas = [value for name, value in options if name == "schema"] or [SCHEMA]
    if len(schemas) > 1 or not _NAME.fullmatch(schemas[0]):
        raise UsageFault(f"{origin}: schema=NAME is one name of small letters, digits and '_'; correct it there")
    rest = [(name, value) for name, value in options if name != "schema"]
    server = f"postgresql://{parts.netloc}{parts.path}"
    return Address(text=_with(server, [*rest, ("schema", schemas[0])]), server=_with(server, rest), schema=schemas[0])


def _split(text: str) -> SplitResult | None:
    try:
        return urlsplit(text) if text.isprintable() else None
    except ValueError:
        return None


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
        or _odd(ports)
    ):
        raise UsageFault(
            f"{origin}: the address holds a password, or signs that are not escaped; addresses are shown and recorded\n"
            f"leave the password out and put it into {WHERE_PASSWORDS_GO}"
        )


def _odd(ports: list[str]) -> bool:
    return not all(map(_PORTS.fullmatch, ports))
