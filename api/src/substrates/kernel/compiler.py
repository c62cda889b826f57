"""Compiling kernels, through Numba and a cache on disk."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from ..errors import ConfigurationError
from .cache import Entry

if TYPE_CHECKING:
    from .machine import Machine
    from .receptor import Kernel

__all__ = ["compile_kernel"]

_LONGEST: Final = 300
"""Characters of a compiler's message that are worth reading."""
_EMPTY_WORDS: Final = ("Failed in nopython mode", "- Resolution failure for")
_ALIKE: Final = re.compile(r"\AThere are (\d+) .*\n- Of which \1 .*\n.*\n.*\nRejected as .*\n")
"""What stands before the one reason for which all candidates were refused."""


def compile_kernel(kernel: Kernel[Any]) -> tuple[int, Machine]:
    """Return the address of the native function of `kernel`, and what keeps it loaded.

    Any thread may call it.

    Raises:
        ConfigurationError: the function cannot be compiled; `__cause__` is the compiler's error.
    """
    try:
        entry = Entry(kernel)
        machine = entry.load()
    except ImportError as error:
        raise ConfigurationError(f"kernel {kernel.name!r}: Numba cannot be imported: {error}") from error
    if machine is None:
        machine, code, name = _build(kernel)
        entry.save(code, name)
    return machine.address, machine


def _build(kernel: Kernel[Any]) -> tuple[Machine, bytes, str]:
    try:
        from .lowering import build
    except ImportError as error:
        raise ConfigurationError(f"kernel {kernel.name!r}: Numba cannot be imported: {error}") from error
    try:
        return build(kernel)
    except Exception as error:
        raise ConfigurationError(_explain(kernel, error)) from error


def _explain(kernel: Kernel[Any], error: Exception) -> str:
    assert kernel.function is not None
    code = kernel.function.__code__
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    place = getattr(error, "loc", None)
    file = getattr(place, "filename", None) or code.co_filename
    line = getattr(place, "line", None)
    if line is None:
        named = re.search(rf"{re.escape(file)} \((\d+)\)", text)
        line = named[1] if named else code.co_firstlineno
    kind = type(error)
    is_numbas = kind.__module__.startswith("numba.")
    essence = _essence(text)[:_LONGEST]
    return f"kernel {kernel.name!r}: {file}:{line}: {essence if is_numbas else f'{kind.__name__}: {essence}'}"


def _essence(text: str) -> str:
    """Return the line that says what is wrong, of the many that Numba writes."""
    lines = [line.strip().removeprefix("TypingError: ") for line in text.splitlines()]
    for place, line in enumerate(lines):
        if line in {"", "None"} or line.startswith(_EMPTY_WORDS):
            continue
        if not line.startswith("No implementation of"):
            return line
        call, _, candidates = "\n".join(lines[place + 1 :]).strip().partition("\n\n")
        alike = _ALIKE.match(candidates)
        if alike:
            return _essence(candidates[alike.end() :])
        return f"{call.removeprefix('>>> ')}: no such operation"
    return text
