"""How a provider is chosen: by name, by the environment, or as the only one; never by importing all.

Each test runs an interpreter of its own, in which the provider under test is installed beside fake ones.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from substrates import spi
from substrates_tck.marks import derived, rule

LIMIT_S = 30.0
"""How long an interpreter of its own may take, its start included."""
FAKE = """
from substrates import Cortex
from substrates.spi import Provider, hookimpl

print("imported {name}", flush=True)


class FakeCortex(Cortex):
    provider = "{name}"


FakeCortex.__abstractmethods__ = frozenset()


class Fake(Provider):
    name, version = "{name}", "1"

    def create(self):
        print("created {name}", flush=True)
        {create}


@hookimpl
def substrates_provider():
    return {hook}
"""
PRELUDE = """
import importlib_metadata
kept, real = {kept!r}, importlib_metadata.entry_points
importlib_metadata.entry_points = lambda **wanted: [each for each in real(**wanted) if each.name in kept]
import substrates
from substrates import errors, spi
"""


class Site:
    """A place where the provider under test and fake ones are installed, and nothing else."""

    def __init__(self, folder: Path, provider: str) -> None:
        self.folder = folder
        self.provider = provider
        self.kept = {provider}

    def fake(
        self, name: str, *, create: str = "return FakeCortex()", hook: str = "Fake()", source: str = FAKE
    ) -> None:
        """Install a provider `name` whose module is made of `source`."""
        self.kept.add(name)
        (self.folder / f"{name}_module.py").write_text(source.format(name=name, create=create, hook=hook))
        facts = self.folder / f"{name}-1.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (facts / "entry_points.txt").write_text(f"[{spi.GROUP}]\n{name} = {name}_module\n")

    def run(self, text: str, variable: str | None = None) -> list[str]:
        """Run a script there and return the lines that it printed."""
        environment = {name: value for name, value in os.environ.items() if name != spi.VARIABLE}
        if variable is not None:
            environment[spi.VARIABLE] = variable
        before = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([str(self.folder), *([before] if before else [])])
        done = subprocess.run(
            [sys.executable, "-P", "-c", PRELUDE.format(kept=self.kept) + textwrap.dedent(text)],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()

    def refusal(
        self, error: str, variable: str | None = None, call: str = "substrates.cortex()"
    ) -> list[str]:
        """Return what was printed, last the message, when `call` raises an error of the class `error`."""
        lines = self.run(
            f"""
            try:
                {call}
            except {error} as error:
                print(type(error.__cause__).__name__)
                print(error)
            """,
            variable,
        )
        assert lines, f"{call} did not raise {error}"
        return lines


@pytest.fixture
def site(tck_provider: str, tmp_path: Path) -> Site:
    """Return a place where nothing but the provider under test is installed."""
    found: dict[str, Any] = {listing.name: listing for listing in spi.installed()}
    if found[tck_provider].distribution == "n/a":
        pytest.skip(f"provider {tck_provider!r} exists in this process alone")
    return Site(tmp_path, tck_provider)


@rule("SPI-BASE-01", "SPI-REG-07")
@derived
def test_the_only_provider_is_taken(site: Site) -> None:
    printed = site.run(
        """
        print(substrates.cortex().provider)
        (name,) = [listing.name for listing in spi.installed()]
        provider = spi.load(name)
        same = substrates.cortex(name) is substrates.cortex()
        print(isinstance(provider, spi.Provider), provider.name, same)
        """
    )

    assert printed == [site.provider, f"True {site.provider} True"]


@rule("SPI-LAZY-02", "CORTEX-SINGLE-01")
@derived
def test_the_choice_is_made_once_whatever_the_environment_says_later(site: Site) -> None:
    site.fake("later")

    printed = site.run(
        """
        import os
        first = substrates.cortex()
        os.environ[spi.VARIABLE] = "later"
        print(first.provider, substrates.cortex() is first)
        """,
        site.provider,
    )

    assert printed == [f"{site.provider} True"]


@rule("SPI-LAZY-02", "SPI-CREATE-10")
@derived
@pytest.mark.parametrize("named", [True, False], ids=["by name", "without a name"])
def test_twenty_threads_that_come_first_get_one_cortex(named: bool, site: Site) -> None:
    site.fake("raced", create="import time; time.sleep(0.05); return FakeCortex()")

    printed = site.run(
        f"""
        import sys, threading
        sys.setswitchinterval(1e-5)
        gate, got = threading.Barrier(20), []
        def first():
            gate.wait()
            got.append(substrates.cortex({"'raced'" if named else ""}))
        threads = [threading.Thread(target=first) for _ in range(20)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(len(got), len(set(map(id, got))), got[0].provider)
        """,
        "raced",
    )

    assert printed == ["imported raced", "created raced", "20 1 raced"]


@rule("SPI-KEY-03")
@derived
def test_the_environment_chooses_and_others_are_not_imported(site: Site) -> None:
    site.fake("other")

    assert site.run("print(substrates.cortex().provider)", f" {site.provider} ") == [site.provider]


@rule("SPI-KEY-03")
@derived
@pytest.mark.parametrize("blank", ["", "  ", "\t"], ids=["empty", "spaces", "tab"])
def test_a_blank_environment_counts_as_not_set(blank: str, site: Site) -> None:
    assert site.run("print(substrates.cortex().provider)", blank) == [site.provider]


@rule("SPI-KEY-04")
@derived
def test_the_name_of_no_provider_is_refused_and_nothing_else_is_taken(site: Site) -> None:
    lines = site.refusal("errors.ProviderNotFoundError", "nowhere")

    assert "'nowhere'" in lines[-1]
    assert site.provider in lines[-1]


@rule("SPI-KEY-04", "SPI-REG-09")
@derived
@pytest.mark.parametrize("variable", ["broken", None], ids=["chosen", "the only one"])
def test_a_provider_that_does_not_import_is_named_with_the_cause(variable: str | None, site: Site) -> None:
    site.fake("broken", source="raise OSError('no native part')")
    if variable is None:
        site.kept = {"broken"}

    lines = site.refusal("errors.ProviderLoadError", variable)

    assert lines[0] == "OSError"
    assert "'broken'" in lines[-1]
    assert "no native part" in lines[-1]


@rule("SPI-KEY-05")
@derived
def test_what_is_no_provider_is_refused_and_not_created(site: Site) -> None:
    site.fake("wrong", hook="object()")

    lines = site.refusal("errors.ProviderLoadError", "wrong")

    assert "created wrong" not in lines
    assert "'wrong'" in lines[-1]


@rule("SPI-REG-06")
@derived
def test_without_any_provider_the_error_says_how_to_choose_one(site: Site) -> None:
    site.kept = set()

    assert spi.VARIABLE in site.refusal("errors.ProviderNotFoundError")[-1]


@rule("SPI-REG-08")
@derived
def test_several_providers_without_a_choice_are_counted_and_none_is_imported(site: Site) -> None:
    site.fake("second")

    lines = site.refusal("errors.AmbiguousProviderError")

    assert "imported second" not in lines
    assert "2 providers" in lines[-1]
    assert spi.VARIABLE in lines[-1]


@rule("SPI-CREATE-10")
@derived
def test_what_create_raises_comes_unchanged(site: Site) -> None:
    site.fake("raising", create="raise ValueError('no licence')")

    lines = site.refusal("ValueError", "raising")

    assert lines[-2:] == ["NoneType", "no licence"]


@rule("SPI-CREATE-11")
@derived
def test_a_create_that_returns_nothing_is_refused(site: Site) -> None:
    site.fake("empty", create="return None")

    assert "'empty'" in site.refusal("errors.ProviderLoadError", "empty")[-1]
