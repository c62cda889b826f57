"""Compiling C for the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from substrates import kernel

ALPHA = Path(__file__).resolve().parent.parent
COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
INCLUDES = [f"-I{ALPHA / 'native'}", f"-I{kernel.include_dir()}"]

Compile = Callable[..., Path]


@pytest.fixture(scope="session")
def compile_c(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compile sources with flags to a file; skips where the compiler cannot link with these flags at all."""

    def compile_(*sources: Path, flags: list[str]) -> Path:
        if COMPILER is None:
            pytest.skip("no C compiler")
        folder = tmp_path_factory.mktemp("native")
        output = folder / "output"
        standard = [] if any(flag.startswith("-std=") for flag in flags) else ["-std=c11"]
        posix = "-D_POSIX_C_SOURCE=200809L"
        base = [COMPILER, *standard, posix, "-pthread", *flags, "-o", str(output)]
        empty = folder / "empty.c"
        empty.write_text("int main(void) { return 0; }\n")
        probe = subprocess.run([*base, str(empty)], check=False, capture_output=True, text=True)
        if probe.returncode != 0:
            pytest.skip(f"{COMPILER} does not link with {' '.join(flags)}: {probe.stderr.strip()[:200]}")
        command = [*base, *WARNINGS, *INCLUDES, *map(str, sources)]
        built = subprocess.run(command, check=False, capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
        return output

    return compile_


@pytest.fixture(scope="session")
def compile_library(compile_c: Compile, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Compile the text of kernels to a library."""

    def compile_(text: str) -> Path:
        source = tmp_path_factory.mktemp("kernels") / "kernels.c"
        source.write_text(text)
        return compile_c(source, flags=["-O2", "-shared", "-fPIC"])

    return compile_
