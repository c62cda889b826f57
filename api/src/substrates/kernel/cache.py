"""Compiled kernels on disk, so that a program's second run needs neither to compile them nor to import Numba.

One file a kernel, named by a digest of all that its machine code depends on: the function's code with its
line numbers, what it refers to (numbers, functions, modules' attributes), the state's layout, the compiler,
the processor. So no entry is ever stale, and a kernel that refers to something else is not kept.

Entries lie where Numba puts its own: in the folder ``NUMBA_CACHE_DIR``, else in ``__pycache__`` beside the
source, else in the user's cache folder. Code without a source file is not kept.
"""

from __future__ import annotations

import dis
import json
import marshal
import os
import re
import sys
import tempfile
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from . import machine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .receptor import Kernel

__all__ = ["Entry"]

_SUFFIX: Final = ".kernel"
_KEPT: Final = 32
"""Entries kept of one function, which may have one for each set of values that it closes over."""
_NUMBAS: Final = ("NRT_", "Py", "_Py", "numba_")
"""Beginnings of names that Numba provides, or that only work once it is set up."""
_CONSTANTS: Final = (bool, int, float, complex, str, bytes, type(None), type(...))


class _UnknownError(Exception):
    """The code refers to something whose content we cannot tell."""


class Entry:
    """The place of one kernel in the cache."""

    def __init__(self, kernel: Kernel[Any]) -> None:
        self._folders: list[Path] = []
        function = kernel.function
        assert function is not None
        source = Path(function.__code__.co_filename)
        if source.is_file():
            with suppress(_UnknownError):
                self._stem = f"{source.stem}.{re.sub(r'[^A-Za-z0-9_.]+', '_', function.__qualname__)[-100:]}"
                self._name = f"{self._stem}-{_digest(kernel)}{_SUFFIX}"
                self._folders = list(_folders(source))

    def load(self) -> machine.Machine | None:
        """Return the loaded kernel, or None if it is not there."""
        for folder in self._folders:
            with suppress(OSError, ValueError, KeyError):
                content = (folder / self._name).read_bytes()
                check, content = content[:32], content[32:]
                if sha256(content).digest() != check:
                    continue
                head, _, code = content.partition(b"\n")
                facts = json.loads(head)
                if _all_here(facts["needs"]):
                    return machine.load(code, facts["entry"])
        return None

    def save(self, code: bytes, entry: str) -> None:
        """Keep object code, if it can be loaded without Numba and a folder can be written."""
        needs = machine.undefined(code)
        if not self._folders or needs is None or not _all_here(needs):
            return
        content = json.dumps({"entry": entry, "needs": sorted(needs)}).encode() + b"\n" + code
        for folder in self._folders:
            with suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                with tempfile.NamedTemporaryFile(dir=folder, prefix=self._stem, delete=False) as file:
                    try:
                        file.write(sha256(content).digest() + content)
                        file.close()
                        Path(file.name).replace(folder / self._name)
                    except OSError:
                        Path(file.name).unlink(missing_ok=True)
                        raise
                self._prune(folder)
                return

    def _prune(self, folder: Path) -> None:
        entries = [
            (path.stat().st_mtime, path)
            for path in folder.iterdir()
            if path.name.startswith(f"{self._stem}-") and path.suffix == _SUFFIX
        ]
        for _, path in sorted(entries)[:-_KEPT]:
            path.unlink(missing_ok=True)


def _folders(source: Path) -> Iterator[Path]:
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        yield Path(chosen)
        return
    yield source.resolve().parent / "__pycache__"
    home = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # no home
        yield (Path(home) if home else Path.home() / ".cache") / "substrates"


def _all_here(names: Iterable[str]) -> bool:
    """Return whether the process provides `names` even without Numba."""
    from llvmlite import binding as llvm

    return not any(name.startswith(_NUMBAS) or llvm.address_of_symbol(name) is None for name in names)


def _digest(kernel: Kernel[Any]) -> str:
    layout = [(field.name, field.lane.value, field.is_pipe) for field in kernel.state_type.layout.fields]
    facts = [repr((*_surroundings(), kernel.state_type.__qualname__, layout, kernel.lane.value)).encode()]
    facts.extend(_function(kernel.function, set()))
    digest = sha256()
    for fact in facts:
        digest.update(len(fact).to_bytes(8, "little") + fact)
    return digest.hexdigest()[:32]


def _surroundings() -> tuple[Any, ...]:
    """What all kernels of this process have in common."""
    import llvmlite
    from llvmlite import binding as llvm

    here = Path(__file__).parent
    settings = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    return (
        sys.version,
        llvmlite.__version__,
        _numba_version(),
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
        [item for item in settings if item[0] != "NUMBA_CACHE_DIR"],
        [sha256((here / name).read_bytes()).hexdigest() for name in ("lowering.py", "machine.py")],
    )


def _numba_version() -> bytes:
    """Return what tells versions of Numba apart; `importlib.metadata` would be slow to import."""
    spec = find_spec("numba")
    if spec is None or spec.origin is None:
        raise _UnknownError
    with suppress(OSError):
        return Path(spec.origin).with_name("_version.py").read_bytes()
    from importlib.metadata import version

    return version("numba").encode()


def _function(function: Any, seen: set[Any]) -> Iterator[bytes]:
    """Yield all that the meaning of `function` depends on."""
    if id(function) in seen:
        return
    seen.add(id(function))
    code = function.__code__
    yield marshal.dumps(code, 2)  # the last version that is the same for the same code
    yield from _value((function.__defaults__, tuple((function.__kwdefaults__ or {}).items())), code, seen)
    for cell in function.__closure__ or ():
        try:
            content = cell.cell_contents
        except ValueError:
            raise _UnknownError from None  # still empty
        yield from _value(content, code, seen)
    for name in sorted(_names(code, "LOAD_GLOBAL")):
        yield name.encode()
        if name in function.__globals__:
            yield from _value(function.__globals__[name], code, seen)


def _value(value: Any, code: CodeType, seen: set[Any]) -> Iterator[bytes]:
    kind = type(value)
    place = getattr(value, "__module__", None) or ""
    if kind in _CONSTANTS:
        yield repr((kind.__name__, value)).encode()
    elif kind is tuple:
        yield f"tuple of {len(value)}".encode()
        for item in value:
            yield from _value(item, code, seen)
    elif kind is FunctionType:
        yield from _function(value, seen)
    elif kind is ModuleType:
        if (id(value), id(code)) in seen:
            return
        seen.add((id(value), id(code)))
        yield value.__name__.encode()
        for name in sorted(_names(code, "LOAD_ATTR", "LOAD_METHOD")):
            if hasattr(value, name):
                yield name.encode()
                yield from _value(getattr(value, name), code, seen)
    elif isinstance(getattr(value, "py_func", None), FunctionType):  # of Numba's decorators
        yield repr(sorted(getattr(value, "targetoptions", {}).items())).encode()
        yield from _function(value.py_func, seen)
    elif kind is BuiltinFunctionType or place.partition(".")[0] in {"builtins", "numpy"}:
        if not hasattr(value, "__name__"):
            raise _UnknownError
        yield f"{place}.{value.__name__}".encode()
    elif isinstance(value, type) and issubclass(value, BaseException):
        yield f"{place}.{value.__qualname__}".encode()
    else:
        raise _UnknownError


def _names(code: CodeType, *operations: str) -> set[str]:
    names = {step.argval for step in dis.get_instructions(code) if step.opname in operations}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant, *operations)
    return names
