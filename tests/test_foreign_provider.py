"""A third party's provider: installed from outside the workspace, found, judged and measured like ours."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOREIGN = ROOT / "tests/foreign"

LISTING = """
import json, sys
from substrates import spi

found = [listing for listing in spi.installed() if listing.name == "foreign"]
facts = [[it.distribution, it.version, it.location, it.language, it.capabilities] for it in found]
print(json.dumps(facts))
assert "foreign_engine" not in sys.modules, "listing a provider imports it"
"""

PROGRAM = """
import substrates

received = []
with substrates.cortex().circuit("orders") as circuit:
    pipe = circuit.pipe(received.append)
    for number in range(1000):
        pipe.emit(number)
assert received == list(range(1000))
print(repr(pipe))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the foreign provider is installed in, by the installer, from its own project."""
    uv = os.environ.get("UV") or shutil.which("uv")
    if not uv:
        pytest.fail("no uv: run the tests by `make test`, or put uv on PATH", pytrace=False)
    folder = tmp_path_factory.mktemp("site")
    # From the root, so that the build has the versions of the workspace, which uv has in its cache.
    command: list[str | Path] = [uv, "pip", "install", "--python", sys.executable, "--no-deps"]
    command += ["--target", folder, FOREIGN]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def _run(home: Path, cwd: Path, *command: str, **environment: str) -> str:
    """Return what a Python command printed where the foreign provider is installed too."""
    done = subprocess.run(
        [sys.executable, "-P", *command],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(home), **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}: status {done.returncode}\n{done.stdout}"
    return done.stdout


def test_foreign_provider_is_found_by_its_entry_point_and_not_imported(home: Path, tmp_path: Path) -> None:
    ((distribution, version, location, language, capabilities),) = json.loads(
        _run(home, tmp_path, "-c", LISTING)
    )

    assert (distribution, version, language, capabilities) == ("foreign-engine", "3.1.4", "Python", [])
    assert Path(location).resolve() == home.resolve()


def test_foreign_provider_is_chosen_by_its_name(home: Path, tmp_path: Path) -> None:
    printed = _run(home, tmp_path, "-W", "error", "-c", PROGRAM, SUBSTRATES_PROVIDER="foreign")

    assert printed == "<Pipe orders of circuit 'orders' (foreign)>\n"


def test_the_authors_page_shows_the_foreign_provider() -> None:
    page = (ROOT / "tck/PROVIDERS.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^```(toml|python)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))

    assert shown["toml"] == (FOREIGN / "pyproject.toml").read_text(encoding="utf-8")
    assert shown["python"] == (FOREIGN / "src/foreign_engine/__init__.py").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_foreign_provider_passes_the_kit_and_gets_a_certificate(home: Path, tmp_path: Path) -> None:
    command = ("-m", "substrates_tck", "run", "foreign", "--quiet", "--certificate", "certificate.md")
    printed = _run(home, tmp_path, *command)

    counts = re.search(r"^foreign: (\d+) of (\d+) passed, (\d+) skipped", printed, re.MULTILINE)
    assert counts, printed
    passed, ran, skipped = map(int, counts.groups())
    assert passed == ran
    assert ran > 1000, "most of the kit needs no kernels"
    assert skipped < 250, "only what needs kernels is skipped"
    certificate = (tmp_path / "certificate.md").read_text(encoding="utf-8")
    assert "**foreign conforms.**" in certificate
    assert f"| passed | {passed} of {ran} |" in certificate
    assert "foreign-engine 3.1.4" in certificate


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_foreign_provider_is_measured_and_verified(home: Path, tmp_path: Path) -> None:
    printed = _run(
        home,
        tmp_path,
        *("-m", "perfkit", "showcase", "--provider", "foreign"),
        *("--circuits", "100", "--burst", "10", "--rounds", "2"),
    )

    assert "foreign" in printed
    assert "verified" in printed
