"""Known failures of a provider: listed with reasons, and strict: a listed test has to fail."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .manifest import plain
from .runs import Run

__all__ = ["KnownFailure", "MalformedListError", "apply", "read"]


class MalformedListError(ValueError):
    """A list of known failures cannot be understood."""


@dataclass(frozen=True)
class KnownFailure:
    """One line of the list.

    Attributes:
        test: the id of a test without the provider; without its parameters it stands for all of them.
        reason: why it fails.
    """

    test: str
    reason: str

    def covers(self, id: str) -> bool:
        """Tell whether this line is about the test `id` (without the provider)."""
        return id == self.test or id.partition("[")[0] == self.test


def read(file: Path) -> list[KnownFailure]:
    """Return what `file` lists: a test and, after ``  # ``, the reason; empty lines and comments aside.

    Raises:
        MalformedListError: a line has no reason, or a test stands there twice.
        OSError: the file cannot be read.
    """
    known: dict[str, KnownFailure] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        test, _, reason = (part.strip() for part in text.partition("  # "))
        if not reason:
            raise MalformedListError(f"{file}:{number}: give a reason: {test}  # why it fails")
        if test in known:
            raise MalformedListError(f"{file}:{number}: {test} is listed twice")
        known[test] = KnownFailure(test, reason)
    return list(known.values())


def apply(run: Run, known: list[KnownFailure]) -> list[KnownFailure]:
    """Give the listed tests of `run` their outcome: "known" if they failed, else "failed".

    Returns:
        The lines that no test of the run fits.
    """
    idle = []
    for line in known:
        covered = [test for test in run.tests if line.covers(plain(test.id, run.provider))]
        for test in covered:
            if test.outcome == "failed":
                test.outcome = "known"
                test.message = f"{line.reason} ({test.message})"
            elif test.outcome == "passed":
                test.outcome = "failed"
                test.message = "is listed as a known failure, but passes: take it out of the list"
        if not covered:
            idle.append(line)
    return idle
