"""Which rules have tests, by area."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .catalogue import Rule, gaps, reason, rules
from .runs import Test

__all__ = ["AreaCoverage", "Coverage", "cover"]


@dataclass
class AreaCoverage:
    """One area of the contract.

    Attributes:
        tests: the ids of tests that assert a rule of it, without parameters' values counted apart.
        rules: its rules with their tests, in the catalogue's order.
    """

    tests: set[str] = field(default_factory=set)
    rules: dict[Rule, list[str]] = field(default_factory=dict)

    def count(self, level: str, *, tested: bool) -> int:
        """Return how many rules of a level there are, or how many of them have a test."""
        return sum(rule.level == level and (bool(names) or not tested) for rule, names in self.rules.items())


@dataclass
class Coverage:
    """All areas.

    Attributes:
        areas: by name, in the catalogue's order.
        cases: how many tests the kit has, parameters counted.
        reasons: why a rule has no test; None for no reason.
    """

    areas: dict[str, AreaCoverage]
    cases: int
    reasons: dict[str, str | None]

    def count(self, level: str, *, tested: bool) -> int:
        """Return how many rules of a level there are, or how many of them have a test."""
        return sum(area.count(level, tested=tested) for area in self.areas.values())

    @property
    def unexplained(self) -> list[str]:
        """The rules that have neither a test nor a reason."""
        return [name for name, why in self.reasons.items() if why is None]


def cover(tests: Iterable[Test], area: str | None = None) -> Coverage:
    """Return what `tests` cover, of one area or all; rules that exist only because of Java do not count."""
    by_rule: dict[str, list[str]] = {}
    cases = 0
    for test in tests:
        cases += 1
        for name in test.rules:
            by_rule.setdefault(name, []).append(test.id)
    known = gaps()
    done = Coverage({}, cases, {})
    for rule in rules().values():
        if (area and rule.area != area) or rule.scope == "java-only":
            continue
        mine = by_rule.get(rule.id, [])
        there = done.areas.setdefault(rule.area, AreaCoverage())
        there.tests.update(mine)
        there.rules[rule] = sorted({name.partition("[")[0] for name in mine})
        if not mine:
            done.reasons[rule.id] = reason(rule, known)
    return done
