"""The tests that the kit has, kept in a file, so that one that vanishes is a failure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

__all__ = ["MANIFEST", "expected", "plain", "vanished", "write"]

MANIFEST: Final = Path(__file__).with_name("manifest.txt")
"""The ids of all tests, one a line, without the provider; made by ``substrates-tck list --write``."""


def plain(id: str, provider: str) -> str:
    """Return the id of a test without the provider that it runs on."""
    name = re.escape(provider)
    return re.sub(rf"\[{name}\]|(?<=\[){name}-|-{name}(?=[-\]])", "", id, count=1)


def expected() -> list[str]:
    """Return the ids of all tests."""
    return MANIFEST.read_text(encoding="utf-8").splitlines()


def vanished(ids: Iterable[str]) -> list[str]:
    """Return which of the expected tests are not among `ids`."""
    there = set(ids)
    return [name for name in expected() if name not in there]


def write(ids: Iterable[str]) -> None:
    """Make `ids` the expected ones."""
    MANIFEST.write_text("".join(f"{name}\n" for name in sorted(ids)), encoding="utf-8")
