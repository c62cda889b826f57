"""The floors: compiled on demand, counted, and not available with a reason."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from perfkit import floor
from perfkit.floor import KINDS, Floor, FloorError, compiled

Command = Callable[..., Result]

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, floor.COMPILERS)), reason="needs a C compiler: that is what is tested"
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CC", raising=False)
    return tmp_path / "cache" / "substrates-perfkit"


def test_both_count_every_delivery() -> None:
    library = compiled()

    for kind in KINDS:
        assert library.run(kind, 100, 3, circuits=7) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_count_is_an_error(kind: str) -> None:
    library = compiled()

    with pytest.raises(FloorError, match="count is wrong"):
        library.run(kind, 0, 1)  # a seed of -1 is delivered once, not zero times


def test_is_compiled_once(cache: Path) -> None:
    compiled()
    (path,) = cache.glob("floor-*.so")
    before = path.stat().st_mtime_ns

    compiled()

    assert [path] == list(cache.iterdir())
    assert path.stat().st_mtime_ns == before


def test_other_flags_are_another_library(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled()
    monkeypatch.setattr(floor, "FLAGS", (*floor.FLAGS, "-g"))

    compiled()

    assert len(list(cache.glob("floor-*.so"))) == 2


def test_a_cache_that_cannot_be_written_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    assert compiled().run("lean", 10, 1) > 0


def test_samples_run_on_all_cores_and_give_nanoseconds() -> None:
    measured = Floor(compiled(), burst=1000, cores=2)

    measured.sample(measured.before)

    assert {kind: len(samples) for kind, samples in measured.before.items()} == dict.fromkeys(
        KINDS, floor.SAMPLES
    )
    lean, checked = (measured.ns(kind) for kind in KINDS)
    assert lean is not None
    assert checked is not None
    assert 0.1 < lean < checked < 100
    assert measured.drift() is None


def test_no_compiler_is_said_and_the_run_goes_on(
    showcase: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    result = showcase("--floor", "--json", str(tmp_path / "out.json"))

    assert result.exit_code == 0
    assert "floors: n/a (no C compiler" in result.stdout
    content = json.loads((tmp_path / "out.json").read_text())["floor"]
    assert content["lean_ns"] is None
    assert content["ratio_lean"] is None
    assert "no C compiler" in content["reason"]


@pytest.mark.parametrize("command", ["no-such-compiler", "false"])
def test_a_compiler_that_does_not_work_is_named(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("CC", command)

    with pytest.raises(FloorError, match=command):
        compiled()


def test_a_run_has_floors_and_ratios(showcase: Command, tmp_path: Path) -> None:
    result = showcase("--floor", "--json", str(tmp_path / "out.json"))

    assert result.exit_code == 0
    content = json.loads((tmp_path / "out.json").read_text())
    for kind in KINDS:
        ns = content["floor"][f"{kind}_ns"]
        assert content["floor"][f"ratio_{kind}"] == pytest.approx(content["cpu_ns_per_delivery"] / ns)
        assert len(content["floor"][f"{kind}_samples_ns"]) == 2 * floor.SAMPLES
    (folder,) = (tmp_path / "results").iterdir()
    assert "-O2" in json.loads((folder / "environment.json").read_text())["floor"]["flags"]
