"""The provider SPI: what a provider hands over, and how providers are found.

A provider is a distribution with one entry point in the group ``substrates.providers``; the entry point's
name is the provider's name and it points to a pluggy plugin (usually a module) with one hook::

    from substrates.spi import Provider, hookimpl

    @hookimpl
    def substrates_provider() -> Provider:
        return MyProvider()

What is listed without importing the provider comes from its distribution's metadata. Keywords of the form
``substrates-language:C`` and ``substrates-capability:kernels`` tell the language and the capabilities.
"""

from __future__ import annotations

import platform
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pluggy
from importlib_metadata import EntryPoint, entry_points

from .cortex import Cortex
from .errors import (
    AmbiguousProviderError,
    ProviderError,
    ProviderLoadError,
    ProviderNotFoundError,
)

__all__ = [
    "CAPABILITIES",
    "GROUP",
    "VARIABLE",
    "Listing",
    "Provider",
    "choose",
    "cortex_of",
    "hookimpl",
    "hookspec",
    "installed",
    "load",
    "register",
]

GROUP: Final = "substrates.providers"
"""The entry-point group."""
VARIABLE: Final = "SUBSTRATES_PROVIDER"
"""The environment variable that chooses a provider by name."""
CAPABILITIES: Final[Mapping[str, str]] = {
    "kernels": "runs kernels written in Python (substrates.kernel)",
    "native-kernels": "runs kernels as machine code, outside the GIL; takes kernels by address",
    "population-kernels": "runs kernels in populations, the states of all members in one array",
    "parallel": "runs circuits of kernels on several processors at once",
}
"""The capabilities that a provider may name, each with its meaning."""

hookspec = pluggy.HookspecMarker("substrates")
hookimpl = pluggy.HookimplMarker("substrates")


class Provider(ABC):
    """One engine behind the API.

    Attributes:
        name: what it is chosen by; equal to its entry point's name.
        version: of its distribution.
        capabilities: names from `CAPABILITIES`.
    """

    name: str
    version: str
    capabilities: frozenset[str] = frozenset()

    @abstractmethod
    def create(self) -> Cortex:
        """Return the cortex of this process; called once. What it raises reaches the user (SPI-CREATE-10)."""

    def facts(self) -> Mapping[str, str]:
        """Return facts on the build and the runtime, for the record of a measurement."""
        return {"python": sys.version.split()[0], "implementation": platform.python_implementation()}


class _Specification:
    @hookspec(firstresult=True)
    def substrates_provider(self) -> Provider:
        """Return the provider."""
        raise AssertionError("a specification is not called")


@dataclass(frozen=True)
class Listing:
    """What is known of an installed provider without importing it; "n/a" where its metadata is silent.

    Attributes:
        name: what it is chosen by.
        distribution: the distribution that brings it.
        version: of the distribution.
        location: the folder that the distribution is installed in.
        language: what the engine is written in.
        capabilities: names from `CAPABILITIES`, sorted.
    """

    name: str
    distribution: str
    version: str
    location: str
    language: str
    capabilities: tuple[str, ...]


@dataclass
class _Registry:
    lock: threading.RLock = field(default_factory=threading.RLock)
    plugins: dict[str, Any] = field(default_factory=dict)
    providers: dict[str, Provider] = field(default_factory=dict)
    cortices: dict[str, Cortex] = field(default_factory=dict)


_registry = _Registry()


def register(name: str, plugin: Any) -> None:
    """Make a provider known in this process alone, as if it were installed; for tests and embedding.

    Args:
        name: what it is chosen by.
        plugin: an object with the hook `substrates_provider`.

    Raises:
        ProviderError: the name is taken.
    """
    with _registry.lock:
        if name in _registry.plugins or name in _found():
            raise ProviderError(f"register(name={name!r}): a provider of this name exists")
        _registry.plugins[name] = plugin


