"""The engine without Python: stress.c with exact counts, as it is and under the sanitizers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ALPHA = Path(__file__).resolve().parent.parent

# Thread sanitizer knows no fences (its own warning says so); the protocols that need one are in scheduler.c,
# and what it would miss there, the counts and the time-out would show.
SANITIZERS = {
    "plain": ["-O2"],
    "thread": ["-O1", "-g", "-fsanitize=thread", "-Wno-error=tsan", "-Wno-tsan"],
    "address": ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
}


@pytest.mark.parametrize("flags", SANITIZERS.values(), ids=SANITIZERS.keys())
def test_counts_are_exact_while_everything_happens_at_once(
    compile_c: Callable[..., Path], flags: list[str]
) -> None:
    engine = sorted((ALPHA / "native").glob("*.c"))
    program = compile_c(*engine, ALPHA / "tests" / "stress.c", flags=flags)

    run = subprocess.run([str(program), "5"], check=False, capture_output=True, text=True, timeout=100)

    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout == "stress: all exact\n"


@pytest.mark.parametrize(("language", "standard"), [("c", "c11"), ("c++", "c++17")])
def test_kernel_header_is_clean(
    compile_c: Callable[..., Path], tmp_path: Path, language: str, standard: str
) -> None:
    source = tmp_path / "header.c"
    source.write_text(
        '#include "substrates_kernel.h"\n'
        "int32_t kernel(substrates_context *context, void *state, uint64_t bits);\n"
        "int32_t kernel(substrates_context *context, void *state, uint64_t bits) {\n"
        "    return state ? substrates_emit_int64(context, 1, substrates_int64(bits)) : 0;\n"
        "}\n"
    )

    compile_c(source, flags=["-x", language, f"-std={standard}", "-O2", "-shared", "-fPIC"])
