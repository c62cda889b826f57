"""What the tests of the bench share: a way to run the command, and providers that are wrong on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import substrates
from perfkit.cli import main
from substrates import kernel, spi

Receive = Callable[[Any], object]
Fault = Callable[[Receive, Any], object]
"""What stands between a circuit and a receptor: gets the receptor and a value, and may do as it likes."""


class _Circuit:
    """A circuit that delivers through a fault; the rest is the one behind it."""

    def __init__(self, inner: substrates.Circuit, fault: Fault) -> None:
        self._inner = inner
        self._fault = fault

    def pipe(self, *arguments: Any, **options: Any) -> Any:
        if isinstance(arguments[0], kernel.Binding):
            return self._inner.pipe(self._faulty_kernel(arguments[0]))
        receptor = getattr(arguments[0], "receive", arguments[0])
        return self._inner.pipe(lambda value: self._fault(receptor, value), **options)

    def _faulty_kernel(self, binding: kernel.Binding[Any]) -> kernel.Binding[Any]:
        own = binding.kernel
        function: Any = own.function

        def faulty(context: Any, state: Any, value: Any) -> None:
            self._fault(lambda value: function(context, state, value), value)

        changed = copy(binding)
        changed.kernel = kernel.Kernel(own.name, own.state_type, own.lane, faulty, None)
        return changed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self._inner.close()


@substrates.Cortex.register
class _Cortex:
    """Reference, but for the circuits that `faults` names by their order."""

    provider = "faulty"

    def __init__(self, faults: Mapping[int, Fault]) -> None:
        self._inner = substrates.cortex("reference")
        self._faults = faults
        self._made = count()

    def circuit(self, *name: Any, **options: Any) -> Any:
        inner = self._inner.circuit(*name, **options)
        fault = self._faults.get(next(self._made))
        return inner if fault is None else _Circuit(inner, fault)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Provider(spi.Provider):
    version = "0"
    capabilities = frozenset({"kernels"})

    def __init__(self, name: str, faults: Mapping[int, Fault]) -> None:
        self.name = name
        self._faults = faults

    def create(self) -> substrates.Cortex:
        cortex: Any = _Cortex(self._faults)
        return cortex  # type: ignore[no-any-return]


class _Plugin:
    def __init__(self, provider: spi.Provider) -> None:
        self._provider = provider

    @spi.hookimpl
    def substrates_provider(self) -> spi.Provider:
        return self._provider


Register = Callable[..., str]


@pytest.fixture
def faulty() -> Iterator[Register]:
    """Make a provider with faults known for one test; returns its name.

    Faults go by the order in which circuits are made: 0 is the finish circuit, then each chain from its end.
    """
    names: list[str] = []

    def register(faults: Mapping[int, Fault] | None = None) -> str:
        name = f"faulty-{len(names)}"
        spi.register(name, _Plugin(_Provider(name, faults or {})))
        names.append(name)
        return name

    yield register
    for name in names:
        spi._registry.plugins.pop(name, None)
        spi._registry.providers.pop(name, None)
        spi._registry.cortices.pop(name, None)


@pytest.fixture
def perfkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run the command in a folder of its own, with evidence in `tmp_path`/results."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(main, arguments, catch_exceptions=False, prog_name="perfkit")

    return run


@pytest.fixture
def showcase(perfkit: Callable[..., Result]) -> Callable[..., Result]:
    """Run a showcase of ten circuits in two chains, on reference and without floors unless told otherwise."""

    def run(*arguments: str, provider: str = "reference") -> Result:
        size = ["--circuits", "10", "--burst", "5", "--tokens", "2"]
        length = ["--warmup", "1", "--rounds", "2", "--no-floor"]
        return perfkit("showcase", "--provider", provider, *size, *length, *arguments)

    return run
