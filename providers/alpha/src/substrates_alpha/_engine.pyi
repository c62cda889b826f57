# What cffi makes of native/alpha.h; types of C are Any here.
from typing import Any

class _Lib:
    def __getattr__(self, name: str) -> Any: ...

class _FFI:
    NULL: Any
    def new(self, declaration: str, initial: Any = ...) -> Any: ...
    def buffer(self, data: Any, size: int = ...) -> Any: ...
    def string(self, data: Any) -> bytes: ...

lib: _Lib
ffi: _FFI
