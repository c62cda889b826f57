"""The rules of the contract, and why some of them have no test yet."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

__all__ = ["CATALOGUE", "GAPS", "KERNELS", "PYTHON", "Gap", "Rule", "gaps", "reason", "rules"]

CATALOGUE: Final = Path(__file__).with_name("catalogue.tsv")
"""The rules of the contract: id, level, area, scope."""
KERNELS: Final = Path(__file__).with_name("kernels.tsv")
"""The rules of kernels, which the contract's catalogue does not have."""
PYTHON: Final = Path(__file__).with_name("python.tsv")
"""The rules of living in a Python process and of populations, which it does not have either."""
GAPS: Final = Path(__file__).with_name("gaps.tsv")
"""Patterns of ids, each with the reason why a rule without a test has none."""


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
        id: as the contract names it.
        level: MUST, SHOULD or MAY.
        area: the id without its number, or its first word.
        scope: ``java-only`` where the rule exists only because of Java, else empty.
    """

    id: str
    level: str
    area: str
    scope: str


@dataclass(frozen=True)
class Gap:
    """A reason.

    Attributes:
        pattern: ids, with ``*`` for any characters.
        reason: why they have no test.
    """

    pattern: str
    reason: str


def rules() -> dict[str, Rule]:
    """Return the rules by id, in the catalogue's order."""
    return {row["id"]: Rule(**row) for file in (CATALOGUE, KERNELS, PYTHON) for row in _rows(file)}


def gaps() -> list[Gap]:
    """Return the reasons; the first pattern that fits an id counts."""
    return [Gap(**row) for row in _rows(GAPS)]


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as source:
        return list(csv.DictReader(source, delimiter="\t", quoting=csv.QUOTE_NONE))


def reason(rule: Rule, known: list[Gap]) -> str | None:
    """Return why `rule` has no test, None if nobody says so."""
    if rule.scope == "java-only":
        return "exists only because of Java"
    return next((gap.reason for gap in known if fnmatchcase(rule.id, gap.pattern)), None)
