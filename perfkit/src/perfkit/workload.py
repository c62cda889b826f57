"""What can be compared: a command that measures one provider, and how its summary is read.

A workload is run in a process of its own, ``perfkit <name> --provider NAME ... --json FILE``, which verifies
what it did and writes a summary as `summary.json` has it, with at least `schema`, `workload`, `provider`,
`parameters`, `verified`, `error`, `warnings` and `evidence`. All else that a comparison must know is in a
`Workload`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, Protocol

from substrates import spi

__all__ = ["Metric", "Plan", "Summary", "Workload"]

Summary = Mapping[str, Any]
"""A run as `summary.json` has it."""


def _one_value(_: Summary) -> Sequence[Sequence[float]]:
    return ()


@dataclass(frozen=True)
class Metric:
    """A figure of a summary.

    Attributes:
        key: where it is in the summary, with dots between keys.
        title: in tables, with the unit.
        text: writes a value, None where it is unknown.
        better: whether lower or higher is.
        samples: returns what the figure is made of: first its own values, then those of what they are divided
            by, all independent of each other; nothing where a run has one value only.
    """

    key: str
    title: str
    text: Callable[[float | None], str]
    better: Literal["lower", "higher"]
    samples: Callable[[Summary], Sequence[Sequence[float]]] = _one_value

    def value(self, summary: Summary) -> float | None:
        """Return the figure, None where it is unknown.

        Raises:
            KeyError: the summary has no such key.
            TypeError: what it has is no number.
        """
        found: Any = summary
        for part in self.key.split("."):
            found = found[part]
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, (int, float)) or not isfinite(found):
            raise TypeError(f"{self.key} is {found!r}, not a number")
        return found


@dataclass(frozen=True)
class Plan:
    """What every provider is to do in each of its turns.

    Attributes:
        announcement: what is smaller by default and why; None if nothing is.
        description: what is run, in a line.
        parameters: for JSON.
        arguments: for the workload's command, the same for all.
    """

    announcement: str | None
    description: str
    parameters: dict[str, Any]
    arguments: Sequence[str]


class Workload(Protocol):
    """A command that measures one provider, as a comparison sees it."""

    @property
    def name(self) -> str:
        """Of the command, and in its summaries."""

    @property
    def schema(self) -> int:
        """Of the summaries that are understood."""

    @property
    def metrics(self) -> Sequence[Metric]:
        """What is compared; the first one tells how quiet the machine was."""

    @property
    def work(self) -> Sequence[str]:
        """The parameters that two runs of the same work have in common."""

    def plan(self, options: Mapping[str, Any], providers: Sequence[spi.Provider]) -> Plan:
        """Return what is run on all of `providers`, the same work for each.

        Args:
            options: of the command line, by name; None where the default is to be taken.
            providers: two or more.

        Raises:
            Refusal: one of them cannot do it.
        """
