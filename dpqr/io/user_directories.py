"""User directories: where this user's files of dpqr lie, by the custom of the platform."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def data_directory(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """For what must not be lost."""
    if platform == "win32":
        return _local(environment) / "dpqr"
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "dpqr"
    return _declared(environment, "XDG_DATA_HOME", ".local/share") / "dpqr"


def _local(environment: Mapping[str, str]) -> Path:
    home = Path(environment.get("USERPROFILE") or Path.home())
    return Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local")


def _declared(environment: Mapping[str, str], variable: str, custom: str) -> Path:
    """The directory of a variable, whose value counts where it is absolute (XDG base directories)."""
    declared = environment.get(variable, "")
    return Path(declared) if os.path.isabs(declared) else Path.home() / custom
