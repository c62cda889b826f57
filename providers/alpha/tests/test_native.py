"""The engine without Python: stress.c with exact counts, as it is and under the sanitizers."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from substrates import kernel

ALPHA = Path(__file__).resolve().parent.parent
COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]

# Thread sanitizer knows no fences (its own warning says so); the protocols that need one are in scheduler.c,
# and what it would miss there, the counts and the time-out would show.
SANITIZERS = {
    "plain": ["-O2"],
    "thread": ["-O1", "-g", "-fsanitize=thread", "-Wno-error=tsan", "-Wno-tsan"],
    "address": ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
}


def compiled(folder: Path, source: Path, flags: list[str]) -> Path:
    """Compile the engine with `source`; skip where the compiler cannot link with these flags at all."""
    program = folder / "program"
    if COMPILER is None:
        pytest.skip("no C compiler")
    base = [COMPILER, "-std=c11", "-pthread", *flags, "-o", str(program)]
    empty = folder / "empty.c"
    empty.write_text("int main(void) { return 0; }\n")
    probe = subprocess.run([*base, str(empty)], check=False, capture_output=True, text=True)
    if probe.returncode != 0:
        pytest.skip(f"{COMPILER} does not link with {' '.join(flags)}: {probe.stderr.strip()[:200]}")
    include = [f"-I{ALPHA / 'native'}", f"-I{kernel.include_dir()}"]
    sources = [*sorted(str(path) for path in (ALPHA / "native").glob("*.c")), str(source)]
    built = subprocess.run(
        [*base, *WARNINGS, *include, *sources], check=False, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    return program


@pytest.mark.parametrize("flags", SANITIZERS.values(), ids=SANITIZERS.keys())
def test_counts_are_exact_while_everything_happens_at_once(tmp_path: Path, flags: list[str]) -> None:
    program = compiled(tmp_path, ALPHA / "tests" / "stress.c", flags)

    run = subprocess.run([str(program), "5"], check=False, capture_output=True, text=True, timeout=100)

    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout == "stress: all exact\n"


def test_kernel_header_is_clean_in_c_and_cpp(tmp_path: Path) -> None:
    if COMPILER is None:
        pytest.skip("no C compiler")
    source = '#include "substrates_kernel.h"\nint32_t k(substrates_context *c, void *s, uint64_t b);\n'
    for name, standard in (("header.c", "-std=c11"), ("header.cpp", "-std=c++17")):
        file = tmp_path / name
        file.write_text(source)
        command = [COMPILER, standard, *WARNINGS, "-fsyntax-only", f"-I{kernel.include_dir()}", str(file)]
        check = subprocess.run(command, check=False, capture_output=True, text=True)
        assert check.returncode == 0, check.stderr
