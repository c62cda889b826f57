"""The showcase: a relay race run by the circuits themselves, a million of them by default.

The circuits are split into chains, one per token. In a round each chain is seeded with its token; a circuit
that gets it delivers to itself `burst` times through its queue, then hands it to the next; the last one
signals the main thread. A round is over when all chains have signalled, and then every count is checked.

`parameters` says what is run, `relay` what the circuits do, `population` builds them, `race` runs a round,
`run` the whole, `report` puts it into tables, and `repeat` does it several times.
"""

from __future__ import annotations

from .parameters import Asked, Parameters, resolve
from .repeat import repeated
from .run import run

__all__ = ["Asked", "Parameters", "repeated", "resolve", "run"]
