"""What a run is made of, by provider and by what was asked for."""

from __future__ import annotations

import pytest

import substrates
from perfkit import machine
from perfkit.errors import Refusal
from perfkit.showcase import Asked, resolve
from substrates import spi


def _provider(*capabilities: str) -> spi.Provider:
    class Some(spi.Provider):
        name = "some"
        version = "1"

        def create(self) -> substrates.Cortex:
            raise AssertionError("not needed")

    provider = Some()
    provider.capabilities = frozenset(capabilities)
    return provider


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "available_memory", lambda: 2**40)
    monkeypatch.setattr(machine, "usable_cores", lambda: 4)


def test_a_native_provider_runs_the_seeds_size_with_kernels() -> None:
    parameters = resolve(Asked(), _provider("kernels", "native-kernels"))

    assert (parameters.circuits, parameters.burst, parameters.tokens) == (1_000_000, 32_000, 4)
    assert (parameters.minutes, parameters.rounds, parameters.warmup) == (5.0, None, 2)
    assert parameters.receptor == "kernel"
    assert parameters.native
    assert parameters.announcement() is None
    assert parameters.handoffs == 999_996


@pytest.mark.parametrize(
    ("receptor", "capabilities", "burst"),
    [
        ("python", ["kernels", "native-kernels"], 500),
        ("kernel", ["kernels"], 100),
        (None, ["kernels"], 500),
        (None, [], 500),
    ],
)
def test_where_python_runs_the_receptors_the_default_is_smaller_and_says_so(
    receptor: str | None, capabilities: list[str], burst: int
) -> None:
    parameters = resolve(Asked(receptor=receptor), _provider(*capabilities))

    assert (parameters.circuits, parameters.burst, parameters.minutes) == (10_000, burst, 0.75)
    assert parameters.receptor == (receptor or "python")
    announcement = parameters.announcement()
    assert announcement is not None
    assert f"burst {burst} instead of 32,000" in announcement
    assert "minutes 0.75 instead of 5" in announcement


@pytest.mark.parametrize(
    ("asked", "capabilities", "build"),
    [
        (Asked(), ["native-kernels", "population-kernels"], "population"),
        (Asked(build="loop"), ["native-kernels", "population-kernels"], "loop"),
        (Asked(receptor="python"), ["native-kernels", "population-kernels"], "loop"),
        (Asked(), ["native-kernels"], "loop"),
        (Asked(receptor="kernel", build="population"), ["kernels"], "population"),
        (Asked(receptor="kernel"), ["kernels", "population-kernels"], "loop"),
    ],
)
def test_circuits_are_a_population_where_the_provider_has_arrays(
    asked: Asked, capabilities: list[str], build: str
) -> None:
    assert resolve(asked, _provider(*capabilities)).build == build


def test_what_is_asked_for_is_not_scaled() -> None:
    parameters = resolve(Asked(circuits=50_000, burst=7, rounds=3), _provider())

    assert (parameters.circuits, parameters.burst, parameters.rounds) == (50_000, 7, 3)
    assert parameters.minutes is None
    assert parameters.announcement() is None


def test_chains_are_contiguous_and_even() -> None:
    parameters = resolve(Asked(circuits=10, tokens=3), _provider())

    assert parameters.chains() == [range(3), range(3, 6), range(6, 10)]


def test_fewer_circuits_than_processors_get_a_token_each() -> None:
    assert resolve(Asked(circuits=3), _provider()).tokens == 3


def test_memory_is_asked_for_by_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "available_memory", lambda: 1_100_000_000)

    assert resolve(Asked(circuits=1_000_000), _provider("native-kernels")).circuits == 1_000_000
    with pytest.raises(Refusal, match="or fewer"):
        resolve(Asked(circuits=1_000_000), _provider("kernels"))
