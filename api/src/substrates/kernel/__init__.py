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
``kernels``) and imported only when a kernel is compiled.
"""

from __future__ import annotations

from .lane import FLOAT64, INT64, OBJECT, Lane, float64, int64
from .receptor import Binding, Context, Kernel, from_address, include_dir, receptor
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
