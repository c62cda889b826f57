"""What the tests of the bench share: a way to run the command, and providers that are wrong on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from datetime import timedelta
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


class _Circuit(substrates.Circuit):
    """A circuit that delivers through a fault."""

    __slots__ = ("_fault", "_inner")

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

    def wait(self, timeout: float | timedelta | None = None) -> None:
        self._inner.wait(timeout)

    def close(self, *, wait: bool = False) -> None:
        self._inner.close(wait=wait)

    @property
    def subject(self) -> Any:
        return self._inner.subject

    @property
    def current(self) -> Any:
        return self._inner.current

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Cortex(substrates.Cortex):
    """Reference, but for the circuits that `circuits` names by their order."""

    def __init__(self, faults: Mapping[int, Fault]) -> None:
        self._inner = substrates.cortex("reference")
        self._faults = faults
        self._made = count()

    def circuit(self, *name: Any) -> Any:
        inner = self._inner.circuit(*name)
        fault = self._faults.get(next(self._made))
        return inner if fault is None else _Circuit(inner, fault)

    def facts(self) -> Mapping[str, int | float | str]:
        return self._inner.facts()

    def on_fault(self, hook: Any, /) -> None:
        self._inner.on_fault(hook)

    def scope(self, *name: Any) -> Any:
        return self._inner.scope(*name)

    def current(self) -> Any:
        return self._inner.current()

    def name(self, *path: Any) -> Any:
        return self._inner.name(*path)

    def state(self) -> Any:
        return self._inner.state()

    def slot(self, *arguments: Any, **keywords: Any) -> Any:
        return self._inner.slot(*arguments, **keywords)

    @property
    def subject(self) -> Any:
        return self._inner.subject

    @property
    def provider(self) -> str:
        return "faulty"


class _Provider(spi.Provider):
    version = "0"
    capabilities = frozenset({"kernels"})

    def __init__(self, name: str, faults: Mapping[int, Fault]) -> None:
        self.name = name
        self._faults = faults

    def create(self) -> substrates.Cortex:
        return _Cortex(self._faults)


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
