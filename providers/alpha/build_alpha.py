"""Describes the native module to cffi: the declarations of native/alpha.h over the sources in native/."""

from __future__ import annotations

import json
import os
from pathlib import Path

from cffi import FFI

here = Path(__file__).resolve().parent
header = (here / "native" / "alpha.h").read_text()
declarations = header.partition("/* cdef: begin */")[2].partition("/* cdef: end */")[0]

flags = ["-std=c11", "-O2", "-g", "-fvisibility=hidden", "-pthread"]
told = " ".join([*flags, os.environ.get("CFLAGS", "")]).strip()

ffibuilder = FFI()
ffibuilder.cdef(declarations)
ffibuilder.set_source(
    "substrates_alpha._engine",
    '#include "alpha.h"',
    sources=sorted(os.path.relpath(path, here) for path in (here / "native").glob("*.c")),
    define_macros=[("ALPHA_FLAGS", json.dumps(told))],
    extra_compile_args=flags,
    extra_link_args=["-pthread"],
    py_limited_api=False,
)

if __name__ == "__main__":
    ffibuilder.compile(verbose=True)
