"""Directories: where this user's files of dpqr lie, and how new names in a directory outlive a crash."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def sync_directory(directory: Path) -> None:
    """Sync a directory's entries, on systems that let a directory be opened."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def data_directory(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """This user's directory for what must not be lost, by the platform's custom."""
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
