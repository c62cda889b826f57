"""Comparisons: providers side by side on one workload, or two runs that were kept.

`turns` runs the providers in turn and keeps the evidence, `kept` reads two results folders, `lines` is what
both come to, and what they say. A workload is described where it is, in the terms of `perfkit.workload`; to
add one, add it to `WORKLOADS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..showcase.workload import Showcase
from ..workload import Workload
from .kept import compared
from .turns import entrants, interleaved

__all__ = ["WORKLOADS", "compared", "entrants", "interleaved"]

WORKLOADS: Final[Mapping[str, Workload]] = {each.name: each for each in (Showcase(),)}
"""What can be compared, by name."""
