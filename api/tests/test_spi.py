"""Choosing and loading providers: which one is taken, what is imported, and what a failure says."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from importlib_metadata import EntryPoint

import substrates
from substrates import (
    AmbiguousProviderError,
    ProviderError,
    ProviderLoadError,
    ProviderNotFoundError,
    spi,
)

MODULE = """
from substrates import Cortex
from substrates.spi import Provider, hookimpl

created = []


class FakeCortex(Cortex):
    pass


FakeCortex.__abstractmethods__ = frozenset()


class Fake(Provider):
    name, version = {name!r}, "1"

    def create(self):
        created.append(self)
        {create}


@hookimpl
def substrates_provider():
    return Fake()
"""
CORTEX = "return FakeCortex()"

Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Install:
    """Return a function that installs a provider for this test, where no other is."""
    points: dict[str, EntryPoint] = {}
    monkeypatch.setattr(spi, "_registry", spi._Registry())
    monkeypatch.setattr(spi, "_found", lambda: points)
    monkeypatch.setattr(substrates, "_default", None)
    monkeypatch.delenv(spi.VARIABLE, raising=False)
    monkeypatch.syspath_prepend(tmp_path)

    def make(name: str, source: str | None = None, *, create: str = CORTEX) -> None:
        module = f"fake_{name}_{len(sys.modules)}"
        text = MODULE.format(name=name, create=create) if source is None else source
        (tmp_path / f"{module}.py").write_text(text)
        points[name] = EntryPoint(name, module, spi.GROUP)

    return make


def _imported(name: str) -> bool:
    return any(module.startswith(f"fake_{name}_") for module in sys.modules)


def test_the_only_provider_is_taken(install: Install) -> None:  # SPI-BASE-01, SPI-REG-07
    install("only")

    assert type(substrates.cortex()).__name__ == "FakeCortex"
    assert substrates.cortex() is substrates.cortex("only")


def test_no_provider_is_an_error_that_names_the_variable(install: Install) -> None:  # SPI-REG-06
    with pytest.raises(ProviderNotFoundError, match=spi.VARIABLE):
        substrates.cortex()


def test_several_providers_are_an_error_that_counts_and_imports_none(install: Install) -> None:  # SPI-REG-08
    install("several_a")
    install("several_b")

    with pytest.raises(AmbiguousProviderError, match=rf"2 providers .*several_a, several_b.*{spi.VARIABLE}"):
        substrates.cortex()

    assert not _imported("several")


def test_the_variable_decides(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:  # SPI-KEY-03
    install("chosen")
    install("other")
    monkeypatch.setenv(spi.VARIABLE, " chosen ")

    assert substrates.cortex() is substrates.cortex("chosen")
    assert not _imported("other")


@pytest.mark.parametrize("blank", ["", "  ", "\t"])
def test_a_blank_variable_counts_as_not_set(
    blank: str, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:  # SPI-KEY-03
    install("blank")
    monkeypatch.setenv(spi.VARIABLE, blank)

    assert substrates.cortex() is substrates.cortex("blank")


def test_a_variable_that_names_nobody_is_an_error_without_fallback(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:  # SPI-KEY-04
    install("there")
    monkeypatch.setenv(spi.VARIABLE, "nobody")

    with pytest.raises(ProviderNotFoundError, match=r"'nobody'.*there"):
        substrates.cortex()


def test_the_choice_is_made_once(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:  # SPI-LAZY-02
    install("first")
    install("second")
    monkeypatch.setenv(spi.VARIABLE, "first")
    first = substrates.cortex()
    monkeypatch.setenv(spi.VARIABLE, "second")

    assert substrates.cortex() is first


def test_threads_that_race_for_the_cortex_get_one(install: Install) -> None:  # SPI-LAZY-02, SPI-CREATE-10
    install("raced", create=f"import time; time.sleep(0.01); {CORTEX}")
    start = threading.Barrier(20)
    seen: list[object] = []

    def ask() -> None:
        start.wait(10)
        seen.append(substrates.cortex())

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)

    (module,) = (module for name, module in sys.modules.items() if name.startswith("fake_raced_"))
    assert len(seen) == 20
    assert len(set(map(id, seen))) == 1
    assert len(module.created) == 1


@pytest.mark.parametrize(
    "source",
    ["raise ImportError('its library is missing')", "import there_is_no_such_module", "def broken(:"],
    ids=["raises", "imports nothing", "syntax"],
)
def test_a_provider_that_does_not_load_is_named_with_the_cause(source: str, install: Install) -> None:
    install("broken", source)  # SPI-KEY-04, SPI-REG-09

    with pytest.raises(ProviderLoadError, match="'broken'") as failed:
        substrates.cortex()

    assert failed.value.__cause__ is not None


@pytest.mark.parametrize(
    "source",
    [
        "from substrates.spi import hookimpl\n@hookimpl\ndef substrates_provider():\n    return object()\n",
        "nothing = 'no hook at all'\n",
    ],
    ids=["another object", "no hook"],
)
def test_what_hands_over_no_provider_is_named(source: str, install: Install) -> None:  # SPI-KEY-05
    install("imposter", source)

    with pytest.raises(ProviderLoadError, match=r"'imposter'.*not a substrates\.spi\.Provider"):
        substrates.cortex()


def test_what_create_raises_is_passed_on_unchanged_and_may_be_tried_again(install: Install) -> None:
    install("failing", create="raise ValueError('not today')")  # SPI-CREATE-10, SPI-FAIL-12

    for name in (None, "failing", None):
        with pytest.raises(ValueError, match="not today"):
            substrates.cortex(name)


def test_a_provider_that_creates_nothing_is_an_error(install: Install) -> None:  # SPI-CREATE-11
    install("nothing", create="return None")

    with pytest.raises(ProviderLoadError, match=r"'nothing'.*None"):
        substrates.cortex()


def test_listing_imports_nothing(install: Install) -> None:
    install("listed")

    assert [listing.name for listing in spi.installed()] == ["listed"]
    assert not _imported("listed")


def test_a_registered_provider_is_chosen_like_an_installed_one(install: Install) -> None:
    class Plugin:
        @spi.hookimpl
        def substrates_provider(self) -> spi.Provider:
            return Registered()

    class Registered(spi.Provider):
        name, version = "registered", "1"

        def create(self) -> substrates.Cortex:
            raise ValueError("created")

    install("installed")
    spi.register("registered", Plugin())

    with pytest.raises(ValueError, match="created"):
        substrates.cortex("registered")
    assert [listing.name for listing in spi.installed()] == ["installed", "registered"]
    for taken in ("registered", "installed"):
        with pytest.raises(ProviderError, match="exists"):
            spi.register(taken, Plugin())


def test_a_provider_by_something_else_than_a_name_is_a_type_error(install: Install) -> None:
    for wrong in (42, object(), b"reference"):
        with pytest.raises(TypeError):
            substrates.cortex(wrong)  # type: ignore[arg-type]  # what the test is about
