"""One run of the kit: pytest in a process of its own, on one provider, and what it said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, Final

from .catalogue import rules

__all__ = ["WRONG_USE", "Area", "Run", "Test", "collect", "run"]

PACKAGE: Final = Path(__file__).resolve().parent
COMMAND: Final = (
    *(sys.executable, "-P", "-m", "pytest", "-c", str(PACKAGE / "pytest.ini"), "--rootdir", str(PACKAGE)),
    *("--noconftest", "-p", "no:cacheprovider", "--pyargs", "substrates_tck"),
)
"""Nothing in the folder that the command is called from matters; ``-P`` keeps it off the import path."""
FAILURES: Final = 1
"""pytest's exit status when a test failed."""
WRONG_USE: Final = 4
"""pytest's exit status when it cannot do what it was asked for, as with a bad expression."""


@dataclass
class Test:
    """What became of one test.

    Attributes:
        id: as pytest names it, relative to the kit.
        rules: what it asserts.
        derived: see `substrates_tck.marks.derived`.
        outcome: passed, failed or skipped; "missing" when the run ended before it or it has vanished from the
            kit; "known" when it failed and that is known.
        error: the class of what failed it.
        is_assertion: whether that was an assertion or a bound, rather than an error of another kind.
        message: of the failure or the skip.
        phase: in which it failed: setup, call or teardown.
        duration_s: of the call.
    """

    id: str
    rules: list[str]
    derived: bool
    outcome: str = "missing"
    error: str | None = None
    is_assertion: bool = False
    message: str = ""
    phase: str | None = None
    duration_s: float = 0.0

    __test__ = False


@dataclass
class Area:
    """Counts of one area of the contract."""

    rules: set[str] = field(default_factory=set)
    passed: int = 0
    failed: int = 0
    skipped: int = 0


@dataclass
class Run:
    """One run.

    Attributes:
        provider: the name.
        tests: in the order of their run.
        status: pytest's exit status; negative for the signal that ended it.
        elapsed_s: wall time.
        running: the test during which the process died, if it did.
        output: what pytest printed, if it was kept from the terminal.
    """

    provider: str
    tests: list[Test]
    status: int
    elapsed_s: float
    running: str | None = None
    output: str = ""

    def count(self, outcome: str) -> int:
        """Return how many tests ended so."""
        return sum(test.outcome == outcome for test in self.tests)

    @property
    def ok(self) -> bool:
        """Whether the provider passed: at least one test, and none failed, unless known to, or missing."""
        ended = self.status == 0 or (self.status == FAILURES and self.count("known") > 0)
        return ended and bool(self.tests) and not self.count("failed") and not self.count("missing")

    def areas(self) -> dict[str, Area]:
        """Return the counts by area; a test counts in the area of its first rule."""
        known = rules()
        areas: dict[str, Area] = {}
        for test in self.tests:
            first = test.rules[0] if test.rules else ""
            area = areas.setdefault(known[first].area if first in known else "none", Area())
            area.rules.update(test.rules)
            area.passed += test.outcome == "passed"
            area.skipped += test.outcome == "skipped"
            area.failed += test.outcome in {"failed", "missing", "known"}
        return dict(sorted(areas.items()))


def run(provider: str, *options: str, quiet: bool = False, tests: Sequence[str] = ()) -> Run:
    """Run the kit on a provider.

    Args:
        provider: its name.
        options: more options for pytest.
        quiet: keep pytest's own output to oneself.
        tests: ids of tests, relative to the kit; default: all.
    """
    with TemporaryDirectory(prefix="substrates-tck.") as folder:
        record = Path(folder) / "record"
        command = [*(COMMAND if not tests else COMMAND[:-2])]
        command += [str(PACKAGE / test) for test in tests]
        command += ["--provider", provider, "--record", str(record), *options]
        start = perf_counter()
        done = subprocess.run(
            command,
            env=_environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if quiet else None,
            stderr=subprocess.STDOUT if quiet else None,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        elapsed_s = perf_counter() - start
        tests_, running = _read(record)
        died = running if done.returncode < 0 else None
        return Run(provider, tests_, done.returncode, elapsed_s, died, done.stdout or "")


def collect(*options: str) -> list[Test]:
    """Return the tests without running them; the provider matters to none of them."""
    with TemporaryDirectory(prefix="substrates-tck.") as folder:
        record = Path(folder) / "record"
        command = [*COMMAND, "--collect-only", "-q", "--record", str(record), *options]
        done = subprocess.run(
            command,
            env=_environment(folder),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"the kit cannot be collected:\n{done.stdout}{done.stderr}")
        return _read(record)[0]


def _environment(folder: str) -> dict[str, str]:
    # What Hypothesis keeps would go into the folder of the kit.
    environment = {**os.environ, "HYPOTHESIS_STORAGE_DIRECTORY": folder}
    for name in ("PYTEST_ADDOPTS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTEST_PLUGINS"):
        environment.pop(name, None)
    return environment


def _read(record: Path) -> tuple[list[Test], str | None]:
    tests: dict[str, Test] = {}
    running: str | None = None
    if not record.exists():
        return [], None
    for text in record.read_text(encoding="utf-8").splitlines():
        line: dict[str, Any] = json.loads(text)
        if "collected" in line:
            name = line["collected"]
            tests[name] = Test(name, line["rules"], line["derived"])
        elif "started" in line:
            running = line["started"]
        else:
            _note(tests[line["test"]], line)
    return list(tests.values()), running


def _note(test: Test, line: dict[str, Any]) -> None:
    """Enter one phase's end; the first failure stays."""
    if line["phase"] == "call":
        test.duration_s = line["duration_s"]
    if test.outcome != "failed":
        test.outcome = line["outcome"]
        test.phase = line["phase"]
        test.error = line["error"]
        test.is_assertion = line["is_assertion"]
        test.message = line["message"]
