"""A toy engine that is easily broken: the whole contract but kernels, in the plainest way.

It shares no code with any provider. Everything is queued under one lock a circuit, and channels find out anew
who receives whenever something has changed. Each place where a bug could live is a method of its own, which a
mutant overrides; the cortex makes its components of the classes that it is given (`cortex.KINDS`).
"""

from __future__ import annotations

from .cortex import KINDS, Cortex

__all__ = ["KINDS", "Cortex"]
