"""What the README shows is true: its examples run and print what they say, its commands exist and work."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = [
    line[2:].split("#")[0].strip()
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("$ ")
]

# How each command of the README is run here: at a size that ends in seconds, or by the part of it that is not
# a test of its own. None: `make check` is what runs this test.
SMALL = {
    "make": ["make"],
    "make showcase": ["make", "-n", "showcase"],
    "make check": None,
    "uv run perfkit providers": ["perfkit", "providers"],
    "uv run perfkit showcase --provider alpha": "--circuits 1000 --burst 100 --rounds 1 --warmup 0",
    "uv run perfkit showcase --provider alpha --rounds 3 --burst 1": "--circuits 1000",
    "uv run perfkit showcase --provider reference": "--circuits 100 --burst 10 --rounds 1 --warmup 0",
    "uv run perfkit compare --workload showcase --providers alpha,reference": (
        "--circuits 100 --burst 10 --rounds 1 --warmup 0 --repeats 1 --no-floor"
    ),
    "uv run substrates-tck run alpha reference": ["substrates-tck", "run", "--help"],
    "uv run substrates-tck coverage": ["substrates-tck", "coverage"],
    "uv run substrates-tck mutants": ["substrates-tck", "mutants", "--help"],
    "uv run substrates-tck soak alpha reference --minutes 10": ["substrates-tck", "soak", "--help"],
}


def expected_output(example: str) -> list[str]:
    """What the example's last comment lists, up to a colon."""
    comment = example.strip().splitlines()[-1]
    assert comment.startswith("# "), "an example ends with what it prints"
    return comment[2:].split(":")[0].split(", ")


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_example_prints_what_it_says(tmp_path: Path, example: str) -> None:
    script = tmp_path / "example.py"
    script.write_text(example)

    run = subprocess.run(
        [sys.executable, str(script)], check=False, capture_output=True, text=True, cwd=tmp_path, timeout=60
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == expected_output(example)


def test_every_command_is_known_here() -> None:
    assert sorted(COMMANDS) == sorted(SMALL)


@pytest.mark.parametrize("command", [command for command, small in SMALL.items() if small is not None])
def test_command_works(tmp_path: Path, command: str) -> None:
    small = SMALL[command]
    if isinstance(small, str):
        words = [*command.removeprefix("uv run ").split(), *small.split(), "--results", str(tmp_path)]
    else:
        assert small is not None
        words = list(small)
    folder = ROOT
    if words[0] != "make":
        folder = tmp_path
        program = shutil.which(words[0], path=str(Path(sys.executable).parent))
        assert program is not None, f"{words[0]} is not installed beside {sys.executable}"
        words[0] = program

    run = subprocess.run(
        words, check=False, capture_output=True, text=True, cwd=folder, timeout=100, stdin=subprocess.DEVNULL
    )

    assert run.returncode == 0, run.stdout + run.stderr


def test_import_of_the_api_loads_no_pluggy_no_provider_no_numpy() -> None:
    script = (
        "import sys, substrates, substrates.kernel\n"
        "heavy = {'pluggy', 'importlib_metadata', 'numpy', 'numba', 'llvmlite'}\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] in heavy"
        " or name.split('.')[0].startswith('substrates_')))"
    )

    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)

    assert run.stdout == "[]\n"
