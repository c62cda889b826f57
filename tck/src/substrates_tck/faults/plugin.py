"""A pytest plugin (``-p substrates_tck.faults.plugin``) that makes toy and mutants known as providers.

With ``--killers`` each mutant meets those tests alone that must catch it.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from substrates import Cortex, spi

from .mutants import HEALTHY, MUTANTS, Mutant
from .toy import Cortex as ToyCortex

__all__ = ["ToyProvider"]

KILLERS: Final = {mutant.name: mutant.killers for mutant in MUTANTS}


class ToyProvider(spi.Provider):
    """A toy, with a fault or without."""

    version = "0"

    def __init__(self, name: str, mutant: Mutant | None) -> None:
        self.name = name
        self._mutant: Final = mutant

    def create(self) -> Cortex:
        if self._mutant is None:
            return ToyCortex(self.name, {}, {})
        return self._mutant.cortex(self.name, self._mutant.kinds, self._mutant.operators)

    @spi.hookimpl
    def substrates_provider(self) -> spi.Provider:
        """Hand over the provider; see `substrates.spi`."""
        return self


class _Killers:
    """Deselects what is not about a mutant's fault, and skips the rest of a test that has caught it."""

    def __init__(self) -> None:
        self._caught: set[tuple[str, str]] = set()

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        chosen = [item for item in items if _killer(item) in KILLERS.get(_provider(item), ())]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
        items[:] = chosen

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if (_provider(item), _killer(item)) in self._caught:
            pytest.skip("another case of this test has caught the fault")

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        if call.excinfo is not None and not isinstance(call.excinfo.value, pytest.skip.Exception):
            self._caught.add((_provider(item), _killer(item)))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the providers, before anybody looks for them."""
    parser.addoption("--killers", action="store_true", help="run only the tests that must catch the mutants")
    spi.register(HEALTHY, ToyProvider(HEALTHY, None))
    for mutant in MUTANTS:
        spi.register(mutant.name, ToyProvider(mutant.name, mutant))


def pytest_configure(config: pytest.Config) -> None:
    """Restrict the run, if that is wanted."""
    if config.getoption("--killers"):
        config.pluginmanager.register(_Killers(), "substrates-tck-killers")


def _killer(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0].removeprefix("suite/")


def _provider(item: pytest.Item) -> str:
    callspec: Any = getattr(item, "callspec", None)
    name: str = callspec.params.get("tck_provider", "") if callspec else ""
    return name
