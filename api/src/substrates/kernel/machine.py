"""Machine code of compiled kernels: loaded from object code, and asked what a fault code means.

Loading needs llvmlite, not Numba, which takes much longer to import.
"""

from __future__ import annotations

import ctypes
import pickle
import struct
from typing import Any, Final

__all__ = ["FAULT_EXCEPTION", "FAULT_MEMORY", "FAULT_RAISED", "FAULT_RANGE", "Machine", "load", "undefined"]

# Fault codes of substrates_kernel.h. Below these are the kernel's own.
FAULT_MEMORY: Final = 0x1000_0000
"""There is no room for another emission."""
FAULT_EXCEPTION: Final = 0x1000_0001
"""An exception of which no more is known."""
FAULT_RAISED: Final = 0x4000_0000
"""An exception: this, plus the distance in bytes from the entry to what describes the exception."""
FAULT_RANGE: Final = 0x2000_0000
"""Bound of that distance, forwards and backwards."""

# ELF, 64 bits, of this byte order: the fields that are read.
_MAGIC: Final = b"\x7fELF\x02"
_SECTIONS: Final = struct.Struct("=40xQ10xHH2x")  # offset, entry size, count
_SECTION: Final = struct.Struct("=4xI16xQQI12xQ")  # type, offset, size, link, entry size
_SYMBOL: Final = struct.Struct("=I2xH16x")  # name, section
_SYMBOL_TABLE: Final = 2


class Machine:
    """A loaded kernel.

    Attributes:
        address: of its entry, callable as long as this object lives.
    """

    __slots__ = ("_owner", "address")

    def __init__(self, address: int, owner: object) -> None:
        self.address = address
        self._owner = owner

    def exception(self, code: int) -> Exception | None:
        """Return the exception that `code`, returned by the entry, stands for; None if it stands for none."""
        if not -FAULT_RANGE <= code - FAULT_RAISED < FAULT_RANGE:
            return None
        pickled = _Memory(self.address + code - FAULT_RAISED)
        try:
            kind, arguments, place = pickle.Unpickler(pickled).load()
            error = kind(*arguments or ())
        except Exception as problem:  # noqa: BLE001 - made by classes of the user
            return RuntimeError(f"an exception that cannot be shown: {problem!r}")
        if not isinstance(error, Exception):
            return RuntimeError(f"{kind.__name__}{arguments}")
        if place:
            name, file, line = place
            error.add_note(f'  File "{file}", line {line}, in {name} (compiled kernel)')
        return error


class _Memory:
    """Reads at an address as from a file; a pickle says itself where it ends."""

    def __init__(self, address: int) -> None:
        self._address = address

    def read(self, size: int) -> bytes:
        chunk = ctypes.string_at(self._address, size)
        self._address += size
        return chunk

    def readline(self) -> bytes:
        line = bytearray()
        while not line.endswith(b"\n"):
            line += self.read(1)
        return bytes(line)


def load(code: bytes, entry: str) -> Machine:
    """Load object code and return it, ready to be called at its function `entry`."""
    from llvmlite import binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target.create_target_machine(jit=True))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return Machine(engine.get_function_address(entry), engine)


def undefined(code: bytes) -> set[str] | None:
    """Return the names that object code needs from elsewhere; None if it is in a form that we cannot read."""
    if not code.startswith(_MAGIC):
        return None
    start, size, count = _SECTIONS.unpack_from(code)
    sections: list[Any] = [_SECTION.unpack_from(code, start + place * size) for place in range(count)]
    names = set()
    for kind, offset, length, link, step in sections:
        if kind == _SYMBOL_TABLE:
            strings = sections[link][1]
            for place in range(offset, offset + length, step):
                name, section = _SYMBOL.unpack_from(code, place)
                if name and not section:
                    end = code.index(b"\0", strings + name)
                    names.add(code[strings + name : end].decode())
    return names
