"""A second, independent implementation of recipes: operators as small state machines, without threads.

Written from the rules of the contract, plainly rather than fast, and sharing no code with any provider: what
the kit's own engine (`substrates_tck.faults`) interprets, and what others are compared with.
"""

from __future__ import annotations

from .chain import Chain, Place
from .machines import Machine
from .operators import OPERATORS
from .windows import Lease, View

__all__ = ["OPERATORS", "Chain", "Lease", "Machine", "Place", "View"]
