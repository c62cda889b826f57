"""The examples run, on every provider, with the same result."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from substrates import spi

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PROVIDERS = [found.name for found in spi.installed()]


def life(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the example as a user does."""
    command = [sys.executable, str(EXAMPLES / "life.py"), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_life_is_the_same_on_every_provider_and_in_numpy(tmp_path: Path, provider: str) -> None:
    picture = tmp_path / "life.svg"

    size = ("--size", "48", "--steps", "24")
    run = life("--provider", provider, *size, "--compare", "--picture", str(picture))

    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "the same picture"
    assert picture.read_text() == (EXAMPLES / "life.svg").read_text()


def test_life_says_what_is_wrong() -> None:
    run = life("--size", "0")

    assert run.returncode == 2
    assert "--size must be 1 or more" in run.stderr
