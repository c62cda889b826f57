"""Which machine does what which operator of a recipe says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from . import comparisons, fibers, flows
from .machines import Machine

__all__ = ["OPERATORS"]

OPERATORS: Final[Mapping[str, Callable[..., Machine]]] = {
    "above": comparisons.Above,
    "below": comparisons.Below,
    "change": fibers.ChangeOfKey,
    "chance": fibers.Chance,
    "clamp": comparisons.Clamp,
    "deadband": comparisons.Deadband,
    "delay": fibers.Delay,
    "diff": fibers.Diff,
    "diff_from": fibers.DiffFrom,
    "distinct": fibers.Distinct,
    "distinct_within": fibers.DistinctWithin,
    "drop_while": fibers.DropWhile,
    "edge": fibers.Edge,
    "every": fibers.Every,
    "every_interval": fibers.EveryInterval,
    "fiber_factory": flows.FromFactory,
    "flow_factory": flows.FromFlowFactory,
    "guard": fibers.Guard,
    "guard_from": fibers.GuardFrom,
    "heartbeat": fibers.Heartbeat,
    "high": comparisons.High,
    "hysteresis": fibers.Hysteresis,
    "inhibit": fibers.Inhibit,
    "integrate": fibers.Integrate,
    "limit": fibers.Limit,
    "low": comparisons.Low,
    "map": fibers.Replace,
    "max": comparisons.Max,
    "min": comparisons.Min,
    "peek": fibers.Peek,
    "pulse": fibers.PulseOf,
    "range": comparisons.Range,
    "reduce": fibers.Reduce,
    "relate": fibers.Relate,
    "replace": fibers.Replace,
    "rolling": fibers.Rolling,
    "route": fibers.Route,
    "run": flows.RunOfEqual,
    "scan": flows.Scan,
    "scan_emit": flows.Scan,
    "scan_emit_with": flows.ScanEmitWith,
    "skip": fibers.Skip,
    "steady": fibers.Steady,
    "steady_same": fibers.Steady,
    "streak": fibers.Streak,
    "take_while": fibers.TakeWhile,
    "tee": fibers.Tee,
    "transition": flows.Transition,
    "tumble": fibers.Tumble,
    "when": fibers.When,
    "window": flows.WindowOf,
    "window_within": flows.WindowWithin,
}
"""What makes a fresh machine for each operator, given the place and the stage's arguments."""
