"""The kept runs: whole, verified, and what the README quotes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

RESULTS = Path(__file__).resolve().parents[1] / "results"
KEPT = subprocess.run(
    ["git", "ls-files", "--", "*/summary.json"], cwd=RESULTS, check=False, capture_output=True, text=True
).stdout.split()


def test_figures_of_the_readme_are_those_of_the_kept_runs() -> None:
    run = subprocess.run(
        [sys.executable, str(RESULTS / "render.py"), "--check"], check=False, capture_output=True, text=True
    )

    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("summary", KEPT)
def test_kept_run_is_whole_verified_and_listed(summary: str) -> None:
    folder = (RESULTS / summary).parent
    names = {"console.log", "summary.json", "environment.json", "source.json"}
    figures = json.loads((folder / "summary.json").read_text())

    assert names <= {file.name for file in folder.iterdir()}
    assert figures["verified"] is True
    assert not figures.get("broken")
    assert f"| [{folder.name}]({folder.name}/console.log) |" in (RESULTS / "README.md").read_text()
    assert json.loads((folder / "source.json").read_text())["commit"]
