"""The pytest plugin: chooses providers, knows the marks, and keeps a record of what each test said.

Its fixtures (`substrates_tck.fixtures`) may be used by a provider's own tests too.
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
from pathlib import Path
from typing import IO, Any, Final

import pytest

from . import fixtures
from .fixtures import *  # noqa: F403 - pytest finds fixtures by their place in a plugin

__all__ = ["tck_provider"]

HERE: Final = Path(__file__).resolve().parent
HARD_LIMIT_S: Final = 120
"""What ends a test whose waits are not bounded, because the provider ignores the bound."""
RECORD: Final[pytest.StashKey[IO[str] | None]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("substrates", "Substrates conformance kit")
    group.addoption(
        "--provider",
        action="append",
        default=[],
        metavar="NAME",
        help="a provider under test; may be repeated (default: all that are installed)",
    )
    group.addoption(
        "--bound",
        type=_seconds,
        default=10.0,
        metavar="SECONDS",
        help="how long a test waits for what must happen before it fails (default: 10)",
    )
    group.addoption(
        "--record", metavar="FILE", help="write what is known of each test to FILE, one JSON object a line"
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: a number of seconds, more than 0, is required")
    return seconds


def pytest_configure(config: pytest.Config) -> None:
    """Make the marks known, and refuse providers that are not there."""
    for mark in (
        "rule(*ids): the rules of the contract that the test asserts",
        "derived: stated or inferred: the portable kit of the contract's source does not assert it",
        "members: the tests' circuits are circuits alone, then members of populations",
        "capability(*names): the provider must be capable of this, else the test is skipped",
    ):
        config.addinivalue_line("markers", mark)
    names = config.getoption("provider")
    if names:
        from substrates import spi
        from substrates.errors import ProviderNotFoundError

        for name in names:
            try:
                spi.choose(name)
            except ProviderNotFoundError as error:
                raise pytest.UsageError(f"--provider {name}: {error}") from None
    path = config.getoption("record")
    config.stash[RECORD] = Path(path).open("w", encoding="utf-8") if path else None  # noqa: SIM115


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the record."""
    record = config.stash.get(RECORD, None)
    if record is not None:
        record.close()


@pytest.fixture(scope="session")
def tck_provider(request: pytest.FixtureRequest) -> str:
    """Return the name of the provider under test."""
    name: str = request.param
    return name


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test that asks for a provider each of the chosen ones."""
    if "tck_provider" in metafunc.fixturenames:
        names = metafunc.config.getoption("provider")
        if not names:
            from substrates import spi

            names = [listing.name for listing in spi.installed()]
        metafunc.parametrize("tck_provider", list(dict.fromkeys(names)), indirect=True, scope="session")
    if _is_for_members(metafunc):
        metafunc.parametrize("circuit_kind", ["alone", "member"], indirect=True)


def _is_for_members(metafunc: pytest.Metafunc) -> bool:
    arguments = inspect.signature(metafunc.function).parameters.keys()
    marked = metafunc.definition.get_closest_marker("members") is not None
    return marked and bool({"circuit", "new_circuit", "timed"} & arguments)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bound the kit's tests."""
    for item in items:
        if item.path.is_relative_to(HERE) and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(HARD_LIMIT_S))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Write down which tests will run, so that one that vanishes is a failure."""
    record = session.config.stash.get(RECORD, None)
    if record is not None:
        for item in session.items:
            _write(record, {"collected": item.nodeid, **_facts(item)})


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what the provider is not capable of."""
    wanted = {name for mark in item.iter_markers("capability") for name in mark.args}
    provider = _provider(item)
    if wanted and provider:
        from substrates import spi

        missing = sorted(wanted - spi.load(provider).capabilities)
        if missing:
            pytest.skip(f"provider {provider!r} is not capable of: {', '.join(missing)}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: object) -> Any:  # noqa: ARG001
    """Write down which test runs, so that a crash tells which one it was."""
    record = item.config.stash.get(RECORD, None)
    if record is not None:
        _write(record, {"started": item.nodeid})
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Write down how each phase of a test ended."""
    report: pytest.TestReport = yield
    if report.failed:
        item.stash[fixtures.FAILED] = True
    record = item.config.stash.get(RECORD, None)
    if record is not None and (call.when == "call" or not report.passed):
        error = call.excinfo
        _write(
            record,
            {
                "test": item.nodeid,
                "phase": call.when,
                "outcome": report.outcome,
                "error": error.typename if error is not None and report.failed else None,
                "is_assertion": error is not None
                and isinstance(error.value, (AssertionError, pytest.fail.Exception)),
                "message": str(error.value) if error is not None else "",
                "duration_s": round(report.duration, 4),
            },
        )
    return report


def _facts(item: pytest.Item) -> dict[str, Any]:
    return {
        "provider": _provider(item),
        "rules": list(dict.fromkeys(name for mark in item.iter_markers("rule") for name in mark.args)),
        "derived": item.get_closest_marker("derived") is not None,
        "in_kit": item.path.is_relative_to(HERE),
    }


def _provider(item: pytest.Item) -> str | None:
    name: str | None = getattr(item, "callspec", None) and item.callspec.params.get("tck_provider")  # type: ignore[attr-defined]
    return name


def _write(record: IO[str], line: dict[str, Any]) -> None:
    record.write(json.dumps(line) + "\n")
    record.flush()
