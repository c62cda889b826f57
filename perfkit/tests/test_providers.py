"""`perfkit providers`, and which provider a command takes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from perfkit import providers
from substrates import spi

Command = Callable[..., Result]
Faulty = Callable[..., str]


def _names_only(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    monkeypatch.setattr(
        spi, "_found", lambda: {name: found for name, found in FOUND.items() if name in names}
    )


FOUND = spi._found()


@pytest.fixture(autouse=True)
def _no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(spi.VARIABLE, raising=False)


def test_lists_what_the_metadata_says(perfkit: Command) -> None:
    result = perfkit("providers")

    assert result.exit_code == 0
    line = next(line for line in result.stdout.splitlines() if line.startswith("reference"))
    assert line.split()[:4] == ["reference", "substrates-reference", "0.1.0", "Python"]
    assert "kernels, population-kernels" in line


def test_loads_no_provider_and_no_numba() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from perfkit.cli import main;"
        "result = CliRunner().invoke(main, ['providers', '--json', '-']); assert not result.exit_code;"
        "heavy = {'substrates_base', 'substrates_reference', 'substrates_alpha', 'numba', 'numpy'};"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_json_is_all_there_is_on_standard_output(perfkit: Command) -> None:
    result = perfkit("providers", "--json", "-")

    content = json.loads(result.stdout)
    assert content["schema"] == 1
    reference = next(each for each in content["providers"] if each["name"] == "reference")
    assert reference["distribution"] == "substrates-reference"
    assert reference["language"] == "Python"
    assert reference["capabilities"] == ["kernels", "population-kernels"]
    assert "reference" in result.stderr


def test_a_provider_without_metadata_is_not_available_rather_than_empty(
    perfkit: Command, faulty: Faulty
) -> None:
    name = faulty()

    content = json.loads(perfkit("providers", "--json", "-").stdout)

    each = next(each for each in content["providers"] if each["name"] == name)
    assert each["distribution"] is None
    assert "n/a" in next(line for line in perfkit("providers").stdout.splitlines() if line.startswith(name))


def test_the_only_one_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    _names_only(monkeypatch, "reference")

    assert providers.default() == providers.Default("reference", "the only provider installed")


def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch, faulty: Faulty) -> None:
    name = faulty()
    monkeypatch.setenv(spi.VARIABLE, name)

    choice = providers.default()

    assert choice.name == name
    assert spi.VARIABLE in choice.why


def test_two_and_no_choice_are_refused_with_the_way_out(
    showcase: Command, perfkit: Command, faulty: Faulty
) -> None:
    faulty()

    result = perfkit("showcase", "--rounds", "1")

    assert result.exit_code == 2
    assert "reference" in result.stderr
    assert "--provider NAME" in result.stderr
    assert spi.VARIABLE in result.stderr


def test_an_unknown_one_is_refused_with_those_installed(perfkit: Command) -> None:
    result = perfkit("showcase", "--provider", "gamma")

    assert result.exit_code == 2
    assert "'gamma'" in result.stderr
    assert "reference" in result.stderr


def test_none_at_all_is_refused_with_what_to_install(
    perfkit: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    _names_only(monkeypatch)

    result = perfkit("showcase")

    assert result.exit_code == 2
    assert "substrates-reference" in result.stderr


def test_none_at_all_is_listed_as_such(perfkit: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    _names_only(monkeypatch)

    result = perfkit("providers")

    assert result.exit_code == 0
    assert "default: none (no provider is installed" in result.stdout


def test_one_that_does_not_load_is_refused_with_the_cause(perfkit: Command) -> None:
    class Broken:
        @spi.hookimpl
        def substrates_provider(self) -> spi.Provider:
            raise RuntimeError("no such device")

    spi.register("broken", Broken())
    try:
        result = perfkit("showcase", "--provider", "broken")
    finally:
        del spi._registry.plugins["broken"]

    assert result.exit_code == 2
    assert "no such device" in result.stderr


def test_beta_without_cargo_is_missing_and_it_says_why_and_how(
    perfkit: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _names_only(monkeypatch, "alpha", "reference")
    monkeypatch.setenv("PATH", str(tmp_path))

    (line,) = [line for line in perfkit("providers").stdout.splitlines() if line.startswith("missing")]

    assert line.startswith("missing: beta (substrates-beta, in Rust): no cargo on PATH")
    assert "install Rust" in line
    assert "make sync" in line
    (each,) = json.loads(perfkit("providers", "--json", "-").stdout)["missing"]
    assert each["name"] == "beta"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo cargo 1.95.0", "not installed, though cargo 1.95.0 is here"),
        ("echo no toolchain >&2; exit 1", "cargo does not work (no toolchain)"),
    ],
)
def test_missing_beta_tells_of_the_cargo_that_is_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, why: str
) -> None:
    _names_only(monkeypatch, "alpha", "reference")
    cargo = tmp_path / "cargo"
    cargo.write_text(f"#!/bin/sh\n{script}\n")
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    (beta,) = providers.missing()

    assert beta.why == why
    assert "make sync" in beta.how
