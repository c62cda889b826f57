"""Kernels: receptors that only compute, run natively where the provider can.

A kernel is written once, in Python: compiled by Numba on native providers, run as plain Python elsewhere,
with the same results::

    from substrates import kernel

    class Tally(kernel.State):
        count: kernel.int64
        total: kernel.int64
        onward: kernel.Pipe

    @kernel.receptor(Tally, kernel.int64)
    def tally(ctx, state, value):
        state.count += 1
        state.total += value
        if state.onward:
            ctx.emit(state.onward, state.total)

    pipe = circuit.pipe(tally.bind())

C, Rust or Cython supply a kernel by its address (`from_address`); the functions' form is in
``substrates/include/substrates_kernel.h`` (`include_dir`). Numba and NumPy are optional (the extra
``kernels``) and imported only when a kernel is compiled. Compiled kernels are kept on disk, so a program's
second run compiles none; see `cache`.

What a field is assigned and a pipe is given is converted by one rule everywhere (`Lane.cast`), and dividing
by zero raises everywhere. Some things native code cannot do as Python does, so avoid them:

- Integers *within* an expression wrap at 64 bits natively and grow in Python. Sums, differences, products,
  left shifts and bitwise operations end up the same in a field or a pipe; before comparing, dividing or
  shifting right what may have overflowed, assign it to a field. A constant beyond 64 bits is refused.
- A shift by 64 bits or more, or by a negative number, is undefined natively. An integer to a negative power
  is an integer natively. Integers beyond 2**53 are rounded before a true division.
- A variable that is an integer on one path and a float on another is a float natively.
- `math` functions and powers give NaN or infinity natively where Python raises ValueError or OverflowError;
  ``int()`` of a float beyond 64 bits is undefined natively (assigning it to a field is not).
- Global variables, and those of enclosing functions, are fixed natively at the definition.
- Only ``except Exception`` and bare ``except`` compile. Running out of memory for emissions cannot be caught.
- An exception's arguments that were computed are missing natively from its report.
"""

from __future__ import annotations

from .lane import FLOAT64, INT64, OBJECT, Lane, float64, int64
from .receptor import Binding, Context, Kernel, KernelError, from_address, include_dir, receptor
from .state import SELF, Field, Float64Pipe, Layout, Pipe, State

__all__ = [
    "FLOAT64",
    "INT64",
    "OBJECT",
    "SELF",
    "Binding",
    "Context",
    "Field",
    "Float64Pipe",
    "Kernel",
    "KernelError",
    "Lane",
    "Layout",
    "Pipe",
    "State",
    "float64",
    "from_address",
    "include_dir",
    "int64",
    "receptor",
]