def installed() -> tuple[Listing, ...]:
    """Return the providers that can be chosen, by name; imports none of them."""
    listings = [_listing(name, point) for name, point in _found().items()]
    listings += [Listing(name, "n/a", "n/a", "n/a", "n/a", ()) for name in _registry.plugins]
    return tuple(sorted(listings, key=lambda listing: listing.name))


def choose(name: str | None = None, environment: Mapping[str, str] | None = None) -> str:
    """Return the provider's name: `name`, else the environment's, else the only one there is.

    Raises:
        ProviderNotFoundError: no provider of that name, or none at all.
        AmbiguousProviderError: several, and no choice.

    Contract: SPI-KEY-03, -04, SPI-REG-06, -07, -08.
    """
    names = sorted({*_found(), *_registry.plugins})
    listed = ", ".join(names)
    how = f"choose one: substrates.cortex('NAME') or the environment variable {VARIABLE}"
    source = "cortex"
    if name is None and environment is not None:
        name = environment.get(VARIABLE, "").strip() or None
        source = VARIABLE
    if name is not None:
        if name not in names:
            raise ProviderNotFoundError(
                f"{source}: no provider {name!r} is installed; installed: {listed or 'none'}"
                " (install substrates-reference, or for native speed substrates-alpha or substrates-beta)"
            )
        return name
    if not names:
        raise ProviderNotFoundError(
            "no provider is installed: install substrates-reference, or for native speed substrates-alpha"
            f" or substrates-beta; then {how}"
        )
    if len(names) > 1:
        raise AmbiguousProviderError(f"{len(names)} providers are installed ({listed}): {how}")
    return names[0]


def load(name: str) -> Provider:
    """Import the provider `name` and return it; the same object each time.

    Raises:
        ProviderNotFoundError: not installed.
        ProviderLoadError: it cannot be imported, or is no provider; `__cause__` says why.
    """
    with _registry.lock:
        if name in _registry.providers:
            return _registry.providers[name]
        choose(name)
        plugin = _registry.plugins.get(name)
        if plugin is None:
            point = _found()[name]
            try:
                plugin = point.load()
            except Exception as error:
                raise ProviderLoadError(
                    f"provider {name!r} ({point.value}) failed to load: {error}"
                ) from error
        manager = pluggy.PluginManager("substrates")
        manager.add_hookspecs(_Specification)
        try:
            manager.register(plugin, name)
            provider = manager.hook.substrates_provider()
        except Exception as error:
            raise ProviderLoadError(f"provider {name!r} failed to start: {error}") from error
        if not isinstance(provider, Provider):
            raise ProviderLoadError(
                f"provider {name!r}: substrates_provider() gave {provider!r}, not a substrates.spi.Provider"
            )
        _registry.providers[name] = provider
        return provider


def cortex_of(name: str) -> Cortex:
    """Return the one cortex of the provider `name` in this process.

    Raises:
        ProviderLoadError: as `load`, or `create` returned no cortex.
        Exception: whatever the provider's `create` raises, unchanged.
    """
    with _registry.lock:
        cortex = _registry.cortices.get(name)
        if cortex is None:
            cortex = load(name).create()
            if not isinstance(cortex, Cortex):
                raise ProviderLoadError(f"provider {name!r}: create() gave {cortex!r}, not a Cortex")
            _registry.cortices[name] = cortex
        return cortex


def _found() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _listing(name: str, point: EntryPoint) -> Listing:
    distribution = point.dist
    if distribution is None:
        return Listing(name, "n/a", "n/a", "n/a", "n/a", ())
    words = _keywords(distribution.metadata.get_all("Keywords") or ())
    languages = [word.partition(":")[2] for word in words if word.startswith("substrates-language:")]
    capabilities = [word.partition(":")[2] for word in words if word.startswith("substrates-capability:")]
    return Listing(
        name,
        distribution.name,
        distribution.version,
        str(distribution.locate_file("")),
        languages[0] if languages else "n/a",
        tuple(sorted(capabilities)),
    )


def _keywords(lines: Iterable[str]) -> list[str]:
    return [word.strip() for line in lines for word in line.replace(",", " ").split()]
