"""The comparison operators of fibers."""

from __future__ import annotations

from typing import Any

from substrates.recipe import Order

from .chain import Place
from .machines import NOTHING, UNSET, Machine, passed_if

__all__ = [
    "Above",
    "Below",
    "Clamp",
    "Comparison",
    "Deadband",
    "High",
    "Low",
    "Max",
    "Min",
    "Range",
]


class Comparison(Machine):
    """Compares with bounds that `bounds` has turned into keys already."""

    def __init__(self, place: Place, *arguments: Any) -> None:
        super().__init__(place)
        self.bounds: tuple[Any, ...] = arguments[:-1]
        self.order: Order = arguments[-1]

    def measure(self, value: Any) -> Any:
        """Return what is compared of a value."""
        return self.order.key(value) if self.order.key else value

    def greater(self, measure: Any, bound: Any) -> bool:
        """Tell whether a value is above a bound."""
        if self.order.compare:
            return bool(self.order.compare(measure, bound) > 0)
        return bool(measure > bound)

    def less(self, measure: Any, bound: Any) -> bool:
        """Tell whether a value is below a bound."""
        if self.order.compare:
            return bool(self.order.compare(measure, bound) < 0)
        return bool(measure < bound)

    def at_least(self, measure: Any, bound: Any) -> bool:
        """Tell whether a value is a bound or above it; what is not equal to itself is not."""
        if self.order.compare:
            return bool(self.order.compare(measure, bound) >= 0)
        return bool(measure >= bound)

    def at_most(self, measure: Any, bound: Any) -> bool:
        """Tell whether a value is a bound or below it; what is not equal to itself is not."""
        if self.order.compare:
            return bool(self.order.compare(measure, bound) <= 0)
        return bool(measure <= bound)


class Above(Comparison):
    """FIBER-ABOVE-01."""

    def take(self, value: Any) -> list[Any]:
        return passed_if(value, self.greater(self.measure(value), self.bounds[0]))


class Below(Comparison):
    """FIBER-BELOW-01."""

    def take(self, value: Any) -> list[Any]:
        return passed_if(value, self.less(self.measure(value), self.bounds[0]))


class Min(Comparison):
    """FIBER-MIN-01."""

    def take(self, value: Any) -> list[Any]:
        return passed_if(value, self.at_least(self.measure(value), self.bounds[0]))


class Max(Comparison):
    """FIBER-MAX-01."""

    def take(self, value: Any) -> list[Any]:
        return passed_if(value, self.at_most(self.measure(value), self.bounds[0]))


class Range(Comparison):
    """FIBER-RANGE-01, -02."""

    def take(self, value: Any) -> list[Any]:
        measure, (lower, upper) = self.measure(value), self.bounds
        return passed_if(value, self.at_least(measure, lower) and self.at_most(measure, upper))


class Deadband(Comparison):
    """FIBER-DEADBAND-01, -02."""

    def take(self, value: Any) -> list[Any]:
        measure, (lower, upper) = self.measure(value), self.bounds
        return passed_if(value, self.less(measure, lower) or self.greater(measure, upper))


class Clamp(Comparison):
    """FIBER-CLAMP-01 to -03; its bounds are two keys, then the two values that stand for them."""

    def take(self, value: Any) -> list[Any]:
        measure = self.measure(value)
        lower, upper, least, greatest = self.bounds
        if self.less(measure, lower):
            return [least]
        return [greatest] if self.greater(measure, upper) else [value]


class High(Comparison):
    """FIBER-HIGH-01 to -03."""

    record: Any = UNSET

    def take(self, value: Any) -> list[Any]:
        measure = self.measure(value)
        if self.record is not UNSET and not self.beats(measure):
            return NOTHING
        self.record = measure
        return [value]

    def beats(self, measure: Any) -> bool:
        """Tell whether a value is a new record."""
        return self.greater(measure, self.record)


class Low(High):
    """FIBER-LOW-01."""

    def beats(self, measure: Any) -> bool:
        return self.less(measure, self.record)
