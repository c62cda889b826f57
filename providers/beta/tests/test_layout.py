"""What the crate knows of the kernel ABI is what a C compiler makes of the header."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from substrates import kernel
from substrates_beta import _engine

HEADER = Path(kernel.include_dir(), "substrates_kernel.h")
COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
STRUCT = re.compile(r"struct (\w+) \{\n(.*?)\n\}", re.DOTALL)
FIELD = re.compile(r"^    \w[\w ]*?(?:\*?(\w+)|\(\*(\w+)\)\(.*\));", re.MULTILINE)


def test_layout_is_that_of_the_header(tmp_path: Path) -> None:
    if COMPILER is None:
        pytest.skip("no C compiler")
    told = _engine.layout()  # its keys are expressions of C
    lines = "".join(f'    printf("%zu %s\\n", (size_t)({name}), "{name}");\n' for name in told)
    source = tmp_path / "layout.c"
    source.write_text(
        "#include <stdalign.h>\n#include <stddef.h>\n#include <stdio.h>\n"
        f'#include "substrates_kernel.h"\nint main(void) {{\n{lines}    return 0;\n}}\n'
    )
    program = tmp_path / "layout"
    command = [COMPILER, "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{HEADER.parent}", "-o", str(program)]

    built = subprocess.run([*command, str(source)], check=False, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout

    assert {name: int(value) for value, name in (line.split(" ", 1) for line in printed.splitlines())} == told


def test_layout_tells_of_every_struct_and_field_of_the_header() -> None:
    structs = {
        name: [plain or pointer for plain, pointer in FIELD.findall(body)]
        for name, body in STRUCT.findall(HEADER.read_text())
    }
    assert structs == {"substrates_slot": ["pipe", "bits"], "substrates_context": ["tail", "limit", "grow"]}

    told = set(_engine.layout())

    for name, fields in structs.items():
        expected = {f"sizeof({name})", f"alignof({name})"}
        expected |= {f"offsetof({name}, {field})" for field in fields}
        assert expected <= told
